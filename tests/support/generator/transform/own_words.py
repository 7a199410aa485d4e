"""Random kernels with an array in which each thread has a column to itself, as samples/multiplex/histogram has one.

Every program is free of races, and of reads of words that were not written. All threads fill the array, word by word or
column by column, or it is filled in the phase in which it is owned. Then each thread changes rows of its column that
data choose; then all read what others left, or nobody does.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from binalloc.launch.types import Argument, Launch
from tests.support.generator.launches import random_words

OUT, OWN, LINEAR, TOTAL, BLOCK, ITEM, BEGIN = 2, 4, 5, 6, 7, 8, 16
"""Registers: the output's address (a pair), the thread's number in its block, the same times four, what it has summed
up, its block's number, a word that it read from the launch's input, where its column begins."""
WIDTHS = {1: "U8", 2: "U16", 4: "32"}


@dataclass
class OwnMaker:
    """A maker writes one kernel."""

    rng: random.Random
    count: int  #: threads of a block
    start: int  #: first byte of the array
    unit: int  #: bytes of an access: 1, 2 or 4
    columns: int  #: units of a column
    rows: int
    lines: list[str] = field(default_factory=list)
    labels: int = 0

    @property
    def width(self) -> int:
        return self.unit * self.columns

    @property
    def stride(self) -> int:
        return 1 << (self.count * self.width - 1).bit_length()

    @property
    def bytes(self) -> int:
        return self.stride * self.rows

    def emit(self, *texts: str) -> None:
        self.lines += [f"    {text}" for text in texts]

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def begin(self) -> None:
        """Compute where the column begins: threads in order, or neighbours in other banks."""
        if self.width == 1 and self.count == 64 and self.rng.random() < 0.7:
            self.emit(f"SHF.R.U32.HI R10, RZ, 0x4, R{OWN}", f"LOP3 R11, R{OWN}, 0xf, RZ, 0xc0")
            self.emit(f"LEA R{BEGIN}, R11, R10, 2")
        else:
            self.emit(f"IMAD R{BEGIN}, R{OWN}, {self.width:#x}, RZ")

    def fill(self) -> None:
        """Let all threads fill the array with words, whoever owns them."""
        for at in range(0, self.bytes, 4 * self.count):
            left = self.bytes - at
            guard = ""
            if left < 4 * self.count:
                self.emit(f"ISETP.LT.AND P1, PT, R{LINEAR}, {left:#x}, PT")
                guard = "@P1 "
            word = self.rng.choice(["RZ", f"R{ITEM}", f"R{BLOCK}"])
            self.emit(f"{guard}STS.32 [R{LINEAR}+{self.start + at:#x}], {word}")
        self.emit("BAR.SYNC 0")

    def fill_own(self) -> None:
        """Let each thread fill its column."""
        for row in range(self.rows):
            for k in range(self.columns):
                at = self.start + self.stride * row + self.unit * k
                self.emit(f"STS.{WIDTHS[self.unit]} [R{BEGIN}+{at:#x}], R{self.rng.choice([ITEM, OWN])}")

    def change(self) -> None:
        """Let a thread change a row that data choose, under conditions that data choose."""
        self.emit(f"LOP3 R17, R{self.rng.choice([ITEM, TOTAL])}, {self.rows - 1:#x}, RZ, 0xc0")
        self.emit(f"LEA R17, R17, {self.start:#x}, {self.stride.bit_length() - 1}", f"IADD3 R17, R17, R{BEGIN}, RZ")
        at, kind = f"[R17+{self.unit * self.rng.randrange(self.columns):#x}]", self.rng.randrange(4)
        on, width, guard = self.label(), WIDTHS[self.unit], ""
        if kind:
            self.emit(f"LOP3 R9, R{self.rng.choice([ITEM, OWN])}, 0x1, RZ, 0xc0", "ISETP.EQ.AND P1, PT, R9, 0x0, PT")
        if kind == 1:
            guard = "@P1 "
        elif kind > 1:
            self.emit(f"@P1 BRA {on}, {on}")
        self.emit(f"LDS.{width} R18, {at}", f"IADD3 R18, R18, {self.rng.randrange(1, 9):#x}, RZ")
        if self.rng.random() < 0.5:
            self.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R18, RZ")
        self.emit(f"{guard}STS.{width} {at}, R18")
        if kind > 1:
            self.lines.append(f"{on}:")

    def own_phase(self) -> None:
        """Let threads change their columns, in a loop, too."""
        for _ in range(self.rng.randrange(1, 4)):
            if self.rng.random() < 0.3:
                counter, head, after = 19, self.label(), self.label()
                self.emit(f"LOP3 R{counter}, R{ITEM}, 0x3, RZ, 0xc0")
                self.lines.append(f"{head}:")
                self.change()
                self.emit(f"IADD3 R{counter}, R{counter}, -0x1, RZ", f"ISETP.GE.AND P2, PT, R{counter}, 0x0, PT")
                self.emit(f"@P2 BRA {head}, {after}")
                self.lines.append(f"{after}:")
            else:
                self.change()
            barriers = self.rng.random()
            if barriers < 0.2:
                self.emit("BAR.SYNC 0")
            if barriers < 0.1:
                self.emit("BAR.SYNC 0")  # a phase without an access

    def merge(self) -> None:
        """Let all threads read what others left."""
        self.emit("BAR.SYNC 0")
        for _ in range(self.rng.randrange(1, 4)):
            at = 4 * self.rng.randrange(self.bytes // 4)
            self.emit(f"IADD3 R10, -R{LINEAR}, {at:#x}, RZ")
            self.emit(f"LOP3 R10, R10, {(1 << self.bytes.bit_length() - 1) - 4:#x}, RZ, 0xc0")
            self.emit(f"LDS.32 R9, [R10+{self.start:#x}]", f"IMAD R{TOTAL}, R{TOTAL}, 0x3, R9")
        self.emit("BAR.SYNC 0")


def owning(seed: int) -> tuple[str, Launch]:
    """Return the assembly of a kernel `k` and a launch of it."""
    rng = random.Random(f"own words {seed}")
    block = rng.choice(((64, 1, 1), (64, 1, 1), (32, 1, 1), (16, 4, 1)))
    count = block[0] * block[1] * block[2]
    unit = rng.choice([1, 1, 2, 4])
    maker = OwnMaker(rng, count, 16 * rng.randrange(3), unit, rng.choice([1, 1, 2, 3]), rng.choice([2, 4, 8]))
    _begin(maker, block)
    maker.begin()
    filled = maker.columns == 3 or rng.random() < 0.7  # else bytes between columns are never written
    merged, rounds = rng.random() < 0.8, rng.choice([1, 1, 2, 3])
    head, after = maker.label(), maker.label()
    maker.emit("MOV R20, 0x0")
    maker.lines.append(f"{head}:")
    if filled:
        maker.fill()
    else:
        maker.fill_own()
    maker.own_phase()
    if merged:
        maker.merge()
    elif rng.random() < 0.5:
        maker.emit(f"LOP3 R9, R{ITEM}, 0x7, RZ, 0xc0", "ISETP.EQ.AND P1, PT, R9, 0x1, PT", "@P1 EXIT")
        rounds = 1
    elif rounds > 1:
        maker.emit("BAR.SYNC 0")
    if rounds > 1:
        maker.emit("IADD3 R20, R20, 0x1, RZ", f"ISETP.LT.AND P3, PT, R20, {rounds:#x}, PT", f"@P3 BRA {head}, {after}")
    maker.lines.append(f"{after}:")
    if not merged:
        maker.change()
        maker.emit(f"IADD3 R{TOTAL}, R{TOTAL}, R18, RZ")
    maker.emit(f"STG.32 [R{OUT}], R{TOTAL}", "EXIT")
    end = maker.start + maker.bytes
    behind = 4 * rng.randrange(3)
    text = [
        ".kernel k", ".param out, 8", ".param in, 8", f".shared_bytes {end + behind}",
        f".shared columns {maker.bytes} 16 {maker.start}",
    ]  # fmt: skip
    grid = rng.choice([3, 5])
    launch = Launch("k", (grid, 1, 1), block, 0, (
        Argument("out", "buffer", "u32", (grid * count,)), random_words("in", grid * count, 16, seed),
    ))  # fmt: skip
    return "\n".join([*text, *maker.lines, ".end", ""]), launch


def _begin(maker: OwnMaker, block: tuple[int, int, int]) -> None:
    """Write what every thread begins with."""
    maker.emit("S2R R11, SR_TID.Y", f"S2R R{OWN}, SR_TID.X", f"IMAD R{OWN}, R11, {block[0]:#x}, R{OWN}")
    maker.emit(f"SHF.L.U32 R{LINEAR}, R{OWN}, 0x2, RZ", f"S2R R{BLOCK}, SR_CTAID.X")
    maker.emit(f"IMAD R10, R{BLOCK}, {maker.count:#x}, R{OWN}")
    maker.emit(f"MOV R{OUT}, c[0][out]", f"MOV R{OUT + 1}, c[0][out+0x4]")
    maker.emit("MOV R12, c[0][in]", "MOV R13, c[0][in+0x4]", f"IMAD.WIDE R{OUT}, R10, 0x4, R{OUT}")
    maker.emit("IMAD.WIDE R12, R10, 0x4, R12", f"LDG.32 R{ITEM}, [R12]", f"MOV R{TOTAL}, R{OWN}", "MOV R18, 0x0")
