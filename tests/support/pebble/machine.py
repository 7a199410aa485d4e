"""One thread of a Pebble program, plainly executed: what it stores to global memory, in order."""

from __future__ import annotations

from binalloc.isa.instruction import Function, Instr, Module
from tests.support.pebble.table import GROUPS, REGISTERS, SPECIAL, ZERO, Row, shape

MASK = 0xFFFFFFFF


class Thread:
    """Global memory reads as a mixture of its address; everything else starts as garbage."""

    def __init__(self, module: Module, lane: int) -> None:
        self.module, self.lane = module, lane
        self.x = [0xDEAD0000 + n for n in range(REGISTERS)]
        self.x[ZERO] = 0
        self.p = [False] * 3
        self.memory: dict[tuple[str, int], int] = {}
        self.stored: list[tuple[int, int]] = []

    def run(self, kernel: str, steps: int = 10_000) -> list[tuple[int, int]]:
        callers: list[tuple[Function, int]] = []
        fn, at = self.module.function(kernel), 0
        for _ in range(steps):
            i = fn.instrs[at]
            at += 1
            if i.guarded and self.p[i.guard] == i.guard_neg:
                continue
            if i.name == "end":
                return self.stored
            if i.name == "jump":
                at = fn.target(at - 1)
            elif i.name == "call":
                callee = self.module.callee(fn, at - 1)
                assert callee is not None
                callers.append((fn, at))
                fn, at = callee, 0
            elif i.name == "back":
                fn, at = callers.pop()
            else:
                self._plain(i)
        raise AssertionError("no end")

    def _plain(self, i: Instr) -> None:
        f, x = i.f, self.x
        one, two, value = x[f["one"]], x[f["two"]], f["value"]
        if i.op.access == "store":
            where = (i.op.space, one + value & MASK)
            self.memory[where] = two
            if i.op.space == "global":
                self.stored.append((where[1], two))
        elif i.op.access == "load":
            where = (i.op.space, one + value & MASK)
            unset = where[1] * 2654435761 + 12345 & MASK if i.op.space == "global" else 0xBAD
            self._set(f["to"], self.memory.get(where, unset))
        elif i.name == "less":
            if f["mark"]:
                self.p[f["mark"] - 1] = one < two
        elif i.name == "wide":
            self._set(f["to"] + 1, x[f["one"] + 1] + x[f["two"] + 1])
            self._set(f["to"], one + two)
        elif i.name in GROUPS:
            self._group(i)
        elif i.name != "idle":
            special = {"lane": 4 * self.lane, "first row": 1024, "row bytes": 0}
            results = {
                "put": one, "lit": value, "add": one + two, "mul": one * two, "more": one + value,
                "flip": one ^ two,
                "ask": special[SPECIAL[value]] if i.name == "ask" else 0,
            }  # fmt: skip
            self._set(f["to"], results[i.name])

    def _group(self, i: Instr) -> None:
        """Each word of the result depends on all words of the operands, and on its place."""
        assert isinstance(i.op, Row)
        read = []
        for name, _, width in (text.partition(":") for text in i.op.reads):
            read += [self.x[i.f[name] + k] if i.f[name] != ZERO else 0 for k in range(shape(width)[0])]
        units = shape(i.op.writes[0].partition(":")[2])[0]
        if i.f["to"] != ZERO:
            for k in range(units):
                self._set(i.f["to"] + k, k + sum((n + 3 * k + 1) * word for n, word in enumerate(read)))

    def _set(self, register: int, value: int) -> None:
        if register != ZERO:
            self.x[register] = value & MASK
