"""This module finds the best number of resident blocks for a kernel whose blocks need few bytes of shared memory.

Needs a laid-out module, and a request with a launch. The first version has as few registers as the code's order takes;
further ones are ordered for latency, and let more and more blocks be resident, which may take spill code. A number of
blocks that is not faster than the one before, or comes to a limit such as that of cycles, ends the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from binalloc.emulator.host.resources import Resources, resident_blocks
from binalloc.errors import LimitHit, Refused
from binalloc.isa.instruction import Module
from binalloc.isa.sets.table import set_of
from binalloc.models.machines.budget import levels
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.build import build_unproven
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.measure import measure
from binalloc.pipeline.steps.version import Version, make_version
from binalloc.transform.schedule.schedule import schedule


def fastest(module: Module, request: Request, name: str, *, slots: bool) -> Version:
    """Return the fastest version that was run; it is not proven yet. name: of the versions, for messages. slots: values
    may get slots in shared memory. Raises Refused if not even one block fits, LimitHit if the first
    number of blocks comes to a limit."""
    best: Version | None = None
    for level in _levels(module, request, slots):
        try:
            fast = _fastest_of([replace(version, name=name) for version in level], request)
        except LimitHit:
            if best is None:
                raise
            break
        if best is not None and (fast.cycles or 0) >= (best.cycles or 0):
            break
        best = fast
    assert best is not None
    return best


def unmeasured(module: Module, request: Request, name: str, *, slots: bool) -> Version:
    """Return a version that was not run, and is not proven yet: with as few registers as hold all values, if a block of
    it fits on an SM, else the one with the most registers that does. The rest is as for `fastest`."""
    version = _in_registers(module, request)
    if version is None:
        version = next(_levels(module, request, slots))[0]
    held_at_once(version, request, request.options.over)  # refuses what a run would refuse
    return replace(version, name=name)


def held_at_once(version: Version, request: Request, over: int | None) -> int:
    """Return the blocks of a version that an SM holds at once, as a run finds them. over: most blocks beyond those of
    static memory, where blocks get memory as they run; None: no limit. Raises Refused if not even one fits."""
    launch = request.launch
    assert launch is not None
    need = Resources.of(version.module.function(version.kernel), launch, version.registers, version.functions)
    return resident_blocks(request.machine, need, launch, None, over)


def _fastest_of(level: list[Version], request: Request) -> Version:
    """Return the fastest of some versions that were run; one that comes to a limit is slower than one that does not.
    Raises LimitHit if all do."""
    ran: list[Version] = []
    for k, version in enumerate(level, 1):
        try:
            ran.append(measure(version, request))
        except LimitHit:
            if k == len(level) and not ran:
                raise
    return min(ran, key=lambda version: version.cycles or 0)


def _levels(module: Module, request: Request, slots: bool) -> Iterator[list[Version]]:
    """Yield versions with more and more resident blocks, those with equally many together."""
    use = kernel_use(module.function(request.kernel), request.launch)
    first = _in_registers(module, request)
    held = 0 if first is None else first.blocks_per_sm
    level = [] if first is None else [first]
    for budget in levels(request.machine, use):
        if budget.blocks < max(held, 1):
            continue
        try:
            version = build_unproven(module, request, budget.registers, budget.slots if slots else 0)
        except Refused:
            continue
        if version.blocks_per_sm > held and level:
            yield level
            level = []
        if version.blocks_per_sm >= held:
            held = version.blocks_per_sm
            level.append(version)
    yield level or [baseline(module, request)]


def _in_registers(module: Module, request: Request) -> Version | None:
    """Return the version with as few registers as hold all values; None if no block of it fits on an SM."""
    from binalloc.transform.shorten.arrange import in_fewest_registers

    isa = set_of(module)
    try:
        made = schedule(in_fewest_registers(module, request.kernel), request.machine)
        made = isa.read(isa.write(made), module.path)  # the very bytes that would be written
        return make_version(made, request, request.prepared.graph(module, request.kernel).functions)
    except Refused:
        return None
