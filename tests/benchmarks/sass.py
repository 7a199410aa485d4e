"""Spill code in cubins: what ptxas put into local (and, where asked, shared) memory, counted and weighted by depth.

Reads the ELF64 files that ptxas writes for sm_70 and later: instructions of 128 bits in `.text.<kernel>`, opcode in
bits 0..11, guard in bits 12..15. Which accesses are spills is not guessed: ptxas lists their addresses in the attribute
ANNOTATIONS (0x55) of `.nv.info.<kernel>`, as pairs (kind, address) of kind 1. A kernel's own local arrays are not among
them; the tests hold the list against what `ptxas -v` prints.

Control flow, for the loops: BRA, JMP, CALL, RET, EXIT, BRX (targets listed in the attribute 0x34) and BSSY with
BSYNC, which goes on at the place that BSSY named. Subroutines lie behind the kernel in its section, or in sections of
their own that relocations name. Loops and weights are `binalloc.analysis.loops`: 10 per depth, as for our own code.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from binalloc.analysis.cfg import Cfg
from binalloc.analysis.loops import find_loops

WORD = 16
LDL, STL, LDS, STS = 0x983, 0x387, 0x984, 0x388
LOCAL, SHARED = frozenset({LDL, STL}), frozenset({LDS, STS})
BRA, BRA_UNIFORM, JMP = 0x947, 0x547, 0x94A
BRX = frozenset({0x949, 0x94C, 0x349, 0x34C, 0x558})
CALL, CALL_ABSOLUTE = 0x944, 0x943
CALL_REGISTER = frozenset({0x343, 0x344, 0xA43, 0xA44, 0xB43, 0xB44})
RET, EXIT, KILL = 0x950, 0x94D, 0x95B
BSSY, BSYNC = 0x945, 0x941
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 8, 6: 16}
_ANNOTATIONS, _BRANCH_TARGETS, _REGISTERS = 0x55, 0x34, 0x2F
_SPILL = 1
_PT = 7


class NotACubin(ValueError):
    """Bytes that are not a cubin of this kind; says what is wrong."""


@dataclass
class Section:
    """One ELF section: its name, place in the file, bytes, and the two numbers that depend on its kind."""

    name: str
    kind: int
    data: bytes
    link: int
    info: int


@dataclass
class Code:
    """The words of one `.text` section. words: (low, high). targets: of indirect branches, by address. calls: addresses
    of calls whose target a relocation names -> (section, address)."""

    name: str
    words: list[tuple[int, int]]
    spills: frozenset[int]
    targets: dict[int, list[int]] = field(default_factory=dict)
    calls: dict[int, tuple[str, int]] = field(default_factory=dict)


@dataclass
class Spilled:
    """Spill code of one kernel and all it calls, in bytes per thread: as it stands, and weighted by loop depth.
    local, shared: loads and stores. loads: the local loads alone. deepest: weighted local bytes where a function weighs
    as much as its deepest call site, not as all of them (ptxas keeps the slow paths of divisions in subroutines).
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


def sections(data: bytes) -> list[Section]:
    """The sections of an ELF64 file. Raises NotACubin."""
    if data[:5] != b"\x7fELF\x02" or len(data) < 64:
        raise NotACubin("no ELF64 file")
    try:
        (table,) = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * k) for k in range(count)]
        start = rows[names][4]
        found = []
        for name, kind, _, _, offset, length, link, info, _, _ in rows:
            end = data.index(b"\0", start + name)
            body = b"" if kind == 8 else data[offset : offset + length]
            found.append(Section(data[start + name : end].decode(), kind, body, link, info))
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise NotACubin(f"a damaged section table: {error}") from error
    return found


def read_cubin(data: bytes) -> dict[str, Code]:
    """All code of a cubin by section name without `.text.`. Raises NotACubin."""
    parts = sections(data)
    found: dict[str, Code] = {}
    for part in parts:
        if part.name.startswith(".text."):
            name = part.name.removeprefix(".text.")
            if len(part.data) % WORD:
                raise NotACubin(f"{part.name} has {len(part.data)} bytes, not a multiple of {WORD}")
            words = [struct.unpack_from("<QQ", part.data, k) for k in range(0, len(part.data), WORD)]
            found[name] = Code(name, cast("list[tuple[int, int]]", words), frozenset())
    for part in parts:
        if part.name.startswith(".nv.info."):
            code = found.get(part.name.removeprefix(".nv.info."))
            if code is not None:
                _read_attributes(part.data, code)
        elif part.kind in (4, 9) and part.name.startswith((".rel.text.", ".rela.text.")):
            _read_relocations(part, parts, found)
    return found


def registers(data: bytes) -> dict[str, int]:
    """Registers per thread of each function that says so (attribute REGCOUNT of `.nv.info`)."""
    parts = sections(data)
    symbols = next((p for p in parts if p.name == ".symtab"), None)
    found: dict[str, int] = {}
    for part in parts:
        if part.name == ".nv.info" and symbols is not None:
            for attribute, payload in attributes(part.data):
                if attribute == _REGISTERS:
                    index, count = struct.unpack_from("<II", payload)
                    found[_symbol(symbols, parts, index)[0]] = count
    return found


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes of a `.nv.info` section: number and payload."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        length = size if form == 4 else 0
        yield attribute, data[at + 4 : at + 4 + length] if form == 4 else data[at + 2 : at + 4]
        at += 4 + length


def _read_attributes(data: bytes, code: Code) -> None:
    """Where spill accesses stand, and what indirect branches reach."""
    for attribute, payload in attributes(data):
        if attribute == _ANNOTATIONS:
            pairs = struct.iter_unpack("<II", payload[: len(payload) // 8 * 8])
            code.spills |= {address for kind, address in pairs if kind == _SPILL}
        elif attribute == _BRANCH_TARGETS:
            at = 0
            while at + 12 <= len(payload):
                address, _, count = struct.unpack_from("<III", payload, at)
                code.targets[address] = list(struct.unpack_from(f"<{count}I", payload, at + 12))
                at += 12 + 4 * count


def _symbol(symbols: Section, parts: list[Section], index: int) -> tuple[str, int, int]:
    """Name, section number and value of a symbol."""
    name, _, _, where, value, _ = struct.unpack_from("<IBBHQQ", symbols.data, 24 * index)
    names = parts[symbols.link].data
    return names[name : names.index(b"\0", name)].decode(), where, value


def _read_relocations(part: Section, parts: list[Section], found: dict[str, Code]) -> None:
    """Calls into other sections, from the relocations of one section."""
    code = found.get(part.name.split(".text.", 1)[1])
    symbols = parts[part.link]
    if code is None or symbols.name != ".symtab":
        return
    for at in range(0, len(part.data) - 15, 24 if part.kind == 4 else 16):
        offset, info = struct.unpack_from("<QQ", part.data, at)
        _, where, value = _symbol(symbols, parts, info >> 32)
        if where < len(parts) and parts[where].name.startswith(".text."):
            code.calls[offset // WORD * WORD] = (parts[where].name.removeprefix(".text."), value)


def relative(word: tuple[int, int]) -> int:
    """The signed byte offset of a branch from the next instruction: bits 32..81, of 4 bytes' grain."""
    value = (word[0] >> 32 | (word[1] & 0x3FFFF) << 32) & ~3
    return value - (1 << 50) if value >> 49 else value


def _conditional(word: tuple[int, int]) -> bool:
    """Under a guard other than PT, or, of a branch, a second predicate other than PT."""
    return word[0] >> 12 & 15 != _PT or (word[0] & 0xFFF in (BRA, BRA_UNIFORM) and word[1] >> 23 & 15 != _PT)


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
                state = frozenset(p for p in state if p[0] != number) | {(number, at + WORD + relative(word))}
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
            targets = [at + WORD + relative(word)]
        elif op == JMP:
            targets = [relative(word)]
        elif op in BRX:
            targets = self.code.targets.get(at, [])
            if not targets:
                self.unknown.add(at)
        elif op == BSYNC:
            targets = sorted({target for number, target in state if number == word[0] >> 16 & 15}) or fall
        elif op in (RET, EXIT, KILL):
            targets = []
        elif op in (CALL, CALL_ABSOLUTE) or op in CALL_REGISTER:
            self._call(at, op, word)
        if targets is not fall and _conditional(word):
            targets = targets + fall
        return [t for t in dict.fromkeys(targets) if 0 <= t < len(self.code.words) * WORD]

    def _call(self, at: int, op: int, word: tuple[int, int]) -> None:
        if at in self.code.calls:
            self.calls[at] = self.code.calls[at]
        elif op == CALL:
            self.calls[at] = (self.code.name, at + WORD + relative(word))
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
