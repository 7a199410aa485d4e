"""Random programs whose values mostly agree in all threads: branches, loops, guards and calls on conditions of every
scope. Each value is defined at the start, so no path leaves one out."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CLEAN, MIXED = range(4, 8), range(8, 12)
"""Registers. What a thread's own number is made into goes to mixed ones alone; clean ones differ by control flow."""
THREAD, WARP = 60, 61
"""Registers that keep the thread's and the warp's number."""
CLEAN_FLAGS, MIXED_FLAGS = range(2), range(2, 4)
SAME = ("SR_CTAID.X", "SR_NTID.X")
OWN = ("SR_TID.X", "SR_LANEID", "SR_WARPID", "SR_CTAID.X")


@dataclass
class Maker:
    """A maker writes the functions of a program. counters: registers of the loops around, which nothing else writes."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    labels: int = 0
    counters: list[int] = field(default_factory=list)
    free: list[int] = field(default_factory=lambda: list(range(12, 60)))
    callees: list[str] = field(default_factory=list)
    barriers: bool = False
    ends: bool = False
    returns: bool = False
    meets: bool = False

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def value(self, clean: bool = False) -> str:
        return f"R{self.rng.choice([*CLEAN, *self.counters, *(() if clean else (*MIXED, THREAD, WARP))])}"

    def flag(self, clean: bool = False) -> str:
        return f"{self.rng.choice(['', '', '!'])}P{self.rng.choice([*CLEAN_FLAGS, *(() if clean else MIXED_FLAGS)])}"

    def emit(self, text: str) -> None:
        self.lines.append(f"    {text}")

    def operation(self, guard: str = "") -> None:
        clean = self.rng.random() < 0.6
        a, b, d = self.value(clean), self.value(clean), f"R{self.rng.choice(CLEAN if clean else MIXED)}"
        self.emit(guard + self.rng.choice([
            f"IADD3 {d}, {a}, {b}, RZ", f"MOV {d}, {self.rng.randrange(4):#x}", f"MOV {d}, {a}",
            f"IADD3 {d}, {a}, {self.rng.randrange(4):#x}, RZ", f"LOP3 {d}, {a}, {b}, RZ, 0x3c",
            f"SEL {d}, {a}, {b}, {self.flag(clean)}", f"MOV {d}, c[0][0x0]", f"IMNMX {d}, {a}, {b}, PT",
            f"S2R {d}, {self.rng.choice(SAME if clean else OWN)}",
        ]))  # fmt: skip

    def compare(self) -> None:
        how, clean = self.rng.choice(["LT", "EQ", "NE", "GE"]), self.rng.random() < 0.6
        guard = f"@{self.flag()} " if self.rng.random() < 0.2 else ""
        flag = f"P{self.rng.choice(CLEAN_FLAGS if clean else MIXED_FLAGS)}"
        self.emit(f"{guard}ISETP.{how}.AND {flag}, PT, {self.value(clean)}, {self.rng.randrange(4):#x}, PT")

    def part(self) -> None:
        """Let a mixed flag differ between threads, or between warps."""
        register, most = self.rng.choice([(THREAD, 64), (WARP, 2)])
        flag, limit = self.rng.choice(MIXED_FLAGS), self.rng.randrange(1, most)
        self.emit(f"ISETP.LT.AND P{flag}, PT, R{register}, {limit:#x}, PT")

    def branch(self, depth: int) -> None:
        other, join = self.label(), self.label()
        self.compare()
        self.emit(f"@{self.flag()} BRA {other}, {join}")
        self.body(depth - 1)
        self.emit(f"BRA {join}")
        self.lines.append(f"{other}:")
        if self.rng.random() < 0.6:
            self.body(depth - 1)
        self.lines.append(f"{join}:")

    def loop(self, depth: int) -> None:
        """Add a loop of up to four rounds, which some threads may leave in the middle."""
        counter, bound = self.free.pop(), self.free.pop()
        head, after = self.label(), self.label()
        self.emit(f"LOP3 R{bound}, {self.value()}, 0x3, RZ, 0xc0")
        self.emit(f"MOV R{counter}, 0x0")
        self.lines.append(f"{head}:")
        self.counters.append(counter)
        self.body(depth - 1)
        if self.rng.random() < 0.4:
            self.compare()
            self.emit(f"@{self.flag()} BRA {after}, {after}")
            self.body(depth - 1)
        self.counters.pop()
        self.emit(f"IADD3 R{counter}, R{counter}, 0x1, RZ")
        self.emit(f"ISETP.LT.AND P4, PT, R{counter}, R{bound}, PT")
        self.emit(f"@P4 BRA {head}, {after}")
        self.lines.append(f"{after}:")

    def body(self, depth: int) -> None:
        for _ in range(self.rng.randrange(1, 5)):
            draw = self.rng.random()
            if draw < 0.15 and depth > 0:
                self.branch(depth)
            elif draw < 0.25 and depth > 0 and len(self.free) > 2:
                self.loop(depth)
            elif draw < 0.4:
                self.operation(f"@{self.flag()} ")
            elif draw < 0.48:
                self.compare()
            elif draw < 0.5:
                self.part()
            elif draw < 0.6 and self.callees:
                guard = f"@{self.flag()} " if self.rng.random() < 0.3 else ""
                self.emit(f"{guard}CALL {self.rng.choice(self.callees)}")
            elif draw < 0.7 and self.returns:
                self.emit(f"@{self.flag()} RET")
            else:
                self.operation()

    def top(self, parts: int, depth: int) -> None:
        """Add the kernel's body, with barriers and ends of threads where all threads come."""
        for _ in range(parts):
            self.body(depth)
            if self.barriers and self.rng.random() < 0.5:
                self.emit(f"BAR.RED.POPC R{self.rng.choice(CLEAN)}, 0, {self.flag()}")
            if self.ends and self.rng.random() < 0.3:
                self.compare()
                self.emit(f"@{self.flag()} EXIT")
            if self.meets and self.rng.random() < 0.6:
                self.emit("CALL m")


def uniform_program(seed: int) -> str:
    """Return the assembly of a kernel `k` with a 64-bit parameter x, for blocks of 64 threads."""
    rng = random.Random(f"uniform {seed}")
    callees = ["f", "g"][: rng.choice([0, 1, 1, 2])]
    kernel = Maker(rng, callees=callees, barriers=rng.random() < 0.5, ends=rng.random() < 0.2)
    kernel.meets = rng.random() < 0.3
    values = [*CLEAN, *MIXED]
    for n in values:
        kernel.emit(f"MOV R{n}, {rng.randrange(4):#x}")
    kernel.emit(f"S2R R{THREAD}, SR_TID.X")
    kernel.emit(f"S2R R{WARP}, SR_WARPID")
    for n in (*CLEAN_FLAGS, *MIXED_FLAGS):
        kernel.emit(f"ISETP.LT.AND P{n}, PT, R{4 + n}, 0x2, PT")
    kernel.part()
    kernel.top(rng.randrange(2, 6), rng.randrange(1, 4))
    for n in values:
        kernel.emit(f"IADD3 R3, R3, R{n}, RZ" if n > values[0] else f"MOV R3, R{n}")
    kernel.emit("EXIT")
    text = [".kernel k", ".block 64", ".param x, 8", *kernel.lines, ".end"]
    labels = kernel.labels
    for k, name in enumerate(callees):
        free = list(range(70 + 40 * k, 110 + 40 * k))
        inner = Maker(rng, labels=labels, free=free, callees=callees[k + 1 :], returns=rng.random() < 0.5)
        inner.body(rng.randrange(0, 3))
        labels = inner.labels
        text += [f".func {name}", *inner.lines, "    RET", ".end"]
    if kernel.meets:
        text += [".func m", *_meeting(rng), "    RET", ".end"]
    return "\n".join([*text, ""])


def _meeting(rng: random.Random) -> list[str]:
    """Return the body of a function in which all threads that still run meet, before some may end."""
    inner = Maker(rng)
    inner.emit(f"BAR.RED.POPC R{rng.choice(CLEAN)}, 0, {inner.flag()}")
    inner.operation()
    if rng.random() < 0.5:
        inner.emit(f"@{inner.flag()} EXIT")
    return inner.lines
