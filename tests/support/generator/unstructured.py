"""Programs without structure: every branch draws its target and its reconvergence point from all words, loops included.

Nothing is made sure but that they assemble: a program may run for ever, or fault. Branches of one region lead onto
points of others, so that lanes pass one point while they wait for another, which no structured generator reaches.
"""

from __future__ import annotations

import random

from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from tests.support.generator.options import Options

_HEAD = """.kernel k
.block {block}
{locals}.param out 8
.param in 8
S2R R0, SR_TID.X
MOV R2, c[0][out]
MOV R3, c[0][out+4]
IMAD.WIDE R2, R0, 32, R2
MOV R10, c[0][in]
MOV R11, c[0][in+4]
IMAD.WIDE R10, R0, 16, R10
LDG.128 R4, [R10]
LDG R8, [R10+4]
R2P R4, 0xf
"""
_FRAME = ("STL [{at}], {r}", "LDL {r}, [{at}]", "STL.64 [8], R4", "LDL.64 R6, [0]", "STL.128 [0], R4", "MOV R7, R4",
          "MOV R5, R8", "MOV R8, 0x55", "P2R {r}, {r}, 0xf", "LDG.128 R4, [R2]")  # fmt: skip
_PLAIN = (
    ("IADD3 {r}, {r2}, {r3}, {r}", 17), ("LDG {r}, [R2+{word}]", 12), ("STG [R2+{word}], {r}", 7),
    ("ISETP.LT.AND {p}, PT, {r}, {r2}, {p2}", 10), ("SHFL.IDX {p}, {r}, {r2}, 5, 31", 4), ("MUFU.RCP {r}, {r2}", 4),
    ("R2P {r}, 0x5", 3), ("S2R {r}, SR_LANEID", 3), ("POPC {r}, {r2}", 3), ("DADD R4, R6, R4", 3),
    ("VOTE.ANY {r}, {p}, {p2}", 3), ("EXIT", 3), ("NOP", 5),
)  # fmt: skip


def unstructured_program(rng: random.Random, o: Options) -> Module:
    """A kernel "k" for one warp. o.local: with local words that a rewrite may lift to values."""
    names = [f"f{n}" for n in range(o.callees)]
    text = _HEAD.format(block=o.block, locals=".local_bytes 16\n" if o.local else "")
    text += "STL.128 [0], R4\n" if o.local else ""
    text += _body(rng, rng.randrange(6, 16), names, "EXIT", o.local)
    for n, name in enumerate(names):
        text += f".func {name}\n" + _body(rng, rng.randrange(3, 9), names[n + 1 :], "RET", o.local)
    return assemble(text)


def _body(rng: random.Random, size: int, callees: list[str], end: str, frame: bool) -> str:
    lines = []
    for i in range(size):
        guard = f"@{rng.choice(['', '!'])}P{rng.randrange(4)} " if rng.random() < 0.45 else ""
        lines.append(f"L{i}:\n{_word(rng, i, size, guard, callees, end, frame)}")
    lines.append(f"L{size}:")
    if end == "EXIT":
        lines += [f"STG [R2+{4 * n}], R{4 + n}" for n in range(5)]
    return "\n".join([*lines, end, ".end\n"])


def _word(
    rng: random.Random, i: int, size: int, guard: str, callees: list[str], end: str, frame: bool
) -> str:
    draw = rng.random()
    if draw < 0.16:
        if not guard:
            return f"BRA L{rng.randrange(i + 1, size + 1)}"
        target = rng.randrange(i + 1 if rng.random() < 0.7 else 0, size + 1)
        point = rng.randrange(min(i + 1, size) if rng.random() < 0.6 else 0, size + 1)
        return f"{guard}BRA L{target}, L{point}"
    if draw < 0.22 and callees:
        return f"{guard}CALL {rng.choice(callees)}"
    if draw < 0.25 and end == "RET":
        return f"{guard or '@P1 '}RET"
    if draw < 0.40 and frame:
        form = rng.choice(_FRAME)
    else:
        form = rng.choices([text for text, _ in _PLAIN], [share for _, share in _PLAIN])[0]
    r, r2, r3 = (f"R{rng.randrange(4, 9)}" for _ in range(3))
    p, p2 = (f"P{rng.randrange(4)}" for _ in range(2))
    return guard + form.format(r=r, r2=r2, r3=r3, p=p, p2=p2, word=4 * rng.randrange(8), at=4 * rng.randrange(4))
