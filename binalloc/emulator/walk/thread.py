"""One thread through the code of a kernel, as far as its values are known.

Needs staged code and the thread's `Values`; leaves how often each code word is executed, and the addresses that are
known. Where a branch hangs on something unknown, the thread goes both ways up to where they meet and knows then what it
knows on both; such a loop is left after ten rounds, as in the estimate without a walk (`analysis.loops`). Rounds that
are alike are counted, not walked (`repeats`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from binalloc.analysis.flow.loops import WEIGHT_BASE
from binalloc.emulator.host.staging import Constants, Program
from binalloc.emulator.state import layout as L
from binalloc.emulator.walk.repeats import Again, Going, Repeats
from binalloc.emulator.walk.values import (
    Comparison,
    Effect,
    Known,
    Source,
    Values,
    address_of,
    comparison_of,
    effect_of,
    forgetting,
    operands_of,
)
from binalloc.isa.instruction import Function
from binalloc.isa.interface.places import PRED
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import view

MOST_STEPS = 30_000
"""Of a thread."""
WALKED = 2
"""Rounds of a loop behind the first that are walked where nothing is known of its end."""
_C = L.Column


@dataclass
class WalkStep:
    """A code word made ready. plain: always executed, with the next word behind it. tested: what it makes predicates
    from, and whether it compares two numbers."""

    seen: View
    flow: Flow
    plain: bool
    effect: Effect
    forget: Effect
    guard: int
    negated: int
    target: int
    meets: int | None
    address: Source | None
    tested: tuple[Callable[[Values], tuple[int, ...] | Comparison | None], bool] | None


@dataclass
class Split:
    """A branch that may go either way. first: where the side begins that is walked first; other: the other; depth: of
    calls; start: the values there; end: those at the end of the first side. rounds: how often the walk came
    back; bounded: whether since then a loop around the branch was gone round for a reason that is known; counts:
    as they were then."""

    branch: int
    first: int
    other: int
    meets: int
    depth: int
    start: Values
    end: Values | None = None
    rounds: int = 0
    bounded: bool = False
    counts: list[float] = field(default_factory=list)
    way: int = 0


@dataclass
class Walked:
    """counts: how often each code word was executed; addresses: by code word, in order, where they are known. way: the
    words one after the other. complete: the thread came to its end; guessed: a loop whose end is unknown was left after
    so many rounds."""

    counts: list[float]
    addresses: dict[int, list[Known]] = field(default_factory=dict)
    way: list[Going] = field(default_factory=list)
    complete: bool = True
    guessed: bool = False


class Code:
    """A staged program whose words are made ready when they are first reached."""

    def __init__(self, program: Program, constants: Constants, textures: Sequence[Sequence[int]]) -> None:
        self._program, self._constants, self._textures = program, constants, textures
        self._steps: dict[int, WalkStep | None] = {}
        self.words = len(program.table)

    def step(self, word: int) -> WalkStep | None:
        """None where there is no code."""
        try:
            return self._steps[word]
        except KeyError:
            place = self._program.place(word)
            found = self._steps[word] = None if place is None else self._ready(word, *place)
            return found

    def _ready(self, word: int, fn: Function, index: int) -> WalkStep:
        row = [int(x) for x in self._program.table[word]]
        instr = fn.instrs[index]
        seen = view(instr)
        compares, decides = comparison_of(instr, row), any(ref.file == PRED for ref in seen.defs)
        flow = seen.control
        goes = flow in (Flow.BRANCH, Flow.CALL, Flow.CALL_INDIRECT, Flow.RETURN, Flow.EXIT)
        return WalkStep(
            seen,
            flow,
            row[_C.GUARD] == L.PT and not row[_C.GUARDN] & 1 and not goes,
            effect_of(instr, row, self._constants),
            forgetting(instr, row),
            row[_C.GUARD],
            row[_C.GUARDN] & 1,
            row[_C.TARGET],
            row[_C.RECONV] if row[_C.DIVERGES] else None,
            None if seen.memory is None else address_of(instr, row, self._textures),
            (compares, True) if compares is not None else (operands_of(row), False) if decides else None,
        )


class Walk:
    """One thread's way from the first word of the kernel on."""

    def __init__(self, code: Code, start: int, values: Values) -> None:
        self.code, self.values, self.word = code, values, start
        self.found = Walked([0.0] * code.words)
        self._calls: list[int] = []
        self._splits: list[Split] = []
        self._repeats = Repeats()

    def run(self) -> Walked:
        """Until the thread ends, or has gone too far."""
        self.found.complete = self._to_its_end()
        self._repeats.fill(self.found.addresses)
        return self.found

    def _to_its_end(self) -> bool:
        """Whether it came so far. (Plain steps are told apart here: this is where the time goes.)"""
        counts, way, ready = self.found.counts, self.found.way, self.code.step
        for _ in range(MOST_STEPS):
            while self._splits and self._meet():
                pass
            word = self.word
            step = ready(word)
            if step is None or step.flow == Flow.CALL_INDIRECT:
                break
            counts[word] += 1
            way.append(word)
            if step.plain:
                self.word = word + 1
                self._compute(word, step, True)
            elif self._execute(step):
                return True
        return False

    def _meet(self) -> bool:
        """At the point where the ways of the last split meet, if there is one: the other way, or both are done."""
        split = self._splits[-1]
        if self.word != split.meets or len(self._calls) != split.depth:
            return False
        if split.end is None and not split.rounds:
            split.end, self.values = self.values, split.start.copy()
            self.word, split.first, split.other = split.other, split.other, split.first
            return self.word == split.meets
        self._splits.pop()
        if split.rounds:
            self.values.forget_others(split.start)
        if split.end is not None:
            self.values.forget_others(split.end)
        return True

    def _execute(self, step: WalkStep) -> bool:
        """One word; whether the thread has ended."""
        guard = self.values.predicates[step.guard]
        holds = None if guard is None else bool(guard ^ step.negated)
        word, self.word = self.word, self.word + 1
        flow = step.flow
        if holds is False:
            return False
        if flow == Flow.BRANCH:
            self._branch(word, step, holds)
        elif flow == Flow.CALL:
            if holds is None:
                self._fork(word, step.target, self.word, self.word, len(self._calls))
            self._calls.append(self.word)
            self.word = step.target
        elif flow in (Flow.RETURN, Flow.EXIT):
            if holds is not None:
                return self._leave(flow)
            if flow == Flow.RETURN and self._calls:
                self._may_return(word)
        else:
            self._compute(word, step, holds)
        return False

    def _compute(self, word: int, step: WalkStep, holds: bool | None) -> None:
        values = self.values
        if step.address is not None:
            self.found.addresses.setdefault(word, []).append(step.address(values))
        if holds is None:
            step.forget(values)
            return
        if step.tested is not None:
            numbers = step.tested[0](values)
            if numbers is not None:
                self._repeats.tests.append((word, numbers, step.tested[1]))
        step.effect(values)

    def _leave(self, flow: Flow) -> bool:
        """Out of the function, or to its end: of a way that was chosen, to where that ends."""
        if flow == Flow.RETURN and self._calls and (not self._splits or len(self._calls) > self._splits[-1].depth):
            self.word = self._calls.pop()
            return False
        if not self._splits:
            return True
        split = self._splits[-1]
        del self._calls[split.depth :]
        self.word = split.meets
        return False

    def _branch(self, word: int, step: WalkStep, holds: bool | None) -> None:
        if holds is not None:
            if step.target <= word:
                if step.guard != L.PT:
                    for around in self._splits:
                        around.bounded |= step.target <= around.branch <= word
                found = self.found
                self._repeats.skip(word, len(self._calls), self.values, found.counts, found.way, found.addresses)
            self.word = step.target
            return
        split = self._split_at(word, len(self._calls))
        if split is not None:
            self._again(split)
        elif step.meets is not None:
            self._fork(word, self.word, step.target, step.meets, len(self._calls))

    def _split_at(self, word: int, depth: int) -> Split | None:
        for split in reversed(self._splits):
            if split.branch == word and split.depth == depth:
                return split
        return None

    def _fork(self, word: int, first: int, other: int, meets: int, depth: int) -> None:
        """From here on both ways, one after the other."""
        self._splits.append(Split(word, first, other, meets, depth, self.values.copy()))

    def _may_return(self, word: int) -> None:
        """Out of the function perhaps: what is known behind the call is known on either way."""
        back, depth = self._calls[-1], len(self._calls) - 1
        split = self._split_at(word, depth)
        if split is not None:
            split.start.forget_others(self.values)
        else:
            self._fork(word, self.word, back, back, depth)

    def _again(self, split: Split) -> None:
        """Back at a branch that may go either way: the way that led here again, unless that has been often enough and
        nothing else bounds the loop."""
        while self._splits[-1] is not split:
            self._splits.pop()
        split.start.forget_others(self.values)
        counts, before = self.found.counts, split.counts
        split.rounds += not split.bounded
        split.bounded, split.counts = False, counts.copy()
        leaves = split.rounds >= WALKED
        self.word = split.other if leaves else split.first
        self.found.guessed |= leaves
        if leaves:  # the rounds left out are like the last one
            left = WEIGHT_BASE - 1 - split.rounds
            for word, less in enumerate(before):
                counts[word] += left * (counts[word] - less)
            self.found.way.append(Again(split.way, len(self.found.way), left))
        split.way = len(self.found.way)
