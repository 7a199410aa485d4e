"""Webs, the allocation units of one function: what they are. `webs.build_webs` makes them.

A web is a set of connected def-use
chains of one 32-bit register, one predicate or one lifted local word (Chaitin's "right number of names"). Chains are
connected where a value is live into a join of control flow or past a guarded definition; where liveness shows the old
value dead, even a guarded definition starts a new web. At every point each location holds at most one live web, so
webs of one architectural register never interfere.

Webs end at function boundaries. Pseudo definitions: arguments at entry, results at a call. Pseudo uses: arguments at a
call, results at each RET (all RETs count as one exit: a result has one web there). Instructions in unreachable blocks
belong to no web.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, NewType

from binalloc.analysis.flow.cfg import BlockNumber, Cfg
from binalloc.analysis.flow.loops import LoopNest
from binalloc.analysis.liveness import Liveness
from binalloc.analysis.locations import Location, file_of, index_of, locations_in, name_of
from binalloc.isa.kinds import File

GUARD, CALL, ENTRY, RETURN = -1, -2, -3, -4
"""Values of `Point.ref` that stand for no operand: the guard predicate (a use), the call's pseudo definitions and uses,
the function's entry (instruction -1), a RET."""

MEMORY = -5
"""`Point.ref` of a lifted local word: the memory operand of a local load (use) or store (definition)."""


WebNumber = NewType("WebNumber", int)
"""Number of a web of one function, which is also its place in `Webs.webs`."""


class Point(NamedTuple):
    """A definition or use: instruction (-1 at entry), position in `View.defs` or `View.uses` or one of GUARD, CALL,
    ENTRY, RETURN, MEMORY, and the unit within the operand (for CALL, ENTRY and RETURN the location)."""

    instr: int
    ref: int
    unit: int


@dataclass(slots=True)
class Web:
    """One allocation unit of 32 bits (files "R", "L") or one predicate (file "P").

    arch: number of the register, predicate or local word in the input. arg: live at entry, set by the caller (kernel:
    by hardware). result: live at RET. undefined: some path reaches a use without a definition (kernels). pinned: a
    predicate that an instruction names by position (P2R, R2P), which renaming cannot change. remat: an instruction
    that alone recomputes the value anywhere (all definitions are equal constants), or -1. cost: sum over
    instructions that define plus instructions that use the web, of the block's weight (1 for the entry). first,
    last: lowest and highest instruction of its points, -1 for the entry. group, offset: index in `Webs.groups` or
    -1, and place in that group.
    """

    id: WebNumber
    loc: Location
    defs: list[Point] = field(default_factory=list)
    uses: list[Point] = field(default_factory=list)
    arg: bool = False
    result: bool = False
    undefined: bool = False
    pinned: bool = False
    remat: int = -1
    cost: float = 0
    first: int = 0
    last: int = 0
    group: int = -1
    offset: int = 0

    @property
    def file(self) -> File:
        return file_of(self.loc)

    @property
    def arch(self) -> int:
        return index_of(self.loc)

    @property
    def name(self) -> str:
        """Architectural name in the input, e.g. "R5"."""
        return name_of(self.loc)


@dataclass(slots=True)
class WebGroup:
    """Webs that instructions need together as an aligned pair or quad.

    Each member must get register base + offset for a base that is a multiple of `alignment`; `units` registers from the
    base are spanned (= alignment). Members with the same offset come from one architectural register and never
    interfere. members: (web, offset), ascending.
    """

    id: int
    alignment: int
    members: list[tuple[WebNumber, int]] = field(default_factory=list)

    @property
    def units(self) -> int:
        return self.alignment


@dataclass(slots=True)
class CallLink:
    """A call seen from its caller. args: (location, caller's web) to hand to the callee's web of that location.
    results: (location, caller's web) to take from it. survivors: webs live before and after that the call does not
    touch. An argument of the callee missing here is passed through and wanted by nobody after this call."""

    index: int
    callee: str
    guarded: bool
    args: list[tuple[Location, WebNumber]] = field(default_factory=list)
    results: list[tuple[Location, WebNumber]] = field(default_factory=list)
    survivors: list[WebNumber] = field(default_factory=list)


@dataclass
class Webs:
    """All webs of one function, ids dense, ordered by first point, then location.

    web_of_def, web_of_use: (instruction, ref, unit) -> web id, for real operands, GUARD and MEMORY. calls: by
    instruction. args, results: (location, web) at entry and at RET. entry, exit: per reachable block location -> web,
    of the locations live into and out of it ({} for unreachable blocks). defined_at: instruction -> webs it defines, in
    operand order, calls included. copies: unguarded copies (moves, loads and stores of lifted local words),
    instruction -> (target, source) webs, unit by unit.
    """

    live: Liveness
    nest: LoopNest
    webs: list[Web] = field(default_factory=list)
    groups: list[WebGroup] = field(default_factory=list)
    web_of_def: dict[tuple[int, int, int], WebNumber] = field(default_factory=dict)
    web_of_use: dict[tuple[int, int, int], WebNumber] = field(default_factory=dict)
    calls: dict[int, CallLink] = field(default_factory=dict)
    args: list[tuple[Location, WebNumber]] = field(default_factory=list)
    results: list[tuple[Location, WebNumber]] = field(default_factory=list)
    entry: list[dict[Location, WebNumber]] = field(default_factory=list)
    exit: list[dict[Location, WebNumber]] = field(default_factory=list)
    defined_at: dict[int, list[WebNumber]] = field(default_factory=dict)
    copies: dict[int, list[tuple[WebNumber, WebNumber]]] = field(default_factory=dict)

    @property
    def cfg(self) -> Cfg:
        return self.live.cfg

    def __len__(self) -> int:
        return len(self.webs)

    def __getitem__(self, web: WebNumber) -> Web:
        return self.webs[web]

    def __iter__(self) -> Iterator[Web]:
        return iter(self.webs)

    def of_file(self, file: File) -> list[Web]:
        """Webs of one file ("R", "P", "L"), ascending."""
        return [w for w in self.webs if w.file == file]

    def live_in(self, block: BlockNumber) -> int:
        """Webs live into a block, as a bitset of web ids."""
        return sum(1 << w for w in self.entry[block].values())

    def live_out(self, block: BlockNumber) -> int:
        """Webs live out of a block, as a bitset of web ids."""
        return sum(1 << w for w in self.exit[block].values())

    def walk(self, block: BlockNumber) -> Iterator[tuple[int, dict[Location, WebNumber], dict[Location, WebNumber]]]:
        """(instruction, live before, live after) forwards through a block; each a dict location -> web that the caller
        may keep but not change."""
        now = self.entry[block]
        before, after = self.live.before, self.live.after
        span = self.cfg.blocks[block]
        for i in range(span.start, span.end):
            then = now
            defined = self.defined_at.get(i)
            dying = before[i] & ~after[i]
            if defined or dying:
                now = dict(then)
                for loc in locations_in(dying):
                    del now[loc]
                for w in defined or ():
                    loc = self.webs[w].loc
                    if after[i] >> loc & 1:
                        now[loc] = w
            yield i, then, now
