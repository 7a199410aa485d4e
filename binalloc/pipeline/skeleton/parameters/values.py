"""This module represents the values of a kernel as one graph. An edge leads from a value to one computed from it, and
has a kind; votes say how instructions interpret a value.

Needs the analysis of a kernel, with local words lifted; leaves it untouched. Nodes are the webs of all functions, the
words of the parameters, and pieces of memory that only the kernel itself fills (shared and local variables). A value
stored in such a piece may come out of any load from it. Order in time is ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis
from binalloc.analysis.web import GUARD, WebNumber
from binalloc.isa.instruction import Function
from binalloc.isa.interface.places import REG, WORD
from binalloc.isa.interface.roles import Fetch, Number, ReadOperand, Roles, Way
from binalloc.isa.interface.view import ConstantRead, Memory, Ref, View
from binalloc.isa.kinds import Access, Flow, Space
from binalloc.isa.runtime import GRID, is_runtime

Node = int  # number of a value in the graph
CARRIED = (Way.WHOLE, Way.SUM)  # ways in which an operand is the result, or a term of it
_OWN = (Space.SHARED, Space.LOCAL)  # memory that only the kernel itself fills
_BIG = 1 << 31  # the sign bit of a 32-bit immediate


class CodePlace(NamedTuple):
    """A code place is the place of an instruction in the binary."""

    function: str  #: name of its function
    word: int  #: number of its word there


class Vote(NamedTuple):
    """A vote says how an instruction interprets a value."""

    number: Number  #: kind of number
    wide: bool  #: the value is a word of a longer number, or such a number itself


@dataclass(frozen=True)
class Reach:
    """A reach is an access to memory outside the SM."""

    place: CodePlace  #: the instruction
    memory: Memory  #: its memory operand
    base: tuple[Node, ...]  #: nodes of the address's words
    data: tuple[Node, ...]  #: nodes of the words moved
    constant: int  #: bytes that are known to be added to the address
    taken: Number  #: how the access itself interprets the data


class Fetched(NamedTuple):
    """A fetch from a texture is recorded with its handle, coordinates and results. So is an access to a surface."""

    handle: Node  #: node of the handle
    fetch: Fetch  #: its kind
    given: tuple[Node, ...]  #: nodes of the words that it returns
    coordinates: tuple[Node, ...]  #: nodes of its coordinates, x first
    constants: tuple[int, ...]  #: for each coordinate the constant that is known to be added


class Meeting(NamedTuple):
    """A meeting is an instruction that compares, multiplies or adds operands."""

    place: CodePlace  #: the instruction
    nodes: tuple[Node, ...]  #: for each operand the node of its lowest word


@dataclass
class ValueGraph:
    """The value graph has the values of a kernel as nodes, and an edge from each to the values computed from it. Edges
    are kept by the node where they start."""

    program: ProgramAnalysis  #: the analysis of the kernel
    copied: dict[Node, list[Node]] = field(default_factory=dict)  #: edges to the same value
    carried: dict[Node, list[Node]] = field(default_factory=dict)  #: edges to the value with something added
    enters: dict[Node, list[Node]] = field(default_factory=dict)  #: edges to any value that depends on it
    votes: dict[Node, Counter[Vote]] = field(default_factory=dict)  #: votes on each node
    places: dict[tuple[Node, Number], list[CodePlace]] = field(default_factory=dict)  #: places of the votes
    words: dict[int, Node] = field(default_factory=dict)  #: nodes of parameter bytes, by offset
    #: reads of parameters as (offset, size, place)
    read: list[tuple[int, int, CodePlace]] = field(default_factory=list)
    #: reads of parameters at a computed offset, as (offset, place)
    indexed: list[tuple[int, CodePlace]] = field(default_factory=list)
    reaches: list[Reach] = field(default_factory=list)  #: accesses to memory outside the SM
    compared: list[Meeting] = field(default_factory=list)  #: instructions that compare
    multiplied: list[Meeting] = field(default_factory=list)  #: instructions that multiply
    added: list[Meeting] = field(default_factory=list)  #: instructions that add
    #: nodes with the position of a thread, with their axes as bits (`SetLimits.places`)
    axes: dict[Node, int] = field(default_factory=dict)
    loops: set[Node] = field(default_factory=set)  #: nodes that decide whether a loop continues
    fetches: list[Fetched] = field(default_factory=list)  #: fetches from textures, accesses to surfaces
    #: accesses to the variable by which the grid of a cooperative launch synchronises
    grid: list[Reach] = field(default_factory=list)
    used: set[Node] = field(default_factory=set)  #: operands of memory accesses and of fetches
    dynamic: list[CodePlace] = field(default_factory=list)  #: accesses to shared memory behind all variables
    pieces: set[Node] = field(default_factory=set)  #: nodes that are memory
    count: int = 0  #: number of nodes

    def piece(self) -> Node:
        """Add a piece of memory, and return its node."""
        self.count += 1
        self.pieces.add(self.count - 1)
        return self.count - 1

    def line(self, place: CodePlace) -> tuple[str, int] | None:
        """Return the source line of an instruction, where the binary has it."""
        return self.program[place.function].fn.source_line(place.word)


def values_of(program: ProgramAnalysis) -> ValueGraph:
    """Return the graph of a kernel and all its callees, in time linear in its code."""
    return _Builder(program).build()


class _Builder:
    """A builder goes through all instructions and adds their values to the graph."""

    def __init__(self, program: ProgramAnalysis) -> None:
        self.found = ValueGraph(program)
        self.program, self.isa = program, program.isa
        self.kernel: Function = program.kernel.fn
        self.end = max((p.offset + p.size for p in self.kernel.info.params), default=0)
        self.shared = sorted((v.offset, v.offset + v.size, v.name) for v in self.kernel.shared)
        self.first: dict[str, Node] = {}
        self.memory: dict[tuple[object, ...], Node] = {}
        self.constants: dict[Node, int] = {}
        addresses = {v.name: range(v.address, v.address + v.size) for v in program.module.globals}
        self.grid = addresses.get(GRID)

    def build(self) -> ValueGraph:
        for name, f in self.program.functions.items():
            self.first[name] = self.found.count
            self.found.count += len(f.webs)
        for name, f in self.program.functions.items():
            self._calls(name, f)
            for i, seen in enumerate(f.cfg.views):
                if f.cfg.reachable(i):
                    self._instruction(CodePlace(name, i), f, seen)
        return self.found

    # -- nodes

    def _new(self) -> Node:
        self.found.count += 1
        return self.found.count - 1

    def _word(self, offset: int) -> Node:
        """Return the node of a parameter word that begins at byte `offset`."""
        if offset not in self.found.words:
            self.found.words[offset] = self._new()
        return self.found.words[offset]

    def _piece(self, *key: object) -> Node:
        """Return the node of a piece of memory, which `key` names."""
        if key not in self.memory:
            self.memory[key] = self.found.piece()
        return self.memory[key]

    def _edge(self, edges: dict[Node, list[Node]], source: Node, target: Node) -> None:
        edges.setdefault(source, []).append(target)

    def _same(self, source: Node, target: Node) -> None:
        """Add edges of every kind: `target` has the value of `source`."""
        for edges in (self.found.copied, self.found.carried, self.found.enters):
            self._edge(edges, source, target)

    # -- calls and words of local memory

    def _calls(self, name: str, f: FunctionAnalysis) -> None:
        """Connect arguments and results of calls, and copies."""
        first = self.first[name]
        for pairs in f.webs.copies.values():
            for target, source in pairs:
                self._same(first + source, first + target)
        for link in f.webs.calls.values():
            callee, there = self.program[link.callee].webs, self.first[link.callee]
            arguments, results = dict(link.args), dict(link.results)
            for loc, web in callee.args:
                if loc in arguments:
                    self._same(first + arguments[loc], there + web)
            for loc, web in callee.results:
                if loc in results:
                    self._same(there + web, first + results[loc])

    # -- instructions

    def _instruction(self, place: CodePlace, f: FunctionAnalysis, seen: View) -> None:
        """Add one instruction."""
        roles = self.isa.roles(seen.instr)
        defs = [self._nodes(place, f, f.webs.web_of_def, k, r) for k, r in enumerate(seen.defs)]
        uses = {r: self._nodes(place, f, f.webs.web_of_use, k, r) for k, r in enumerate(seen.uses)}
        written = [nodes for r, nodes in zip(seen.defs, defs, strict=True) if r.file == REG]
        target = written[0] if written else []
        wide = len(target) > 1
        for node in target:
            self._vote(node, Vote(roles.result, wide), place)
        special = self.isa.special_register(seen.instr)
        if special is not None and special in self.isa.limits.places and not is_runtime(place.function):
            self.found.axes[target[0]] = 1 << self.isa.limits.places[special]
        if self._own(seen):
            self._kept(place, f, seen, uses, target)
        else:
            for nodes in uses.values():
                self._all(nodes, [n for d in defs for n in d])
        for taken in roles.taken:
            self._taken(place, taken, uses, target)
        if not self._own(seen) and seen.memory is not None and seen.memory.space in (Space.GLOBAL, Space.GENERIC):
            self._reach(place, seen, seen.memory, roles, uses, target)
        self._meetings(place, roles, uses)
        if seen.memory is not None or roles.fetch is not None:
            self.found.used.update(node for nodes in uses.values() for node in nodes)
        if roles.fetch is not None:
            self._fetch(roles.fetch, roles, uses, target)
        self._start(f, seen, roles, uses, target)
        if seen.control == Flow.BRANCH and seen.guard is not None and f.fn.target(place.word) <= place.word:
            self.found.loops.add(self.first[place.function] + f.webs.web_of_use[place.word, GUARD, 0])

    def _fetch(self, fetch: Fetch, roles: Roles, uses: dict[Ref, list[Node]], target: list[Node]) -> None:
        handles = [n for t in roles.taken if t.number == Number.HANDLE for n in self._sources(t, uses)[:1]]
        others = [n for t in roles.taken if t.number != Number.HANDLE for n in self._sources(t, uses)]
        coordinates = tuple(others[: fetch.axes])
        constants = tuple(self.constants.get(node, 0) for node in coordinates)
        self.found.fetches += [Fetched(node, fetch, tuple(target), coordinates, constants) for node in handles]

    def _nodes(
        self, place: CodePlace, f: FunctionAnalysis, webs: dict[tuple[int, int, int], WebNumber], k: int, ref: Ref
    ) -> list[Node]:
        """Return the nodes of an operand, one per unit. webs: `web_of_def` or `web_of_use`. k: number of the
        operand."""
        first = self.first[place.function]
        return [first + webs[place.word, k, u] for u in range(ref.units)]

    def _all(self, sources: Iterable[Node], targets: list[Node]) -> None:
        for source in sources:
            for target in targets:
                self._edge(self.found.enters, source, target)

    def _vote(self, node: Node, vote: Vote, place: CodePlace) -> None:
        if vote.number != Number.BITS:
            self.found.votes.setdefault(node, Counter())[vote] += 1
            self.found.places.setdefault((node, vote.number), []).append(place)

    def _sources(self, taken: ReadOperand, uses: dict[Ref, list[Node]]) -> list[Node]:
        """Return the nodes of an operand, one per word."""
        what = taken.what
        if isinstance(what, Ref):
            return uses.get(what, [])
        if isinstance(what, ConstantRead) and what.bank == 0 and what.offset < self.end:
            return [self._word(what.offset + WORD * k) for k in range(max(1, what.size // WORD))]
        return []

    def _taken(self, place: CodePlace, taken: ReadOperand, uses: dict[Ref, list[Node]], target: list[Node]) -> None:
        """Record the votes on an operand, and its edges to the result."""
        sources, what = self._sources(taken, uses), taken.what
        for node in sources:
            self._vote(node, Vote(taken.number, taken.wide), place)
        if isinstance(what, ConstantRead) and what.bank == 0 and what.offset < self.end:
            if what.indexed:
                self.found.indexed.append((what.offset, place))
            else:
                self.found.read.append((what.offset, what.size, place))
                self._all(sources, target)
        if taken.way in CARRIED:
            for source, node in zip(sources, target, strict=False):
                self._edge(self.found.carried, source, node)
                if taken.way == Way.WHOLE:
                    self._edge(self.found.copied, source, node)

    def _meetings(self, place: CodePlace, roles: Roles, uses: dict[Ref, list[Node]]) -> None:
        """Record operands that the instruction compares, multiplies or adds."""
        def lowest(*ways: Way) -> tuple[Node, ...]:
            found = (self._sources(t, uses) for t in roles.taken if t.way in ways)
            return tuple(nodes[0] for nodes in found if nodes)

        for kept, ways in (
            (self.found.compared, (Way.NONE,) if roles.compares else ()),
            (self.found.multiplied, (Way.FACTOR,)),
            (self.found.added, (Way.SUM,)),
        ):
            nodes = lowest(*ways)
            if nodes and (len(nodes) > 1 or kept is not self.found.added):
                kept.append(Meeting(place, nodes))

    def _start(
        self, f: FunctionAnalysis, seen: View, roles: Roles, uses: dict[Ref, list[Node]], target: list[Node]
    ) -> None:
        """Record the constant part of a sum; the first definition in code order counts."""
        carried = [t for t in roles.taken if t.way in CARRIED]
        if not target or not carried or seen.memory is not None:
            return
        constant = 0
        for t in carried:
            if isinstance(t.what, int):
                constant += t.what - (2 * _BIG if t.what & _BIG else 0)
            elif isinstance(t.what, Ref):
                constant += self.constants.get(uses[t.what][0], 0)
        self.constants.setdefault(target[0], constant)

    # -- memory

    def _own(self, seen: View) -> bool:
        """Return whether an instruction accesses memory that only the kernel fills."""
        return seen.memory is not None and seen.memory.space in _OWN

    def _kept(
        self, place: CodePlace, f: FunctionAnalysis, seen: View, uses: dict[Ref, list[Node]], target: list[Node]
    ) -> None:
        """Connect a store or load of the kernel's own memory: its words enter pieces of memory and come out of them."""
        memory = seen.memory
        assert memory is not None
        if place.word in f.webs.live.facts.local:
            return
        data = [n for r in memory.data(seen.uses) if r.file == REG for n in uses[r]]
        pieces = list(self._pieces(place, memory, uses, max(len(data), len(target), 1)))
        if memory.access != Access.LOAD:
            for node, piece in zip(data, pieces, strict=False):
                self._same(node, piece)
        for node, piece in zip(target, pieces, strict=False):
            self._same(piece, node)

    def _pieces(self, place: CodePlace, memory: Memory, uses: dict[Ref, list[Node]], words: int) -> Iterator[Node]:
        """Yield the piece of memory for each word of an access."""
        space, base = memory.space, memory.base
        if base is None:
            for k in range(words):
                yield self._named(space, memory.offset + WORD * k, not memory.givers, place)
            return
        start = self.constants.get(uses[base][0], 0)
        for _ in range(words):
            yield self._named(space, start + memory.offset, False, place)

    def _named(self, space: Space, offset: int, exact: bool, place: CodePlace) -> Node:
        """Return the piece of memory at an offset: a word of it, or the variable there as a whole."""
        if space == Space.LOCAL:
            return self._piece(space, offset if exact else "")
        name = next((name for low, high, name in self.shared if low <= offset < high), "")
        if offset >= self.kernel.info.shared_bytes:
            self.found.dynamic.append(place)
        whole = self._piece(space, name)
        if not exact:
            return whole
        word = self._piece(space, name, offset)
        self._same(word, whole)
        self._edge(self.found.copied, whole, word)
        return word

    def _reach(
        self,
        place: CodePlace,
        seen: View,
        memory: Memory,
        roles: Roles,
        uses: dict[Ref, list[Node]],
        target: list[Node],
    ) -> None:
        """Record an access to memory outside the SM."""
        base = tuple(uses[memory.base]) if memory.base is not None else ()
        data = [n for r in memory.data(seen.uses) if r.file == REG for n in uses[r]]
        if memory.access == Access.LOAD:
            data = target
        elif memory.access == Access.ATOMIC:
            for a, b in zip(data, target, strict=False):
                self._same(a, b)
        constant = self.constants.get(base[0], 0) if base else 0
        reach = Reach(place, memory, base, tuple(data), constant + memory.offset, roles.data)
        self.found.reaches.append(reach)
        if self.grid is not None and reach.constant in self.grid:
            self.found.grid.append(reach)
