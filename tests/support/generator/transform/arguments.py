"""Programs whose functions have many arguments that their callers go on using.

The kernel has up to 16 values that are arguments of `f`, and up to 10 more, which live across one to four calls, some
guarded, perhaps in a loop, perhaps through a second function; arguments change between calls, and in functions. What is
cheap for a callee alone may be dear for its callers here: what it overwrites of its arguments they have to hold twice.
"""

from __future__ import annotations

import random

from binalloc.isa.instruction import Module
from tests.support.programs.builder import program

_ARGUMENTS, _HELD, _COUNTER, _TEMPORARIES, _SECOND = 6, 30, 50, 60, 75
"""First registers of each sort."""


def argument_program(seed: int) -> Module:
    rng = random.Random(seed)
    arguments = range(_ARGUMENTS, _ARGUMENTS + rng.randint(2, 16))
    held = range(_HELD, _HELD + rng.randint(0, 10))
    some = rng.choice([0.0, 0.3, 0.7])
    again = [a for a in arguments if rng.random() < some]
    second = rng.random() < 0.4
    lines = [
        ".kernel k registers=90",
        ".block 32,1,1",
        "MOV R2, c[0][p]",
        "MOV R3, c[0][p+4]",
        "S2R R0, SR_TID.X",
        "IMAD.WIDE R2, R0, 0x4, R2",
        "ISETP.LT P0, PT, R0, 7, PT",
        *(f"IMAD R{a}, R{a - 1 if k else 0}, {44 + 7 * k}, R0" for k, a in enumerate(arguments)),
        *(f"IMAD R{v}, R0, {11 + 5 * k}, R0" for k, v in enumerate(held)),
        *_calls(rng, arguments, held, second),
        *(f"IADD3 R0, R0, R{v}, RZ" for v in (*held, *again)),
        "STG [R2], R0",
        "EXIT",
        ".func f",
        *_body(rng, arguments, _TEMPORARIES),
        "RET",
    ]
    if second:
        lines += [".func g", *_body(rng, arguments, _SECOND)[: rng.randint(0, 12)], "CALL f"]
        lines += [f"IADD3 R0, R0, R{rng.choice(arguments)}, RZ"] * rng.randint(0, 1)
        lines += ["RET"]
    return program("\n".join(lines))


def handed_on() -> Module:
    """Fourteen arguments that f only reads, of calls that may not be made, and that the kernel goes on using."""
    arguments, held = range(6, 20), range(30, 36)
    return program(f"""
.kernel k registers=60
MOV R2, c[0][p]
MOV R3, c[0][p+4]
S2R R0, SR_TID.X
IMAD.WIDE R2, R0, 0x4, R2
ISETP.LT P0, PT, R0, 7, PT
{"".join(f"IMAD R{v}, R{v - 1 if v > 6 else 0}, {44 + 7 * k}, R0" + chr(10) for k, v in enumerate((*arguments, *held)))}
@P0 CALL f
@!P0 CALL f
@P0 CALL f
{"".join(f"IADD3 R0, R0, R{v}, RZ" + chr(10) for v in (*held, *arguments[:4]))}
STG [R2], R0
EXIT
.func f
{"".join(f"IMAD R0, R0, 3, R{v}" + chr(10) for v in arguments)}
RET
""")


def _calls(rng: random.Random, arguments: range, held: range, second: bool) -> list[str]:
    lines = []
    for _ in range(rng.randint(1, 4)):
        guard = rng.choice(["", "@P0 ", "@!P0 "])
        lines.append(f"{guard}CALL {'g' if second and rng.random() < 0.6 else 'f'}")
        if rng.random() < 0.5:
            lines.append(f"IADD3 R{rng.choice(arguments)}, R0, {rng.randint(1, 9)}, RZ")
        if held and rng.random() < 0.4:
            lines.append(f"IADD3 R{rng.choice(held)}, R{rng.choice(held)}, R{rng.choice(arguments)}, RZ")
    if rng.random() < 0.4:
        counts = [f"IADD3 R{_COUNTER}, R{_COUNTER}, -1, RZ", f"ISETP.NE P1, PT, R{_COUNTER}, 0, PT"]
        return [f"MOV R{_COUNTER}, 3", "loop:", *lines, *counts, "@P1 BRA loop, done", "done:"]
    return lines


def _body(rng: random.Random, arguments: range, first: int) -> list[str]:
    """All arguments, in some order, come into R0; first: of the registers for what lives all along."""
    order = rng.sample(arguments, len(arguments))
    temporaries = range(first, first + rng.randint(0, 8))
    lines = []
    for k, t in enumerate(temporaries):
        lines.append(f"IMAD R{t}, R{rng.choice(arguments)}, {3 + k}, R{rng.choice(arguments)}")
    for a in order:
        lines.append(f"IMAD R0, R0, 3, R{a}")
        if rng.random() < 0.15:
            lines.append(f"IADD3 R{a}, R0, 1, RZ")
        if rng.random() < 0.1:
            lines.append(f"IMAD R0, R0, 5, R{rng.choice(arguments)}")
    return lines + [f"IMAD R0, R0, 3, R{t}" for t in temporaries]
