"""This oracle of `analysis.shared` watches what every thread reads in a run of the `python` engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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

    def place(self, pc: int) -> tuple[str, int]:
        for name, f in self.program.functions.items():
            if f.fn.address <= pc < f.fn.address + len(f.fn.instrs):
                return name, pc - f.fn.address
        raise AssertionError(f"word {pc} belongs to no function")

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


@contextmanager
def watched(program: ProgramAnalysis, patch: Any) -> Iterator[Watched]:
    """Watch the runs in the `python` engine while this lasts. patch: pytest's monkeypatch."""
    found, arrays = Watched(program), list[Any]()
    begin, end = device_loop.begin_issue, device_loop.end_issue

    def content(s: Any, w: int, lane: int, file: str, number: int) -> int:
        if file == REG and arrays:  # the first word of all comes before they are seen
            return int(arrays[0][s.warp_base + w, number, lane])
        return int(s.pred[w, number]) >> lane & 1 if file == PRED else 0

    def begin_issue(g: Any, s: Any, table: Any, hazard: Any, counts: Any, w: int, pc: int) -> int:
        active = int(s.stack[w, s.sp[w], device_loop.StackColumn.MASK])
        mine = int(begin(g, s, table, hazard, counts, w, pc))
        name, word = found.place(pc)
        seen = program[name].cfg.views[word]
        for lane in lanes_of(active):
            thread = int(s.block_id[s.block_of[w]]), int(s.in_block[w]), lane
            found.executed(thread, (name, word), bool(mine >> lane & 1))
            guarded = seen.guard is not None and seen.guard[0] != TRUE
            read = [(GUARD, 0, PRED, seen.guard[0])] if guarded else []
            if mine >> lane & 1:
                for k, ref in enumerate(seen.uses):
                    read += [(k, unit, ref.file, n) for unit, n in enumerate(ref.registers())]
            for k, unit, file, n in read:
                found.used(thread, (name, word, k, unit), content(s, w, lane, file, n))
        return mine

    def end_issue(g: Any, s: Any, table: Any, regs: Any, w: int, pc: int, nth: int) -> int:
        arrays[:] = [regs]
        return end(g, s, table, regs, w, pc, nth)

    with patch.context() as p:
        p.setattr(device_loop, "begin_issue", begin_issue)
        p.setattr(device_loop, "end_issue", end_issue)
        yield found


def lanes_of(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]
