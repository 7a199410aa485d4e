"""Random pairs of kernels: three arrays of shared memory with a word a thread, and the same with some over others.

Nothing is avoided: threads end early, in whole warps or in parts of one, behind what they have written last. Functions
wait at barriers, and single warps may call them. Arrays are read unwritten. So a run with all checks has to say whether
an original's results are defined.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from binalloc.isa.instruction import Module
from binalloc.launch.types import Argument, ArgumentKind, Launch
from tests.support.programs.builder import program

ARRAYS, GRID = 3, 4
SOME = ("@P0 ", "@!P0 ", "@P1 ", "@P3 ")
"""Guards that differ among threads: the first warp, lanes below 16, even lanes."""
OVER = ((0, 0, 1), (0, 1, 1), (0, 1, 0), (0, 0, 0), (1, 0, 0))
"""Where the arrays go, in sizes of one."""
WAIT = (".func wait", "BAR.SYNC 0", "RET", ".end")
BEGIN = """
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    LOP3 R2, R1, 0x4, RZ, 0x3c
    ISETP.LT.AND P5, PT, R0, {before:#x}, PT
    IADD3 R6, R1, 0x80, RZ
    @!P5 IADD3 R6, R1, {back:#x}, RZ
    ISETP.LT.AND P0, PT, R0, 0x20, PT
    S2R R3, SR_LANEID
    ISETP.LT.AND P1, PT, R3, 0x10, PT
    LOP3 R3, R3, 0x1, RZ, 0xc0
    ISETP.EQ.AND P3, PT, R3, 0x0, PT
    MOV R12, c[0][n]
    ISETP.LT.AND P2, PT, R12, 0x3, PT
    S2R R7, SR_CTAID.X
    IMAD R7, R7, {threads:#x}, R0
    MOV R8, c[0][out]
    MOV R9, c[0][out+0x4]
    IMAD.WIDE R8, R7, 0x4, R8
    MOV R20, R0
"""
"""R1: the thread's word, R2: that of the lane beside, R6: that of another warp. R20: what it has summed up."""


@dataclass
class Maker:
    """A maker draws the lines of one kernel and of its functions."""

    rng: random.Random
    labels: int = 0
    functions: list[list[str]] = field(default_factory=list)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def lines(self, depth: int, *, ends: bool = True, waits: bool = True) -> list[str]:
        """Return some statements. ends: threads may end in them. waits: they may have barriers."""
        count = self.rng.randrange(1, 6)
        return [line for _ in range(count) for line in self.statement(depth, ends=ends, waits=waits)]

    def read(self, array: int, guard: str, address: str, op: str = "LDS.32") -> list[str]:
        data = ", R0" if op == "ATOMS.ADD" else ""
        return ["MOV R21, 0x1", f"{guard}{op} R21, [{address}+@{array}]{data}", "IMAD R20, R20, 0x3, R21"]

    def statement(self, depth: int, *, ends: bool, waits: bool) -> list[str]:
        rng, draw = self.rng, self.rng.random()
        array, guard = rng.randrange(ARRAYS), rng.choice(["", "", "", "@P2 ", *SOME])
        barrier = [rng.choice(["BAR.SYNC 0", "BAR.SYNC 0", "CALL wait"])] if waits else []
        if draw < 0.04 and waits and depth:
            return self.ahead(array)
        if draw < 0.1 and waits and ends and depth:
            return self.last_words(array)
        if draw < 0.45:
            return self.phase(array, guard, ends=ends, waits=waits)
        if draw < 0.55:
            return [f"{guard}STS.32 [{rng.choice(['R1', 'R2', 'R6'])}+@{array}], R20"]
        if draw < 0.7:
            op = rng.choice(["LDS.32", "LDS.32", "ATOMS.ADD"])
            return self.read(array, guard, rng.choice(["R1", "R1", "R2", "R6"]), op)
        if draw < 0.85 or not depth:
            return barrier
        if draw < 0.89 and ends:
            return self.end(depth)
        if draw < 0.93:
            on, guard = self.label(), rng.choice(["@P2 ", "@!P2 ", *SOME])
            inner = self.lines(depth - 1, ends=ends, waits=waits and rng.random() < (0.9 if "2" in guard else 0.15))
            return [f"{guard}BRA {on}, {on}", *inner, f"{on}:"]
        if draw < 0.97:
            head, after, counter = self.label(), self.label(), 30 + depth
            return [f"MOV R{counter}, 0x0", f"{head}:", *self.lines(depth - 1, ends=ends, waits=waits),
                    f"IADD3 R{counter}, R{counter}, 0x1, RZ",
                    f"ISETP.LT.AND P4, PT, R{counter}, {rng.choice(['0x2', 'R12'])}, PT",
                    f"@P4 BRA {head}, {after}", f"{after}:"]  # fmt: skip
        body = self.lines(depth - 1, ends=ends and rng.random() < 0.3, waits=waits)
        self.functions.append([f".func f{len(self.functions)}", *body, "RET", ".end"])
        return [f"{rng.choice(['', '', '', '@P2 ', '@P0 '])}CALL f{len(self.functions) - 1}"] * rng.choice([1, 1, 2])

    def phase(self, array: int, guard: str, *, ends: bool, waits: bool) -> list[str]:
        """Let threads write an array and, mostly behind a barrier, read it."""
        rng = self.rng
        lines = ["BAR.SYNC 0"] * (waits and rng.random() < 0.3) + [f"STS.32 [R1+@{array}], R20"]
        if waits and ends and rng.random() < 0.15:
            lines.append(f"{rng.choice(SOME)}EXIT")
        met = waits and rng.random() < 0.8
        lines += ["BAR.SYNC 0"] * met
        for _ in range(rng.randrange(3)):
            lines += self.read(array, guard, rng.choice(["R1", "R2", "R6"]) if met else "R1")
        return lines + ["BAR.SYNC 0"] * (waits and rng.random() < 0.6)

    def ahead(self, array: int) -> list[str]:
        """Let one warp wait at a barrier more than the others, and use other words from there on."""
        guard, other = self.rng.choice(["@P0 ", "@!P0 "]), self.rng.randrange(ARRAYS)
        rest = "@!P0 " if guard == "@P0 " else "@P0 "
        return [f"{guard}CALL wait", f"{guard}STS.32 [R1+@{array}], R20", *self.read(array, guard, "R1"), "BAR.SYNC 0",
                f"{rest}STS.32 [R1+@{other}], R0", *self.read(other, rest, "R1"), "BAR.SYNC 0"]  # fmt: skip

    def last_words(self, array: int) -> list[str]:
        """Let some threads write an array before they end, while the others keep what is in one."""
        rng, on = self.rng, self.label()
        return [f"STS.32 [R1+@{array}], R20", *["BAR.SYNC 0"] * rng.randrange(2), f"{rng.choice(SOME)}BRA {on}, {on}",
                f"STS.32 [{rng.choice(['R1', 'R2', 'R6'])}+@{rng.randrange(ARRAYS)}], R0", "EXIT", f"{on}:",
                *["BAR.SYNC 0"] * rng.randrange(2), *self.read(array, "", "R1")]  # fmt: skip

    def end(self, depth: int) -> list[str]:
        """Let some threads end, at once or behind some statements."""
        guard = self.rng.choice(["@P2 ", *SOME])
        if self.rng.random() < 0.4:
            return [f"{guard}EXIT"]
        on = self.label()
        last = self.lines(depth - 1, ends=True, waits=False)
        return [f"{guard}BRA {on}, {on}", *last, "STG.32 [R8], R20", "EXIT", f"{on}:"]


@dataclass(frozen=True)
class Layers:
    """Two kernels `k` that should do the same, and their blocks' threads."""

    original: Module
    made: Module
    threads: int

    def launch(self, n: int) -> Launch:
        """A launch. n: decides in some kernels where whole blocks go, and how often."""
        out = Argument("out", ArgumentKind.BUFFER, "u32", (GRID * self.threads,))
        return Launch("k", (GRID, 1, 1), (self.threads, 1, 1), 0,
                      (out, Argument("n", ArgumentKind.SCALAR, "u32", value=n)))  # fmt: skip


def layers(seed: int) -> Layers:
    """A random pair."""
    rng = random.Random(f"layers {seed}")
    maker, threads = Maker(rng), rng.choice([64, 64, 64, 80])
    body = [line for _ in range(rng.randrange(2, 4)) for line in [*maker.lines(2), "BAR.SYNC 0"]]
    functions = [line for lines in maker.functions for line in lines]
    width = 4 * threads
    begin = BEGIN.format(before=threads - 32, back=(128 - width) & 0xFFFFFFFF, threads=threads)
    text = [*begin.split("\n"), *body, "STG.32 [R8], R20", "EXIT", ".end", *functions, *WAIT]

    def placed(rows: tuple[int, ...]) -> Module:
        head = [f".shared v{k}, {width}, 4, {row * width}" for k, row in enumerate(rows)]
        size = f".shared_bytes {(max(rows) + 1) * width}"
        lines = "\n".join([".kernel k registers=48", *head, size, ".param out 8", ".param n 4", *text])
        for k, row in enumerate(rows):
            lines = lines.replace(f"@{k}]", f"{row * width:#x}]")
        return program(lines)

    return Layers(placed((0, 1, 2)), placed(rng.choice(OVER)), threads)
