"""Random programs that count, compare and mask: loops of every form, branches that narrow what they compare, integer
instructions of all kinds, calls, jumps into loops. Each value is defined at the start, and each program ends."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.support.generator.analysis.counted_loops import (
    ADDRESS,
    FIRST_FREE,
    FLAGS,
    FUEL,
    FUEL_FLAG,
    KEPT,
    ORDERS,
    PAIR,
    PASSES,
    POOL,
    Loop,
)

SHAPES = ((64, 1, 1), (16, 4, 1), (8, 4, 2), (48, 1, 1), (7, 3, 2), (32, 1, 1))
SPECIAL = (
    "SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_LANEID", "SR_WARPID", "SR_NTID.X", "SR_NTID.Y", "SR_CTAID.X", "SR_NCTAID.X",
    "SR_NWARPID", "SR_EQMASK", "SR_LTMASK",
)  # fmt: skip
EDGES = (
    0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 31, 32, 63, 100, 0xFF, 0x100, 0xFFF, 0xFFFF, 0x7FFFFFFC, 0x7FFFFFFF, 0x80000000,
    0x80000001, 0xFFFFFF00, 0xFFFFFFF0, 0xFFFFFFFC, 0xFFFFFFFE, 0xFFFFFFFF,
)  # fmt: skip
TABLES = (0xC0, 0x30, 0x0C, 0x3C, 0xFC, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x88, 0xA0)
PARAMETERS = ("0x0", "0x4")  # places of n and m in bank 0, whose names callees do not know


@dataclass
class Maker:
    """A maker writes the functions of a program.

    counters: registers of the loops around, which loops write. stale: copies of counters, older than they. free:
    registers for more loops. callees: functions that may be called.
    """

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    labels: int = 0
    counters: list[int] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    free: list[int] = field(default_factory=lambda: list(range(FIRST_FREE, PAIR)))
    callees: list[str] = field(default_factory=list)
    returns: bool = False
    ends: bool = False
    outermost: bool = False  # a kernel
    budget: int = 90  # instructions, so that programs stay short

    # -- parts of instructions

    def emit(self, text: str) -> None:
        self.budget -= 1
        self.lines.append(f"    {text}")

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def place(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def value(self) -> str:
        """Return a register to read; those of loops come more often."""
        near = [*self.counters[-3:], *self.stale[-3:]]
        if near and self.rng.random() < 0.4:
            return f"R{self.rng.choice(near)}"
        return f"R{self.rng.choice([*POOL, *KEPT])}"

    def target(self) -> str:
        return f"R{self.rng.choice(POOL)}"

    def number(self) -> str:
        rng = self.rng
        return f"{rng.choice([rng.choice(EDGES), rng.randrange(64), rng.getrandbits(32)]):#x}"

    def operand(self) -> str:
        """Return a register, an immediate or a parameter."""
        draw = self.rng.random()
        return self.value() if draw < 0.5 else self.number() if draw < 0.9 else f"c[0][{self.rng.choice(PARAMETERS)}]"

    def flag(self) -> str:
        return f"{self.rng.choice(['', '', '!'])}P{self.rng.choice(FLAGS)}"

    def maybe(self) -> str:
        """Return a predicate operand, which is mostly constant."""
        return self.rng.choice(["PT", "PT", "PT", "!PT", self.flag(), self.flag()])

    def sign(self) -> str:
        return self.rng.choice(["", "", "-"])

    def guard(self, share: float) -> str:
        return f"@{self.flag()} " if self.rng.random() < share else ""

    # -- instructions

    def operation(self) -> None:
        rng, d, a = self.rng, self.target(), self.value()
        draw = rng.random()
        if draw < 0.25:
            text = self._sum(d, a)
        elif draw < 0.5:
            text = self._bits(d, a)
        elif draw < 0.7:
            text = self._product(d, a)
        else:
            text = self._choice(d, a)
        self.emit(self.guard(0.2) + text)

    def _sum(self, d: str, a: str) -> str:
        rng, s = self.rng, self.sign
        return rng.choice([
            f"IADD3 {d}, {a}, {self.operand()}, RZ", f"IADD3 {d}, {s()}{a}, {s()}{self.value()}, {s()}{self.value()}",
            f"IADD3 {d}, {d}, {rng.choice(EDGES):#x}, RZ", f"IADD3 {d}, {a}, {rng.randrange(-9, 10)}, {self.value()}",
            f"LEA {d}, {s()}{a}, {self.operand()}, {rng.randrange(6)}", f"MOV {d}, {self.operand()}", f"MOV {d}, {a}",
            f"IADD3 {d}, P{rng.choice(FLAGS)}, {a}, {self.operand()}, RZ", f"IADD3.X {d}, {a}, {self.value()}, RZ",
            f"S2R {d}, {rng.choice(SPECIAL)}", f"SHF.L.U32 {d}, {a}, {rng.randrange(33)}, RZ",
        ])  # fmt: skip

    def _bits(self, d: str, a: str) -> str:
        rng = self.rng
        n, low = rng.randrange(33), (1 << rng.randrange(1, 32)) - 1
        return rng.choice([
            f"LOP3 {d}, {a}, {low:#x}, RZ, 0xc0", f"LOP3 {d}, {a}, {low ^ 0xFFFFFFFF:#x}, RZ, 0xc0",
            f"LOP3 {d}, {a}, {low:#x}, RZ, 0x30", f"LOP3 {d}, RZ, {low:#x}, {a}, 0x88",
            f"LOP3 {d}, {a}, {self.operand()}, {self.value()}, {self.table():#x}",
            f"LOP3 {d}, {a}, {self.value()}, RZ, {self.table():#x}",
            f"LOP3 {d}, {a}, {self.number()}, RZ, {self.table():#x}",
            f"SHF.R.U32.HI {d}, RZ, {n}, {a}", f"SHF.R.S32.HI {d}, RZ, {n}, {a}", f"SHF.R.U32 {d}, {a}, {n}, RZ",
            f"SHF.R.S32 {d}, {a}, {n}, RZ", f"SHF.R.U32.HI {d}, {self.value()}, {n}, {a}",
            f"SHF.R.U64 {d}, {a}, {n}, {self.value()}", f"SHF.L.U64.HI {d}, {a}, {n}, {self.value()}",
            f"SHF.R.W.U32.HI {d}, RZ, {self.value()}, {a}", f"PRMT {d}, {a}, {self._bytes():#x}, {self.value()}",
            f"PRMT {d}, {a}, {rng.choice([0x4440, 0x4410, 0x4441, 0x5410, 0x8880]):#x}, RZ", f"POPC {d}, {a}",
        ])  # fmt: skip

    def table(self) -> int:
        return self.rng.choice([self.rng.choice(TABLES), self.rng.getrandbits(8)])

    def _bytes(self) -> int:
        return sum(self.rng.randrange(8) << 4 * k for k in range(4))

    def _product(self, d: str, a: str) -> str:
        u, c = self.rng.choice(["", ".U32"]), self.rng.choice(["RZ", self.value(), f"-{self.value()}"])
        plain = c.strip("-")
        return self.rng.choice([
            f"IMAD {d}, {a}, {self.value()}, {c}", f"IMAD{u} {d}, {a}, {self.number()}, {c}",
            f"IMAD {d}, {a}, {self.rng.randrange(-5, 17)}, {c}", f"IMAD {d}, {a}, {self.value()}, {self.number()}",
            f"IMAD.HI.U32 {d}, {a}, {self.operand()}, {plain}", f"IMAD.HI {d}, {a}, {self.operand()}, RZ",
            f"IMAD.WIDE{u} R{PAIR}, {a}, {self.operand()}, RZ",
            f"IMAD {d}, {a}, c[0][{self.rng.choice(PARAMETERS)}], {plain}",
        ])  # fmt: skip

    def _choice(self, d: str, a: str) -> str:
        rng, u = self.rng, self.rng.choice(["", ".U32"])
        return rng.choice([
            f"IMNMX{u} {d}, {a}, {self.operand()}, {rng.choice(['PT', '!PT', 'PT', '!PT', self.flag()])}",
            f"SEL {d}, {a}, {self.operand()}, {self.maybe()}", f"SEL {d}, {a}, {a}, {self.flag()}",
            f"MOV {d}, R{PAIR}", f"MOV {d}, R{PAIR + 1}", f"IABS {d}, {a}", f"FLO.U32 {d}, {a}",
        ])  # fmt: skip

    def load(self) -> None:
        """Add an access of memory at an address that is a word of the pool, masked."""
        width = self.rng.choice(["", "", ".U8", ".S8", ".U16", ".S16"])
        d, moff = self.target(), 4 * self.rng.randrange(4)
        draw = self.rng.random()
        self.emit(f"LOP3 R{ADDRESS}, {self.value()}, {0xC if draw < 0.4 else 0x7C:#x}, RZ, 0xc0")
        if draw < 0.4:
            self.emit(f"{self.guard(0.2)}LDC{width} {d}, c[0][R{ADDRESS}]")
        elif draw < 0.6:
            self.emit(f"STS{width} [R{ADDRESS}+{moff}], {self.value()}")
        elif draw < 0.8:
            self.emit(f"{self.guard(0.2)}LDS{width} {d}, [R{ADDRESS}+{moff}]")
        else:
            self.emit(f"MOV R{PAIR}, c[0][0x8]")
            self.emit(f"MOV R{PAIR + 1}, c[0][0xc]")
            self.emit(f"IMAD.WIDE.U32 R{PAIR}, R{ADDRESS}, 0x1, R{PAIR}")
            self.emit(f"LDG{width} {d}, [R{PAIR}+{moff}]")

    def compare(self, a: str = "", guard: float = 0.1) -> None:
        """Add a comparison of a register, or another way to compute a predicate."""
        rng = self.rng
        d, e = (rng.choice(FLAGS) for _ in range(2))
        draw = rng.random()
        both = f"P{d}, {rng.choice(['PT', 'PT', f'P{e}'])}"
        if draw < 0.12 and not a:
            tables = f"{rng.choice([0x80, 0xFE, 0x96, 0x0F, rng.getrandbits(8)]):#x}, {rng.getrandbits(8):#x}"
            text = f"PLOP3 {both}, {self.maybe()}, {self.maybe()}, {self.maybe()}, {tables}"
        elif draw < 0.16 and not a:
            text = f"R2P {self.value()}, {rng.randrange(1, 16):#x}"
        elif draw < 0.3 and not a:  # known by thread
            text = f"ISETP.{rng.choice(ORDERS)}.AND {both}, R{rng.choice(KEPT)}, {rng.randrange(1, 32)}, PT"
            guard = 3 * guard
        else:
            how = f"{rng.choice(ORDERS)}{rng.choice(['', '.U32'])}.{rng.choice(['AND', 'AND', 'AND', 'OR', 'XOR'])}"
            text = f"ISETP.{how} {both}, {a or self.value()}, {self.operand()}, {self.maybe()}"
        self.emit(self.guard(guard) + text)

    # -- control flow

    def branch(self, depth: int) -> None:
        """Add a branch; what it compares is used on its ways."""
        other, join = self.label(), self.label()
        a = self.value()
        if self.rng.random() < 0.8:
            self.compare(a, 0)
            flag = self.lines[-1].split()[1].strip(",")
            if self.rng.random() < 0.3:
                self.emit(f"PLOP3 P{self.rng.choice(FLAGS)}, PT, {flag}, {self.maybe()}, PT, 0x80, 0x0")
                flag = self.lines[-1].split()[1].strip(",")
        else:
            flag = self.flag()
        self.emit(f"@{self.rng.choice(['', '!'])}{flag.strip('!')} BRA {other}")
        self.use(a)
        self.body(depth - 1)
        self.emit(f"BRA {join}")
        self.place(other)
        if self.rng.random() < 0.7:
            self.use(a)
            self.body(depth - 1)
        self.place(join)

    def use(self, a: str) -> None:
        """Add an instruction that reads a register in a way that follows bounds."""
        d = self.target()
        self.emit(self.rng.choice([
            f"IADD3 {d}, {a}, {self.number()}, RZ", f"SHF.R.U32.HI {d}, RZ, {self.rng.randrange(32)}, {a}",
            f"LOP3 {d}, {a}, 0xf, RZ, 0xc0", f"IMNMX {d}, {a}, {self.number()}, PT", f"MOV {d}, {a}",
            f"IMAD {d}, {a}, 0x4, {self.value()}", f"IMAD.HI.U32 {d}, {a}, {self.number()}, RZ",
        ]))  # fmt: skip

    def body(self, depth: int) -> None:
        for _ in range(self.rng.randrange(1, 4)):
            if self.budget < 0:
                return
            draw = self.rng.random()
            if draw < 0.14 and depth > 0:
                self.branch(depth)
            elif draw < 0.3 and depth > 0 and len(self.free) > 6:
                self.loop(depth)
            elif draw < 0.33 and depth > 0 and len(self.free) > 6:
                self.tangle(depth)
            elif draw < 0.45:
                self.compare()
            elif draw < 0.52:
                self.load()
            elif draw < 0.6 and self.callees:
                if self.outermost and self.rng.random() < 0.7:
                    self.emit(f"MOV R{PASSES}, {self.rng.randrange(4):#x}")
                self.emit(f"{self.guard(0.4)}CALL {self.rng.choice(self.callees)}")
            elif draw < 0.63 and (self.returns or self.ends):
                self.compare()
                self.emit(f"@{self.flag()} {'RET' if self.returns else 'EXIT'}")
            elif draw < 0.68 and self.counters:
                self.emit(f"{self.guard(0.2)}MOV {self.target()}, R{self.rng.choice(self.counters)}")
            else:
                self.operation()

    def loop(self, depth: int) -> None:
        Loop(self).write(depth)

    def repeated(self) -> None:
        """Add a loop that begins with the first word of a function. Its counter comes from the callers."""
        head = self.label()
        self.place(head)
        self.counters.append(PASSES)
        self.body(1)
        self.counters.pop()
        self.emit(f"IADD3 R{PASSES}, R{PASSES}, 0x1, RZ")
        self.emit(f"ISETP.LT.AND P{FUEL_FLAG}, PT, R{PASSES}, 0x6, PT")
        self.emit(f"@P{FUEL_FLAG} BRA {head}")

    def tangle(self, depth: int) -> None:
        """Add blocks that jump to one another, as loops with several entries do."""
        fuel, labels, after = self.free.pop(), [self.label() for _ in range(self.rng.randrange(2, 5))], self.label()
        most = [n // 2 if self.counters else n for n in FUEL]
        self.emit(f"MOV R{fuel}, 0x0")
        if self.rng.random() < 0.7:
            self.emit(f"@{self.flag()} BRA {self.rng.choice(labels)}")
        for label in labels:
            self.place(label)
            self.emit(f"IADD3 R{fuel}, R{fuel}, 0x1, RZ")
            self.emit(f"ISETP.GT.AND P{FUEL_FLAG}, PT, R{fuel}, {self.rng.choice(most):#x}, PT")
            self.emit(f"@P{FUEL_FLAG} BRA {after}")
            self.counters.append(fuel)
            self.body(depth - 1)
            if self.rng.random() < 0.5:
                self.compare()
            self.emit(f"@{self.flag()} BRA {self.rng.choice(labels)}")
            self.counters.pop()
        self.place(after)


def counting_program(seed: int) -> tuple[str, tuple[int, int, int]]:
    """Return the assembly of a kernel `k` with parameters n, m and x, of 4, 4 and 8 bytes, and the shape of its
    blocks. x is the address of 128 bytes or more."""
    rng = random.Random(f"counting {seed}")
    shape = rng.choice(SHAPES)
    callees = ["f", "g"][: rng.choice([0, 0, 1, 2])]
    kernel = Maker(rng, callees=callees, ends=rng.random() < 0.2, outermost=True)
    for n, name in zip(KEPT, SPECIAL, strict=False):
        kernel.emit(f"S2R R{n}, {name}")
    for n in POOL:
        kernel.emit(rng.choice([f"MOV R{n}, {kernel.number()}", f"MOV R{n}, c[0][{rng.choice(PARAMETERS)}]",
                                f"IADD3 R{n}, R{rng.choice(KEPT)}, {rng.randrange(-4, 5)}, RZ"]))  # fmt: skip
    kernel.emit(f"IMAD.WIDE.U32 R{PAIR}, R{POOL[0]}, R{POOL[1]}, RZ")
    kernel.emit(f"MOV R{PASSES}, 0x0")
    for n in FLAGS:
        kernel.emit(f"ISETP.LT.AND P{n}, PT, R{rng.choice([*POOL, *KEPT])}, {kernel.number()}, PT")
    for _ in range(rng.randrange(2, 6)):
        kernel.body(rng.randrange(1, 4))
    for n in POOL:
        kernel.emit(f"IADD3 R3, R{n}, R{3 if n > POOL[0] else n}, RZ")
    text = [".auto_reconv", ".kernel k", f".block {', '.join(map(str, shape))}", ".param n 4", ".param m 4"]
    text += [".param x 8", ".shared words 256", *kernel.lines, "    EXIT", ".end"]
    labels = kernel.labels
    for k, name in enumerate(callees):
        free = list(range(70 + 40 * k, 110 + 40 * k))
        inner = Maker(rng, labels=labels, free=free, callees=callees[k + 1 :], returns=rng.random() < 0.4, budget=25)
        if rng.random() < 0.3:
            inner.repeated()
        else:
            inner.body(rng.randrange(0, 3))
        labels = inner.labels
        text += [f".func {name}", *inner.lines, "    RET", ".end"]
    return "\n".join([*text, ""]), shape
