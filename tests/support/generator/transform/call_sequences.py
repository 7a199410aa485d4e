"""Kernels that call one small function after the other and use values from before, between and behind the calls: what
slots are moved around for.

Some calls are guarded, some steps stand in a loop. What each thread computes is one word of the output.
"""

from __future__ import annotations

import random

from binalloc.isa.instruction import Module
from binalloc.launch.types import Argument, Launch
from tests.support.programs.builder import program

THREADS = 32
TAKES, SUM, FIRST = 4, 5, 8
"""Registers: of what callees take and give, of what the kernel leaves, and of the first value that it keeps."""
MOST = 10
"""Values that a function has at once."""


def call_sequence(seed: int) -> tuple[Module, Launch]:
    """The program of that seed, and a launch of its kernel "kernel"."""
    rng = random.Random(f"call sequence {seed}")
    callees = [f"f{n}" for n in range(rng.randrange(1, 4))]
    kept = rng.randrange(4, MOST + 1)
    lines = [
        f".kernel kernel registers={FIRST + MOST}", ".param out, 8", "S2R R0, SR_TID.X",
        "MOV R2, 0x4", "IMAD.WIDE R2, R0, R2, c[0][out]", f"MOV R{SUM}, R0", "ISETP.LT.AND P0, PT, R0, 0xb, PT",
        *(f"SHFL.IDX PT, R{FIRST + v}, R0, {rng.randrange(32)}, 0x1f" for v in range(kept)),
    ]  # fmt: skip
    loop = rng.random() < 0.3
    if loop:
        lines += ["MOV R1, 0x3", ".top:"]
    for _ in range(rng.randrange(6, 24)):
        value = FIRST + rng.randrange(kept)
        what = rng.random()
        if what < 0.35:
            guard = "@P0 " if rng.random() < 0.15 else ""
            lines += [f"IADD3 R{TAKES}, R{SUM}, R{value}, RZ", f"{guard}CALL {rng.choice(callees)}"]
            lines.append(f"IADD3 R{SUM}, R{SUM}, R{TAKES}, RZ")
        elif what < 0.7:
            lines.append(f"IMAD R{SUM}, R{SUM}, {rng.randrange(3, 99)}, R{value}")
        else:
            guard = "@P0 " if rng.random() < 0.2 else ""
            lines.append(f"{guard}IMAD R{value}, R{SUM}, {rng.randrange(3, 99)}, R{FIRST + rng.randrange(kept)}")
    if loop:
        lines += ["IADD3 R1, R1, -1, RZ", "ISETP.GT.AND P1, PT, R1, 0, PT", "@P1 BRA .top, uniform"]
    lines += [f"STG.32 [R2], R{SUM}", "EXIT"]
    for name in callees:
        lines += _callee(rng, name)
    launch = Launch("kernel", (1, 1, 1), (THREADS, 1, 1), 0, (Argument("out", "buffer", "u32", (THREADS,)),))
    return program("\n".join(lines)), launch


def _callee(rng: random.Random, name: str) -> list[str]:
    """A function that has some values at once."""
    count = rng.randrange(2, MOST + 1)
    places = [FIRST + v for v in range(count)]
    made = [f"IMAD R{r}, R{r - 1 if r > FIRST else TAKES}, {rng.randrange(3, 99)}, R{TAKES}" for r in places]
    rng.shuffle(places)
    used = [f"IMAD R{TAKES}, R{TAKES}, {rng.randrange(3, 99)}, R{r}" for r in places]
    return [f".func {name} registers={FIRST + count}", *made, *used, "RET"]
