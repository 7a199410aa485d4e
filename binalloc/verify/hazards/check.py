"""The static hazard check proves that no way through the code meets a hazard of ISA.md's "Control codes".

    hazards = find_hazards(module, latencies)      # [] is the proof

**What is proven.** It holds for every function scheduled for the machine of the latencies, on every way through the
code, with loops, calls and returns. A guard may hold for all, some or no lanes, and either side of a divergent branch
may run first. For registers and predicates, no fixed result is read or overwritten too early, no variable result is
read or overwritten before its scoreboard was waited for, no late read is overtaken by a write. Where code that cannot
be seen may run next (an indirect call; a RET to unknown callers; an EXIT inside a callee), nothing may be in flight.

Fixed results are followed per lane, scoreboards per warp. A place whose variable result or late read another lane of
the warp has pending counts as pending, because scoreboards count for all lanes (the contract would allow such a read).

**What is not used.** Values: a guard that never holds, or a branch never taken, counts as possible. So a finding is a
hazard on some way through the code, which perhaps no input takes.

Parts: `code` (instructions as sets of places), `graph` (ways), `flow` (what is in flight), `trace` (the producer of a
hazard). Linear in the code but for divergent branches that share one reconvergence point (their number times their
ends).
"""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.bitset import bits
from binalloc.collection import no_collection
from binalloc.isa.instruction import Module
from binalloc.isa.timing import LONGEST_STALL, NO_SCOREBOARD, UnitLatencies
from binalloc.verify.hazards.code import HazardCode, place_names
from binalloc.verify.hazards.flow import HazardFlow
from binalloc.verify.hazards.graph import HazardGraph
from binalloc.verify.hazards.trace import Suspect, Tracer
from binalloc.verify.reading.code import text

LIMIT = 200
"""Hazards that are traced and reported; one is enough to refuse a binary."""


@dataclass(frozen=True)
class Hazard:
    """A hazard is two instructions too close on some way."""

    #: RAW, WAW, WAR, "drain" (in flight where unseen code continues) or "unscheduled" (a call that leaves the checked
    #: code)
    kind: str
    function: str  #: name of the function with the later instruction
    index: int  #: word of the later instruction
    instruction: str  #: its text
    places: tuple[str, ...] = ()  #: registers and predicates concerned
    producer_function: str = ""  #: name of the function with the instruction in flight, "" where unknown
    producer_index: int = -1  #: word of the instruction in flight, -1 where unknown
    producer: str = ""  #: its text, "" where unknown
    needed: int | None = None  #: cycles needed between the two, for fixed results (else None)
    found: int | None = None  #: cycles found between the two, for fixed results (else None)
    scoreboards: tuple[int, ...] = ()  #: those that free the place, for variable results; empty where there is none
    other_lanes: bool = False  #: the two are executed by lanes that parted at a branch

    def __str__(self) -> str:
        place = f"{self.function}+{self.index}: "
        if self.kind == "unscheduled":
            return place + f"`{self.instruction}` enters code that is not scheduled for this machine"
        verb = {"RAW": "reads", "WAW": "writes", "WAR": "overwrites", "drain": "goes on to unseen code with"}[self.kind]
        title = "result in flight" if self.kind == "drain" else f"{self.kind} hazard"
        message = f"{place}{title}: `{self.instruction}` {verb} {', '.join(self.places)}"
        by = f"`{self.producer}` at {self.producer_function}+{self.producer_index}" if self.producer else "a result"
        lanes = ", which other lanes ran," if self.other_lanes else ""
        if self.needed is not None:
            return f"{message} {self.found} cycles after {by}{lanes} where {self.needed} are needed"
        how = "still to be read by" if self.kind == "WAR" else "in flight from"
        boards = " or ".join(map(str, self.scoreboards))
        waits = f"without a wait for scoreboard {boards}" if boards else "which raises no scoreboard for it"
        return f"{message}, {how} {by}{lanes or ','} {waits}"


@no_collection()
def find_hazards(module: Module, latencies: UnitLatencies) -> list[Hazard]:
    """Return every hazard of the functions of `module` scheduled for `latencies.machine`, in the order of the code.

    At most `LIMIT` are returned. Needs addresses laid out. Raises MalformedInput where a branch leaves its function.
    About 2 s for 100,000 instructions.
    """
    code = HazardCode(module, latencies)
    graph = HazardGraph(code)
    flow = HazardFlow(graph)
    met: dict[tuple[int, str, bool], int] = {}
    for block in graph.blocks:
        if flow.since[block.number] is not None:
            _check(flow, block.number, met)
    hazards = [_unscheduled(code, node) for node in graph.strangers]
    if met:
        tracer = Tracer(graph)
        for node, kind, fixed in sorted(met)[:LIMIT]:
            hazards += _described(code, tracer, node, kind, fixed, met[node, kind, fixed])
    return hazards[:LIMIT]


def _meet(met: dict[tuple[int, str, bool], int], node: int, kind: str, fixed: bool, places: int) -> None:
    met[node, kind, fixed] = met.get((node, kind, fixed), 0) | places


def _check(flow: HazardFlow, number: int, met: dict[tuple[int, str, bool], int]) -> None:
    """Go through a block with the planes in flight before it; hazards go to `met`: (word, kind, fixed) -> places."""
    code, block = flow.code, flow.graph.blocks[number]
    width, top = code.width, code.places
    fixed, own, others = flow.before[number]
    pending = own | others
    unwritten, unread = code.unwritten(pending), code.unread(pending)
    for n in range(block.start, block.end):
        if pending and code.wait[n]:
            pending &= code.keep[code.wait[n]]
            unwritten, unread = code.unwritten(pending), code.unread(pending)
        reads, writes = code.reads[n], code.writes[n]
        if fixed:
            if found := reads & fixed:
                _meet(met, n, "RAW", True, found)
            cycles = code.cycles[n]
            if writes and cycles <= LONGEST_STALL and (found := fixed >> (cycles - 1) * width & writes):
                _meet(met, n, "WAW", True, found)
        if pending:
            if found := reads & unwritten:
                _meet(met, n, "RAW", False, found)
            if found := writes & unwritten & ~reads:
                _meet(met, n, "WAW", False, found)
            if found := writes & unread & ~unwritten:
                _meet(met, n, "WAR", False, found)
        if block.drains and n == block.end - 1 and (found := unwritten | unread):
            _meet(met, n, "drain", False, found)
        if code.pending[n]:
            pending |= code.pending[n]
            unwritten |= code.writes[n]
            unread |= code.late[n]
        fixed |= code.fixed[n]
        if code.stall[n]:
            fixed >>= code.stall[n] * width
    if block.drains and (found := fixed & top):
        _meet(met, block.end - 1, "drain", True, found)


# -- reports


def _unscheduled(code: HazardCode, node: int) -> Hazard:
    function, index, instruction = _place(code, node)
    return Hazard("unscheduled", function, index, instruction)


def _place(code: HazardCode, node: int) -> tuple[str, int, str]:
    fn = code.functions[code.owner[node]]
    index = node - code.base[code.owner[node]]
    return fn.name, index, text(fn, index)


def _described(code: HazardCode, tracer: Tracer, node: int, kind: str, fixed: bool, places: int) -> list[Hazard]:
    """Return one hazard for each producer of the places met."""
    by: dict[int | None, tuple[Suspect | None, int]] = {}
    for k in bits(places):
        step = (tracer.fixed if fixed else tracer.pending)(node, kind, 1 << k)
        key = None if step is None else step.node
        by[key] = (step, by.get(key, (None, 0))[1] | 1 << k)
    return [_hazard(code, node, kind, fixed, step, mask) for step, mask in by.values()]


def _hazard(code: HazardCode, node: int, kind: str, fixed: bool, step: Suspect | None, places: int) -> Hazard:
    place = _place(code, node)
    if step is None:
        return Hazard(kind, *place, tuple(place_names(places)))
    source = _place(code, step.node)
    if fixed:
        margin = code.cycles[node] - 1 if kind == "WAW" else 0
        needed = code.cycles[step.node] - margin
        return Hazard(kind, *place, tuple(place_names(places)), *source, needed, step.elapsed, (), step.switched)
    ctrl = code.views[step.node].instr.ctrl
    reading = kind == "WAR" or (kind == "drain" and not code.writes[step.node] & places)
    boards = {ctrl.rbar, ctrl.wbar} if reading else {ctrl.wbar}
    usable = tuple(sorted(b for b in boards if b < NO_SCOREBOARD))
    return Hazard(kind, *place, tuple(place_names(places)), *source, None, None, usable, step.switched)
