"""Kernels in which pure values are made of one another in front of loops and read inside of them and behind.

Every value has one definition, so that each may be made again of others, which may be away themselves: what random
programs seldom have, in which registers are written again and again. With `pairs` some are halves, of which one may
be changed under a guard: then the other half can be made again, and not what it was made with.
"""

from __future__ import annotations

import random

from binalloc.isa.instruction import Module
from tests.support.programs.builder import program

_FIRST = 10
_WORDS = ("IADD3 R{0}, R{1}, R{2}, RZ", "LOP3 R{0}, R{1}, R{2}, RZ, 0x96", "IADD3 R{0}, R{1}, 5, RZ")


def chained(seed: int, values: int = 10, loops: int = 3, *, pairs: bool = False) -> Module:
    """values: how many are made in front of each loop. loops: how many there are, some of them inside others."""
    made = _Chains(random.Random(f"chains {seed}"), values, pairs=pairs)
    return program("\n".join([".kernel k registers=250", *made.run(loops)]))


class _Chains:
    def __init__(self, rng: random.Random, values: int, *, pairs: bool) -> None:
        self.rng, self.values, self.pairs = rng, values, pairs
        self.known: list[int] = []
        self.next = _FIRST
        self.label = 0

    def run(self, loops: int) -> list[str]:
        lines = ["MOV R4, c[0][p]", "MOV R5, c[0][p+4]", "LDG R6, [R4]"]
        lines += [f"LDG R{self._new()}, [R4+{4 * k}]" for k in range(1, 4)]
        while loops:
            inside = self.rng.randrange(1, loops + 1)
            lines += self._loop(inside)
            loops -= inside
        return [*lines, *self._reads(4), "EXIT"]

    def _new(self) -> int:
        self.next += 1
        self.known.append(self.next - 1)
        return self.next - 1

    def _makes(self, count: int) -> list[str]:
        """Each of one or two of the latest, so that chains are long."""
        lines = []
        for _ in range(count):
            near = self.known[-5:]
            if self.pairs and self.rng.random() < 0.3:
                lines += self._pair(*self.rng.sample(near, 2))
                continue
            one, other = self.rng.choice(near), self.rng.choice((*near, *self.known))
            lines.append(self.rng.choice(_WORDS).format(self._new(), one, other))
        return lines

    def _pair(self, one: int, other: int) -> list[str]:
        """A pair, half of it changed perhaps, and another pair made of it."""
        self.next += self.next % 2
        first, _, second, _ = self._new(), self._new(), self._new(), self._new()
        lines = [f"IMAD.WIDE.U32 R{first}, R{one}, R{other}, RZ"]
        if self.rng.random() < 0.7:
            half = first + self.rng.randrange(2)
            lines += [f"ISETP.LT P1, PT, R{other}, 9, PT", f"@P1 IADD3 R{half}, R{half}, R{one}, RZ"]
        return [*lines, f"IMAD.WIDE.U32 R{second}, R{other}, 3, R{first}"]

    def _reads(self, count: int) -> list[str]:
        return [f"STG [R4+{4 * k}], R{self.rng.choice(self.known)}" for k in range(self.rng.randrange(1, count + 1))]

    def _loop(self, depth: int) -> list[str]:
        """A loop with others in it, `depth` in all; what is made inside is not read behind."""
        lines = [*self._makes(self.values), *(self._reads(2) if self.rng.random() < 0.5 else ())]
        self.label += 1
        name, before = f"loop{self.label}", list(self.known)
        body = self._reads(3)
        if self.rng.random() < 0.5:
            body += self._makes(self.rng.randrange(1, 4))
        if depth > 1:
            body += self._loop(depth - 1)
        body += self._reads(3)
        self.known = before
        return [
            *lines,
            f"{name}:",
            *body,
            "IADD3 R6, R6, -1, RZ",
            "ISETP.GT P0, PT, R6, 0, PT",
            f"@P0 BRA {name}, {name}_end",
            f"{name}_end:",
        ]
