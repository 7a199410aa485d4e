"""Kernels full of values that can be made again, and of loads in front of their uses: all that an allocator short of
registers does to a program finds something here.

A value is made of the thread's number, loaded words, parameters and constants, by carries, scaled additions, wide
products, special registers, or a chain of these. Every value is stored twice, on either side of something that closes a
block: a diamond, a loop, a barrier, or a call. Loads stand in one bunch, their uses far behind it. Between them come
accesses that meet: to few words, by several bases, in several spaces, with atomics, fences and exchanges between lanes.
"""

from __future__ import annotations

import random

from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from binalloc.launch.types import Argument, Launch
from tests.support.generator.launches import random_words

WORDS = 64
"""Of output per thread."""
THREADS = 32
_SPECIAL = ("SR_TID.X", "SR_LANEID", "SR_CTAID.X", "SR_NTID.X")
_HEAD = f""".kernel k
.block {THREADS}
.shared s {4 * THREADS} 4
.local_bytes 16
.param out 8
.param in 8
.param n 4
S2R R0, SR_TID.X
MOV R2, c[0][out]
MOV R3, c[0][out+4]
IMAD.WIDE R2, R0, {4 * WORDS}, R2
MOV R4, c[0][in]
MOV R5, c[0][in+4]
IMAD.WIDE R4, R0, 32, R4
LDG.64 R6, [R4]
LEA R1, R0, RZ, 2
"""
_TRAFFIC = (
    "STG [R2+{word}], R{data}", "STG [R2+{word}], R{data}", "LDG R{new}, [R2+{word}]", "LDG R{new}, [R2+{word}]",
    "LDG R{new}, [R4]", "STG.64 [R2+{pair}], R6", "ATOMG.ADD R{new}, [R2+{word}], R{data}", "MEMBAR.GPU", "BAR 0",
    "STS [R1], R{data}", "LDS R{new}, [R1]", "LDS R{new}, [R{other}]", "STS [R{other}], R{data}",
    "SHFL.IDX P5, R{new}, R{data}, 5, 31", "SHFL.IDX P5, R{new}, R{data}, 5, 31", "VOTE.ANY R{new}, P5, P4",
    "@P5 STG [R2+{word}], R{data}", "@!P5 STS [R1], R{data}", "@P5 STL [4], R{data}", "STL [4], R{data}",
    "LDL R{new}, [4]",
)  # fmt: skip
_LEAVES = (0, 1, 6, 7)
_FIRST = 8


class _Maker:
    """Draws the code; registers are handed out once each, so that every one is one value."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.next = _FIRST
        self.lines: list[str] = []
        self.word = 0

    def fresh(self, units: int = 1) -> int:
        at = -(-self.next // units) * units
        self.next = at + units
        return at

    def leaf(self) -> int:
        return self.rng.choice(_LEAVES)

    def put(self, line: str) -> None:
        self.lines.append(line)

    def value(self) -> list[int]:
        """Makes a value; its registers."""
        kind = self.rng.choice(("carry", "carry", "lea", "wide", "special", "parameter", "chain"))
        p = self.rng.randrange(3)
        if kind == "carry":
            d, a = self.fresh(2), self.rng.choice((2, 4))
            self.put(f"IADD3 R{d}, P{p}, R{a}, R{self.leaf()}, RZ")
            self.put(f"IADD3.X R{d + 1}, R{a + 1}, RZ, RZ, P{p}")
            return [d, d + 1]
        if kind == "wide":
            d = self.fresh(2)
            self.put(f"IMAD.WIDE R{d}, R{self.leaf()}, {self.rng.randrange(3, 99)}, R{self.rng.choice((2, 4))}")
            return [d, d + 1]
        d = self.fresh()
        if kind == "lea":
            self.put(f"LEA R{d}, R{self.leaf()}, R{self.leaf()}, {self.rng.randrange(1, 6)}")
        elif kind == "special":
            self.put(f"S2R R{d}, {self.rng.choice(_SPECIAL)}")
        elif kind == "parameter":
            self.put(f"MOV R{d}, c[0][{self.rng.choice(('n', 'in', 'out'))}]")
        else:
            self.put(f"LEA R{d}, R{self.leaf()}, R{self.leaf()}, {self.rng.randrange(1, 6)}")
            for _ in range(self.rng.randrange(1, 3)):
                d, before = self.fresh(), d
                self.put(self.rng.choice((
                    f"LOP3 R{d}, R{before}, R{self.leaf()}, RZ, 0x3c",
                    f"IMAD R{d}, R{before}, {self.rng.randrange(3, 99)}, R{self.leaf()}",
                    f"SHF.L.U32 R{d}, R{before}, {self.rng.randrange(1, 9)}, RZ",
                )))  # fmt: skip
        return [d]

    def stores(self, values: list[int]) -> None:
        for r in self.rng.sample(values, len(values)):
            self.put(f"STG [R2+{4 * self.word}], R{r}")
            self.word += 1

    def loads(self, count: int) -> list[int]:
        """A bunch of loads; the registers."""
        found = []
        for n in range(count):
            found.append(self.fresh())
            self.put(f"LDG R{found[-1]}, [R4+{4 * (n % 8)}]")
        return found

    def traffic(self, count: int) -> list[int]:
        """Accesses of which many meet; the registers they leave their results in."""
        found: list[int] = []
        other = self.fresh()
        self.put(f"LOP3 R{other}, R1, 4, RZ, 0x3c\nSTS [R1], R6\nSTL [4], R6\nISETP.LT.AND P5, PT, R6, R7, PT")
        for line in self.rng.choices(_TRAFFIC, k=count):
            word, new = 4 * (WORDS - 4 + self.rng.randrange(4)), self.fresh() if "{new}" in line else 0
            data = self.rng.choice((0, 6, 7, *found))
            self.put(line.format(word=word, pair=word & -8, new=new, data=data, other=other))
            found += [new] if new else []
        return found

    def close(self, label: str, callee: bool) -> None:
        """Something that ends the block."""
        kind = self.rng.choice(("diamond", "loop", "barrier", "call" if callee else "barrier"))
        if kind == "diamond":
            self.put(f"ISETP.LT.AND P3, PT, R6, R{self.leaf()}, PT\n@P3 BRA {label}, {label}end")
            self.put(f"IADD3 R7, R7, 5, RZ\nBRA {label}end\n{label}:\nIADD3 R7, R7, R6, RZ\n{label}end:")
        elif kind == "loop":
            self.put(f"MOV R{self.next}, 3\n{label}:\nIADD3 R7, R7, R{self.next}, RZ")
            self.put(f"IADD3 R{self.next}, R{self.next}, -1, RZ\nISETP.GT.AND P3, PT, R{self.next}, RZ, PT")
            self.put(f"@P3 BRA {label}, {label}end\n{label}end:")
            self.next += 1
        elif kind == "call":
            self.put("CALL f")
        else:
            self.put("STS [R1], R7\nBAR 0\nLDS R7, [R1]\nBAR 0")


def made_program(seed: int, values: int = 8) -> tuple[Module, Launch]:
    """A kernel "k" with about so many values that can be made again, and its launch."""
    rng = random.Random(f"made {seed}")
    maker = _Maker(rng)
    made = [r for _ in range(values) for r in maker.value()]
    loaded = maker.loads(rng.randrange(4, 8))
    total = maker.fresh()
    maker.put(f"ISETP.LT.AND P4, PT, R{rng.choice(loaded)}, R6, PT\nMOV R{total}, 0")
    maker.stores(made)
    for r in maker.traffic(16):
        maker.put(f"LEA R{total}, R{r}, R{total}, 1")
    for r in loaded:
        guard = rng.choice(("", "", "@P4 ", "@!P4 "))
        maker.put(f"{guard}IMAD R{total}, R{r}, 3, R{total}")
    maker.stores([total])
    maker.close("a", True)
    maker.stores(rng.sample(made, min(len(made), WORDS - maker.word - 6)))
    maker.stores([7])
    text = _HEAD + "\n".join(maker.lines) + "\nEXIT\n.end\n"
    text += ".func f\nIMAD R7, R7, R6, R0\nLOP3 R6, R7, R6, RZ, 0x3c\nRET\n.end\n"
    buffers = (Argument("out", "buffer", "u32", (THREADS * WORDS,)), random_words("in", 256 + 8, 32, seed))
    arguments = (*buffers, Argument("n", "scalar", "u32", value=rng.getrandbits(32)))
    return assemble(text), Launch("k", (1, 1, 1), (THREADS, 1, 1), 0, arguments)
