"""This task measures a kernel on a machine: its original, shorter access regions, the schemes, and a limit.

Needs a subject: a sample with its launch, on a machine. Leaves figures that JSON can hold, as a sweep's tasks do, so
that any executor can do it and its outcome can be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module
from binalloc.laboratory.multiplex.paper import DIVIDED, SIMULATED
from binalloc.models.machines.model import Machine
from binalloc.pipeline.multiplex.build import AS_THEY_RUN, CO_HW, CO_VTB, HW, PIPE, VTB, Wanted, barriers_of
from binalloc.pipeline.multiplex.fit import held_at_once
from binalloc.pipeline.multiplex.free import without_limit
from binalloc.pipeline.multiplex.multiplexing import Multiplexing, Tried, multiplex_kernel
from binalloc.pipeline.multiplex.share import region_share
from binalloc.pipeline.multiplex.shorter import shorter_regions
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.measure import same_results
from binalloc.pipeline.steps.version import Version
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import Subject
from binalloc.pipeline.sweeping.keys import key_of
from binalloc.report.multiplex import chosen_json

_MERGED = (2, 4)  # two as in the paper's figures; four, from which MC gains there (section 4.1)
_TOP = 3  # reasons that are kept: what waits for global memory, at barriers and for shared memory
_MORE = (1, 2, 3)  # K+1 to K+3, as in Fig. 15


@dataclass(frozen=True)
class Multiplexed:
    """This task builds and runs all versions of a subject."""

    subject: Subject
    options: RunOptions = field(default_factory=RunOptions)  #: how they are run, on the subject's machine

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject and the options."""
        return key_of(["multiplex", self.subject.binary_key, self.subject.launch_key, self.options.figures()])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.subject.kernel} on {self.subject.machine.name}"

    def figures(self) -> Outcome:
        """Build, prove and run the versions, and return their figures."""
        subject = self.subject
        module = read_module(subject.binary, subject.file)
        options = replace(self.options, machine=subject.machine)
        request = Request(subject.kernel, subject.machine, subject.launch, options=options)
        found = multiplex_kernel(module, request, list(versions(subject.kernel, subject.machine)))
        return _figures(module, request, found)


def versions(kernel: str, machine: Machine) -> Iterator[Wanted]:
    """Yield the versions of a kernel on a machine: merged ones on the cards, all that get memory as they run on the
    simulated machine, and on the cards those without a limit. Collaborative ones are made of `DIVIDED` alone. There are
    versions with access regions as they are, with shorter ones, and with own words."""
    divided, simulated = kernel in DIVIDED, machine.name == SIMULATED
    plain: list[Wanted] = []
    if not simulated:
        plain += [Wanted(VTB, merge=n, barriers=kind) for kind in barriers_of(machine) for n in _MERGED]
        plain.append(Wanted(PIPE, merge=2))
        if divided:
            plain.append(Wanted(CO_VTB, merge=2))
    limits = (*_MORE, None) if simulated else (None,)
    plain += [Wanted(HW, over=over) for over in limits]
    if divided:
        plain += [Wanted(CO_HW, over=over) for over in limits]
    for shorter, own in ((False, False), (True, False), (False, True)):
        yield from (replace(wanted, shorter=shorter, own=own) for wanted in plain)


def _figures(module: Module, request: Request, found: Multiplexing) -> Outcome:
    original = found.original
    alone = found.shorter
    roomy = without_limit(module, request)
    assert original.cycles
    assert roomy.cycles
    return {
        "version": original.name,
        "original_blocks": original.blocks_per_sm,
        "original_cycles": original.cycles,
        "limits": list(original.limiters),
        "shared_bytes": original.shared_bytes,
        "stalls": _stalls(original, request),
        "region_share": _share(module, request),
        "shorter_region_share": _shorter_share(module, request),
        "shorter": None if alone is None else _version(found, alone, request),
        "own": None if found.own is None else _version(found, found.own, request),
        "schemes": [_version(found, tried, request) for tried in found.tried],
        "auto": {name: chosen_json(found, found.chosen(name == "today")) for name in ("today", "any")},
        "free": {
            "speedup": round(original.cycles / roomy.cycles, 4),
            "blocks": roomy.blocks_per_sm,
            "same_results": same_results(request, original, roomy),
            "stalls": _stalls(roomy, request),
        },
    }  # fmt: skip


def _share(module: Module, request: Request) -> float | None:
    """Return the share of a block's life in access regions; None if it cannot be measured."""
    try:
        return round(region_share(module, replace(request, prepared=Preparations())), 4)
    except Refused:
        return None


def _shorter_share(module: Module, request: Request) -> float | None:
    """Return the same of a kernel whose access regions were made shorter."""
    try:
        return _share(shorter_regions(module, replace(request, prepared=Preparations())).module, request)
    except Refused:
        return None


def _version(found: Multiplexing, tried: Tried, request: Request) -> dict[str, Any]:
    """Return the figures of one version; those of a run are None if it was refused."""
    wanted, version, speedup, built = tried.wanted, tried.version, found.speedup(tried), tried.built
    divided = () if built is None or wanted.scheme not in (CO_VTB, CO_HW) else built.variables
    return {
        "scheme": wanted.scheme,
        "merge": wanted.merge,
        "barriers": wanted.barriers if wanted.merge is not None else None,
        "split": [f"{v.name}={v.private}/{v.bytes}" for v in divided] or None,
        "over": wanted.over,
        "shorter_regions": wanted.shorter,
        "own_words": wanted.own,
        "speedup": None if speedup is None else round(speedup, 4),
        "blocks": _resident(tried, request),
        "cycles": None if version is None else version.cycles,
        "registers": None if version is None else version.registers,
        "shared_bytes": None if version is None else version.shared_bytes,
        "same_results": tried.same,
        "proven": None if version is None else not tried.unproven,
        "stalls": {} if version is None else _stalls(version, request),
        "reason": str(tried.refused) if tried.refused is not None else tried.unproven,
    }


def _stalls(version: Version, request: Request) -> dict[str, float]:
    """Return the `_TOP` most frequent reasons for empty issue slots, each with its share of all issue slots."""
    slots = (version.cycles or 0) * request.machine.issue_slots_per_cycle
    most = sorted(((lost, name) for name, lost in version.stats["stalls"].items()), reverse=True)
    return {name: round(lost / slots, 3) for lost, name in most[:_TOP]}


def _resident(tried: Tried, request: Request) -> int | None:
    """Return the blocks of the original that an SM holds at once; None if there is no version."""
    version = tried.version
    if version is None:
        return None
    if tried.wanted.merge is not None:
        return version.blocks_per_sm * tried.wanted.merge
    if tried.wanted.scheme not in AS_THEY_RUN:
        return version.blocks_per_sm
    return held_at_once(version, request, tried.wanted.over)
