"""Video instructions, lane by lane in Python's integers, as PTX ISA 9.7.18 describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.support.ptx.interpreter.arithmetic.plans import Unsupported
from tests.support.ptx.interpreter.operands import Action, Mask, reader, writer
from tests.support.ptx.interpreter.text.tree import Func, Inst, Op

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Frame, Gang

TYPES = ("u32", "s32")
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
FIRST: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda x, y: x + y,
    "vsub": lambda x, y: x - y,
    "vabsdiff": lambda x, y: abs(x - y),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda x, y: (x + y + 1) >> 1 if x + y >= 0 else (x + y) >> 1,
}
SCALAR = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset", "vshl", "vshr", "vmad")
SIMD = tuple(f"{op}{lanes}" for op in (*FIRST, "vset") for lanes in (2, 4))
OPCODES = (*SCALAR, *SIMD)


def wrapped(x: int, bits: int, signed: bool) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed and x >> (bits - 1) else x


def clamp(x: int, bits: int, signed: bool) -> int:
    least, most = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return min(max(x, least), most)


def place(selector: str | None) -> tuple[int, int]:
    """(first bit, bits) of a selector of one part."""
    if selector is None:
        return 0, 32
    size = 8 if selector[0] == "b" else 16
    return size * int(selector[1]), size


def parted(pattern: int, selector: str | None, type_: str) -> int:
    first, bits = place(selector)
    return wrapped(pattern >> first, bits, type_ == "s32")


def scalar(
    op: str, mods: tuple[str, ...], selectors: list[str | None], a: int, b: int, c: int
) -> int:
    """vadd to vshr: the 32-bit result. selectors: of destination, a and b."""
    types = [m for m in mods if m in TYPES]
    if op == "vset":
        types = ["u32", *types]
    first, bits = place(selectors[0])
    x, y = parted(a, selectors[1], types[1]), parted(b, selectors[2], types[2])
    if op == "vset":
        result = int(next(test for name, test in COMPARE.items() if name in mods)(x, y))
    elif op in ("vshl", "vshr"):
        y = y & 31 if "wrap" in mods else min(y, 32)
        result = wrapped(x << y, 34, True) if op == "vshl" else x >> y
    else:
        result = FIRST[op](x, y)
    signed = types[0] == "s32"
    result = clamp(result, bits, signed) if "sat" in mods else wrapped(result, 33, True)
    second = next((m for m in mods if m in ("add", "min", "max")), "")
    third = wrapped(c, 32, signed)
    if second:
        result = result + third if second == "add" else {"min": min, "max": max}[second](result, third)
    if selectors[0] is not None:
        mask = ((1 << bits) - 1) << first
        result = (result << first) & mask | c & ~mask
    return result & 0xFFFFFFFF


def product(
    mods: tuple[str, ...], signs: list[bool], selectors: list[str | None], a: int, b: int, c: int
) -> int:
    """vmad. signs: of a, b and c."""
    types = [m for m in mods if m in TYPES]
    signed = "s32" in types[1:] or signs[0] != signs[1] or signs[2]
    total = parted(a, selectors[1], types[1]) * parted(b, selectors[2], types[2])
    third, one = wrapped(c, 32, signed), 0
    if "po" in mods:
        one = 1
    elif signs[0] != signs[1]:
        total, one = ~total, 1
    elif signs[2]:
        third, one = wrapped(~c, 32, True), 1
    total += third + one
    total >>= 7 if "shr7" in mods else 15 if "shr15" in mods else 0
    return (clamp(total, 32, signed) if "sat" in mods else total) & 0xFFFFFFFF


def lanes(
    op: str, mods: tuple[str, ...], selectors: list[str | None], a: int, b: int, c: int
) -> int:
    """vadd2 to vset4."""
    count = int(op[-1])
    bits = 32 // count
    types = [m for m in mods if m in TYPES]
    if op.startswith("vset"):
        types = ["u32", *types]
    both = a | b << 32
    standard = ("10", "32") if count == 2 else ("3210", "7654")
    chosen = [(s or "x" + d)[1:] for s, d in zip(selectors[1:], standard, strict=True)]
    mask = (selectors[0] or "x" + standard[0])[1:]
    result = c
    for k in range(count):
        x, y = (
            wrapped(both >> bits * int(digits[-1 - k]), bits, t == "s32")
            for digits, t in zip(chosen, types[1:], strict=True)
        )
        if op.startswith("vset"):
            t = int(next(test for name, test in COMPARE.items() if name in mods)(x, y))
        else:
            t = FIRST[op[:-1]](x, y)
        if "sat" in mods:
            t = clamp(t, bits, types[0] == "s32")
        if str(k) not in mask:
            continue
        if "add" in mods:
            result += t
        else:
            ones = ((1 << bits) - 1) << k * bits
            result = t << k * bits & ones | result & ~ones
    return result & 0xFFFFFFFF


def taken_apart(operand: Op) -> tuple[bool, Op, str | None]:
    """(negated, the register or constant, selector)."""
    negated = operand[0] == "neg"
    operand = operand[1] if negated else operand
    return (negated, ("reg", operand[1]), operand[2]) if operand[0] == "sel" else (negated, operand, None)


def prepare(gang: Gang, func: Func, inst: Inst) -> Action:
    parts = [taken_apart(operand) for operand in inst.operands]
    if len(parts) not in (3, 4):
        raise Unsupported(f"{len(parts)} operands")
    write = writer(func, parts[0][1], "u32")
    sources = [reader(gang, func, operand, "u32") for _, operand, _ in parts[1:]]
    selectors, signs = [s for _, _, s in parts[:3]], [n for n, _, _ in parts[1:]]

    def one(a: int, b: int, c: int = 0) -> int:
        if inst.op == "vmad":
            return product(inst.mods, signs, selectors, a, b, c)
        return (lanes if inst.op in SIMD else scalar)(inst.op, inst.mods, selectors, a, b, c)

    def action(frame: Frame, mask: Mask) -> None:
        columns = [read(frame).tolist() for read in sources]
        write(frame, np.array([one(*row) for row in zip(*columns, strict=True)], dtype=np.uint32), mask)

    return action
