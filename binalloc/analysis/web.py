"""This module defines webs, the allocation units of one function. `webs.build_webs` makes them.

A web is a set of connected def-use chains of one 32-bit register, one predicate or one lifted local word (Chaitin's
"right number of names"). Chains are connected where a value is live into a join of control flow or past a guarded
definition. Where liveness shows the old value dead, even a guarded definition starts a new web. At every point each
location holds at most one live web, so webs of one architectural register never interfere.

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
"""Values of `WebPoint.ref` that stand for no operand: the guard predicate (a use), the call's pseudo definitions and
uses, the function's entry (instruction -1), a RET. They are negative, since operands count from 0."""

MEMORY = -5
"""`WebPoint.ref` of a lifted local word: the memory operand of a local load (use) or store (definition)."""


WebNumber = NewType("WebNumber", int)
"""Number of a web of one function, which is also its place in `Webs.webs`."""


class WebPoint(NamedTuple):
    """A point of a web is a definition or use of it."""

    instr: int  #: the instruction, -1 at entry
    ref: int  #: position in `View.defs` or `View.uses`, or one of GUARD, CALL, ENTRY, RETURN, MEMORY
    unit: int  #: unit within the operand (for CALL, ENTRY and RETURN the location)


@dataclass(slots=True)
class Web:
    """A web is one allocation unit of 32 bits (files "R", "L") or one predicate (file "P")."""

    id: WebNumber  #: its number
    loc: Location  #: its location in the input
    defs: list[WebPoint] = field(default_factory=list)  #: its definitions
    uses: list[WebPoint] = field(default_factory=list)  #: its uses
    arg: bool = False  #: live at entry, set by the caller (kernel: by hardware)
    result: bool = False  #: live at RET
    undefined: bool = False  #: some path reaches a use without a definition (kernels)
    pinned: bool = False  #: a predicate that an instruction names by position (P2R, R2P), so that it cannot be renamed
    #: an instruction that alone recomputes the value anywhere (all definitions are equal constants), or -1
    remat: int = -1
    #: sum of the block's weight over instructions that define plus those that use the web (1 for the entry)
    cost: float = 0
    first: int = 0  #: lowest instruction of its points, -1 for the entry
    last: int = 0  #: highest instruction of its points
    group: int = -1  #: index in `Webs.groups` or -1
    offset: int = 0  #: place in that group

    @property
    def file(self) -> File:
        return file_of(self.loc)

    @property
    def arch(self) -> int:
        """Return the number of the register, predicate or local word in the input."""
        return index_of(self.loc)

    @property
    def name(self) -> str:
        """Return the architectural name in the input, e.g. "R5"."""
        return name_of(self.loc)


@dataclass(slots=True)
class WebGroup:
    """A group is webs that instructions need together in consecutive registers, or in a register of some alignment.

    Each member must get register base + offset for a base that is a multiple of `alignment`. Members with the same
    offset come from one architectural register and never interfere.
    """

    id: int  #: index in `Webs.groups`
    units: int  #: registers from the base that the group spans; the lowest ones may have no member
    alignment: int  #: the base is a multiple of this
    members: list[tuple[WebNumber, int]] = field(default_factory=list)  #: (web, offset) pairs, ascending


@dataclass(slots=True)
class CallLink:
    """A call link is a call as its caller sees it.

    An argument of the callee that is missing here is passed through, and nobody needs it after this call.
    """

    index: int  #: the call instruction
    callee: str  #: name of the callee
    guarded: bool  #: the call has a guard
    #: (location, caller's web) pairs, passed to the callee's web of that location
    args: list[tuple[Location, WebNumber]] = field(default_factory=list)
    #: (location, caller's web) pairs, returned by it
    results: list[tuple[Location, WebNumber]] = field(default_factory=list)
    survivors: list[WebNumber] = field(default_factory=list)  #: webs live before and after that the call does not touch


@dataclass
class Webs:
    """The webs of one function have dense ids, ordered by first point, then location."""

    live: Liveness  #: liveness of the function
    nest: LoopNest  #: its loops
    webs: list[Web] = field(default_factory=list)  #: the webs by number
    groups: list[WebGroup] = field(default_factory=list)  #: webs that need registers together
    #: web of (instruction, ref, unit), for real operands and MEMORY
    web_of_def: dict[tuple[int, int, int], WebNumber] = field(default_factory=dict)
    #: likewise for uses, GUARD included
    web_of_use: dict[tuple[int, int, int], WebNumber] = field(default_factory=dict)
    calls: dict[int, CallLink] = field(default_factory=dict)  #: calls by instruction
    args: list[tuple[Location, WebNumber]] = field(default_factory=list)  #: (location, web) pairs at entry
    results: list[tuple[Location, WebNumber]] = field(default_factory=list)  #: (location, web) pairs at RET
    #: for each block {location: web} live into it ({} for unreachable blocks)
    entry: list[dict[Location, WebNumber]] = field(default_factory=list)
    #: for each block {location: web} live out of it ({} for unreachable blocks)
    exit: list[dict[Location, WebNumber]] = field(default_factory=list)
    #: webs that an instruction defines, in operand order, calls included
    defined_at: dict[int, list[WebNumber]] = field(default_factory=dict)
    #: unguarded copies (moves, loads and stores of lifted local words): (target, source) webs, unit by unit
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
        """Return the webs of one file ("R", "P", "L"), ascending."""
        return [w for w in self.webs if w.file == file]

    def live_in(self, block: BlockNumber) -> int:
        """Return the webs live into a block, as a bitset of web ids."""
        return sum(1 << w for w in self.entry[block].values())

    def live_out(self, block: BlockNumber) -> int:
        """Return the webs live out of a block, as a bitset of web ids."""
        return sum(1 << w for w in self.exit[block].values())

    def walk(self, block: BlockNumber) -> Iterator[tuple[int, dict[Location, WebNumber], dict[Location, WebNumber]]]:
        """Yield (instruction, live before, live after) forwards through a block.

        Each live set is a dict location -> web that the caller may keep but not change.
        """
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
