"""f16, bf16 and pairs of them: what each PTX instruction on them computes, value by value on patterns by `ieee754`.

NaN results are canonical. PTX leaves open what becomes of a NaN's bits; where nothing is computed (neg, abs, cvt to the
same type, an atomic that adds -0) the importer keeps them, and so it is here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.support.ptx.interpreter.arithmetic import floats, ieee754, integers
from tests.support.ptx.interpreter.arithmetic.ieee754 import Format, is_nan
from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, ROUNDINGS, Array, Form, Plan, Unsupported, simple

FORMATS = {"f16": Format(16, 11, -24, 0x7FFF), "bf16": Format(16, 8, -133, 0x7FFF)}
WIDE = {"f32": ieee754.F32, "f64": ieee754.F64}
TYPES = frozenset((*FORMATS, *(t + "x2" for t in FORMATS)))
ONE = {"f16": 0x3C00, "bf16": 0x3F80}
SIGN = 0x8000
REST = 0x7FFF

Scalar = Callable[..., int]
"""Patterns of halves to the pattern of a half."""


# --- values -----------------------------------------------------------------------------------------------------------


def numbers(x: Array, t: str) -> Array:
    """The halves of an array of patterns as f64."""
    if t == "f16":
        return x.view(np.float16).astype(np.float64)
    return (x.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def rounded(x: Array, t: str, mode: str = "rn") -> Array:
    """Patterns of f32 or f64 numbers, each rounded once."""
    wide = "f32" if x.dtype == np.float32 else "f64"
    patterns = np.ascontiguousarray(x).view(floats.BITS[wide]).tolist()
    return np.array([ieee754.convert(p, WIDE[wide], FORMATS[t], mode) for p in patterns], dtype=np.uint16)


def flushed(x: int, f: Format) -> int:
    return x & SIGN if x & f.infinity == 0 else x


def largest(f: Format) -> int:
    return f.infinity - 1


def finished(x: int, t: str, form: Form) -> int:
    """What the suffixes make of a rounded result: .ftz (of halves), .satfinite, .sat, .relu."""
    f = FORMATS[t]
    if "ftz" in form and form.op != "cvt":
        x = flushed(x, f)
    if "satfinite" in form and x & REST == f.infinity:
        x = x & SIGN | largest(f)
    if "sat" in form:
        return 0 if x & SIGN or is_nan(x, f) else min(x, ONE[t])
    return 0 if "relu" in form and x & SIGN and not is_nan(x, f) else x


def split(x: Array) -> tuple[Array, Array]:
    """Low and high halves of words."""
    return x.astype(np.uint16), (x >> np.uint32(16)).astype(np.uint16)


def joined(low: Array, high: Array) -> Array:
    return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)


def each(function: Scalar) -> Callable[..., Array]:
    """A function of patterns over arrays of them."""
    return lambda *xs: integers.each(function, 16, *xs)


def elementwise(form: Form, count: int, function: Callable[..., Array]) -> Plan:
    """A function of arrays of halves, for a type of one or two."""
    t = form.type
    if t in FORMATS:
        return simple(t, (t,) * count, function)

    def packed(*words: Array) -> Array:
        lows, highs = zip(*[split(word) for word in words], strict=True)
        return joined(function(*lows), function(*highs))

    return simple(t, (t,) * count, packed)


# --- arithmetic -------------------------------------------------------------------------------------------------------


def value(x: int, f: Format) -> int:
    """A number that is no NaN, in units of the smallest; infinities lie beyond all others."""
    sign, m, e = ieee754.unpack(x, f)
    return (-1 if sign else 1) * (m << (e - f.least))


def extreme(a: int, b: int, f: Format, form: Form) -> int:
    """min, max: a NaN loses to a number (wins with .NaN); -0 is below +0."""
    sign = (a ^ b) & SIGN if "xorsign" in form else 0
    if "xorsign" in form:
        a, b = a & REST, b & REST
    if (is_nan(a, f) and is_nan(b, f)) or ("NaN" in form and (is_nan(a, f) or is_nan(b, f))):
        return f.nan
    if is_nan(a, f) or is_nan(b, f):
        return sign | (b if is_nan(a, f) else a)
    below, above = sorted((a, b), key=lambda x: (value(x, f), not x & SIGN))
    return sign | (above if form.op == "max" else below)


def signed(x: int, f: Format, form: Form) -> int:
    """neg, abs."""
    if "ftz" in form:
        x = f.nan if is_nan(x, f) else flushed(x, f)
        if x == f.nan:
            return x
    return x ^ SIGN if form.op == "neg" else x & REST


def arithmetic(t: str, form: Form) -> tuple[int, Scalar] | None:
    """How many operands, and the function."""
    f = FORMATS[t]
    known: dict[str, tuple[int, Scalar]] = {
        "add": (2, lambda a, b: ieee754.add(a, b, f, "rn")),
        "sub": (2, lambda a, b: ieee754.add(a, b ^ SIGN, f, "rn")),
        "mul": (2, lambda a, b: ieee754.mul(a, b, f, "rn")),
        "fma": (3, lambda a, b, c: ieee754.fma(a, b, c, f, "rn")),
    }
    if form.op in known:
        count, exact = known[form.op]

        def function(*xs: int) -> int:
            return finished(exact(*(flushed(x, f) if "ftz" in form else x for x in xs)), t, form)

        return count, function
    if form.op in ("min", "max"):
        return 2, lambda a, b: extreme(*(flushed(x, f) if "ftz" in form else x for x in (a, b)), f, form)
    return (1, lambda x: signed(x, f, form)) if form.op in ("neg", "abs") else None


def mixed(form: Form) -> Plan | None:
    """add, sub, fma of halves and an f32 behind them, computed in f32."""
    t, mode = form.types[1], form.rounding

    def wide(x: Array) -> Array:
        return numbers(x, t).astype(np.float32)

    def function(*xs: Array) -> Array:
        *half, c = xs
        if form.op == "fma":
            result = floats.fma(wide(half[0]), wide(half[1]), c, "f32", mode)
        else:
            result = floats.add(wide(half[0]), -c if form.op == "sub" else c, "f32", mode)
        return floats.saturate(result, "f32") if "sat" in form else result

    if form.op not in ("add", "sub", "fma") or form.types != ("f32", t) or t not in FORMATS:
        return None
    return simple("f32", (*(t,) * (2 if form.op == "fma" else 1), "f32"), function)


APPROXIMATIONS: dict[str, Callable[[Array], Array]] = {"ex2": np.exp2, "tanh": np.tanh}


def approximate(form: Form, t: str) -> Plan:
    """The exact value as far as float64 has it, rounded; ex2 of bf16 has subnormals for zeros."""
    flush = each(lambda x: flushed(x, FORMATS[t]) if "ftz" in form else x)
    function = APPROXIMATIONS[form.op]
    return elementwise(form, 1, lambda x: flush(rounded(function(numbers(flush(x), t)), t)))


# --- comparisons ------------------------------------------------------------------------------------------------------


def comparing(form: Form, t: str) -> Callable[[Array, Array, Array], tuple[Array, Array]]:
    """(a, b, c) -> (r bop c, not r bop c) for r = a cmp b."""
    how, combine = form.mods[0], integers.BOOLEAN.get(form.mods[1], lambda r, c: r)

    def operand(x: Array) -> Array:
        if t in FORMATS:
            return numbers(each(lambda h: flushed(h, FORMATS[t]))(x) if "ftz" in form else x, t)
        return floats.flush(x, t) if "ftz" in form else x

    def compute(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        r = integers.compare(operand(a), operand(b), how)
        return combine(r, c), combine(~r, c)

    return compute


def comparison(form: Form) -> Plan:
    """setp and set of halves, set to halves."""
    t = form.type
    compare = comparing(form, t.removesuffix("x2"))
    sources = (t, t, "pred")

    def both(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        (a0, a1), (b0, b1) = split(a), split(b)
        return compare(a0, b0, c)[0], compare(a1, b1, c)[0]

    packed = t in TYPES and t not in FORMATS
    decide = both if packed else compare
    if form.op == "setp":
        return Plan(("pred", "pred"), sources, decide, optional=1)
    target = form.types[0]
    if target not in ("u16", "s16", "u32", "s32", *TYPES):
        raise Unsupported(f"set to .{target}")

    def chosen(a: Array, b: Array, c: Array) -> tuple[Array]:
        low, high = decide(a, b, c)
        if not packed:
            truth = ONE.get(target, -1)
            return (np.where(low, truth, 0).astype(np.int64).astype(DTYPES[target]),)
        truth = ONE[target.removesuffix("x2")] if target in TYPES else 0xFFFF
        return (joined(np.where(low, truth, 0), np.where(high, truth, 0)),)

    return Plan((target,), sources, chosen, optional=1)


# --- conversions ------------------------------------------------------------------------------------------------------


def cvt(form: Form) -> Plan:
    target, source = form.types
    mode = next((m for m in form.mods if m in ROUNDINGS or m in floats.INTEGRAL), "")
    if target in TYPES and target not in FORMATS:
        if source != "f32":
            raise Unsupported(f"cvt of .{source} to a pair")
        t = target.removesuffix("x2")
        end = each(lambda x: finished(x, t, form))
        return simple(target, (source,) * 2, lambda a, b: joined(end(rounded(b, t, mode)), end(rounded(a, t, mode))))
    if target in FORMATS:
        return simple(target, (source,), to_half(form, target, source, mode))
    return simple(target, (source,), from_half(form, target, source, mode))


def to_half(form: Form, target: str, source: str, mode: str) -> Callable[[Array], Array]:
    f, end = FORMATS[target], each(lambda x: finished(x, target, form))

    def function(a: Array) -> Array:
        if source in FORMATS and source != target:
            return end(rounded(numbers(a, source), target, mode))
        if source in FORMATS:
            if mode:
                a = rounded(floats.integral(numbers(a, source), "f64", mode), target)
            if "ftz" in form:
                a = each(lambda x: f.nan if is_nan(x, f) else flushed(x, f))(a)
            return end(a)
        if source in WIDE:
            return end(rounded(floats.flush(a, "f32") if "ftz" in form and source == "f32" else a, target, mode))
        return end(np.array([ieee754.from_integer(v, f, mode) for v in a.tolist()], dtype=np.uint16))

    return function


def from_half(form: Form, target: str, source: str, mode: str) -> Callable[[Array], Array]:
    def function(a: Array) -> Array:
        x = numbers(a, source)
        if target not in WIDE:
            patterns = floats.to_integer(x, "f32", target, mode)
            return patterns.astype(integers.UNSIGNED[int(target[1:])])
        x = floats.canonical(x.astype(DTYPES[target]), target)
        x = floats.flush(x, target) if "ftz" in form and target == "f32" else x
        return floats.saturate(x, target) if "sat" in form else x

    return function


# --- all --------------------------------------------------------------------------------------------------------------


def plan(form: Form) -> Plan:
    """The plan of an instruction with a half among its types. Raises Unsupported."""
    t = form.type.removesuffix("x2")
    found: Plan | None = None
    if form.op == "cvt":
        return cvt(form)
    if form.op in ("setp", "set"):
        return comparison(form)
    if len(form.types) == 2:
        found = mixed(form)
    elif form.op in APPROXIMATIONS and "approx" in form:
        return approximate(form, t)
    elif (known := arithmetic(t, form)) is not None:
        return elementwise(form, known[0], each(known[1]))
    if found is None:
        raise Unsupported(f"{form.op}.{'.'.join(form.mods)}")
    return found


def atomic_sum(old: int, b: int, t: str) -> int:
    """What an atomic addition leaves in a word or half of memory."""
    if t not in FORMATS:
        low, high = (atomic_sum(old >> s & 0xFFFF, b >> s & 0xFFFF, t.removesuffix("x2")) for s in (0, 16))
        return low | high << 16
    return old if b == SIGN else ieee754.add(old, b, FORMATS[t], "rn")
