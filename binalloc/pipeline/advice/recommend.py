"""This module recommends a number of blocks for a kernel on a machine, with the reasons and the next steps.

Needs the same as `rewrite_kernel`. Leaves its outcome with the facts behind it, the number of blocks that other
resources would allow (what-if curves, by occupancy's rules alone), and what to beware of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from binalloc.errors import UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.places import LANES, REG
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import view
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.occupancy import Occupancy
from binalloc.pipeline.advice.certificate import Certificate, certificate
from binalloc.pipeline.advice.characterise import Character, characterise
from binalloc.pipeline.advice.hot_lines import HotLine, hot_lines
from binalloc.pipeline.advice.notes import Note, notes_of
from binalloc.pipeline.advice.spread import Spread, spread
from binalloc.pipeline.bound import Bound, by_run
from binalloc.pipeline.pipeline import Outcome, rewrite_kernel
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.grid import Filling, filling
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.version import Version
from binalloc.printable import count

NOTHING = 0.01
"""Gain of another order below which the kernel is left alone: not worth another binary. Chosen by hand."""


@dataclass(frozen=True)
class Step:
    """A step is a stretch of a curve over which the number of resident blocks is the same."""

    at: int  #: amount of the resource at which the step begins; it ends where the next one begins
    blocks: int  #: blocks that are resident on an SM


@dataclass(frozen=True)
class Curve:
    """A curve shows how the number of resident blocks depends on one resource."""

    steps: list[Step]  #: ascending
    most: int  #: end of the last step: no block can have more of the resource


@dataclass(frozen=True)
class Residence:
    """A residence shows where a function of a version keeps its values."""

    function: str
    instructions: int
    registers: int  #: registers up to the highest one that the code names
    slot_accesses: int  #: instructions that access slots
    local_accesses: int  #: instructions that access the spill area in local memory


@dataclass(frozen=True)
class Recommendation:
    """A recommendation is the policy's choice with the facts behind it."""

    outcome: Outcome  #: the policy's choice
    character: Character  #: facts about the kernel
    use: KernelUse  #: resources of the input
    given: Occupancy  #: occupancy of the input
    held: Occupancy  #: occupancy of the version chosen
    #: what-if curves by resource: registers per thread, the user's shared bytes per block, threads per block. All other
    #: resources are the original's, as the kernel's directives leave them
    curves: dict[str, Curve]
    #: how the grid fills the GPU with the recommended blocks, merged ones if they are; None without a launch
    filled: Filling | None
    notes: list[Note]  #: by weight
    bound: Bound | None  #: of the original; None if it cannot be found
    lines: list[HotLine]  #: the hottest lines, the hottest first
    #: speedup of the recommended version by policy `model`'s estimate; None if it was run, or if the original is kept
    expected: float | None
    spread: Spread | None  #: worst and best of the levels looked at; None if the speedup of none is known
    values: list[Residence]  #: where the recommended version keeps its values, by function
    certificate: Certificate | None  #: lower bound on the spill cost; None if no allocator made the version

    @property
    def chosen(self) -> Version:
        """Return the recommended version."""
        return self.outcome.rewritten

    @property
    def multiplexed(self) -> bool:
        """Return whether blocks of the recommended version use shared memory in turns, or for less of their lives."""
        return self.outcome.multiplexed

    @property
    def leave(self) -> bool:
        """Return whether there is nothing to do: the original is kept, or its other order gains next to nothing."""
        gain = self.outcome.ordering
        return self.outcome.kept_original or (self.outcome.by_order_alone and gain is not None and gain < 1 + NOTHING)

    @property
    def waves(self) -> float | None:
        """Return the waves of the grid with the recommended blocks on every SM; None without a launch."""
        return None if self.filled is None else self.filled.waves

    @property
    def warnings(self) -> list[str]:
        """Return the texts of the notes to beware of."""
        return [note.text for note in self.notes if note.beware]

    @property
    def instruction_change(self) -> float:
        """Return static instructions after over static instructions before, as in the unified paper's Table 1."""
        return self.chosen.instructions / self.outcome.original.instructions


def recommend(module: Module, request: Request, certify: bool = False) -> Recommendation:
    """Recommend a number of blocks for the kernel that the request names.

    certify: whether the exact allocator is asked for a bound (`certificate`). Raises what `rewrite_kernel` raises.
    """
    outcome = _judged(rewrite_kernel(module, replace(request, whole_gpu=True)))
    request = outcome.request
    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    filled = filling(outcome.launch, request.machine, outcome.rewritten.blocks_per_sm)
    bound = _bound(module, outcome)
    return Recommendation(
        outcome,
        characterise(module, request, outcome.given, use),
        use,
        _occupancy(outcome.given, request),
        _held(outcome),
        _curves(request, use.given(outcome.given.registers)),
        filled,
        notes_of(outcome, filled, bound),
        bound,
        hot_lines(module, request, outcome.original),
        _expected(module, outcome),
        spread(outcome),
        [_residence(fn) for fn in outcome.rewritten.functions],
        certificate(module, outcome, certify),
    )


def _judged(outcome: Outcome) -> Outcome:
    """Return the outcome; if the kernel is left as it is because of its small grid, give that as the reason."""
    request, own = outcome.request, outcome.original.blocks_per_sm
    filled = filling(request.launch, request.machine, own)
    if filled is not None and filled.starved and (outcome.kept_original or outcome.by_order_alone):
        per, where = count(filled.share, "block"), count(filled.sms, "SM")
        outcome.reason = (
            f"the grid has {count(filled.blocks, 'block')}, at most {per} for each of {where}: "
            "more than that at once never come to one"
        )
    return outcome


def _bound(module: Module, outcome: Outcome) -> Bound | None:
    """Return the bound of the original by its run, else by the model, with as many blocks as an SM gets of the grid."""
    from binalloc.pipeline.estimate.demand import bound_of
    from binalloc.pipeline.estimate.estimate import estimates_of

    request, base = outcome.request, outcome.original
    warps = kernel_use(module.function(request.kernel), request.launch, request.block).warps
    filled = filling(request.launch, request.machine, base.blocks_per_sm)
    if filled is not None and base.cycles is not None and base.stats:
        return by_run(base.stats, request.machine, warps * filled.resident)
    resident = base.blocks_per_sm if filled is None else max(1, filled.resident)
    return bound_of(estimates_of(module, request), replace(base, blocks_per_sm=resident), request.machine)


def _occupancy(version: Version, request: Request) -> Occupancy:
    """Return the occupancy of a version on the request's machine."""
    return request.machine.occupancy(kernel_use(version.module.function(request.kernel), request.launch, request.block))


def _held(outcome: Outcome) -> Occupancy:
    """Return the occupancy of the version chosen, with its pairs of blocks."""
    chosen = outcome.rewritten
    found = _occupancy(chosen, replace(outcome.request, launch=outcome.launch))
    if outcome.paired is None:
        return found
    warps = chosen.blocks_per_sm * found.warps_per_block
    return replace(found, blocks_per_sm=chosen.blocks_per_sm, limiters=chosen.limiters, active_warps=warps)


def _expected(module: Module, outcome: Outcome) -> float | None:
    """Return the speedup of the recommended version by the model's estimate, whatever the policy is.

    It is over the original in the order that the model expects to be faster. None if the version was run, or if the
    original is kept.
    """
    from binalloc.pipeline.estimate.estimate import estimates_of
    from binalloc.pipeline.policies.model import better_order

    if outcome.kept_original or outcome.speedup is not None:
        return None
    request, base = outcome.request, outcome.original
    estimates = estimates_of(module, request)
    if base is outcome.given:
        base = better_order(module, request, estimates, base)
    return estimates.rate(outcome.rewritten) / estimates.rate(base)


def _residence(fn: Function) -> Residence:
    """Count where a function keeps its values."""
    views = [view(instr) for instr in fn.instrs]
    spills = [v.memory.space for v in views if v.memory is not None and v.memory.spill]
    named = (ref.index + ref.units for v in views for ref in (*v.defs, *v.uses) if ref.file == REG)
    return Residence(fn.name, len(views), max(named, default=0), spills.count(Space.SHARED), spills.count(Space.LOCAL))


def _curves(request: Request, use: KernelUse) -> dict[str, Curve]:
    """Return the what-if curve of each resource. use: the kernel's resources, of which each curve varies one."""
    limits = request.machine.limits
    most = limits.threads_per_block
    # Shared memory is allocated in units, so that occupancy can change only just after a multiple of the unit.
    shared = (0, *range(1, limits.shared_per_block, limits.shared_unit), limits.shared_per_block)
    return {
        "registers": _curve(request, range(1, limits.registers_per_thread + 1), use.given),
        "shared_bytes": _curve(request, shared, lambda b: replace(use, shared_bytes=b)),
        "threads": _curve(request, range(LANES, most + 1, LANES), lambda t: replace(use, threads=t)),
    }


def _curve(request: Request, points: Iterable[int], use_at: Callable[[int], KernelUse]) -> Curve:
    """Return the curve over `points`, up to the last point that occupancy's rules accept.

    use_at: gives the kernel's resources at a point.
    """
    steps: list[Step] = []
    most = 0
    for at in points:
        try:
            blocks = request.machine.occupancy(use_at(at)).blocks_per_sm
        except UsageError:
            break
        if not steps or steps[-1].blocks != blocks:
            steps.append(Step(at, blocks))
        most = at
    return Curve(steps, most)
