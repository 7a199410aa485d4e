"""Random kernels like those of `exchanges`, in which shared memory is accessed in all the ways that these leave out.

Words wait across branches, loops and calls, and lanes may meet behind the place where all ways do. Lanes of a warp
read each other's words with no barrier in between. Stores are of one to sixteen bytes, with addresses in other
registers. Loops have a second exit, and threads end within access regions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from binalloc.launch.types import Argument, Launch
from tests.support.generator.launches import random_words
from tests.support.generator.transform.exchanges import (
    BLOCK,
    ITEM,
    LINEAR,
    OUT,
    OWN,
    PARAMETER,
    TOTAL,
    WHOLE,
    Array,
    Maker,
    _begin,
)

_CALLED = """.func f
    IADD3 R9, R9, 0x3, RZ
    ISETP.LT.AND P1, PT, R9, 0x20, PT
    @P1 BRA small, small
    LOP3 R9, R9, 0x1f, RZ, 0xc0
small:
    IADD3 R10, R9, R10, RZ
    RET
.end
"""


@dataclass
class WideMaker(Maker):
    """A wide maker writes one kernel."""

    calls: bool = False
    ended: bool = False  #: some threads of the block may have ended

    def phase(self, depth: int) -> None:
        draw = self.rng.random()
        if draw < 0.45:
            super().phase(depth)
        elif draw < 0.6:
            self.own_words(self.rng.choice(self.arrays))
        elif draw < 0.75:
            self.neighbours(self.rng.choice(self.arrays))
        elif draw < 0.85:
            self.between()
        elif draw < 0.9 and depth:
            self.two_exits(depth)
        elif draw < 0.96:
            self.several_ends(self.rng.choice(self.arrays))
        else:
            self.guarded(self.rng.choice(self.arrays))

    # -- accesses

    def own_words(self, array: Array) -> None:
        """Let each thread store words of its own, of any size, and perhaps load them at once."""
        if self.unfinished:
            self.barrier()
        size = self.rng.choice([size for size in (1, 2, 4, 8, 16) if size <= 4 * array.rows])
        pointer, word = self.free.pop(), 60
        at = array.start - array.start % -size
        if at + size * self.count > array.start + 4 * array.rows * self.count:
            return
        self.emit(f"IMAD R{pointer}, R{OWN}, {size:#x}, RZ")
        for k in range(max(1, size // 4)):
            self.emit(f"IADD3 R{word + k}, R{TOTAL}, {self.rng.randrange(100):#x}, R{OWN}")
        width = {1: "U8", 2: "U16", 4: "32", 8: "64", 16: "128"}[size]
        self.emit(f"STS.{width} [R{pointer}+{at:#x}], R{word}")
        self.between()
        self.emit(f"IADD3 R{word}, R{word}, 0x7, RZ")
        if self.rng.random() < 0.5:
            self.emit(f"LDS.{width} R{word}, [R{pointer}+{at:#x}]")
        self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R{word}, RZ")
        self.free.append(pointer)
        self.unfinished = True

    def neighbours(self, array: Array) -> None:
        """Let lanes read what their neighbours have stored, without a barrier."""
        if self.unfinished:
            self.barrier()
        row = 4 * self.count * self.rng.randrange(array.rows)
        pointer = self.free.pop()
        self.emit(f"LOP3 R{pointer}, R{LINEAR}, {self.rng.choice([4, 8, 60]):#x}, RZ, 0x3c")
        self.emit(f"STS.32 [R{LINEAR}+{array.start + row:#x}], R{TOTAL}")
        points = self.between(keep=True)
        self.emit(f"LDS.32 R9, [R{pointer}+{array.start + row:#x}]")
        self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
        if self.rng.random() < 0.4:
            self.emit(f"STS.32 [R{pointer}+{array.start + row:#x}], R{TOTAL}")
            points += self.between(keep=True)
            if self.rng.random() < 0.5:
                self.emit(f"STS.32 [R{LINEAR}+{array.start + row:#x}], R{OWN}")
        for point in points:
            self.lines.append(f"{point}:")
        self.free.append(pointer)
        self.unfinished = True

    def guarded(self, array: Array) -> None:
        """Let some threads store, under a predicate that is used again."""
        if self.unfinished:
            self.barrier()
        at = f"[R{LINEAR}+{array.start + 4 * self.count * self.rng.randrange(array.rows):#x}]"
        self.emit(f"LOP3 R9, R{self.rng.choice([OWN, ITEM])}, 0x3, RZ, 0xc0")
        self.emit(f"ISETP.EQ.AND P4, PT, R9, {self.rng.randrange(4):#x}, PT")
        if self.rng.random() < 0.5:
            self.emit(f"@P4 STS.32 {at}, R{TOTAL}")
        else:
            on = self.label()
            self.emit(f"@!P4 BRA {on}, {on}")
            self.emit(f"STS.32 {at}, R{TOTAL}")
            self.lines.append(f"{on}:")
        self.emit(f"@P4 IADD3 R{TOTAL}, R{TOTAL}, 0x5, RZ")
        self.between()
        if self.rng.random() < 0.5:
            self.emit(f"@P4 LDS.32 R9, {at}")
            self.emit(f"@P4 IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
        self.unfinished = True

    def several_ends(self, array: Array) -> None:
        """Let blocks be done with words of their threads' own in one of several places, perhaps in a loop."""
        if self.unfinished or self.rng.random() < 0.7:
            self.barrier()
        at = f"[R{LINEAR}+{array.start + 4 * self.count * self.rng.randrange(array.rows):#x}]"
        join, counter, head = self.label(), self.free.pop(), self.label()
        self.emit(f"STS.32 {at}, R{TOTAL}")
        rounds = self.rng.choice([0, 0, 2])
        self.emit(f"MOV R{counter}, 0x0")
        self.lines.append(f"{head}:")
        for _ in range(self.rng.randrange(1, 3)):
            other = self.label()
            self.emit(f"LOP3 R9, R{self.rng.choice([self.decides, BLOCK])}, {self.rng.choice([1, 2, 4]):#x}, RZ, 0xc0")
            self.emit(f"ISETP.EQ.AND P2, PT, R9, {self.rng.choice([0, 0, 1]):#x}, PT")
            self.emit(f"@P2 BRA {other}, {join}")
            self.emit(f"LDS.32 R9, {at}")
            self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
            if self.rng.random() < 0.3:
                self.emit(f"STS.32 {at}, R{TOTAL}")
                if self.rng.random() < 0.5:
                    self.emit(f"LDS.32 R9, {at}")
            if rounds:
                self.emit(f"IADD3 R{counter}, R{counter}, 0x1, RZ")
                self.emit(f"ISETP.LT.AND P3, PT, R{counter}, {rounds:#x}, PT")
                self.emit(f"@P3 BRA {head}, {join}")
                rounds = 0
            self.long()
            self.emit(f"BRA {join}")
            self.lines.append(f"{other}:")
            if self.rng.random() < 0.3:
                self.emit(f"LDS.32 R9, {at}")
                self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
            self.long()
            if self.rng.random() < 0.15:
                self.emit(f"STG.32 [R{OUT}], R{TOTAL}")
                self.emit("EXIT")
                break
        self.lines.append(f"{join}:")
        self.unfinished = True

    def long(self) -> None:
        """Add more words than a region takes in, so that it ends once."""
        for k in range(self.rng.randrange(9, 12)):
            self.emit(f"IMAD R{TOTAL}, R{TOTAL}, 0x3, R{OWN if k % 2 else ITEM}")

    # -- what stands between accesses

    def between(self, keep: bool = False) -> list[str]:
        """Add code that accesses no shared memory. keep: return points that are still to come."""
        points: list[str] = []
        for _ in range(self.rng.randrange(3)):
            kind = self.rng.randrange(6)
            if kind == 0:
                self.arithmetic()
            elif kind in (1, 2):
                points += self.diamond(keep)
            elif kind == 3:
                head, after, counter = self.label(), self.label(), self.free.pop()
                self.emit(f"LOP3 R{counter}, R{self.rng.choice([OWN, ITEM, PARAMETER])}, 0x3, RZ, 0xc0")
                self.lines.append(f"{head}:")
                self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R{counter}, RZ")
                self.emit(f"IADD3 R{counter}, R{counter}, 0xffffffff, RZ")
                self.emit(f"ISETP.GT.AND P1, PT, R{counter}, 0x0, PT")
                self.emit(f"@P1 BRA {head}, {after}")
                self.lines.append(f"{after}:")
                self.free.append(counter)
            elif kind == 4 and self.calls:
                self.emit(f"MOV R9, R{TOTAL}")
                self.emit("CALL f")
            else:
                self.emit("LDG.32 R9, [R12]")
                self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
        return points

    def diamond(self, keep: bool) -> list[str]:
        """Add a branch at which lanes part. keep: they may meet later than at its join, at a point that is returned."""
        other, join = self.label(), self.label()
        point = self.label() if keep and self.rng.random() < 0.4 else join
        self.emit(f"LOP3 R9, R{self.rng.choice([OWN, ITEM])}, {self.rng.choice([1, 2, 3]):#x}, RZ, 0xc0")
        self.emit("ISETP.EQ.AND P1, PT, R9, 0x0, PT")
        self.emit(f"@P1 BRA {other}, {point}")
        self.arithmetic()
        self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, 0x1, RZ")
        self.emit(f"BRA {join}")
        self.lines.append(f"{other}:")
        self.arithmetic()
        self.lines.append(f"{join}:")
        return [point] if point != join else []

    def two_exits(self, depth: int) -> None:
        """Add a loop of some rounds that all threads of some blocks leave earlier."""
        counter, head, after = self.free.pop(), self.label(), self.label()
        self.emit(f"MOV R{counter}, 0x0")
        self.lines.append(f"{head}:")
        full = [array.full for array in self.arrays]
        self.unfinished = True
        super().phase(0)
        self.emit(f"ISETP.EQ.AND P5, PT, R{self.decides}, {self.rng.randrange(3):#x}, PT")
        self.emit(f"@P5 BRA {after}, {after}")
        first = [array.full for array in self.arrays]
        super().phase(0)
        self.emit(f"IADD3 R{counter}, R{counter}, 0x1, RZ")
        self.emit(f"ISETP.LT.AND P3, PT, R{counter}, {self.rng.randrange(1, 4):#x}, PT")
        self.emit(f"@P3 BRA {head}, {after}")
        self.lines.append(f"{after}:")
        for array, before, then in zip(self.arrays, full, first, strict=True):
            array.full = before or then
        self.unfinished = True


def widely_exchanging(seed: int) -> tuple[str, Launch]:
    """Return the assembly of a kernel `k` and a launch of it."""
    rng = random.Random(f"wide exchanges {seed}")
    block = rng.choice(WHOLE)
    count = block[0] * block[1] * block[2]
    at = staged = 4 * rng.choice([0, 0, 2, 6])
    arrays = []
    for _ in range(rng.randrange(1, 3)):
        arrays.append(Array(at, rng.randrange(1, 5)))
        at += 4 * count * arrays[-1].rows
    maker = WideMaker(rng, count, arrays, decides=PARAMETER if rng.random() < 0.7 else BLOCK, calls=rng.random() < 0.3)
    _begin(maker, block, list(range(0, staged, 4)))
    for _ in range(rng.randrange(2, 6)):
        maker.phase(1)
    if rng.random() < 0.6:
        if maker.unfinished:
            maker.barrier()
        maker.emit(f"LOP3 R9, R{rng.choice([OWN, ITEM])}, 0x3, RZ, 0xc0")
        maker.emit(f"ISETP.EQ.AND P1, PT, R9, {rng.randrange(4):#x}, PT")
        array = rng.choice(arrays)
        maker.emit(f"STS.32 [R{LINEAR}+{array.start:#x}], R{TOTAL}")
        maker.emit("@P1 EXIT")
        maker.between()
        if rng.random() < 0.5:
            maker.emit(f"LDS.32 R9, [R{LINEAR}+{array.start:#x}]")
            maker.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
        else:
            maker.emit(f"LOP3 R10, R{LINEAR}, 0x4, RZ, 0x3c")
            maker.emit(f"LDS.32 R9, [R10+{array.start:#x}]")
            maker.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
    maker.emit(f"STG.32 [R{OUT}], R{TOTAL}")
    maker.emit("EXIT")
    text = [".kernel k", ".param out, 8", ".param in, 8", ".param a, 4", f".shared_bytes {at}"]
    grid = rng.choice([5, 8])
    launch = Launch(
        "k", (grid, 1, 1), block, 0,
        (
            Argument("out", "buffer", "u32", (grid * count,)),
            random_words("in", grid * count, 16, seed),
            Argument("a", "scalar", "u32", value=rng.randrange(8)),
        ),
    )  # fmt: skip
    called = _CALLED if maker.calls else ""
    return "\n".join([*text, *maker.lines, ".end", called, ""]), launch
