"""This module divides a kernel into pieces at what concerns its shared memory.

Needs a `SharedMemory`; leaves it untouched. An *event* is one word. It accesses shared memory (or calls a function that
does), is a barrier of the whole block, or is a branch at which threads of a block part. A *gap* is the words between
two events of a basic block; it may be empty. Common and private bytes are left out: their accesses are no events.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.analysis.flow.cfg import BlockNumber, Cfg
from binalloc.analysis.ranges.function import LEAVING
from binalloc.analysis.shared.barriers import Arrival
from binalloc.analysis.shared.division import reached
from binalloc.analysis.shared.memory import SharedMemory
from binalloc.analysis.shared.uniformity import Scope
from binalloc.isa.kinds import CALLS, Access, Flow, Space


@dataclass
class Piece:
    """A piece of a kernel is one event or one gap."""

    block: BlockNumber
    start: int  #: its first word
    end: int  #: one past its last word
    event: bool
    reads: int = 0  #: bytes that it may read, as a bitset
    writes: int = 0  #: bytes that it may write
    #: bytes that all threads of a block surely write whenever one comes to it
    kills: int = 0
    barrier: bool = False  #: all threads of the block wait for each other
    succs: list[int] = field(default_factory=list)
    preds: list[int] = field(default_factory=list)
    #: a gap behind a block's branch, which is no place in the code
    ways: bool = False

    @property
    def accesses(self) -> bool:
        return bool(self.reads | self.writes)


@dataclass
class Pieces:
    """The pieces of a kernel are listed in order of words; every block begins and ends with a gap."""

    memory: SharedMemory
    all: list[Piece]
    first: list[int]  #: by basic block its first piece, -1 where unreachable
    last: list[int]  #: by basic block its last piece

    @property
    def cfg(self) -> Cfg:
        return self.memory.program.kernel.cfg


def pieces(memory: SharedMemory) -> Pieces:
    """Return the pieces of the kernel's reachable code. Ways that no thread takes are left out."""
    cfg = memory.program.kernel.cfg
    edges = memory.ranges.functions[memory.program.graph.kernel].edges
    found = Pieces(memory, [], [-1] * len(cfg.blocks), [-1] * len(cfg.blocks))
    events = _events(memory)
    for block in sorted(cfg.rpo):
        at = cfg.blocks[block].start
        found.first[block] = len(found.all)
        for word in range(at, cfg.blocks[block].end):
            if word in events:
                found.all += [Piece(block, at, word, False), events[word]]
                at = word + 1
        ways = at == cfg.blocks[block].end and cfg.views[at - 1].control in LEAVING
        found.all.append(Piece(block, at, cfg.blocks[block].end, False, ways=ways))
        found.last[block] = len(found.all) - 1
    for block in cfg.rpo:
        for n in range(found.first[block], found.last[block]):
            found.all[n].succs.append(n + 1)
        taken = [s for s in cfg.succs[block] if edges.get((block, s)) is not False]
        found.all[found.last[block]].succs += [found.first[s] for s in taken]
    for n, piece in enumerate(found.all):
        for s in piece.succs:
            found.all[s].preds.append(n)
    return found


def _events(memory: SharedMemory) -> dict[int, Piece]:
    """Return the events by word."""
    kernel = memory.program.kernel
    cfg, scopes, kept = kernel.cfg, memory.scopes, memory.kept
    events: dict[int, Piece] = {}

    def at(word: int) -> Piece:
        return events.setdefault(word, Piece(cfg.block_of[word], word, word + 1, True))

    touched: dict[str, tuple[int, int]] = {}
    for access in memory.reach.accesses:
        may = access.may & ~kept
        reads, writes = may if access.reads else 0, may if access.writes else 0
        if access.place.function == kernel.name:
            if may:
                event = at(access.place.word)
                event.reads, event.writes, event.kills = reads, writes, 0
        else:
            before = touched.get(access.place.function, (0, 0))
            touched[access.place.function] = before[0] | reads, before[1] | writes
    for word, seen in enumerate(cfg.views):
        if not cfg.reachable(word):
            continue
        if seen.control in CALLS:
            for name in _below(memory, kernel.webs.calls[word].callee):
                reads, writes = touched.get(name, (0, 0))
                if reads | writes:
                    event = at(word)
                    event.reads, event.writes = event.reads | reads, event.writes | writes
        elif seen.control in (Flow.BRANCH, Flow.RETURN) and scopes.guard(kernel.name, word) < Scope.BLOCK:
            at(word)
    for site in memory.barriers:
        if site.place.function == kernel.name and site.arrival is Arrival.ALL and site.barrier.whole:
            at(site.place.word).barrier = True
    return events


def _below(memory: SharedMemory, name: str) -> list[str]:
    """Return a function and all that it may call."""
    found, work = {name}, [name]
    while work:
        for callee in memory.program.graph.callees(work.pop()):
            if callee not in found:
                found.add(callee)
                work.append(callee)
    return sorted(found)


def apart(memory: SharedMemory) -> set[int]:
    """Return the basic blocks of the kernel in which lanes of a warp may be apart: those between a branch at which they
    part and the point where they meet again."""
    kernel = memory.program.kernel
    cfg, found = kernel.cfg, set[int]()
    for block in cfg.rpo:
        last = cfg.blocks[block].end - 1
        if cfg.views[last].control == Flow.BRANCH and memory.scopes.guard(kernel.name, last) < Scope.WARP:
            found |= reached(cfg.succs, cfg.succs[block], cfg.points.get(last, -1))
    return found


def plain_store(memory: SharedMemory, word: int) -> bool:
    """Return whether a word of the kernel is a store to shared memory by each thread that comes to it."""
    seen = memory.program.kernel.cfg.views[word]
    what = seen.memory
    return (
        what is not None and (what.space, what.access) == (Space.SHARED, Access.STORE) and not what.spill
        and what.givers == 0 and seen.guard is None
    )  # fmt: skip
