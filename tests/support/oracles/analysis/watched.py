"""This oracle of `analysis.shared` watches what every thread reads in a run of the `python` engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from binalloc.analysis.program import ProgramAnalysis
from binalloc.analysis.web import GUARD
from binalloc.emulator.sm import device_loop
from binalloc.isa.interface.places import PRED, REG, TRUE

Thread = tuple[int, int, int]
"""Block, warp of the block, lane."""
Round = tuple[Any, ...]
"""For each call on the thread's stack the word of the call; for each loop around a word the round that it is in."""


@dataclass
class Frame:
    """A frame is a function that a thread is in: its name, where it was called, the last block that the thread executed
    and the round of each loop."""

    name: str
    calls: Round
    block: int = -1
    rounds: dict[int, int] = field(default_factory=dict)


@dataclass
class Watched:
    """This record of a run has two tables. values: by function, word, place among its uses (as in `WebPoint`), unit and
    round, what each thread read. came: by function, word and round the threads that executed the word."""

    program: ProgramAnalysis
    values: dict[tuple[str, int, int, int, Round], dict[Thread, int]] = field(default_factory=dict)
    came: dict[tuple[str, int, Round], set[Thread]] = field(default_factory=dict)
    threads: set[Thread] = field(default_factory=set)
    stacks: dict[Thread, list[Frame]] = field(default_factory=dict)
    last: dict[Thread, Round] = field(default_factory=dict)

    def executed(self, thread: Thread, place: tuple[str, int], mine: bool) -> None:
        """Note that the thread has come to a word of a function. mine: its guard held."""
        self.threads.add(thread)
        name, word = place
        stack = self.stacks.setdefault(thread, [])
        if not stack:
            stack.append(Frame(name, ()))
        frame = stack[-1]
        assert frame.name == name
        self.last[thread] = rounds = self._enter(frame, name, word)
        if mine:
            self.came.setdefault((name, word, rounds), set()).add(thread)
        seen = self.program[name].cfg.views[word]
        if mine and seen.control == "call":
            stack.append(Frame(self.program[name].webs.calls[word].callee, (*rounds, word)))
        elif mine and seen.control == "return":
            stack.pop()

    def used(self, thread: Thread, operand: tuple[str, int, int, int], value: int) -> None:
        """Note what the thread's last word has read."""
        self.values.setdefault((*operand, self.last[thread]), {})[thread] = value

    def _enter(self, frame: Frame, name: str, word: int) -> Round:
        """Return the rounds of the loops around a word, to which a thread comes."""
        f = self.program[name]
        block = f.cfg.block_of[word]
        around = []
        k = f.loops.loop_of[block]
        while k >= 0:
            around.append(k)
            k = f.loops.loops[k].parent
        if f.cfg.blocks[block].start == word:
            for k in around:
                if f.loops.loops[k].header == block:
                    inside = frame.block in f.loops.loops[k].blocks
                    frame.rounds[k] = frame.rounds.get(k, 0) + 1 if inside else 0
            frame.block = block
        return (*frame.calls, *(frame.rounds[k] for k in reversed(around)))


def place_of(program: ProgramAnalysis, pc: int) -> tuple[str, int]:
    """Return the function of a word of the code space, and the word's number there."""
    for name, f in program.functions.items():
        if f.fn.address <= pc < f.fn.address + len(f.fn.instrs):
            return name, pc - f.fn.address
    raise AssertionError(f"word {pc} belongs to no function")


@dataclass(frozen=True)
class Issue:
    """An issue is an instruction that a warp is about to execute, with the words that it finds."""

    block: int
    warp: int  #: of the block
    pc: int  #: in the code space of all functions
    active: int  #: mask of the active lanes
    mine: int  #: mask of those whose guard holds
    registers: NDArray[np.uint32] | None  #: by number and lane; None where all are still zero
    predicates: NDArray[np.uint32]  #: by number, a bit for each lane

    def register(self, number: int) -> NDArray[np.int64]:
        """Return a register in each lane."""
        return np.zeros(32, np.int64) if self.registers is None else self.registers[number].astype(np.int64)

    def predicate(self, number: int) -> NDArray[np.bool_]:
        """Return a predicate in each lane."""
        return spread(int(self.predicates[number]))


@contextmanager
def issues(patch: Any, see: Callable[[Issue], None]) -> Iterator[None]:
    """Call `see` with each instruction that the `python` engine issues while this lasts. patch: pytest's
    monkeypatch."""
    begin, end, arrays = device_loop.begin_issue, device_loop.end_issue, list[Any]()

    def begin_issue(g: Any, s: Any, table: Any, hazard: Any, counts: Any, w: int, pc: int) -> int:
        active = int(s.stack[w, s.sp[w], device_loop.StackColumn.MASK])
        mine = int(begin(g, s, table, hazard, counts, w, pc))
        # the first word of all comes before the registers are seen
        registers = arrays[0][s.warp_base + w] if arrays else None
        see(Issue(int(s.block_id[s.block_of[w]]), int(s.in_block[w]), pc, active, mine, registers, s.pred[w]))
        return mine

    def end_issue(g: Any, s: Any, table: Any, regs: Any, w: int, pc: int, nth: int) -> int:
        arrays[:] = [regs]
        return end(g, s, table, regs, w, pc, nth)

    with patch.context() as p:
        p.setattr(device_loop, "begin_issue", begin_issue)
        p.setattr(device_loop, "end_issue", end_issue)
        yield


@contextmanager
def watched(program: ProgramAnalysis, patch: Any) -> Iterator[Watched]:
    """Watch the runs in the `python` engine while this lasts. patch: pytest's monkeypatch."""
    found = Watched(program)

    def see(issue: Issue) -> None:
        name, word = place_of(program, issue.pc)
        seen = program[name].cfg.views[word]
        for lane in lanes_of(issue.active):
            thread = issue.block, issue.warp, lane
            found.executed(thread, (name, word), bool(issue.mine >> lane & 1))
            guarded = seen.guard is not None and seen.guard[0] != TRUE
            read = [(GUARD, 0, PRED, seen.guard[0])] if guarded else []
            if issue.mine >> lane & 1:
                for k, ref in enumerate(seen.uses):
                    read += [(k, unit, ref.file, n) for unit, n in enumerate(ref.registers())]
            for k, unit, file, n in read:
                content = 0
                if file == REG:
                    content = 0 if issue.registers is None else int(issue.registers[n, lane])
                elif file == PRED:
                    content = int(issue.predicates[n]) >> lane & 1
                found.used(thread, (name, word, k, unit), content)

    with issues(patch, see):
        yield found


def spread(mask: int) -> NDArray[np.bool_]:
    """Return whether each lane is in a mask."""
    return mask >> np.arange(32) & 1 == 1


def lanes_of(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]
