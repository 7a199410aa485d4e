"""This task measures a kernel whose blocks share memory two by two, step by step as in the paper's Fig. 16.

Needs a subject: a sample with its launch, on a machine. Leaves figures that JSON can hold, as a sweep's tasks do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.sharing.sharing import (
    AUTO,
    JUMP,
    KEPT,
    NONE,
    OPT,
    OWNER_FIRST,
    POSTDOM,
    Shared,
    Wish,
    share_kernel,
)
from binalloc.pipeline.steps.measure import measure, same_results
from binalloc.pipeline.steps.version import Version
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import Subject
from binalloc.pipeline.sweeping.keys import key_of

UNSHARED = ("lrr", "gto", "two_level", "oldest")
"""Schedulers of blocks that share nothing; the last is what owner warp first is without pairs."""
TENTH = "0.1"
"""The paper's threshold."""
STEPS = {
    "noopt": ("lrr", Wish(TENTH, NONE, KEPT, moved=False)),
    "owf": (OWNER_FIRST, Wish(TENTH, NONE, KEPT, moved=False)),
    "reorder": (OWNER_FIRST, Wish(TENTH, NONE, KEPT)),
    "postdom": (OWNER_FIRST, Wish(TENTH, POSTDOM, KEPT)),
    "opt": (OWNER_FIRST, Wish(TENTH, OPT, JUMP)),
    "kept": (OWNER_FIRST, Wish(TENTH, OPT, KEPT)),
}
"""The paper's steps, each with its scheduler: sharing alone, owner warp first, variables moved, releases at a
post-dominator, releases as early as they may be; and the last with critical edges kept, which is ours."""


@dataclass(frozen=True)
class SharedKernel:
    """This task builds and runs steps of a subject, and the choice of every number of pairs."""

    subject: Subject
    options: RunOptions = field(default_factory=RunOptions)  #: how they are run, on the subject's machine
    steps: tuple[str, ...] = (*STEPS, AUTO)
    unshared: tuple[str, ...] = UNSHARED  #: schedulers of its blocks without sharing; `lrr` is the first
    free: bool = True  #: whether as many blocks are run that never wait

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject, the options and what is run."""
        subject = self.subject
        what = [self.options.figures(), list(self.steps), list(self.unshared), self.free]
        return key_of(["sharing", subject.binary_key, subject.launch_key, *what])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.subject.kernel} on {self.subject.machine.name}"

    def figures(self) -> Outcome:
        """Build, prove and run the steps, and return their figures."""
        subject = self.subject
        module = read_module(subject.binary, subject.file)
        options = replace(self.options, machine=subject.machine)
        request = Request(subject.kernel, subject.machine, subject.launch, options=options)
        original = baseline(module, request)
        alone = {name: measure(original, request.with_options(scheduler=name)) for name in self.unshared}
        found: dict[str, Any] = {
            "blocks": original.blocks_per_sm,
            "limits": list(original.limiters),
            "shared_bytes": original.shared_bytes,
            "unshared": {name: run_figures(version) for name, version in alone.items()},
        }
        try:
            shared = {step: _step(module, request, alone["lrr"], step) for step in self.steps if step != AUTO}
            if AUTO in self.steps:
                shared[AUTO] = _auto(module, request, alone, shared)
        except Refused as error:
            return {**found, "shared": {}, "free": None, "refused": error.message}
        free = _free(original, request, shared) if self.free and shared else None
        return {**found, "shared": shared, "free": free, "refused": None}


def run_figures(version: Version) -> dict[str, Any]:
    """Return the figures of a run."""
    assert version.cycles is not None
    stats = version.stats
    waits = sorted(stats["stalls"].items(), key=lambda item: -item[1])[:3]
    return {
        "cycles": version.cycles,
        "ipc": round(stats["thread_instructions"] / max(version.cycles, 1), 3),
        "instructions": stats["thread_instructions"],
        "stalls": dict(waits),
        "l1_misses": stats["l1_global_misses"],
        "l2_misses": stats["l2_misses"],
    }


def _step(module: Module, request: Request, original: Version, step: str) -> dict[str, Any]:
    """Return the figures of one of the paper's steps."""
    scheduler, wish = STEPS[step]
    fresh = replace(request, prepared=Preparations(), emulate=False)
    (one,) = share_kernel(module, fresh, wish).tried
    version = measure(one.version, request.with_options(scheduler=scheduler, sharing=one.option))
    return shared_figures(one, version, scheduler, same_results(request, original, version))


def shared_figures(one: Shared, version: Version, scheduler: str, same: bool | None) -> dict[str, Any]:
    stats, pairing = version.stats, one.plan.pairing
    return {
        **run_figures(version),
        "scheduler": scheduler,
        "sharing": one.option,
        "blocks": pairing.blocks,
        "pairs": pairing.pairs,
        "private_bytes": pairing.private,
        "releases": len(one.releases),
        "moved": any(one.plan.distances),
        "proven": one.report.ok if one.report is not None else None,
        "same_results": same,
        "lives": [stats[f"cycles_{phase}_lock"] for phase in ("before", "with", "behind")],
    }


def _auto(
    module: Module, request: Request, alone: dict[str, Version], steps: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the figures of the fastest of all: every number of pairs, the paper's threshold, and no sharing at all."""
    fresh = replace(request, prepared=Preparations(), emulate=False)
    found = []
    for one in share_kernel(module, fresh, Wish(AUTO)).tried:
        version = measure(one.version, request.with_options(scheduler=OWNER_FIRST, sharing=one.option))
        found.append(shared_figures(one, version, OWNER_FIRST, same_results(request, alone["lrr"], version)))
    found += [steps[step] for step in ("kept", "opt") if step in steps]
    found += [
        {**run_figures(version), "scheduler": name, "sharing": "off", "blocks": version.blocks_per_sm, "pairs": 0,
         "private_bytes": None, "releases": 0, "moved": False, "proven": None, "same_results": True, "lives": [0, 0, 0]}
        for name, version in alone.items()
    ]  # fmt: skip
    good = [one for one in found if one["same_results"] is not False and one["proven"] is not False]
    return min(good, key=lambda one: (one["cycles"], one["pairs"]))


def _free(original: Version, request: Request, shared: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the run of as many blocks as sharing gives that never wait, as if shared memory was larger."""
    blocks = max(one["blocks"] for one in shared.values())
    version = measure(original, request.with_options(scheduler="oldest"), ideal_blocks=blocks)
    return {**run_figures(version), "blocks": blocks}
