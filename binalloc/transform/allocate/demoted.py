"""This module demotes registers of the input to memory and compacts the others, over a whole call graph.

It needs the demoted places and the registers of the others (`demotion`). It leaves an attempt in which all functions
have the same register for the same place. So callers and callees agree as they did in the input. They access memory
through the same window, which holds nothing across a call.
"""

from __future__ import annotations

from binalloc.analysis.program import ProgramAnalysis
from binalloc.bitset import mask_from
from binalloc.transform.allocate.attempt import Attempt
from binalloc.transform.allocate.demotion import Demotion, fewest, find_demotion, find_units
from binalloc.transform.allocate.functions.registers import Infeasible, finish
from binalloc.transform.allocate.functions.scratch import scratch_registers
from binalloc.transform.allocate.known import ResultStore
from binalloc.transform.assign.placed import Placed
from binalloc.transform.spill.demote import demote
from binalloc.transform.virtual.places import OnPlaces, on_places
from binalloc.transform.virtual.unwritten import unwritten


class Demotions:
    """`Demotions` has the facts about one kernel that its demotions at all budgets share. far: see `Attempt`."""

    def __init__(self, program: ProgramAnalysis, far: float) -> None:
        self.program, self.far = program, far
        self.unwritten = unwritten(program)
        self.codes = on_places(program, self.unwritten)
        self.units = find_units(self.codes, program.runs)

    def attempt(self, registers: int, order: str | None, *, pointer: bool) -> Attempt | None:
        """Return an attempt with that many registers, the slot pointer among them; None if there is none. order: as for
        `find_demotion`."""
        left = registers - pointer
        available = self.program.isa.limits.allocatable(left)
        demotion = find_demotion(self.units, available, order)
        if demotion is None:
            return None
        attempt = Attempt(self.program, ResultStore(), self.unwritten, available, left if pointer else -1, far=self.far)
        for name, source in self.codes.items():
            placed = _placed(source, demotion, self.program.isa.limits.zero)
            allocation = finish(placed, attempt.contracts, source.given)
            attempt.allocations[name] = allocation
            attempt.contracts[name] = allocation.contract
            # a caller may hold values in any other register
            attempt.scratch[name] = scratch_registers(allocation, mask_from(demotion.window))
            allocation.contract.clobbers |= mask_from(r for pair in attempt.scratch[name] for r in pair if r >= 0)
        return attempt

    def refusal(self, registers: int) -> Infeasible:
        """Return the error that says why there is no attempt."""
        return Infeasible(
            f"{registers} registers are too few for arguments and results of calls, which cannot be demoted, and for "
            "the registers through which demoted values are accessed",
            place=f"kernel {self.program.graph.kernel}",
            found=f"{registers} registers available, {fewest(self.units)} needed or more",
            remedy="allow more registers per thread",
        )


def _placed(source: OnPlaces, demotion: Demotion, zero: int) -> Placed:
    demoted = demote(source, demotion.gone, len(demotion.window))
    register = [0] * len(demoted.code.names)
    for v, place in enumerate(source.place):
        register[v] = demotion.register.get(place, 0)
    for v, r in zip(demoted.window, demotion.window, strict=True):
        register[v] = r
    register[demoted.zero] = zero
    results: dict[int, int] = {
        operand.location: register[operand.values[0]]
        for item in demoted.code.items()
        for operand in item.uses
        if operand.location >= 0
    }
    return Placed(demoted.code, register, results)
