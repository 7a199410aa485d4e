"""The number of blocks by a model of ours: every feasible level, judged by its code, nothing is run.

A level's warps queue for issue slots, execution units and memory (`models.search.queueing`), each asking what its code
says (`pipeline.demand`); the level that gets through most warps is taken where that is so much more than the original
that the model is not mistaken about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binalloc.errors import Refused
from binalloc.pipeline.policies.levels import tried_before, worth_a_look
from binalloc.pipeline.policies.policy import Choice
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.models.machines.budget import Budget
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps import Tried, Version

GAIN = 1.01
"""What a level has to be expected to gain."""


class Model:
    """Levels from the original's up, each program once."""

    name = "model"
    summary = "every feasible number of blocks by a queueing model of the SM; nothing is run"
    measures = False

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """The version that gets through most warps a cycle; of several the one of the fewest blocks. Where the original
        was not run, the model judges its orders, too."""
        tried: list[Tried] = []
        base = original.base if original.base.cycles is not None else _better_order(module, request, original.given)
        best, gain = None, GAIN
        for found, expected in expectations(module, request, base):
            tried.append(found)
            if expected > gain:
                best, gain = found.version, expected
        if best is None:
            none = "by more than the model may be mistaken no level is expected to beat the original"
            return Choice(tried, None, none, base)
        blocks = count(best.blocks_per_sm, "block")
        reason = f"{blocks} expected to take {1 / gain:.1%} of the original's time, by the model"
        return Choice(tried, best, reason, base)


def _better_order(module: Module, request: Request, given: Version) -> Version:
    """The input, or its other order, if the model expects it to gain."""
    from binalloc.pipeline.original import ordered_version

    ordered = ordered_version(module, request, given)
    if ordered is None:
        return given
    warps = _warps(module, request)
    return ordered if _rate(ordered, request, warps) > GAIN * _rate(given, request, warps) else given


def expectations(module: Module, request: Request, original: Version) -> Iterator[tuple[Tried, float]]:
    """Levels from the original's up, and how many times as fast as the original each should be; 0 where there is none,
    and where it is the same program as one before."""
    warps = _warps(module, request)
    before = _rate(original, request, warps)
    tried: list[Tried] = []
    for budget in worth_a_look(module, request, original):
        again = tried_before(budget, tried)
        found, expected = (again, 0.0) if again else _tried(module, request, budget, before, warps)
        tried.append(found)
        yield found, expected


def _tried(
    module: Module, request: Request, budget: Budget, before: float, warps: int
) -> tuple[Tried, float]:
    """The level, and how many times as fast as the original it should be; 0 where there is none."""
    from binalloc.pipeline.steps import Tried, build_version

    try:
        version = build_version(module, request, budget.registers, budget.slots)
    except Refused as e:
        return Tried(budget, None, str(e)), 0.0
    expected = _rate(version, request, warps) / before
    return Tried(budget, version, f"{expected:.3f}x by the model"), expected


def _warps(module: Module, request: Request) -> int:
    """Of a block."""
    from binalloc.pipeline.steps import kernel_use

    return kernel_use(module.function(request.kernel), request.launch).warps


def _rate(version: Version, request: Request, warps: int) -> float:
    """Runs of warps per cycle of an SM. warps: of a block."""
    from binalloc.models.search.queueing import throughput
    from binalloc.pipeline.demand import demand

    asked = demand(version, request)
    return throughput(list(asked.resources.values()), asked.waiting, version.blocks_per_sm * warps)
