"""This module is the whole path: binary -> allocation for a concurrency level -> rewrite -> schedule -> check -> run
both -> speedup.

`rewrite_kernel` is that path as one function; the command line and libraries call it. Its steps are in `steps`, the
policies that choose the level in `policies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from binalloc.emulator.host.pairs import OFF as NO_PAIRS
from binalloc.errors import Hint, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.allocation.stack.layouts import DEFAULT_LAYOUT
from binalloc.models.machines.budget import Budget
from binalloc.pipeline.block import require_block
from binalloc.pipeline.directives import KeptDirectives, kept
from binalloc.pipeline.explicit import as_asked, explicit_budget, require_blocks
from binalloc.pipeline.infeasible import no_baseline, too_few_registers
from binalloc.pipeline.multiplex.choice import Turns, choose, require_multiplexable
from binalloc.pipeline.multiplex.record import how_made
from binalloc.pipeline.original import Original, baseline, run_original
from binalloc.pipeline.own_machine import at_home
from binalloc.pipeline.policies.levels import own_level
from binalloc.pipeline.policies.table import POLICIES, UNIFIED, find_policy
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.build import build_unproven, build_version
from binalloc.pipeline.steps.holding import IDLE_SLOTS, hold
from binalloc.pipeline.steps.kernels import find_kernel, reachable
from binalloc.pipeline.steps.measure import measure, same_results
from binalloc.pipeline.steps.proof import prove
from binalloc.pipeline.steps.record import made_of
from binalloc.pipeline.steps.version import Tried, Version, given_functions
from binalloc.pipeline.turns import OFF
from binalloc.printable import count
from binalloc.transform.allocators.table import BASELINE
from binalloc.transform.rewrite.ways import NONE

if TYPE_CHECKING:
    from binalloc.pipeline.block_order.choice import OrderChoice, Orderer
    from binalloc.pipeline.sharing.choice import PairsChoice, Sharer
    from binalloc.pipeline.sharing.paired import Paired

__all__ = [
    "Outcome",
    "Request",
    "Tried",
    "Version",
    "add_provenance",
    "build_version",
    "find_kernel",
    "local_version",
    "measure",
    "reachable",
    "rewrite_kernel",
    "same_results",
    "split_speedup",
]


@dataclass
class Outcome:
    """An outcome is the result of `rewrite_kernel`."""

    request: Request
    given: Version  #: the input
    original: Version  #: the version that speedups are over: the input or its other order (`original`)
    rewritten: Version  #: the version chosen; `original` if no other is
    checked: bool  #: whether the checker has passed `rewritten`
    same_results: bool | None  #: whether both runs left the same results; None if not both were run
    kept_original: bool  #: whether the automatic choice is the input as it is
    reason: str  #: why this version was chosen, in words
    tried: list[Tried] = field(default_factory=list)  #: levels that were looked at
    parts: dict[str, float] = field(default_factory=dict)  #: factors of the speedup (`split_speedup`)
    #: cycles of the input as it came over the cycles of `given`, which is the same code under our control codes; 1.0
    #: if the control codes are the same, None if it was not run
    rescheduling: float | None = None
    local: Version | None = None  #: version by allocator `local` at the same number of blocks
    directives: KeptDirectives | None = None  #: the kernel's own directives, and what they cost
    turns: Turns | None = None  #: versions whose blocks use shared memory in turns; None if none were asked for
    pairs: PairsChoice | None = None  #: versions whose blocks share memory two by two; None if none were asked for
    orders: OrderChoice | None = None  #: versions whose blocks work in another order; None if none were asked for

    @property
    def multiplexed(self) -> bool:
        """Return whether blocks of the version chosen use shared memory in turns, or for less of their lives."""
        return self.turns is not None and self.turns.best is not None

    @property
    def paired(self) -> Paired | None:
        """Return the version chosen, if its blocks share memory two by two."""
        return None if self.pairs is None else self.pairs.best

    @property
    def launch(self) -> Launch | None:
        """Return the launch of the version chosen: the request's, or of merged blocks."""
        launch = self.request.launch
        return launch if self.turns is None or launch is None else self.turns.launch(launch)

    @property
    def verified(self) -> bool:
        """Return whether the checker passed the rewrite and, if both were run, the results are the same."""
        return self.checked and self.same_results is not False

    @property
    def speedup(self) -> float | None:
        """Return the emulated cycles of the original over the cycles of the rewritten version; None if not both ran."""
        if self.original.cycles is None or self.rewritten.cycles is None:
            return None
        return self.original.cycles / self.rewritten.cycles

    @property
    def ordering(self) -> float | None:
        """Return the speedup by order alone, which `speedup` leaves out: emulated cycles of the input over the cycles
        of the original; None if not both ran."""
        if self.given.cycles is None or self.original.cycles is None:
            return None
        return self.given.cycles / self.original.cycles

    @property
    def error(self) -> float | None:
        """Return how far off the speedup may be, as a share of it; None unless cycles are estimated from parts of the
        grid."""
        sides = [v.sampled.error for v in (self.original, self.rewritten) if v.sampled is not None]
        return sum(sides) if sides else None

    @property
    def by_order_alone(self) -> bool:
        """Return whether the version chosen is the original in another order, at its own number of blocks."""
        return not self.kept_original and self.rewritten is self.original and self.original is not self.given

    @property
    def speedups(self) -> list[float]:
        """Return the least and the greatest speedup over the run without delays and the runs with each seed's delays;
        an empty list if there are no runs with delays."""
        pairs = zip(self.original.skewed, self.rewritten.skewed, strict=False)
        each = [] if self.speedup is None else [self.speedup, *(old / new for old, new in pairs)]
        return [min(each), max(each)] if len(each) > 1 else []

    @property
    def policy(self) -> str | None:
        """Return the policy that chose the level; None if the request names registers, slots or blocks."""
        return None if _explicit(self.request) else self.request.policy

    @property
    def reading(self) -> list[str] | None:
        """Return the departures from the unified paper's printed listing, by name; None for other policies."""
        return self.request.reading.names if self.policy == UNIFIED else None

    @property
    def inlined_calls(self) -> int:
        """Return how many calls were inlined in the rewritten version."""
        return sum(len(fn.origin.inlined) for fn in self.rewritten.functions if fn.origin is not None)


def _explicit(request: Request) -> bool:
    """Return whether the request names a budget."""
    return request.registers is not None or request.slots is not None or request.blocks is not None


def rewrite_kernel(module: Module, request: Request) -> Outcome:
    """Rewrite one kernel as the request asks; see Request and Outcome. Raises Refused, UsageError and KernelFault."""
    from binalloc.transform.allocate.functions.registers import Infeasible
    from binalloc.transform.rewrite.rewrite import require_rewritable

    request = at_home(module, request)
    named = request.kernel or (request.launch.kernel if request.launch else None)
    kernel = find_kernel(module, named).name
    require_rewritable(module, request.prepared.graph(module, kernel))
    request = replace(request, kernel=kernel)
    require_block(request.block, module.function(kernel).info, request.launch, module.path)
    if request.profile is not None:
        request.profile.executions(module, kernel)
    running = request.emulate and request.launch is not None
    if request.multiplex != OFF:
        require_multiplexable(_explicit(request), running)
        request = replace(request, sampled=False)
    if request.sharing != NO_PAIRS:
        from binalloc.pipeline.sharing.choice import Sharer, require_shareable

        require_shareable(request, running)
    orderer = None
    if request.block_order != OFF:
        from binalloc.pipeline.block_order.choice import Orderer

        orderer = Orderer(module, request, running)
        request = replace(request, sampled=False)
    try:
        original = Original(baseline(module, request))
    except Infeasible as e:
        raise no_baseline(module, request, e) from e
    sharer = None
    if request.sharing != NO_PAIRS:
        sharer = Sharer(module, request, original.given, _explicit(request))
        request = sharer.request
    if running:
        original = run_original(module, request, original.given)
    make = _explicit_rewrite if _explicit(request) else _automatic_rewrite
    outcome = make(module, request, original, running)
    outcome.directives = kept(module, request, original.given)
    if request.multiplex != OFF:
        _take_turns(module, outcome)
    if sharer is not None:
        _share(outcome, sharer)
    if orderer is not None:
        _reorder(outcome, orderer)
    return outcome


def _reorder(outcome: Outcome, orderer: Orderer) -> None:
    """Put the version whose blocks work in another order in the place of the one without, if one is taken."""
    without, speedup = outcome.rewritten, outcome.speedup
    outcome.orders = choice = orderer.choose(outcome.request, outcome.given, without)
    best = choice.best
    if best is None or best.version is None:
        return
    outcome.rewritten, outcome.local, outcome.kept_original = best.version, None, False
    outcome.same_results, outcome.reason = best.same, choice.reason
    if best.version.cycles and without.cycles and speedup is not None:
        outcome.parts = {"allocation": speedup, "block_order": without.cycles / best.version.cycles}


def _share(outcome: Outcome, sharer: Sharer) -> None:
    """Put the best version whose blocks share memory two by two in the place of the one without, if one is taken."""
    without = outcome.rewritten
    outcome.pairs = choice = sharer.choose(outcome.given, without)
    if choice.best is None:
        return
    version, alone = choice.best.version, choice.under(choice.best.scheduler)
    outcome.rewritten, outcome.local, outcome.kept_original = version, None, False
    outcome.same_results, outcome.reason = choice.best.same, choice.reason
    if version.cycles and alone.cycles and without.cycles and outcome.original.cycles:
        outcome.parts = {
            "allocation": outcome.original.cycles / without.cycles,
            "scheduler": without.cycles / alone.cycles,
            "pairs": alone.cycles / version.cycles,
        }


def _take_turns(module: Module, outcome: Outcome) -> None:
    """Put the fastest version whose blocks use shared memory in turns in the place of the policy's, if it is worth
    it."""
    request, without = outcome.request, outcome.rewritten
    outcome.turns = turns = choose(module, request, outcome.original, without)
    if turns.best is None or turns.best.version is None:
        return
    version = turns.best.version
    assert outcome.speedup is not None
    assert without.cycles is not None
    assert version.cycles is not None
    outcome.parts = {"allocation": outcome.speedup, "turns": without.cycles / version.cycles}
    outcome.rewritten, outcome.local, outcome.kept_original = version, None, False
    outcome.same_results = same_results(request, outcome.given, version)
    outcome.reason = turns.reason


def _explicit_rewrite(module: Module, request: Request, original: Original, running: bool) -> Outcome:
    """Rewrite for the budget that the request names. running: whether both versions are run."""
    from binalloc.transform.allocate.functions.registers import Infeasible

    budget = explicit_budget(module, request)
    try:
        version = build_unproven(module, request, budget.registers, budget.slots)
    except Infeasible as e:
        raise too_few_registers(module, request, budget, e) from e
    require_blocks(module, request, version)
    not_held = ""
    if request.blocks is not None:
        try:
            version = hold(module, version, request, request.blocks)
        except Refused as e:
            not_held = e.message
    version = prove(module, request, version)
    same = None
    if running:
        request.progress(f"{request.kernel}: rewritten, {count(version.blocks_per_sm, 'block')} per SM")
        version = measure(version, request)
        same = same_results(request, original.given, version)
    reason = as_asked(request, version, not_held)
    outcome = Outcome(
        request, original.given, original.base, version, True, same, False, reason, [Tried(budget, version)]
    )
    if running:
        outcome.local = local_version(module, request, budget.registers, version)
        _explain(module, outcome)
    return outcome


def _automatic_rewrite(module: Module, request: Request, original: Original, running: bool) -> Outcome:
    """Rewrite for the level that the request's policy chooses. running: whether both versions are run."""
    policy = find_policy(request.policy)
    if policy.measures and not running:
        static = [p.name for p in POLICIES.built_in.values() if not p.measures]
        raise UsageError(
            f"the {policy.name} policy measures levels in the emulator",
            place=Hint("{policy}"),
            expected="a launch file",
            remedy=Hint(f"Give {{launch}}, or choose {{policy}} {' or '.join(static)}."),
        )
    choice = policy.search(module, request, original)
    tried, best, reason = choice.tried, choice.best, choice.reason
    best = None if best is None else prove(module, request, best)
    if best is not None and running and best.cycles is None:
        best = measure(best, request)
    given, base = original.given, choice.base or original.base
    if best is None:
        stays = base is given and not given.allocated
        if base is not given:
            base = prove(module, request, base)
            tried.insert(0, own_level(base))
            reason += ", which is taken in another order"
        elif given.allocated:
            reason += f", which is allocated by {given.allocated} to fit"
        same = same_results(request, given, base) if running else None
        return Outcome(request, given, base, base, True, same, stays, reason, tried)
    budget = next(t.budget for t in tried if t.version is not None and t.version.module is best.module)
    local = None
    if running:
        local = _local_among(tried, budget, best) or local_version(module, request, budget.registers, best)
    if policy.measures and local is not None and _fewer(local, best):
        best, reason = local, f"{reason}; slots do not pay here"
        tried.append(Tried(Budget(budget.blocks, budget.registers, 0), local, "without slots"))
    same = same_results(request, given, best) if running else None
    outcome = Outcome(request, given, base, best, True, same, False, reason, tried, local=local)
    if running:
        _explain(module, outcome)
    return outcome


def _local_among(tried: Sequence[Tried], budget: Budget, best: Version) -> Version | None:
    """Return the result of `local_version` if the search has tried and run it already, else None."""
    if not best.slots:
        return best
    at = [t.version for t in tried if t.budget == budget]
    return next((v for v in at if v is not None and v.allocator == BASELINE and v.cycles is not None), None)


def _fewer(a: Version, b: Version) -> bool:
    """Return whether `a` has fewer cycles than `b`; False if not both ran."""
    return a.cycles is not None and b.cycles is not None and a.cycles < b.cycles


def _explain(module: Module, outcome: Outcome) -> None:
    """Fill in the factors of the speedup, and the effect of our control codes on the input (`rescheduling`)."""
    request, original = outcome.request, outcome.original
    outcome.parts = split_speedup(request, original, outcome.rewritten, outcome.local)
    given = outcome.given
    came = given_functions(module, request)
    if given.allocated:
        return
    if [fn.instrs for fn in came] == [fn.instrs for fn in given.functions]:
        outcome.rescheduling = 1.0
    elif all(fn.info.machine == request.machine.name for fn in came):
        as_given = measure(replace(given, module=module), request.with_options(skews=0))
        if as_given.cycles is not None and given.cycles:
            outcome.rescheduling = as_given.cycles / given.cycles


def split_speedup(request: Request, original: Version, final: Version, local: Version | None) -> dict[str, float]:
    """Return the speedup's factors, whose product is original.cycles / final.cycles.

    occupancy: gain of the original run with as many blocks resident as the final version, as if registers were free.
    local_traffic: loss against this ideal by spilling to local memory alone (`local`, same number of blocks).
    slots: gain over `local` by values kept in slots. Without `local` the last two are one factor, `spills`.
    """
    assert original.cycles is not None
    assert final.cycles is not None
    ideal = original
    if final.blocks_per_sm != original.blocks_per_sm:
        blocks = count(final.blocks_per_sm, "block")
        request.progress(f"{request.kernel}: the original at {blocks}, as if registers were free")
        ideal = measure(original, request.with_options(skews=0), ideal_blocks=final.blocks_per_sm)
    assert ideal.cycles is not None
    parts = {"occupancy": original.cycles / ideal.cycles}
    if local is None or local.cycles is None:
        parts["spills"] = ideal.cycles / final.cycles
        return parts
    parts["local_traffic"] = ideal.cycles / local.cycles
    parts["slots"] = local.cycles / final.cycles
    return parts


def local_version(module: Module, request: Request, registers: int, final: Version) -> Version | None:
    """Build and measure the version by allocator `local` with the registers that `final` was given.

    No more blocks are resident than `final` has. The result is None if the budget is infeasible.
    A version without slots is returned as it is: it is its own baseline.
    """
    if final.slots == 0:
        return final
    request.progress(f"{request.kernel}: allocator {BASELINE}, {count(registers, 'register')}")
    try:
        version = build_unproven(module, request, registers, 0, BASELINE)
        version = hold(module, version, request, final.blocks_per_sm)
        return measure(prove(module, request, version), request)
    except Refused:
        return None


def add_provenance(outcome: Outcome, source: bytes) -> Module:
    """Return the rewritten module with a record of the input and of the rewrite. source: bytes of the input."""
    request = outcome.request
    record = made_of(source, request) | {
        "allocator": outcome.rewritten.allocator or request.allocator,
        "registers": outcome.rewritten.registers,
        "slots": outcome.rewritten.slots,
        "policy": None if _explicit(request) else request.policy,
    }
    if outcome.rewritten.idle_slots:
        record[IDLE_SLOTS] = outcome.rewritten.idle_slots
    if request.layout != DEFAULT_LAYOUT:
        record["layout"] = request.layout
    if request.inline != NONE:
        record["inline"] = request.inline
    module = outcome.rewritten.module
    if outcome.turns is not None and outcome.turns.best is not None:
        record |= how_made(outcome.turns.best.wanted, outcome.turns.best.built)
        return replace(module, provenance=[*module.provenance[:-1], record])
    if outcome.paired is not None:
        record |= outcome.paired.record.fields()
    if outcome.orders is not None and outcome.orders.best is not None:
        record |= outcome.orders.record(outcome.orders.best).fields()
    module.provenance = [*module.provenance, record]
    return module
