"""Two integers of 16 bits in a word, two f32 in 64 bits, cvt.pack, fns, and what else PTX ISA gives as a loop."""

from __future__ import annotations

import numpy as np

from tests.support.ptx.interpreter.arithmetic import floats, integers
from tests.support.ptx.interpreter.arithmetic.plans import Array, Form, Plan, simple

PACKED = {f"{k}{bits}": bits for k in "us" for bits in (2, 4, 8, 16)}


def halves(form: Form, signed: bool) -> Plan:
    kind = np.int16 if signed else np.uint16

    def function(a: Array, b: Array) -> Array:
        x, y = (np.ascontiguousarray(v).view(kind) for v in (a, b))
        result = {"add": np.add, "min": np.minimum, "max": np.maximum}[form.op](x, y)
        result = np.maximum(result, kind(0)) if "relu" in form else result
        return np.ascontiguousarray(result).view(np.uint32)

    return simple("b32", ("b32", "b32"), function)


def singles(form: Form) -> Plan:
    count = 3 if form.op == "fma" else 2

    def function(*args: Array) -> Array:
        values = [np.ascontiguousarray(x).view(np.float32) for x in args]
        values = [floats.flush(x, "f32") for x in values] if "ftz" in form else values
        if form.op == "fma":
            result = floats.fma(*values, "f32", form.rounding)
        elif form.op == "mul":
            result = floats.mul(*values, "f32", form.rounding)
        else:
            a, b = values
            result = floats.add(a, -b if form.op == "sub" else b, "f32", form.rounding)
        result = floats.flush(result, "f32") if "ftz" in form else result
        return np.ascontiguousarray(result.astype(np.float32)).view(np.uint64)

    return simple("b64", ("b64",) * count, function)


def pack(form: Form) -> Plan:
    to = next(m for m in form.mods if m in PACKED)
    bits, signed = PACKED[to], to[0] == "s"
    least, most = (-1 << bits - 1, (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    ones = (1 << bits) - 1

    def one(a: int, b: int, c: int = 0) -> int:
        low, high = (min(max(x, least), most) & ones for x in (b, a))
        return low | high << bits | c << 2 * bits

    sources = ("s32", "s32") if bits == 16 else ("s32", "s32", "b32")
    return simple("b32", sources, lambda *args: integers.each(one, 32, *args))


def find(mask: int, base: int, offset: int) -> int:
    """fns."""
    if offset == 0:
        return base if 0 <= base < 32 and mask >> base & 1 else -1
    place, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= place < 32:
        if mask >> place & 1:
            if count == 0:
                return place
            count -= 1
        place += step
    return -1


def plan(form: Form) -> Plan | None:
    if "u16x2" in form or "s16x2" in form:
        return halves(form, "s16x2" in form)
    if "f32x2" in form:
        return singles(form)
    if form.op == "cvt" and "pack" in form:
        return pack(form)
    if form.op == "fns":
        return simple("b32", ("b32", "u32", "s32"), lambda a, b, c: integers.each(find, 32, a, b, c))
    return None
