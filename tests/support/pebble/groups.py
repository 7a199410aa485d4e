"""Pebble programs drawn at random whose instructions name groups of registers of any width and alignment."""

from __future__ import annotations

import random

from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module
from tests.support.pebble.programs import LANE
from tests.support.pebble.table import GROUPS, REGISTERS, ROWS, make, shape

COUNT = 2
"""Register of the loop's counter; with LANE it is written by nothing drawn."""
FIRST = 3
"""The first of the registers that drawn instructions write. All are loaded at the start and stored at the end."""
OUT = 4096
P = (0, False)


def random_groups(seed: int, *, share: float = 0.6, registers: int = REGISTERS) -> Module:
    """A kernel `k` with a loop, a branch, guards and calls of `f`. share: of instructions that name groups."""
    return _Drawing(random.Random(f"groups {seed} {share} {registers}"), share, registers).run()


class _Drawing:
    def __init__(self, rng: random.Random, share: float, registers: int) -> None:
        self.rng, self.share, self.registers = rng, share, registers

    def run(self) -> Module:
        rng = self.rng
        loaded = list(range(FIRST, self.registers))
        k = [make("ask", to=LANE), *(make("get", to=v, one=LANE, value=4 * v) for v in loaded)]
        k += [*self._some(4), make("lit", to=COUNT, value=3)]
        loop = len(k)
        k += [*self._some(4), make("call"), *self._some(2), make("more", to=COUNT, one=COUNT, value=-1)]
        k += [make("less", mark=1, one=0, two=COUNT)]
        k += [make("jump", P, value=loop - len(k) - 1)]
        k += [make("less", mark=1, one=self._single(), two=self._single())]
        k += [self._one(P) for _ in range(3)]
        then = self._some(3)
        k += [make("jump", (0, True), value=len(then), join=len(then)), *then]
        k += [make("call"), *self._some(2)]
        rng.shuffle(loaded)
        left = loaded[: rng.randrange(4, len(loaded) + 1)]
        k += [make("give", one=LANE, two=v, value=OUT + 4 * v) for v in left]
        k.append(make("end"))
        kernel = Function("k", k, FunctionInfo(registers=REGISTERS, block=(32, 1, 1)))
        callee = Function("f", [*self._some(4), make("back")], FunctionInfo(kind="function", registers=REGISTERS))
        module = Module([kernel, callee], isa="pebble", path="k.pebble")
        module.layout()
        for index, instr in enumerate(k):
            if instr.name == "call":
                k[index] = instr.replace(value=callee.address - kernel.address - index - 1)
        return module

    def _some(self, most: int) -> list[Instr]:
        return [self._one() for _ in range(self.rng.randrange(1, most + 1))]

    def _one(self, guard: tuple[int, bool] | None = None) -> Instr:
        """An instruction, perhaps under a guard."""
        guards = () if guard is None else (guard,)
        name = self.rng.choice(GROUPS) if self.rng.random() < self.share else self.rng.choice(("add", "mul", "put"))
        row = ROWS[name]
        fields = {}
        for text in (*row.writes, *row.reads):
            field, _, width = text.partition(":")
            fields[field] = self._base(*shape(width))
        return make(name, *guards, **fields)

    def _base(self, units: int, alignment: int) -> int:
        first = -(-FIRST // alignment) * alignment
        return self.rng.randrange(first, self.registers - units + 1, alignment)

    def _single(self) -> int:
        return self._base(1, 1)
