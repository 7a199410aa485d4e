"""This module relates virtual code to the places of the input: the register or local word in which each value was.

It needs an analysed program. It leaves the virtual code of all its functions, whose calls name arguments and results by
their places in the input. No two values of one place are ever live together. Therefore an assignment that gives every
place a register of its own, the same in all functions, is an allocation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from binalloc.analysis.locations import Location
from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.web import WebNumber
from binalloc.isa.interface.places import PRED
from binalloc.models.allocation.terms import Register
from binalloc.transform.virtual.analysed import Analysed, without_dead_copies
from binalloc.transform.virtual.code import ENTRY, KEEP, VOperand
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.virtualise import virtualise


@dataclass(frozen=True)
class OnPlaces:
    """Code on places is the virtual code of a function, with the place that each value has in the input."""

    given: Analysed  #: the code
    place: list[Location]  #: by value
    #: places in which the function gets arguments, returns results or passes something to a call
    handed: set[Location] = field(default_factory=set)

    def places(self, operand: VOperand) -> tuple[Location, ...]:
        """Return the places that an operand's values have in the input."""
        place = self.place
        return tuple([place[v] for v in operand.values])


def on_places(program: ProgramAnalysis, unwritten: Mapping[str, Collection[WebNumber]]) -> dict[str, OnPlaces]:
    """Return the code by function, callees first. unwritten: webs that may be read without having been written, as in
    `unwritten.py`."""
    contracts: dict[str, Contract] = {}
    out: dict[str, OnPlaces] = {}
    for name in program.graph.bottom_up:
        given = without_dead_copies(virtualise(program, name, contracts, unwritten[name]))
        # `virtualise` makes a value of every web except predicates, in the order of the webs
        place = [web.loc for web in program[name].webs if web.file != PRED]
        assert len(place) == len(given.code.names), "a value that is no web"
        out[name] = OnPlaces(given, place)
        contracts[name] = _by_place(out[name])
    return out


def _by_place(code: OnPlaces) -> Contract:
    """Return the contract in which every argument and result is where it is in the input; fill `handed`."""
    contract = Contract()
    for item in code.given.flat.items:
        for operand in (*item.defs, *item.uses):
            if operand.location >= 0:
                side = contract.arguments if item.kind == ENTRY else contract.results
                side[operand.location] = Register(operand.location)
            if item.callee or operand.location >= 0 or operand.field == KEEP:
                code.handed.update(code.places(operand))
    return contract


def wide_operands(codes: dict[str, OnPlaces]) -> Iterator[tuple[Location, ...]]:
    """Yield the places of every operand of several registers, repeats included."""
    for code in codes.values():
        for item in code.given.flat.items:
            for operand in (*item.defs, *item.uses):
                if len(operand.values) > 1:
                    yield code.places(operand)
