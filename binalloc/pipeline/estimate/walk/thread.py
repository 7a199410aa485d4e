"""This module walks one thread through the code of a kernel, as far as its values are known.

Needs staged code and the thread's `Values`. Leaves how often each code word is executed, and the known addresses. Where
a branch depends on something unknown, the thread goes both ways up to where they meet. After that a value is known only
if both ways give it the same. Such a loop is left after ten rounds, as in the estimate without a walk
(`analysis.loops`). Rounds that are alike are counted, not walked (`repeats`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from binalloc.analysis.flow.loops import WEIGHT_BASE
from binalloc.emulator.host.staging import Constants, StagedProgram
from binalloc.emulator.known.values import (
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
from binalloc.emulator.state import layout as L
from binalloc.isa.instruction import Function
from binalloc.isa.interface.places import PRED
from binalloc.isa.interface.view import View
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import view
from binalloc.pipeline.estimate.walk.repeats import Again, Going, Repeats

MOST_STEPS = 30_000
"""Steps of a thread. More make estimates of long kernels slower; chosen by hand."""
WALKED = 2
"""Rounds of a loop behind the first that are walked where nothing is known of its end. The others count like the last
one. Chosen by hand."""
_C = L.Column


@dataclass
class WalkStep:
    """A walk step is a code word that is ready for a walk."""

    seen: View
    flow: Flow
    plain: bool  #: whether it is always executed, and the next word follows it
    effect: Effect  #: changes the values
    forget: Effect  #: makes the results unknown
    guard: int  #: predicate of its guard
    negated: int
    target: int
    meets: int | None  #: word at which the ways of a branch meet
    address: Source | None
    #: the numbers that it makes predicates from, and whether it compares two numbers
    tested: tuple[Callable[[Values], tuple[int, ...] | Comparison | None], bool] | None


@dataclass
class WalkSplit:
    """A split is a branch that may go either way."""

    branch: int  #: code word of the branch
    first: int  #: start of the side that is walked first
    other: int  #: start of the other side
    meets: int  #: code word at which the sides meet
    depth: int  #: calls that the branch is deep
    start: Values  #: values at the branch
    end: Values | None = None  #: values at the end of the first side
    rounds: int = 0  #: how often the walk came back
    bounded: bool = False  #: whether a loop around the branch has since been repeated for a known reason
    counts: list[float] = field(default_factory=list)  #: counts of the walk at the last return
    way: int = 0  #: length of the way then


@dataclass
class Walked:
    """A finished walk has the executed words, how often each was executed, and known addresses."""

    counts: list[float]  #: how often each code word was executed
    addresses: dict[int, list[Known]] = field(default_factory=dict)  #: known addresses by code word, in order
    way: list[Going] = field(default_factory=list)  #: the executed words one after the other
    complete: bool = True  #: whether the thread came to its end
    guessed: bool = False  #: whether a loop with an unknown end was left after a fixed number of rounds


class WalkCode:
    """The code of a walk is a staged program whose words are made ready when they are first reached."""

    def __init__(self, program: StagedProgram, constants: Constants, textures: Sequence[Sequence[int]]) -> None:
        self._program, self._constants, self._textures = program, constants, textures
        self._steps: dict[int, WalkStep | None] = {}
        self.words = len(program.table)

    def step(self, word: int) -> WalkStep | None:
        """Return the step of a code word, None where there is no code."""
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


class ThreadWalk:
    """A walk is one thread's way from the first word of the kernel on."""

    def __init__(self, code: WalkCode, start: int, values: Values) -> None:
        self.code, self.values, self.word = code, values, start
        self.found = Walked([0.0] * code.words)
        self._calls: list[int] = []
        self._splits: list[WalkSplit] = []
        self._repeats = Repeats()

    def run(self) -> Walked:
        """Walk until the thread ends, or has gone too far."""
        self.found.complete = self._to_its_end()
        self._repeats.fill(self.found.addresses)
        return self.found

    def _to_its_end(self) -> bool:
        """Walk on, and return whether the thread came to its end.

        Plain steps are handled in the loop itself, as most of the time is spent here.
        """
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
        """Go the other way of the last split, or end the split, if the walk is at the point where the two ways meet.

        Returns whether the point may be that of a further split, too.
        """
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
        """Execute one word. Return whether the thread has ended."""
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
        """Leave the function, or end the thread. On one of two ways of a split go to the end of that way."""
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

    def _split_at(self, word: int, depth: int) -> WalkSplit | None:
        for split in reversed(self._splits):
            if split.branch == word and split.depth == depth:
                return split
        return None

    def _fork(self, word: int, first: int, other: int, meets: int, depth: int) -> None:
        """Go both ways from here on, one after the other."""
        self._splits.append(WalkSplit(word, first, other, meets, depth, self.values.copy()))

    def _may_return(self, word: int) -> None:
        """Leave the function perhaps: behind the call only the values are known that are the same on both ways."""
        back, depth = self._calls[-1], len(self._calls) - 1
        split = self._split_at(word, depth)
        if split is not None:
            split.start.forget_others(self.values)
        else:
            self._fork(word, self.word, back, back, depth)

    def _again(self, split: WalkSplit) -> None:
        """Go on from a branch with an unknown outcome, to which the walk has come back.

        It goes the way that led here again, unless that has been often enough and nothing else bounds the loop.
        """
        while self._splits[-1] is not split:
            self._splits.pop()
        split.start.forget_others(self.values)
        counts, before = self.found.counts, split.counts
        split.rounds += not split.bounded
        split.bounded, split.counts = False, counts.copy()
        leaves = split.rounds >= WALKED
        self.word = split.other if leaves else split.first
        self.found.guessed |= leaves
        if leaves:  # the left-out rounds count like the last one
            left = WEIGHT_BASE - 1 - split.rounds
            for word, less in enumerate(before):
                counts[word] += left * (counts[word] - less)
            self.found.way.append(Again(split.way, len(self.found.way), left))
        split.way = len(self.found.way)
