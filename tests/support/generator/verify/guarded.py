"""Small originals of guarded words in which values are read that nobody wrote: for the checker, not to be run.

`guarded_program` draws a kernel and, at times, two functions, each calling the next one. Registers and words of local
memory are written on some ways only; predicates are written again under guards, and one of them first in the middle.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.support.programs.builder import Guard
from tests.support.programs.guarded import KERNEL, LOCAL_BYTES, Word

DATA = (4, 5, 6, 7)
UNWRITTEN = (9, 10)
COUNTER, TESTED = 8, 1
PREDICATES = (0, 1)
LATE, AGAIN = 2, 3
"""A predicate that nobody writes at the beginning; the loops'."""
HEAD = (Word("constant", 2, imm=0x40), Word("constant", 3), Word("block", TESTED))


@dataclass(frozen=True)
class Shape:
    """What the program may have."""

    calls: bool = False
    flow: bool = False
    memory: bool = False
    late: bool = False


class _Maker:
    def __init__(self, rng: random.Random, shape: Shape) -> None:
        self.rng, self.shape = rng, shape
        self.effects = self.labels = self.tests = 0
        self.last: Guard = (PREDICATES[0], False)

    def predicate(self) -> int:
        late = self.shape.late and self.rng.random() < 0.3
        return LATE if late else self.rng.choice(PREDICATES)

    def guard(self, likely: float = 0.5) -> Guard | None:
        """Often the last one again."""
        if self.rng.random() >= likely:
            return None
        if self.rng.random() < 0.6:
            self.last = self.predicate(), self.rng.random() < 0.5
        return self.last

    def effect(self, register: int) -> Word:
        self.effects += 1
        return Word("effect", sources=(register,), imm=4 * (self.effects - 1))

    def test(self, p: int) -> Word:
        self.tests += 1
        return Word("test", p, (TESTED,), 16 * self.tests)

    def word(self, effects: bool) -> Word:
        rng, kind = self.rng, self.rng.random()
        to, a, b = (rng.choice(DATA) for _ in range(3))
        local = 4 * rng.randrange(LOCAL_BYTES // 4 - 1)
        if self.shape.memory and kind < 0.25:
            if rng.random() < 0.5:
                return Word("store", sources=(rng.choice((*DATA, *UNWRITTEN)),), imm=local, guard=self.guard())
            return Word("load", to, imm=local, guard=self.guard())
        if kind < 0.4:
            return Word("copy", to, (rng.choice((*DATA, *UNWRITTEN, *UNWRITTEN)),), guard=self.guard())
        if kind < 0.65:
            return Word("add", to, (a,), rng.randrange(1, 3), self.guard(0.35))
        if kind < 0.72:
            return Word("sum", to, (a, b), guard=self.guard())
        if kind < 0.77:
            return Word("select", to, (a, b), self.predicate(), self.guard(0.2))
        if kind < 0.86:
            test = self.test(self.predicate())
            return Word("test", test.dst, test.sources, test.imm, self.guard())
        return self.effect(a) if effects else Word("constant", to, imm=rng.randrange(1, 3), guard=self.guard())

    def body(self, count: int, callee: str, effects: bool, depth: int = 1) -> list[Word]:
        out: list[Word] = []
        while len(out) < count:
            kind = self.rng.random()
            if callee and kind < 0.2:
                out.append(Word("call", guard=self.guard(0.8), name=callee))
            elif self.shape.flow and depth and kind < 0.35:
                make = self.loop if kind < 0.25 else self.detour
                out += make(self.body(self.rng.randrange(1, 4), callee, effects, depth - 1))
            else:
                out.append(self.word(effects))
        return out

    def label(self) -> str:
        self.labels += 1
        return f"l{self.labels}"

    def detour(self, inside: list[Word]) -> list[Word]:
        name = self.label()
        return [Word("branch", guard=self.guard(1), name=name), *inside, Word("label", name=name)]

    def loop(self, inside: list[Word]) -> list[Word]:
        name = self.label()
        return [
            Word("constant", COUNTER), Word("label", name=name), *inside,
            Word("add", COUNTER, (COUNTER,), 1), Word("test", AGAIN, (COUNTER,), 3),
            Word("back", guard=(AGAIN, False), name=name), Word("label", name=f"{name}_out"),
        ]  # fmt: skip


def guarded_program(seed: int, shape: Shape) -> dict[str, list[Word]]:
    """The words of the functions, the kernel's first."""
    rng = random.Random(f"guarded {seed}")
    maker = _Maker(rng, shape)
    kernel = [*HEAD, *(maker.test(p) for p in PREDICATES)]
    kernel += [Word("tid", r) for r in DATA if rng.random() < 0.8]
    kernel += maker.body(rng.randrange(4, 9), "f" if shape.calls else "", True)
    kernel += [maker.effect(r) for r in rng.sample(DATA, 2)]
    out = {KERNEL: [*kernel, Word("exit")]}
    if shape.calls:
        out["f"] = [*maker.body(rng.randrange(1, 4), "g", False, 0), Word("return")]
        out["g"] = [*maker.body(rng.randrange(1, 4), "", False, 0), Word("return")]
    return out
