"""Spill code in cubins: what ptxas put into local (and, where asked, shared) memory, counted and weighted by depth.

Opcodes are in bits 0..11 of a word, guards in bits 12..15. Control flow, for the loops: BRA, JMP, CALL, RET, EXIT, BRX
(targets listed in the attribute 0x34) and BSSY with BSYNC, which goes on at the place that BSSY named. For sm_80 ptxas
also writes jumps within a function as CALL.REL: what the symbol table has no function at is no callee. Subroutines lie
behind the kernel in its section, or in sections of their own that relocations name. Loops and weights are
`binalloc.analysis.flow.loops`: 10 per depth, as for our own code.

Bytes are those that `ptxas -v` prints for the same functions, on every architecture, but for `Spilled.library`: the
slow paths of divisions and roots save registers, too, and ptxas does not speak of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from binalloc.analysis.flow.cfg import Cfg
from binalloc.analysis.flow.loops import find_loops
from tests.benchmarks.transform.judge.cubin import WORD, Code

LDL, STL, LDS, STS = 0x983, 0x387, 0x984, 0x388
LOCAL, SHARED = frozenset({LDL, STL}), frozenset({LDS, STS})
BRA, BRA_UNIFORM, JMP = 0x947, 0x547, 0x94A
BRX = frozenset({0x949, 0x94C, 0x349, 0x34C, 0x558})
CALL, CALL_ABSOLUTE = 0x944, 0x943
CALL_REGISTER = frozenset({0x343, 0x344, 0xA43, 0xA44, 0xB43, 0xB44})
RET, EXIT, KILL = 0x950, 0x94D, 0x95B
BSSY, BSYNC = 0x945, 0x941
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}
_PT = 7
_WHERE_DIVERGED = frozenset({2, 3})
_LIBRARY = "$__internal_"
_OLDEST_WITH_LONG_OFFSETS = 90


@dataclass
class Spilled:
    """Spill code of one kernel and all it calls, in bytes per thread: as it stands, and weighted by loop depth.
    local, shared: loads and stores. loads: the local loads alone. deepest: weighted local bytes where a function weighs
    as much as its deepest call site, not as all of them (ptxas keeps the slow paths of divisions in subroutines).
    library: local bytes in such subroutines, which `ptxas -v` leaves out. functions: local bytes of each function of
    the symbol table, by its name there.
    unknown: indirect branches and calls whose targets are not known, so that weights may lack something. registers: per
    thread."""

    local: int = 0
    shared: int = 0
    loads: int = 0
    weighted_local: float = 0.0
    weighted_shared: float = 0.0
    deepest: float = 0.0
    unknown: int = 0
    registers: int = 0
    library: int = 0
    functions: dict[str, int] = field(default_factory=dict)

    def add(self, size: int, weight: float, deepest: float, *, shared: bool, load: bool) -> None:
        """One access in a block of these weights."""
        if shared:
            self.shared += size
            self.weighted_shared += size * weight
            return
        self.local += size
        self.loads += size * load
        self.weighted_local += size * weight
        self.deepest += size * deepest

    def of_function(self, name: str, local: int) -> None:
        """Local bytes of one function, counted already, stand under its name."""
        self.functions[name] = local
        self.library += local * name.startswith(_LIBRARY)


@dataclass
class Graph:
    """Control flow of one function, with the fields of `Cfg` that `find_loops` reads. starts: the word at which each
    block begins; blocks: their words. calls: (block, callee)."""

    blocks: list[list[int]]
    succs: list[list[int]]
    preds: list[list[int]]
    rpo: list[int]
    rpo_number: list[int]
    calls: list[tuple[int, tuple[str, int]]]
    unknown: int


def relative(word: tuple[int, int], sm: int) -> int:
    """The signed byte offset of a branch or call from the next instruction, in units of 4 bytes in bits 34..81. From
    sm_90 on these are its upper bits, and bits 16..23 its lower 8."""
    value, bits = word[0] >> 34 | (word[1] & 0x3FFFF) << 30, 48
    if sm >= _OLDEST_WITH_LONG_OFFSETS:
        value, bits = value << 8 | word[0] >> 16 & 0xFF, 56
    return (value - (1 << bits) if value >> bits - 1 else value) * 4


def meeting_place(word: tuple[int, int]) -> int:
    """The signed byte offset that BSSY gives its barrier, from the next instruction: bits 32..63."""
    value = word[0] >> 32
    return value - (1 << 32) if value >> 31 else value


def _conditional(word: tuple[int, int]) -> bool:
    """Whether control may go on behind a jump: it has a guard other than PT. A branch may also have a second predicate
    (bits 87..90, a uniform one in bits 24..27), or be taken by lanes that have diverged alone (2 or 3 in bits 32..33).
    """
    op = word[0] & 0xFFF
    if word[0] >> 12 & 15 != _PT:
        return True
    if op == BRA_UNIFORM and word[0] >> 24 & 15 != _PT:
        return True
    return op in (BRA, BRA_UNIFORM) and (word[1] >> 23 & 15 != _PT or word[0] >> 32 & 3 in _WHERE_DIVERGED)


def access_bytes(word: tuple[int, int]) -> int:
    """Bytes that a load or store moves per thread: bits 73..75."""
    return _SIZES.get(word[1] >> 9 & 7, 4)


class _Walk:
    """Follows the code of one function from its entry, block structure first, barriers' targets as they are met."""

    def __init__(self, code: Code, entry: int) -> None:
        self.code, self.entry = code, entry
        self.unknown: set[int] = set()
        self.calls: dict[int, tuple[str, int]] = {}
        self.next: dict[int, list[int]] = {}
        self.barriers: dict[int, frozenset[tuple[int, int]]] = {}

    def run(self) -> None:
        """To a fixed point: the barriers that may be set grow along the edges."""
        self.barriers[self.entry] = frozenset()
        work = [self.entry]
        while work:
            at = work.pop()
            state = self.barriers[at]
            targets = self._step(at, state)
            word = self.code.words[at // WORD]
            if word[0] & 0xFFF == BSSY:
                number = word[0] >> 16 & 15
                state = frozenset(p for p in state if p[0] != number) | {(number, at + WORD + meeting_place(word))}
            self.next[at] = targets
            for target in targets:
                old = self.barriers.get(target)
                if old is None or not state <= old:
                    self.barriers[target] = state | (old or frozenset())
                    work.append(target)

    def _step(self, at: int, state: frozenset[tuple[int, int]]) -> list[int]:
        """Where control goes after the word at this address."""
        word = self.code.words[at // WORD]
        op, fall = word[0] & 0xFFF, [at + WORD]
        targets = fall
        if op in (BRA, BRA_UNIFORM):
            targets = [at + WORD + relative(word, self.code.sm)]
        elif op == JMP:
            targets = [relative(word, self.code.sm)]
        elif op in BRX:
            targets = self.code.targets.get(at, [])
            if not targets:
                self.unknown.add(at)
        elif op == BSYNC:
            targets = sorted({target for number, target in state if number == word[0] >> 16 & 15}) or fall
        elif op in (RET, EXIT, KILL):
            targets = []
        elif op == CALL and at not in self.code.calls:
            target = at + WORD + relative(word, self.code.sm)
            if target in self.code.functions:
                self.calls[at] = (self.code.name, target)
            else:
                targets = [target]
        elif op in (CALL, CALL_ABSOLUTE) or op in CALL_REGISTER:
            self._call(at)
        if targets is not fall and _conditional(word):
            targets = targets + fall
        return [t for t in dict.fromkeys(targets) if 0 <= t < len(self.code.words) * WORD]

    def _call(self, at: int) -> None:
        if at in self.code.calls:
            self.calls[at] = self.code.calls[at]
        else:
            self.unknown.add(at)


def control_flow(code: Code, entry: int) -> Graph:
    """Blocks of the function that begins at this address of the section, without what is unreachable."""
    walk = _Walk(code, entry)
    walk.run()
    leaders = {entry}
    for at, targets in walk.next.items():
        if targets != [at + WORD]:
            leaders.update(targets)
            leaders.add(at + WORD)
    addresses = sorted(walk.next)
    begins = [a for k, a in enumerate(addresses) if a in leaders or addresses[k - 1] != a - WORD]
    starts = [entry, *(a for a in begins if a != entry)]
    number = {start: k for k, start in enumerate(starts)}
    blocks: list[list[int]] = []
    for start in starts:
        block = [start]
        while block[-1] + WORD in walk.next and block[-1] + WORD not in number:
            block.append(block[-1] + WORD)
        blocks.append(block)
    succs = [sorted({number[t] for t in walk.next[block[-1]]}) for block in blocks]
    preds: list[list[int]] = [[] for _ in blocks]
    for k, following in enumerate(succs):
        for other in following:
            preds[other].append(k)
    calls = [(k, walk.calls[at]) for k, block in enumerate(blocks) for at in block if at in walk.calls]
    order = _order(succs)
    numbers = [-1] * len(blocks)
    for k, block_number in enumerate(order):
        numbers[block_number] = k
    return Graph(blocks, succs, preds, order, numbers, calls, len(walk.unknown))


def _order(succs: list[list[int]]) -> list[int]:
    """Reverse postorder from block 0."""
    post: list[int] = []
    seen = {0}
    work = [(0, iter(succs[0]))]
    while work:
        block, rest = work[-1]
        for following in rest:
            if following not in seen:
                seen.add(following)
                work.append((following, iter(succs[following])))
                break
        else:
            post.append(block)
            work.pop()
    return post[::-1]


def spilled(codes: dict[str, Code], kernel: str) -> Spilled:
    """Spill code of a kernel and all it calls. Each function counts once, its weight is the sum over its call sites of
    the caller's weight times the weight of the site's block; a cycle of calls is cut where it closes."""
    graphs: dict[tuple[str, int], Graph] = {}
    order: list[tuple[str, int]] = []
    _collect(codes, (kernel, 0), graphs, order)
    weight = dict.fromkeys(graphs, 0.0)
    deepest = dict.fromkeys(graphs, 0.0)
    weight[kernel, 0] = deepest[kernel, 0] = 1.0
    total = Spilled()
    done: set[tuple[str, int]] = set()
    for where in reversed(order):
        done.add(where)
        graph, code = graphs[where], codes[where[0]]
        depth = find_loops(cast(Cfg, graph)).weight
        total.unknown += graph.unknown
        before = total.local
        for block, callee in graph.calls:
            if callee in weight and callee not in done:
                weight[callee] += weight[where] * depth[block]
                deepest[callee] = max(deepest[callee], deepest[where] * depth[block])
        for k, addresses in enumerate(graph.blocks):
            for at in addresses:
                word = code.words[at // WORD]
                op = word[0] & 0xFFF
                if at in code.spills and op in LOCAL | SHARED:
                    size, shared = access_bytes(word), op in SHARED
                    total.add(size, weight[where] * depth[k], deepest[where] * depth[k], shared=shared, load=op == LDL)
        total.of_function(code.functions.get(where[1], where[0]), total.local - before)
    return total


def _collect(
    codes: dict[str, Code],
    entry: tuple[str, int],
    graphs: dict[tuple[str, int], Graph],
    order: list[tuple[str, int]],
) -> None:
    """Graphs of all functions reached; order: callees before callers."""
    graphs[entry] = control_flow(codes[entry[0]], entry[1])
    work = [(entry, iter([callee for _, callee in graphs[entry].calls]))]
    while work:
        where, rest = work[-1]
        for callee in rest:
            if callee not in graphs and callee[0] in codes and 0 <= callee[1] < len(codes[callee[0]].words) * WORD:
                graphs[callee] = control_flow(codes[callee[0]], callee[1])
                work.append((callee, iter([c for _, c in graphs[callee].calls])))
                break
        else:
            order.append(where)
            work.pop()
