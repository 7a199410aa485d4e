"""This module makes versions of a kernel whose blocks share memory two by two, with registers and slots of their own.

Needs a laid-out module, and a request with a launch. The kernel is shared in front of allocation, as it is multiplexed
in front of it: variables are moved and releases inserted, then values are allocated. Slots are private bytes of each
block. Both steps are proven by checkers of their own. Nothing is run before `run` is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.analysis.sharing.units import Units
from binalloc.emulator.host.pairs import pairing_of, require_apart, stated
from binalloc.errors import Hint, KernelFault, LimitHit, Refused, UsageError
from binalloc.isa.instruction import Module
from binalloc.models.machines.budget import Budget
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.sharing.levels import Pairings, paired_levels, paired_slots
from binalloc.models.sharing.pairs import Pairing, Room, fitted, threshold, with_threshold
from binalloc.models.sharing.record import SharedRecord
from binalloc.pipeline.directives import obeyed
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.sharing.plans import Plan, Planner
from binalloc.pipeline.sharing.sharing import (
    AUTO,
    Wish,
    block_need,
    executions_of,
    made_request,
    pairings,
    record_of,
    require_unpaired,
    shared_module,
)
from binalloc.pipeline.steps.build import build_unproven
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.measure import measured_beside
from binalloc.pipeline.steps.proof import prove, require_no_hazard
from binalloc.pipeline.steps.version import Version
from binalloc.printable import count
from binalloc.verify.sharing.check import check_shared

TAKE_AUTO = Hint("Take {sharing} auto, which looks at all pairs that there are.")
_ROUNDS = 4
"""How often a version is planned: one round is the rule, and no kernel was seen that takes three."""


@dataclass(frozen=True)
class Paired:
    """A paired version is a proven version of a kernel whose blocks share memory two by two."""

    plan: Plan
    units: Units  #: the variables that the plan moves
    record: SharedRecord  #: what its binary says of that
    version: Version  #: with as many blocks as its pairs give
    budget: Budget | None  #: registers and slots that it was allocated with; None: as it came
    scheduler: str = ""  #: under which it was run
    same: bool | None = None  #: whether it left the original's results; None where it was not run, or not whole
    ended: KernelFault | LimitHit | None = None  #: why its run did not end well

    @property
    def usable(self) -> bool:
        """Return whether its run ended well, with the original's results."""
        return self.version.cycles is not None and self.same is not False


def given_by(asked: str) -> Pairings:
    """Return a function from a room to the pairings that an option asks for, none where there are none."""

    def pairings_in(room: Room) -> Sequence[Pairing]:
        if asked == AUTO:
            return fitted(room)
        try:
            found = stated(room, asked) if ":" in asked else with_threshold(room, threshold(asked))
        except UsageError:
            return []
        return [] if found is None else [found]

    return pairings_in


class Maker:
    """A maker makes paired versions of one kernel.

    original: the kernel as a version (`baseline`). Raises Refused where its blocks cannot share memory.
    """

    def __init__(self, module: Module, request: Request, original: Version) -> None:
        assert request.launch is not None
        require_unpaired(module, request)
        self.module, self.request, self.original = module, request, original
        self.wish = Wish(request.sharing)
        need = block_need(original, request)
        require_apart(request.launch, need)
        memory = shared_memory_of(module, request.kernel, request.launch.block)
        self.planner = Planner(memory, request.machine, need.use, executions_of(module, request))

    def require_level(self) -> None:
        """Raise Refused if pairs are asked for, by numbers or a threshold, that neither the original nor any number of
        registers and slots leaves. The reason is that of a thread with the fewest registers, which leaves the most."""
        request = self.request
        if request.sharing == AUTO or self._given(self._use()) or self.levels():
            return
        assert request.launch is not None
        use = self._use()
        functions = self.module.reached(self.module.function(request.kernel))
        remedy = TAKE_AUTO if paired_levels(request.machine, use, self.planner.grain) else Hint("Leave out {sharing}.")
        try:
            need = replace(block_need(self.original, request), use=use.given(1))
            pairing_of(request.machine, need, request.launch, functions, request.sharing)
        except Refused as error:
            error.remedy = error.remedy or remedy
            raise
        except UsageError as error:
            raise Refused(
                "no number of registers and slots leaves such pairs", place=Hint("{sharing}"),
                found=f"{request.sharing}, {error.message}", expected=error.expected, remedy=remedy,
            ) from None  # fmt: skip

    def _given(self, use: KernelUse) -> Sequence[Pairing]:
        """Return the pairings that are asked for, of those of a use; none where it does not fit an SM."""
        return given_by(self.request.sharing)(self.planner.given(use).room)

    def levels(self) -> list[Budget]:
        """Return the budgets of all numbers of blocks of which some are in pairs, each with the most slots and, if
        there are some, with none."""
        request, found = self.request, list[Budget]()
        bound = obeyed(self.module, request).registers or request.machine.limits.registers_per_thread
        for level in paired_levels(request.machine, self._use(), self.planner.grain, given_by(request.sharing)):
            level = replace(level, registers=min(level.registers, bound))
            found += [level] if not level.slots else [level, replace(level, slots=0)]
        return found

    def budget(self, registers: int) -> Budget:
        """Return a budget with so many registers: as many slots as leave the most blocks that pairs can give."""
        request = self.request
        use = self._use().given(registers)
        for blocks in range(request.machine.limits.blocks_per_sm, 1, -1):
            slots = paired_slots(request.machine, use, blocks, self.planner.grain, given_by(request.sharing))
            if slots is not None:
                return Budget(blocks, registers, slots)
        return Budget(0, registers, 0)

    def _use(self) -> KernelUse:
        """Return what a block of the input takes."""
        request = self.request
        return kernel_use(self.module.function(request.kernel), request.launch, request.block)

    def as_it_came(self, blocks: int | None = None) -> list[Paired]:
        """Return versions with the original's registers, one for each pairing. blocks: only that with so many; None:
        all. Raises Refused where there is none, and where the original is allocated to fit."""
        if self.original.allocated:
            raise Refused(f"the original is allocated by {self.original.allocated} to fit", place=self.request.kernel)
        found = []
        for pairing in self._pairings(self.original):
            if blocks is not None and pairing.blocks != blocks:
                continue
            plan, made = self._made(pairing, self.original)
            version = baseline(made, made_request(self.module, made, self.request))
            require_no_hazard(version.module, self.request.machine)
            found.append(self._paired(plan, version, None))
        return found

    def allocated(self, budget: Budget, blocks: int | None = None) -> list[Paired]:
        """Return versions for a budget, one for each pairing. blocks: only the pairing with so many; None: all. Raises
        Refused if the budget is infeasible, or leaves no pair."""
        plain = build_unproven(self.module, self.request, budget.registers, budget.slots)
        found = []
        for pairing in self._pairings(plain):
            if blocks is not None and pairing.blocks != blocks:
                continue
            found.append(self._fitted(pairing, plain, budget))
        return found

    def _fitted(self, pairing: Pairing, like: Version, budget: Budget) -> Paired:
        """Return the version for a budget and a pairing. like: a version without pairs, or with others, whose registers
        and slots it is planned for. It may come to others, as its code is another; then it is planned again. Raises
        Refused where that does not end."""
        for _ in range(_ROUNDS):
            plan, made = self._made(pairing, like)
            request = made_request(self.module, made, self.request)
            like = build_unproven(made, request, budget.registers, min(budget.slots, like.slots))
            if self._has_room(plan, like):
                return self._paired(plan, prove(made, request, like), budget)
            again = [one for one in self._pairings(like) if one.blocks == pairing.blocks]
            if not again:
                break
            pairing = again[0]
        raise Refused(
            "with releases it takes other registers or slots, which leave no such pairs", place=self.request.kernel,
            found=f"{count(like.registers, 'register')} and {count(like.slots, 'slot')}",
            expected=f"room for {count(pairing.blocks, 'block')}",
        )  # fmt: skip

    def _pairings(self, version: Version) -> Sequence[Pairing]:
        """Return the pairings of a version that are asked for. Raises Refused where there is none."""
        need = block_need(version, self.request)
        return pairings(self.planner.given(need.use), need, version, self.request, self.wish.sharing)

    def _made(self, pairing: Pairing, version: Version) -> tuple[Plan, Module]:
        """Return the plan of a pairing, and the kernel made for it, proven. version: without pairs, for its slots."""
        request, launch = self.request, self.request.launch
        assert launch is not None
        planner = self.planner.given(block_need(version, request).use)
        plan = planner.plan(pairing, moved=self.wish.moved is not False)
        made = shared_module(self.module, planner, plan, self.wish)
        report = check_shared(self.module, made, request.kernel, launch.block, plan.private, launch.dynamic_shared)
        if not report.ok:
            raise Refused(
                f"it could not be proven that blocks of {request.kernel} may share memory",
                place=str(report.errors[0]), found=count(len(report.errors), "finding"),
            )  # fmt: skip
        functions = [
            replace(fn, info=replace(fn.info, block=launch.block)) if fn.name == request.kernel else fn
            for fn in made.functions
        ]  # fmt: skip
        return plan, replace(made, functions=functions)

    def _has_room(self, plan: Plan, version: Version) -> bool:
        """Return whether a version has room for the pairs that it was made for, with the plan's private bytes."""
        request, launch = self.request, self.request.launch
        assert launch is not None
        try:
            option = str(plan.pairing)
            functions = version.module.reached(version.module.function(request.kernel))
            need = block_need(version, request)
            same = pairing_of(request.machine, need, launch, functions, option)
        except UsageError:
            return False
        return same == plan.pairing and plan.private == plan.pairing.private - self.planner.given(need.use).room.slots

    def _paired(self, plan: Plan, version: Version, budget: Budget | None) -> Paired:
        """Return a version with the blocks of its pairs."""
        pairing, request = plan.pairing, self.request
        answer = request.machine.occupancy(
            kernel_use(version.module.function(request.kernel), request.launch, request.block)
        )
        others = sorted(name for name, most in answer.limits.items() if name != "shared" and most == pairing.blocks)
        blocks = count(pairing.blocks, "block")
        version = replace(
            version,
            blocks_per_sm=pairing.blocks,
            occupancy=pairing.blocks * answer.warps_per_block / answer.max_warps,
            limiters=tuple(others) or ("shared",),
            name=f"{version.name}, {blocks}, {pairing.pairs} in pairs with {pairing.private} bytes each",
            proven=True,
        )
        return Paired(plan, self.planner.units, record_of(plan, request, self.wish), version, budget)

    def run(self, one: Paired, scheduler: str) -> Paired:
        """Return a version after its run under a scheduler. A run that faults or comes to a limit is noted."""
        pairing, budget = one.plan.pairing, one.budget
        how = "as it came" if budget is None else f"{count(one.version.registers, 'register')}"
        self.request.progress(f"{self.request.kernel}: {pairing.pairs} in pairs, {how}, {scheduler}")
        request = self.request.with_options(scheduler=scheduler, sharing=one.record.option)
        version, same, error = measured_beside(self.original, one.version, request)
        return replace(one, version=version, scheduler=scheduler, same=same, ended=error)
