"""How many blocks a kernel should run with on a machine, why, and what to do next.

Needs what `rewrite_kernel` needs. Leaves its outcome with the facts behind it, how many blocks other resources would
allow (what-if curves, by occupancy's rules alone), and what to beware of.
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
"""A gain that is as good as none."""


@dataclass(frozen=True)
class Step:
    """From so many of a resource on, until the next step, so many blocks are resident on an SM."""

    at: int
    blocks: int


@dataclass(frozen=True)
class Curve:
    """Steps, ascending, of which the last goes to `most`: more of the resource no block can have."""

    steps: list[Step]
    most: int


@dataclass(frozen=True)
class Residence:
    """Where a function of a version has its values: instructions, registers that its code names, and instructions that
    access slots and words of the spill area in local memory."""

    function: str
    instructions: int
    registers: int
    slot_accesses: int
    local_accesses: int


@dataclass(frozen=True)
class Recommendation:
    """outcome: what the policy chose. given: how the machine holds the input; held: what was chosen. curves: by
    resource (registers per thread, user's shared bytes per block, threads per block), all else being that of the
    original, as the kernel's directives have it.
    expected: how many times as fast as the original policy `model`'s estimate has the recommended version; None where
    it was run, and where the original is kept. values: where the recommended version has its values, by function.
    filled: how the grid fills the GPU with the recommended blocks; None without a launch. notes: sorted. bound: what
    binds the original; None where nothing tells. lines: the hottest. spread, certificate: see there."""

    outcome: Outcome
    character: Character
    use: KernelUse
    given: Occupancy
    held: Occupancy
    curves: dict[str, Curve]
    filled: Filling | None
    notes: list[Note]
    bound: Bound | None
    lines: list[HotLine]
    expected: float | None
    spread: Spread | None
    values: list[Residence]
    certificate: Certificate | None

    @property
    def chosen(self) -> Version:
        return self.outcome.rewritten

    @property
    def leave(self) -> bool:
        """Whether there is nothing to do: the original is kept, or its other order gains next to nothing."""
        gain = self.outcome.ordering
        return self.outcome.kept_original or (self.outcome.by_order_alone and gain is not None and gain < 1 + NOTHING)

    @property
    def waves(self) -> float | None:
        """Of the grid, with the recommended blocks on every SM; None without a launch."""
        return None if self.filled is None else self.filled.waves

    @property
    def warnings(self) -> list[str]:
        """The notes that are to beware of, in words."""
        return [note.text for note in self.notes if note.beware]

    @property
    def instruction_change(self) -> float:
        """Static instructions after over before: the paper's Table 1."""
        return self.chosen.instructions / self.outcome.original.instructions


def recommend(module: Module, request: Request, certify: bool = False) -> Recommendation:
    """certify: whether the exact allocator is asked for a bound (`certificate`). Raises as `rewrite_kernel` does."""
    outcome = _judged(rewrite_kernel(module, replace(request, whole_gpu=True)))
    request = outcome.request
    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    filled = filling(request.launch, request.machine, outcome.rewritten.blocks_per_sm)
    bound = _bound(module, outcome)
    return Recommendation(
        outcome,
        characterise(module, request, outcome.given, use),
        use,
        _occupancy(outcome.given, request),
        _occupancy(outcome.rewritten, request),
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
    """The outcome; where it stays as it is because of the grid, that is the reason."""
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
    """What binds the original: by its run, else by the model, with as many blocks as an SM gets."""
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
    return request.machine.occupancy(kernel_use(version.module.function(request.kernel), request.launch, request.block))


def _expected(module: Module, outcome: Outcome) -> float | None:
    """Over the original in the order in which it should be faster, whatever the policy goes by."""
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
    views = [view(instr) for instr in fn.instrs]
    spills = [v.memory.space for v in views if v.memory is not None and v.memory.spill]
    named = (ref.index + ref.units for v in views for ref in (*v.defs, *v.uses) if ref.file == REG)
    return Residence(fn.name, len(views), max(named, default=0), spills.count(Space.SHARED), spills.count(Space.LOCAL))


def _curves(request: Request, use: KernelUse) -> dict[str, Curve]:
    limits = request.machine.limits
    most = limits.threads_per_block
    # Shared memory is handed out by the unit: what a block has of it changes behind each.
    shared = (0, *range(1, limits.shared_per_block, limits.shared_unit), limits.shared_per_block)
    return {
        "registers": _curve(request, range(1, limits.registers_per_thread + 1), use.given),
        "shared_bytes": _curve(request, shared, lambda b: replace(use, shared_bytes=b)),
        "threads": _curve(request, range(LANES, most + 1, LANES), lambda t: replace(use, threads=t)),
    }


def _curve(request: Request, points: Iterable[int], use_at: Callable[[int], KernelUse]) -> Curve:
    """Where the number of resident blocks changes, up to the last point that occupancy's rules have an answer for."""
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
