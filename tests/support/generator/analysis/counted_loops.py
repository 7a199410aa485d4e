"""Loops of random programs that count (`counting`), and the registers of these programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.generator.analysis.counting import Maker

POOL = range(4, 14)
"""Registers that everything may write."""
KEPT = range(14, 18)
"""Registers with the thread's indices along x, y and z and its lane, which nothing writes later."""
FIRST_FREE, PAIR, ADDRESS, PASSES = 18, 64, 66, 67
"""Loops' registers begin at the first. A pair and a word are scratch. The last counts rounds of callees' loops."""
FLAGS, FUEL_FLAG, LOOP_FLAG = range(4), 4, 5
ORDERS = ("LT", "LE", "GT", "GE", "EQ", "NE")
TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "EQ": "EQ", "NE": "NE"}
NEGATED = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}
FUEL, INNER_FUEL = range(2, 9), range(-2, 3)
"""Rounds of a loop that need not end by itself, some five more; likewise of one inside another."""
LARGE = 1 << 28
"""Steps are odd multiples of this where a counter wraps around: it comes to every sixteenth of all numbers."""
FORMS = ("plain",) * 5 + ("counted",) * 6 + ("passing", "passing", "wrapping")


class Loop:
    """A loop counts in one of several forms.

    A plain one begins anywhere and compares in any way; fuel is another exit. A counted one ends by itself. A passing
    one waits, as long as its fuel lasts, until its counter equals a small number, which may move. A wrapping one takes
    steps so large that the counter leaves the numbers on one side and comes back on the other, until it finds itself
    above the limit.
    """

    def __init__(self, maker: Maker) -> None:
        self.maker, self.rng = maker, maker.rng
        self.i, self.limit, self.copy, self.fuel = (maker.free.pop() for _ in range(4))
        rng = self.rng
        self.inner = bool(maker.counters)  # inside of another: fewer rounds
        self.form = rng.choice(FORMS)
        self.step = rng.choice([1, 1, 1, 2, 3, 4, 5, 6, 7, 12, 16, 64]) * rng.choice([1, 1, -1])
        self.unsigned = rng.choice(["", ".U32"])
        self.where = rng.choice(["top", "bottom", "bottom", "middle"])
        self.fueled = self.form in ("plain", "passing")
        self.order = rng.choice(ORDERS)
        if self.form == "counted":
            self.order = rng.choice([*(("LT", "LE") if self.step > 0 else ("GT", "GE")), "NE", "NE", "EQ"])
        elif self.form == "passing":
            self.order = "NE"
        elif self.form == "wrapping":
            self.step = LARGE * rng.choice([1, 3, 5, 7, -1, -3, -5, -7])
            self.order = "LE" if self.step > 0 else "GE"
        #: whether the counter may also grow otherwise
        self.odd = self.form == "plain" or (self.form == "counted" and self.order in ("LT", "LE", "GT", "GE"))
        self.skips = self.odd and not self.fueled and rng.random() < 0.25  # the exit is asked every second time

    def write(self, depth: int) -> None:
        m, rng = self.maker, self.rng
        head, test, after = m.label(), m.label(), m.label()
        self._begin()
        stale = [self.copy] if rng.random() < 0.5 else []
        m.emit(f"MOV R{self.copy}, R{self.i}")
        if self.fueled or self.skips:
            m.emit(f"MOV R{self.fuel}, {5 if self.fueled and not self.inner and rng.random() < 0.3 else 0:#x}")
        if self.where == "middle" and rng.random() < 0.2 and self.fueled:
            m.emit(f"@{m.flag()} BRA {test}")  # into the middle of the loop
        m.place(head)
        m.counters.append(self.i)
        m.stale += stale
        if self.where == "top":
            self._exit(after)
        m.body(depth - 1)
        if self.where == "middle":
            m.place(test)
            self._exit(after)
            m.body(depth - 1)
        if rng.random() < 0.2:
            m.compare()
            m.emit(f"@{m.flag()} BRA {after}")
        if stale and rng.random() < 0.7:
            m.emit(f"{m.guard(0.2)}MOV R{self.copy}, R{self.i}")
        self._advance()
        del m.counters[-1:], m.stale[len(m.stale) - len(stale) :]
        if self.fueled:
            m.emit(f"IADD3 R{self.fuel}, R{self.fuel}, 0x1, RZ")
            most = 5 + rng.choice(INNER_FUEL if self.inner else FUEL)
            m.emit(f"ISETP.GE.AND P{FUEL_FLAG}, PT, R{self.fuel}, {most:#x}, PT")
            m.emit(f"@P{FUEL_FLAG} BRA {after}")
        if self.where == "bottom":
            self._exit(after, head)
        else:
            m.emit(f"BRA {head}")
        m.place(after)
        if rng.random() < 0.6:
            m.use(f"R{rng.choice([self.i, self.copy])}")

    def _begin(self) -> None:
        """Give the counter its first value, and the limit its value."""
        m, rng = self.maker, self.rng
        if self.form == "plain":
            m.emit(f"MOV R{self.i}, {rng.choice([m.operand(), '0x0', '0x1'])}")
            m.emit(rng.choice([
                f"IADD3 R{self.limit}, R{self.i}, {self.step * rng.randrange(12)}, RZ",
                f"MOV R{self.limit}, {m.value()}", f"MOV R{self.limit}, {m.operand()}",
                f"LOP3 R{self.limit}, {m.value()}, 0xf, RZ, 0xc0",
            ]))  # fmt: skip
        elif self.form == "passing":
            m.emit(f"MOV R{self.i}, {rng.choice([0, 1, -1, -self.step])}")
            m.emit(f"LOP3 R{self.limit}, {m.value()}, {rng.choice([3, 7, 15]):#x}, RZ, 0xc0")
        elif self.form == "wrapping":
            m.emit(f"LEA R{self.i}, R{rng.choice(KEPT)}, {rng.getrandbits(32):#x}, {rng.choice([0, 20, 28])}")
            edges = {"": (7 * LARGE - 1, -7 * LARGE), ".U32": (15 * LARGE - 1, LARGE)}
            m.emit(f"MOV R{self.limit}, {edges[self.unsigned][self.order == 'GE']}")
        else:
            self._begin_counted()

    def _begin_counted(self) -> None:
        m, rng = self.maker, self.rng
        m.emit(self._few())  # the limit's register has the number of rounds
        if self.order in ("NE", "EQ"):
            start = rng.choice([0, 0, 1, 5, -3, 0x7FFFFFF0, 0x80000000, 0xFFFFFFF8, 100])
        else:
            start = rng.choice([0, 0, 1, 7, 1000]) if self.step > 0 else rng.choice([2000, 5000])
        m.emit(rng.choice([f"MOV R{self.i}, {start}", f"IADD3 R{self.i}, R{rng.choice(KEPT)}, {start}, RZ"]))
        if self.order == "NE" and self.where == "bottom":
            m.emit(f"IADD3 R{self.limit}, R{self.limit}, 0x1, RZ")
        m.emit(f"IMAD R{self.limit}, R{self.limit}, {self.step}, R{self.i}")

    def _few(self) -> str:
        """Return an instruction that makes the limit a number below 16."""
        m, rng = self.maker, self.rng
        bits = 2 if self.inner else rng.choice([2, 3, 4])
        return rng.choice([
            f"MOV R{self.limit}, {rng.randrange(1 << bits):#x}", f"MOV R{self.limit}, {rng.randrange(1 << bits):#x}",
            f"LOP3 R{self.limit}, {m.value()}, {(1 << bits) - 1:#x}, RZ, 0xc0",
            f"LOP3 R{self.limit}, R{rng.choice(KEPT)}, {(1 << bits) - 1:#x}, RZ, 0xc0",
            f"SHF.R.U32.HI R{self.limit}, RZ, {32 - bits}, {m.value()}",
            f"IMNMX.U32 R{self.limit}, {m.value()}, {(1 << bits) - 1:#x}, PT",
        ])  # fmt: skip

    def _advance(self) -> None:
        """Let the counter grow, at times in two steps or under a guard, or be exchanged with another register."""
        m, rng = self.maker, self.rng
        if self.odd and rng.random() < 0.12:
            m.emit(f"@{m.flag()} IADD3 R{self.i}, R{self.i}, {self.step}, RZ")
        if self.odd and rng.random() < 0.12:
            m.emit(f"IADD3 R{self.i}, R{self.i}, {self.step * 2}, RZ")
        if self.form == "plain" and rng.random() < 0.12:
            other = rng.choice([self.copy, self.limit, *POOL])
            m.emit(f"MOV R{ADDRESS}, R{self.i}")
            m.emit(f"MOV R{self.i}, R{other}")
            m.emit(f"MOV R{other}, R{ADDRESS}")
        if self.form == "plain" and rng.random() < 0.1:
            m.emit(f"IADD3 R{self.limit}, R{self.limit}, {rng.randrange(-3, 4)}, RZ")
        if self.form == "plain" and rng.random() < 0.1:
            m.emit(f"LDS.U8 R{self.limit}, [RZ+{rng.randrange(64)}]")
        m.emit(f"IADD3 R{self.i}, R{self.i}, {self.step}, RZ")
        if self.form == "passing" and rng.random() < 0.7:  # now it is another small number, or never the counter
            other, table = rng.choice([(m.value(), 0xC0), (f"R{self.i}", 0x0C), (f"R{self.i}", 0x0C)])
            m.emit(f"LOP3 R{self.limit}, {other}, {rng.choice([1, 3, 7]):#x}, RZ, {table:#x}")

    def _exit(self, after: str, head: str = "") -> None:
        """Compare the counter with the limit; go on, to `head` if that is given, where the order holds."""
        m, rng = self.maker, self.rng
        a, b, order, skip = f"R{self.i}", f"R{self.limit}", self.order, m.label()
        if self.form == "plain" and rng.random() < 0.3:
            b = m.operand()
        if b.startswith("R") and rng.random() < 0.3:
            a, b, order = b, a, TURNED[order]
        leaves = rng.random() < 0.5
        if leaves:
            order = NEGATED[order]
        unsigned = "" if self.form == "counted" and self.order not in ("NE", "EQ") else self.unsigned
        second = rng.random() < 0.15
        flags = f"PT, P{LOOP_FLAG}" if second else f"P{LOOP_FLAG}, PT"
        if self.skips:
            m.emit(f"LOP3 R{self.fuel}, R{self.fuel}, 0x1, RZ, 0x3c")
            m.emit(f"ISETP.EQ.AND P{FUEL_FLAG}, PT, R{self.fuel}, 0x0, PT")
            m.emit(f"@P{FUEL_FLAG} BRA {head or skip}")
        m.emit(f"ISETP.{order}{unsigned}.AND {flags}, {a}, {b}, {m.maybe() if self.form == 'plain' else 'PT'}")
        out, on = (f"P{LOOP_FLAG}", f"!P{LOOP_FLAG}") if leaves is not second else (f"!P{LOOP_FLAG}", f"P{LOOP_FLAG}")
        m.emit(f"@{on} BRA {head}" if head else f"@{out} BRA {after}")
        m.place(skip)
