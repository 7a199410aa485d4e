"""This task measures a kernel whose blocks are merged as in "Shared Memory Multiplexing", with and without sharing.

Section 8.3.2 of the sharing paper, its Figs. 26 and 27 and Table XI: two blocks become one that uses shared memory in
turns, and two of these blocks share a part of it. Needs a subject; leaves figures that JSON can hold. A merged kernel
runs under LRR; one that shares runs as in the last of the paper's steps. Where either is refused, the reason is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module
from binalloc.laboratory.sharing.task import STEPS, run_figures, shared_figures
from binalloc.pipeline.multiplex.build import CO_VTB, PIPE, VTB, Wanted, build
from binalloc.pipeline.multiplex.multiplexing import unproven_step
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.sharing.sharing import share_kernel
from binalloc.pipeline.steps.measure import measure, same_results
from binalloc.pipeline.steps.proof import require_no_hazard
from binalloc.pipeline.steps.version import Version
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import Subject
from binalloc.pipeline.sweeping.keys import key_of

SCHEMES = (PIPE, VTB, CO_VTB)
"""The schemes of Table XI, in its order."""
MERGE = 2
"""Blocks that become one: what the paper says of FFT's pipe; of the others it says nothing."""
_SCHEDULER, _WISH = STEPS["opt"]


@dataclass(frozen=True)
class MergedKernel:
    """This task builds and runs a subject merged by each scheme, with and without sharing."""

    subject: Subject
    schemes: tuple[str, ...] = SCHEMES
    options: RunOptions = field(default_factory=RunOptions)  #: how they are run, on the subject's machine

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject, the schemes and the options."""
        subject = self.subject
        what = [self.options.figures(), list(self.schemes)]
        return key_of(["sharing merged", subject.binary_key, subject.launch_key, *what])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.subject.kernel}, merged, on {self.subject.machine.name}"

    def figures(self) -> Outcome:
        """Build, prove and run the versions, and return their figures."""
        subject = self.subject
        module = read_module(subject.binary, subject.file)
        options = replace(self.options, machine=subject.machine)
        request = Request(subject.kernel, subject.machine, subject.launch, options=options)
        original = measure(baseline(module, request), request)
        return {"schemes": [_scheme(module, request, original, scheme) for scheme in self.schemes]}


def _scheme(module: Module, request: Request, original: Version, scheme: str) -> dict[str, Any]:
    """Return the figures of one scheme, with and without sharing; None and the reason where there are none."""
    none: dict[str, Any] = {"scheme": scheme, "merge": MERGE, "alone": None, "shared": None}
    try:
        built = build(module, replace(request, prepared=Preparations()), Wanted(scheme, MERGE))
        own = replace(request, launch=built.launch, prepared=Preparations())
        version = baseline(built.module, own)
        require_no_hazard(version.module, request.machine)
        version = measure(version, own)
    except Refused as error:
        return {**none, "reason": error.message}
    unproven = unproven_step(module, built, request.kernel)
    alone = {
        **run_figures(version),
        "blocks": version.blocks_per_sm,
        "shared_bytes": version.shared_bytes,
        "proven": not unproven,
        "same_results": same_results(request, original, version),
    }
    try:
        (one,) = share_kernel(built.module, replace(own, prepared=Preparations(), emulate=False), _WISH).tried
    except Refused as error:
        return {**none, "alone": alone, "reason": error.message}
    run = measure(one.version, own.with_options(scheduler=_SCHEDULER, sharing=one.option))
    shared = shared_figures(one, run, _SCHEDULER, same_results(request, original, run))
    if one.report is not None and not one.report.ok:
        unproven = unproven or str(one.report.errors[0])
    return {**none, "alone": alone, "shared": shared, "reason": unproven}
