"""Small structured functions over few registers, so that nearly all instructions depend on each other."""

from __future__ import annotations

import random

from binalloc.isa.instruction import Module
from tests.support.programs.builder import ALWAYS, Code, Guard, module_of

REGISTERS = 8


class Shape:
    """Random structured code over few registers, so that nearly all instructions depend on each other."""

    def __init__(self, rng: random.Random, names: list[str], kernel: bool, leavers: bool) -> None:
        self.rng = rng
        self.code = Code(names[0], kernel=kernel)
        self.callees = names[1:]
        self.kernel = kernel
        self.leavers = leavers

    def guard(self, chance: float = 0.2) -> Guard:
        return (self.rng.randrange(3), self.rng.random() < 0.5) if self.rng.random() < chance else ALWAYS

    def plain(self) -> None:
        r = self.rng
        reg = lambda: r.choice([255, *range(REGISTERS)])  # noqa: E731
        pair = lambda: 2 * r.randrange(REGISTERS // 2)  # noqa: E731
        kind = r.randrange(12)
        g = self.guard()
        c = self.code
        if kind < 3:
            c.emit("IADD3", g, rd=reg(), ra=reg(), rb=reg(), rc=reg(), pd0=r.choice([0, 7]))
        elif kind == 3:
            c.emit("ISETP", g, pd0=r.randrange(3), pd1=7, ra=reg(), rb=reg(), ps0=r.randrange(3))
        elif kind == 4:
            c.emit("DFMA", g, rd=pair(), ra=pair(), rb=pair(), rc=pair())
        elif kind == 5:
            c.emit("IMAD.WIDE", g, rd=pair(), ra=reg(), rb=reg(), rc=pair())
        elif kind == 6:
            c.emit("LDG", g, rd=4 * r.randrange(2), ra=pair(), width=6)
        elif kind == 7:
            c.emit("STG", g, ra=pair(), rb=reg(), width=4)
        elif kind == 8:
            c.emit("MUFU", g, rd=reg(), rb=reg())
        elif kind == 9:
            c.emit("SHFL", g, pd0=r.randrange(3), rd=reg(), ra=reg(), rb=reg(), rc=reg())
        elif kind == 10:
            c.emit(r.choice(["P2R", "R2P"]), g, ra=reg(), pmask=r.randrange(8))
        else:
            c.emit("LDS", g, rd=reg(), ra=reg(), width=4)

    def body(self, size: int, depth: int) -> None:
        r, c = self.rng, self.code
        while size > 0:
            size -= 1
            pick = r.random()
            if pick < 0.70 or depth == 0:
                self.plain()
                if r.random() < 0.05 and self.leavers:
                    c.emit("EXIT", (0, False))
                elif r.random() < 0.05 and self.leavers and not self.kernel:
                    c.emit("RET", (1, False))
            elif pick < 0.80 and self.callees:
                c.call(r.choice(self.callees), self.guard())
            elif pick < 0.92:
                self.branch(size, depth)
                size //= 2
            else:
                self.loop(size, depth)
                size //= 2

    def branch(self, size: int, depth: int) -> None:
        r, c = self.rng, self.code
        other, end = c.new_label(), c.new_label()
        two = r.random() < 0.6
        c.bra(other if two else end, end if r.random() < 0.8 else None, (r.randrange(3), r.random() < 0.5))
        self.body(r.randrange(size // 2 + 2), depth - 1)
        if two:
            c.bra(end)
            c.label(other)
            self.body(r.randrange(size // 2 + 2), depth - 1)
        c.label(end)

    def loop(self, size: int, depth: int) -> None:
        r, c = self.rng, self.code
        top, out = c.new_label(), c.new_label()
        c.label(top)
        self.body(r.randrange(size // 2 + 2), depth - 1)
        if r.random() < 0.5:
            c.bra(out, out, (r.randrange(3), False))
            self.body(r.randrange(size // 2 + 2), depth - 1)
        c.bra(top, out if r.random() < 0.8 else None, (r.randrange(3), False))
        c.label(out)


def random_shape(seed: int, leavers: bool) -> Module:
    rng = random.Random(seed)
    names = ["kernel", "one", "two"]
    codes = []
    for i, name in enumerate(names):
        shape = Shape(rng, [name, *names[i + 1 :]], kernel=i == 0, leavers=leavers)
        shape.body(rng.randrange(3 if i == 0 else 0, 18), 2)
        shape.code.emit("EXIT" if i == 0 else "RET")
        codes.append(shape.code)
    return module_of(*codes)
