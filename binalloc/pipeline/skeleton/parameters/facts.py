"""This module finds out how a kernel uses each of its parameters: as a pointer, as a bound or as a number of some kind.

Needs the analysis of a kernel, with local words lifted. A parameter is a pointer if accesses use it as an address: an
address is a parameter's two words with something added. Where two parameters are added to one address, one of them is
an offset: the one that other accesses do not use, or else one compared or multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from binalloc.analysis.program import ProgramAnalysis
from binalloc.bitset import bits
from binalloc.isa.instruction import Param
from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.roles import Fetch, Number
from binalloc.isa.kinds import Access
from binalloc.isa.runtime import is_runtime
from binalloc.pipeline.skeleton.parameters.closures import leading_to, spread
from binalloc.pipeline.skeleton.parameters.numbers import Element, ValueNumbers
from binalloc.pipeline.skeleton.parameters.values import CodePlace, Fetched, Meeting, Node, Reach, ValueGraph, values_of

POINTER = 2 * WORD  # bytes of a pointer
_AXES = 3  # x, y and z
_BLOCK = (1 << _AXES) - 1
"""All axes of a thread in its block, as bits."""
_GRID = _BLOCK << _AXES
"""All axes of a block in the grid, as bits."""


@dataclass(frozen=True)
class PointerAccess:
    """A pointer access is one access through a pointer that the kernel has as a parameter."""

    place: CodePlace  #: the instruction
    access: Access  #: load, store or atomic
    element: Element  #: interpretation of the data
    whole: int  #: bytes moved
    constant: int  #: bytes that are known to be added to the pointer
    index: bool  #: the loaded value becomes part of an address, or decides how often a loop runs


@dataclass
class ParameterPiece:
    """A piece is bytes of a parameter that are read together."""

    offset: int  #: offset in the parameter
    size: int  #: bytes
    element: Element  #: interpretation of the bytes
    touches: list[PointerAccess] = field(default_factory=list)  #: accesses through it, if it is a pointer
    axes: int = 0  #: axes of the thread's position with which it is compared, as bits
    rows: int = 0  #: axes of the thread's position by which it is multiplied, as bits
    counted: bool = False  #: it is compared with something else
    stepped: bool = False  #: it is multiplied
    fetch: Fetch | None = None  #: kind of fetch, if it is a texture's handle
    texel: Number = Number.BITS  #: interpretation of the data fetched
    #: for each coordinate of fetches the axes of the thread's position in it, and the constant added
    sides: list[tuple[int, int]] = field(default_factory=list)
    places: list[CodePlace] = field(default_factory=list)  #: where it is read
    interpreted: list[CodePlace] = field(default_factory=list)  #: where it is interpreted as `element` says


@dataclass
class Parameter:
    """A parameter is described by the pieces in which the kernel reads it."""

    param: Param  #: the declaration
    pieces: list[ParameterPiece] = field(default_factory=list)  #: its pieces by offset; none where nothing reads it
    indexed: bool = False  #: some of it is read at a computed offset


@dataclass
class KernelFacts:
    """The facts of a kernel say how it uses its parameters and the position of a thread."""

    values: ValueGraph  #: the graph of values
    parameters: list[Parameter]  #: the parameters in order
    axes: int  #: axes along which the position of a thread matters, as bits
    dynamic: list[CodePlace]  #: where shared memory behind all variables is used
    lost: list[CodePlace]  #: accesses of the program whose address comes from no parameter and no variable
    meets: bool  #: the whole grid synchronises (`grid.sync`)


def facts_of(program: ProgramAnalysis) -> KernelFacts:
    """Return how a kernel uses its parameters, in near-linear time."""
    return _Finder(values_of(program)).found()


class _Finder:
    """A finder propagates parameters, axes and addresses along the edges of the graph, and interprets each
    parameter."""

    def __init__(self, values: ValueGraph) -> None:
        self.values = values
        self.offsets = sorted(values.words)
        number = {offset: k for k, offset in enumerate(self.offsets)}
        self.next = {k: number.get(offset + WORD) for offset, k in number.items()}
        self.number = number
        start = {values.words[offset]: 1 << k for offset, k in number.items()}
        self.origins = spread(values.carried, start)
        self.copies = spread(values.copied, start)
        self.axes = spread(values.enters, values.axes)
        bases = [node for reach in values.reaches for node in reach.base]
        self.indexes = leading_to(values.enters, [*bases, *values.loops])
        self.meeting = spread(values.carried, {n: 1 for reach in values.grid for n in reach.data})
        self.pointers = self._pointers()
        self._through_buffers()
        self.numbers = ValueNumbers(values)

    def found(self) -> KernelFacts:
        params = self.values.program.kernel.fn.info.params
        parameters = [self._parameter(p) for p in params]
        dynamic, meets = sorted(set(self.values.dynamic)), bool(self.values.grid)
        return KernelFacts(self.values, parameters, self._axes(), dynamic, self._lost(), meets)

    def _lost(self) -> list[CodePlace]:
        """Return accesses to unknown memory. Surfaces and variables are known; the runtime's own accesses do not
        count."""
        variables = [range(v.address, v.address + v.size) for v in self.values.program.module.globals]
        surfaces = spread(self.values.carried, {n: 1 for f in self.values.fetches if f.fetch.element for n in f.given})
        return sorted({
            r.place for r in self.values.reaches
            if r.base and not self._candidates(r) and r.base[0] not in surfaces and r.base[0] not in self.meeting
            and not any(r.constant in v for v in variables) and not is_runtime(r.place.function)
        })  # fmt: skip

    def _axes(self) -> int:
        """Return the axes along which the position of a thread matters.

        Accesses by which the grid synchronises do not count. Nor does a comparison of all three axes together: it says
        no more than whether a thread is the first of its block, or its block the first of the grid.
        """
        met = {n for r in self.values.reaches if r.base and r.base[0] in self.meeting for n in (*r.base, *r.data)}
        found = 0
        for node in self.values.used - met:
            found |= self.axes.get(node, 0)
        for meeting in self.values.compared:
            axes = 0
            for node in meeting.nodes:
                axes |= self.axes.get(node, 0)
            for place in (_BLOCK, _GRID):
                found |= axes & place if axes & place != place else 0
        return found

    # -- pointers

    def _candidates(self, reach: Reach) -> list[int]:
        """Return numbers of the parameter words whose pair may be part of the address."""
        if len(reach.base) < 2:
            return []
        low, high = (self.origins.get(node, 0) for node in reach.base)
        return [k for k in bits(low) if (n := self._second(k)) is not None and high >> n & 1]

    def _second(self, k: int) -> int | None:
        """Return the number of the word behind word `k`; None where there is none."""
        return self.number.get(self.offsets[k] + WORD)

    def _pointers(self) -> dict[int, list[Reach]]:
        """Return the accesses through each pointer, by the number of its first word."""
        each = [(reach, self._candidates(reach)) for reach in self.values.reaches]
        alone = {found[0] for _, found in each if len(found) == 1}
        against: set[tuple[int, int]] = set()
        for meeting in self.values.added:
            sets = [list(bits(self.origins.get(node, 0))) for node in meeting.nodes]
            against |= {(x, y) for i, a in enumerate(sets) for j, b in enumerate(sets) if i != j for x in a for y in b}
        numbers = self._numbers()
        out: dict[int, list[Reach]] = {}
        for reach, found in each:
            ranked = sorted(found, key=lambda k: (k in numbers, k not in alone, k))
            kept: list[int] = []
            for k in ranked:
                if not any((k, other) in against for other in kept):
                    kept.append(k)
            for k in kept:
                out.setdefault(k, []).append(reach)
        return out

    def _through_buffers(self) -> None:
        """Add edges so that all data behind one pointer is one kind of number, where the accesses do not say
        otherwise."""
        values = self.values
        for reaches in self.pointers.values():
            node = values.piece()
            for data in (data for reach in reaches for data in reach.data):
                values.copied.setdefault(data, []).append(node)

    def _numbers(self) -> set[int]:
        """Return the words that are compared or multiplied, and hence are numbers."""
        found = 0
        for meeting in (*self.values.compared, *self.values.multiplied):
            for node in meeting.nodes:
                found |= self.copies.get(node, 0)
        return set(bits(found))

    def _touch(self, reach: Reach) -> PointerAccess:
        """Describe an access through a pointer."""
        memory = reach.memory
        taken = reach.taken
        if memory.access == Access.STORE and memory.size == WORD // 2:
            taken = self.numbers.of(reach.data[0]).number  # bytes are stored from signed words, too
        element = self.numbers.element(reach.data, memory.size, taken)
        index = memory.access != Access.STORE and any(node in self.indexes for node in reach.data)
        return PointerAccess(reach.place, memory.access, element, memory.size, reach.constant, index)

    # -- parameters

    def _parameter(self, param: Param) -> Parameter:
        """Describe a parameter."""
        found = Parameter(param)
        end = param.offset + param.size
        reads = [r for r in self.values.read if param.offset <= r[0] < end]
        found.indexed = any(param.offset <= offset < end for offset, _ in self.values.indexed)
        sizes: dict[int, int] = {}
        for offset, size, _ in reads:
            sizes[offset] = max(sizes.get(offset, 0), min(size, end - offset))
        for offset in sorted(sizes):
            for at in range(offset, offset + sizes[offset], WORD):
                if not any(p.offset <= at - param.offset < p.offset + p.size for p in found.pieces):
                    found.pieces.append(self._piece(param, at, min(WORD, offset + sizes[offset] - at)))
        return found

    def _piece(self, param: Param, at: int, size: int) -> ParameterPiece:
        """Describe a piece. at: offset of its first byte among all parameters."""
        k, node = self.number[at], self.values.words[at]
        touches = [self._touch(reach) for reach in self.pointers.get(k, ())]
        places = sorted({place for offset, n, place in self.values.read if offset <= at < offset + max(n, 1)})
        vote = self.numbers.of(node)
        fetch = self._fetch(k)
        second = at + WORD in self.values.words and at + POINTER <= param.offset + param.size
        wide = second and self._wide(param, at, bool(touches), fetch)
        element = Element(POINTER if wide else size, vote.number)
        piece = ParameterPiece(at - param.offset, element.bytes, element, touches, fetch=fetch, places=places)
        if fetch is not None:
            piece.texel, piece.sides = self._texel(k), self._sides(k)
        piece.interpreted = self.numbers.places(node, vote.number)
        self._bounds(piece, 1 << k)
        return piece

    def _wide(self, param: Param, at: int, pointer: bool, fetch: Fetch | None) -> bool:
        """Return whether the word at `at` and the next one are one number."""
        low, high = (self.numbers.of(self.values.words[x]) for x in (at, at + WORD))
        if pointer or fetch is not None:
            return True
        if param.size == POINTER:
            return all(vote.wide or vote.number != Number.FLOAT for vote in (low, high))
        return at % POINTER == 0 and (low.wide or high.wide)

    def _fetch(self, k: int) -> Fetch | None:
        """Return the first fetch by a handle; its `level` says whether any of them names a level."""
        found = [f.fetch for f in self._by(k)]
        return replace(found[0], level=any(f.level for f in found)) if found else None

    def _by(self, k: int) -> list[Fetched]:
        """Return the fetches by a handle."""
        return [f for f in self.values.fetches if self.copies.get(f.handle, 0) >> k & 1]

    def _sides(self, k: int) -> list[tuple[int, int]]:
        """Return for each coordinate of a handle's fetches, x first, the axes in it, as bits, and the constant
        added."""
        found: list[tuple[int, int]] = []
        for fetched in self._by(k):
            for at, (node, constant) in enumerate(zip(fetched.coordinates, fetched.constants, strict=True)):
                axes, most = found[at] if at < len(found) else (0, 0)
                found[at : at + 1] = [(axes | self.axes.get(node, 0), max(most, constant))]
        return found

    def _texel(self, k: int) -> Number:
        """Return the interpretation of data fetched through a handle."""
        votes = [self.numbers.of(node).number for f in self._by(k) for node in f.given]
        return next((vote for vote in votes if vote != Number.BITS), Number.BITS)

    def _bounds(self, piece: ParameterPiece, bit: int) -> None:
        """Record the axes with which the piece is compared, and the axes by which it is multiplied."""
        for meeting in self.values.compared:
            for others in self._others(meeting, bit):
                axes = 0
                for node in others:
                    axes |= self.axes.get(node, 0)
                piece.axes |= axes
                piece.counted |= not axes
        for meeting in self.values.multiplied:
            for others in self._others(meeting, bit):
                for node in others:
                    piece.rows |= self.axes.get(node, 0)
                piece.stepped = True

    def _others(self, meeting: Meeting, bit: int) -> list[list[Node]]:
        """Return the other operands, for each one that comes from the parameter."""
        return [
            [other for other in meeting.nodes if other is not node]
            for node in meeting.nodes if self.origins.get(node, 0) & bit
        ]  # fmt: skip


def is_number(piece: ParameterPiece) -> bool:
    """Return whether the interpretation of the bytes is known."""
    return piece.element.number != Number.BITS
