"""Virtual code beside the places of the input: which register or local word each value was in.

Needs an analysed program. Leaves the virtual code of all its functions, calls of which name arguments and results by
the places that they have in the input; as no two values of one place ever live together, whoever gives every place a
register of its own, the same in all functions, has an allocation.
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
    """given: the code. place: by value, where it is in the input. handed: places that the function gets arguments in,
    returns results in or hands over at calls."""

    given: Analysed
    place: list[Location]
    handed: set[Location] = field(default_factory=set)

    def places(self, operand: VOperand) -> tuple[Location, ...]:
        """Where the input has an operand's values."""
        place = self.place
        return tuple([place[v] for v in operand.values])


def on_places(program: ProgramAnalysis, unwritten: Mapping[str, Collection[WebNumber]]) -> dict[str, OnPlaces]:
    """By function, callees first. unwritten: webs, as in the file of that name."""
    contracts: dict[str, Contract] = {}
    out: dict[str, OnPlaces] = {}
    for name in program.graph.bottom_up:
        given = without_dead_copies(virtualise(program, name, contracts, unwritten[name]))
        # `virtualise` makes a value of every web but those of predicates, in their order
        place = [web.loc for web in program[name].webs if web.file != PRED]
        assert len(place) == len(given.code.names), "a value that is no web"
        out[name] = OnPlaces(given, place)
        contracts[name] = _by_place(out[name])
    return out


def _by_place(code: OnPlaces) -> Contract:
    """The contract in which every argument and result is where it is in the input; fills `handed`."""
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
    """The places of every operand of several registers, repeats included."""
    for code in codes.values():
        for item in code.given.flat.items:
            for operand in (*item.defs, *item.uses):
                if len(operand.values) > 1:
                    yield code.places(operand)
