"""Forms of video instructions: selectors and signs stand with the operands' letters, `w.b3210`, `-w.h1`.

Every combination of types, suffixes and the kind of destination; selectors and signs by a fixed seed.
"""

from __future__ import annotations

import random
from itertools import product

Form = tuple[str, str, tuple[str, ...]]
TYPES = ("u32", "s32")
PARTS = ("b0", "b1", "b2", "b3", "h0", "h1")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")


def letter_of(text: str) -> tuple[str, str, str]:
    """(sign, letter, selector with its dot)."""
    sign, rest = ("-", text[1:]) if text[0] == "-" else ("", text)
    letter, dot, selector = rest.partition(".")
    return sign, letter, dot + selector


def part(rng: random.Random) -> str:
    return "w" if rng.random() < 0.4 else f"w.{rng.choice(PARTS)}"


def _scalar(rng: random.Random, op: str, types: tuple[str, ...], saturates: tuple[str, ...]) -> list[Form]:
    forms: list[Form] = []
    for sat, second in product(saturates, ("", "", ".add", ".min", ".max", "merge", "merge")):
        text = f"{op}{sat}{second if second != 'merge' else ''}"
        head, *rest = text.split(".", 1)
        name = ".".join([head, *types, *rest])
        target = f"w.{rng.choice(PARTS)}" if second == "merge" else "w"
        sources = (part(rng), part(rng)) if rng.random() < 0.75 else ("w", "w")
        forms.append((name, target, (*sources, "w") if second else sources))
    return forms


def scalar_forms(rng: random.Random) -> list[Form]:
    forms: list[Form] = []
    for op, types in product(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), product(TYPES, repeat=3)):
        forms += _scalar(rng, op, types, ("", ".sat"))
    for op, mode, types in product(("vshl", "vshr"), (".clamp", ".wrap"), product(TYPES, repeat=2)):
        forms += _scalar(rng, f"{op}{mode}", (*types, "u32"), ("", ".sat"))
    for how, types in product(COMPARE, product(TYPES, repeat=2)):
        forms += _scalar(rng, f"vset.{how}", types, ("",))
    for types, scale, sat in product(product(TYPES, repeat=3), ("", ".shr7", ".shr15"), ("", ".sat")):
        for signs in (("", "", ""), ("-", "", ""), ("", "", "-"), ("-", "-", rng.choice(("", "-"))), "po"):
            a, b = (part(rng), part(rng)) if rng.random() < 0.5 else ("w", "w")
            name = ".".join(["vmad", *types]) + (".po" if signs == "po" else "") + sat + scale
            s, t, u = ("", "", "") if signs == "po" else signs
            forms.append((name, "w", (s + a, t + b, u + "w")))
    return forms


def lane_forms(rng: random.Random) -> list[Form]:
    forms: list[Form] = []

    def selected(lanes: int) -> str:
        if rng.random() < 0.4:
            return "w"
        digits = "".join(str(rng.randrange(2 * lanes)) for _ in range(lanes))
        return f"w.{'h' if lanes == 2 else 'b'}{digits}"

    def masked(lanes: int) -> str:
        named = [str(k) for k in range(lanes - 1, -1, -1) if rng.random() < 0.6]
        return f"w.{'h' if lanes == 2 else 'b'}{''.join(named)}" if named and rng.random() < 0.6 else "w"

    operations = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
    for op, lanes, types, suffix in product(operations, (2, 4), product(TYPES, repeat=3), ("", ".sat", ".add")):
        name = f"{op}{lanes}.{'.'.join(types)}{suffix}"
        forms.append((name, masked(lanes), (selected(lanes), selected(lanes), "w")))
    for how, lanes, types, suffix in product(COMPARE, (2, 4), product(TYPES, repeat=2), ("", ".add")):
        name = f"vset{lanes}.{'.'.join(types)}.{how}{suffix}"
        forms.append((name, masked(lanes), (selected(lanes), selected(lanes), "w")))
    return forms


def video_forms() -> list[Form]:
    rng = random.Random(9718)
    return scalar_forms(rng) + lane_forms(rng)
