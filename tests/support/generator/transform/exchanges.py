"""Random kernels whose threads exchange words through shared memory: in phases, loops, branches, with common words.

Every program is free of races, and of reads of words that were not written: a barrier of all threads lies between a
store and another thread's access, and each array is filled before it is used. Threads of a block may end early,
together or one by one; those left then only use words of their own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from binalloc.launch.types import Argument, Launch
from tests.support.generator.launches import random_words

OUT, OWN, LINEAR, TOTAL, BLOCK, ITEM, PARAMETER = 2, 4, 5, 6, 7, 8, 15
"""Registers: the output's address (a pair), the thread's number in its block, the same times four, what it has summed
up, its block's number, a word that it read from the launch's input, a parameter."""
FREE = range(20, 60)


@dataclass
class Array:
    """An array of a block's shared memory has a word per thread, some times over."""

    start: int  #: address of its first byte
    rows: int  #: how many words each thread has in it
    full: bool = False  #: all of its words are written


@dataclass
class Maker:
    """A maker writes one kernel. count: threads of a block."""

    rng: random.Random
    count: int
    arrays: list[Array]
    lines: list[str] = field(default_factory=list)
    labels: int = 0
    free: list[int] = field(default_factory=lambda: list(FREE))
    decides: int = BLOCK  #: register that decides where whole blocks go
    unfinished: bool = False  #: words may have been accessed by other threads since the last barrier
    asks: bool = False  #: threads ask for their place in block and grid, and for the lanes of their warp

    def emit(self, text: str) -> None:
        self.lines.append(f"    {text}")

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def barrier(self) -> None:
        self.emit("BAR.SYNC 0")
        self.unfinished = False

    def arithmetic(self) -> None:
        for _ in range(self.rng.randrange(3)):
            self.emit(self.rng.choice([
                f"IADD3 R{TOTAL}, R{TOTAL}, R{self.rng.choice([OWN, BLOCK, ITEM])}, RZ",
                f"LOP3 R{TOTAL}, R{TOTAL}, {self.rng.randrange(1 << 16):#x}, RZ, 0x3c",
                f"IMAD R{TOTAL}, R{TOTAL}, 0x{self.rng.choice([3, 5, 7])}, R{ITEM}",
            ]))  # fmt: skip

    def ask(self) -> None:
        """Let threads sum up what they are told of their place, or of the lanes that run with them."""
        self.emit(self.rng.choice([
            *(f"S2R R9, SR_{name}" for name in PLACES), "VOTE.ANY R9, P1, PT", f"MATCH.ANY P1, R9, R{BLOCK}",
            f"SHFL.{self.rng.choice(['DOWN', 'BFLY'])} P1, R9, R{TOTAL}, {self.rng.choice([1, 2, 16]):#x}, 0x1f",
        ]))  # fmt: skip
        self.emit(f"IMAD R{TOTAL}, R{TOTAL}, 0x3, R9")

    # -- accesses

    def fill(self, array: Array) -> None:
        """Let all threads store all words of an array: row by row, or in a loop."""
        if self.unfinished:
            self.barrier()
        width = 4 * self.count
        if array.rows > 1 and self.rng.random() < 0.5:
            pointer, head, after = self.free.pop(), self.label(), self.label()
            end = array.start + width * array.rows
            down = self.rng.random() < 0.3
            first = array.start + (width * (array.rows - 1) if down else 0)
            self.emit(f"IADD3 R{pointer}, R{LINEAR}, {first:#x}, RZ")
            self.lines.append(f"{head}:")
            self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, 0x1, RZ")
            self.emit(f"STS.32 [R{pointer}], R{TOTAL}")
            self.emit(f"IADD3 R{pointer}, R{pointer}, {-width & 0xFFFFFFFF if down else width:#x}, RZ")
            limit = f"ISETP.GE.AND P1, PT, R{pointer}, {array.start:#x}, PT"
            self.emit(limit if down else f"ISETP.LT.AND P1, PT, R{pointer}, {end:#x}, PT")
            self.emit(f"@P1 BRA {head}, {after}")
            self.lines.append(f"{after}:")
        else:
            for row in range(array.rows):
                self.emit(f"IADD3 R9, R{TOTAL}, {self.rng.randrange(100):#x}, RZ")
                self.emit(f"STS.32 [R{LINEAR}+{array.start + width * row:#x}], R9")
        array.full = self.unfinished = True

    def change(self, array: Array) -> None:
        """Let some threads store some words of an array that is full."""
        if self.unfinished:
            self.barrier()
        row, kind = self.rng.randrange(array.rows), self.rng.randrange(5)
        at = f"[R{LINEAR}+{array.start + 4 * self.count * row:#x}]"
        if kind == 0:
            self.emit(f"ISETP.LT.AND P1, PT, R{OWN}, {self.rng.randrange(1, max(self.count, 2)):#x}, PT")
            self.emit(f"@P1 STS.32 {at}, R{TOTAL}")
        elif kind == 1:
            on = self.label()
            self.emit(f"LOP3 R9, R{self.rng.choice([OWN, ITEM])}, 0x1, RZ, 0xc0")
            self.emit("ISETP.EQ.AND P1, PT, R9, 0x0, PT")
            self.emit(f"@P1 BRA {on}, {on}")
            self.emit(f"STS.32 {at}, R{TOTAL}")
            self.lines.append(f"{on}:")
        elif kind == 2:
            on = self.label()
            self.emit(f"ISETP.LT.AND P1, PT, R{BLOCK}, {self.rng.randrange(4):#x}, PT")
            self.emit(f"@P1 BRA {on}, {on}")
            self.emit(f"STS.32 {at}, R{TOTAL}")
            self.lines.append(f"{on}:")
        elif kind == 3:
            self.emit(f"ATOMS.ADD R9, {at}, R{OWN}")
        else:
            head, after = self.label(), self.label()
            self.emit(f"LOP3 R9, R{self.rng.choice([OWN, ITEM])}, 0x3, RZ, 0xc0")
            self.lines.append(f"{head}:")
            self.emit(f"ATOMS.ADD R10, {at}, R9")
            self.emit("IADD3 R9, R9, 0xffffffff, RZ")
            self.emit("ISETP.GT.AND P1, PT, R9, 0x0, PT")
            self.emit(f"@P1 BRA {head}, {after}")
            self.lines.append(f"{after}:")
        self.unfinished = True

    def read(self, array: Array) -> None:
        """Let all threads read words of an array that is full: their own, a neighbour's, any."""
        if self.unfinished:
            self.barrier()
        width, words = 4 * self.count, self.count * array.rows
        for _ in range(self.rng.randrange(1, 3)):
            kind = self.rng.randrange(4)
            if kind == 0:
                self.emit(f"LDS.32 R9, [R{LINEAR}+{array.start + width * self.rng.randrange(array.rows):#x}]")
            elif kind == 1:
                self.emit(f"IADD3 R10, -R{OWN}, {self.count - 1 + self.count * self.rng.randrange(array.rows):#x}, RZ")
                self.emit(f"LEA R10, R10, {array.start:#x}, 2")
                self.emit("LDS.32 R9, [R10]")
            elif kind == 2:
                self.emit(f"LDS.32 R9, [{array.start + 4 * self.rng.randrange(words):#x}]")
            else:
                most = 1 << words.bit_length() - 1
                self.emit(f"LOP3 R10, R{self.rng.choice([TOTAL, ITEM])}, {most - 1:#x}, RZ, 0xc0")
                self.emit(f"LEA R10, R10, {array.start:#x}, 2")
                self.emit("LDS.32 R9, [R10]")
            self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
        self.unfinished = True

    def alone(self) -> None:
        """End some threads, and let the others go on by themselves."""
        if self.unfinished:
            self.barrier()
        register = self.rng.choice([OWN, ITEM])
        self.emit(f"LOP3 R9, R{register}, 0x3, RZ, 0xc0")
        self.emit("ISETP.EQ.AND P1, PT, R9, 0x1, PT")
        self.emit("@P1 EXIT")
        for _ in range(self.rng.randrange(1, 3)):
            array = self.rng.choice(self.arrays)
            at = f"[R{LINEAR}+{array.start + 4 * self.count * self.rng.randrange(array.rows):#x}]"
            self.emit(f"STS.32 {at}, R{TOTAL}")
            if self.rng.random() < 0.5:
                self.barrier()
            self.arithmetic()
            self.emit(f"LDS.32 R9, {at}")
            self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
            if self.rng.random() < 0.5:
                self.barrier()

    # -- structure

    def phase(self, depth: int) -> None:
        if self.asks and self.rng.random() < 0.3:
            self.ask()
        array = self.rng.choice(self.arrays)
        draw = self.rng.random()
        if depth and draw < 0.15:
            self.loop(depth)
        elif depth and draw < 0.25:
            self.branch(depth)
        elif draw < 0.35:
            self.arithmetic()
        elif draw < 0.42:
            self.emit(f"ISETP.GE.AND P2, PT, R{self.decides}, {self.rng.randrange(3, 6):#x}, PT")
            self.emit("@P2 EXIT")  # a whole block
        elif not array.full or draw < 0.55:
            self.fill(array)
        elif draw < 0.7:
            self.change(array)
        else:
            self.read(array)

    def body(self, depth: int) -> None:
        for _ in range(self.rng.randrange(2, 5)):
            self.phase(depth)

    def loop(self, depth: int) -> None:
        """Add a loop of a number of rounds that may depend on the block."""
        counter, limit, head, after = self.free.pop(), self.free.pop(), self.label(), self.label()
        self.emit(f"LOP3 R{limit}, R{self.decides}, 0x1, RZ, 0xc0")
        self.emit(f"IADD3 R{limit}, R{limit}, {self.rng.randrange(1, 3):#x}, RZ")
        self.emit(f"MOV R{counter}, 0x0")
        self.lines.append(f"{head}:")
        self.unfinished = True  # by the round before
        self.body(depth - 1)
        self.emit(f"IADD3 R{counter}, R{counter}, 0x1, RZ")
        self.emit(f"ISETP.LT.AND P3, PT, R{counter}, R{limit}, PT")
        self.emit(f"@P3 BRA {head}, {after}")
        self.lines.append(f"{after}:")

    def branch(self, depth: int) -> None:
        """Add a branch that a block takes as a whole."""
        other, join = self.label(), self.label()
        full = [array.full for array in self.arrays]
        self.emit(f"LOP3 R9, R{self.decides}, {self.rng.choice([1, 2]):#x}, RZ, 0xc0")
        self.emit("ISETP.EQ.AND P2, PT, R9, 0x0, PT")
        self.emit(f"@P2 BRA {other}, {join}")
        self.body(depth - 1)
        self.emit(f"BRA {join}")
        self.lines.append(f"{other}:")
        for array, before in zip(self.arrays, full, strict=True):
            array.full = before
        self.unfinished = True
        if self.rng.random() < 0.5:
            self.body(depth - 1)
        self.lines.append(f"{join}:")
        for array, before in zip(self.arrays, full, strict=True):
            array.full = before
        self.unfinished = True


WHOLE = ((64, 1, 1), (32, 1, 1), (16, 4, 1), (8, 4, 4), (128, 1, 1), (4, 8, 3))
"""Blocks of whole warps."""
PARTIAL = (
    (10, 10, 1), (48, 1, 1), (7, 3, 5), (33, 1, 1), (1, 1, 1), (1, 7, 9), (3, 1, 50), (12, 11, 1), (8, 8, 3),
    (2, 1, 23), (2, 1, 48),
)  # fmt: skip
"""Blocks that are not of whole warps, one that is, and one that is so deep that a second one cannot be behind it."""
PLACES = (
    "TID.X", "TID.Y", "TID.Z", "NTID.X", "NTID.Y", "NTID.Z", "CTAID.X", "CTAID.Y", "NCTAID.X", "NCTAID.Y", "LANEID",
    "WARPID", "NWARPID", "LTMASK", "GEMASK",
)  # fmt: skip
"""Special registers that say where a thread is."""


def exchanging(seed: int, *, aligned: bool = False, partial: bool = False) -> tuple[str, Launch]:
    """Return the assembly of a kernel `k` and a launch of it. aligned: all blocks go the same ways in loops and at
    branches, and are of whole warps. partial: likewise, but they are not, and threads ask for their place and for the
    lanes of their warp."""
    rng = random.Random(f"exchanges {seed} {aligned}{' partial' * partial}")
    block = rng.choice(PARTIAL if partial else WHOLE if aligned else (*WHOLE, (48, 1, 1), (40, 2, 1)))
    aligned = aligned or partial
    count = block[0] * block[1] * block[2]
    at = staged = 4 * rng.choice([0, 0, 2, 6])
    arrays = []
    for _ in range(rng.randrange(1, 4)):
        arrays.append(Array(at, rng.randrange(1, 4)))
        at += 4 * count * arrays[-1].rows
    behind = 4 * rng.choice([0, 0, 1, 5])
    maker = Maker(rng, count, arrays, decides=PARAMETER if aligned and rng.random() < 0.8 else BLOCK, asks=partial)
    _begin(maker, block, [*range(0, staged, 4), *range(at, at + behind, 4)])
    for _ in range(rng.randrange(2, 6)):
        maker.phase(2)
    maker.body(1)
    if rng.random() < 0.3:
        maker.alone()
    if rng.random() < 0.3:
        maker.emit(f"ISETP.GE.AND P1, PT, R{OWN}, {rng.randrange(1, max(count, 2)):#x}, PT")
        maker.emit("@P1 EXIT")
    maker.emit(f"STG.32 [R{OUT}], R{TOTAL}")
    maker.emit("EXIT")
    text = [".kernel k", ".param out, 8", ".param in, 8", ".param a, 4", f".shared_bytes {at + behind}"]
    grid = rng.choice([1, 3, 5, 8, 13] if partial else [5, 8, 13])
    launch = Launch(
        "k", (grid, 1, 1), block, 0,
        (
            Argument("out", "buffer", "u32", (grid * count,)),
            random_words("in", grid * count, 16, seed),
            Argument("a", "scalar", "u32", value=rng.randrange(8)),
        ),
    )  # fmt: skip
    return "\n".join([*text, *maker.lines, ".end", ""]), launch


def _begin(maker: Maker, block: tuple[int, int, int], words: list[int]) -> None:
    """Write what every thread begins with. words: addresses of words that are common to all blocks."""
    emit, (x, y, _), count = maker.emit, block, maker.count
    emit("S2R R10, SR_TID.Z")
    emit("S2R R11, SR_TID.Y")
    emit(f"S2R R{OWN}, SR_TID.X")
    emit(f"IMAD R11, R10, {y:#x}, R11")
    emit(f"IMAD R{OWN}, R11, {x:#x}, R{OWN}")
    emit(f"SHF.L.U32 R{LINEAR}, R{OWN}, 0x2, RZ")
    emit(f"S2R R{BLOCK}, SR_CTAID.X")
    emit(f"IMAD R10, R{BLOCK}, {count:#x}, R{OWN}")
    emit(f"MOV R{OUT}, c[0][out]")
    emit(f"MOV R{OUT + 1}, c[0][out+0x4]")
    emit("MOV R12, c[0][in]")
    emit("MOV R13, c[0][in+0x4]")
    emit(f"IMAD.WIDE R{OUT}, R10, 0x4, R{OUT}")
    emit("IMAD.WIDE R12, R10, 0x4, R12")
    emit(f"LDG.32 R{ITEM}, [R12]")
    emit(f"MOV R{TOTAL}, R{OWN}")
    emit(f"MOV R{PARAMETER}, c[0][a]")
    if words:
        on = maker.label()
        emit(f"ISETP.NE.AND P0, PT, R{OWN}, 0x0, PT")
        emit("MOV R14, c[0][a]")
        emit(f"@P0 BRA {on}, {on}")
        for address in words:
            emit(f"STS.32 [{address:#x}], R14")
        maker.lines.append(f"{on}:")
        emit("BAR.SYNC 0")
        for address in words:
            emit(f"LDS.32 R9, [{address:#x}]")
            emit(f"IADD3 R{TOTAL}, R{TOTAL}, R9, RZ")
