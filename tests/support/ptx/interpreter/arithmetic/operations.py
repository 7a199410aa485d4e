"""What each register-to-register PTX instruction computes: from opcode and modifiers to a plan.

Memory, control flow, `mov`, warp and barrier instructions are the interpreter's own. An instruction that is not known
raises Unsupported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from tests.support.ptx.interpreter.arithmetic import floats, halves, integers, pairs
from tests.support.ptx.interpreter.arithmetic.plans import DTYPES, ROUNDINGS, Array, Form, Plan, Unsupported, simple

# --- floating point ---------------------------------------------------------------------------------------------------


def float_plan(form: Form, count: int, function: Callable[..., Array], sources: tuple[str, ...] = ()) -> Plan:
    """`function` on floats of the form's type, with .ftz on operands and result and .sat after it."""
    t, ftz, sat = form.type, "ftz" in form and form.type == "f32", "sat" in form

    def compute(*args: Array) -> tuple[Array]:
        if ftz:
            args = tuple(floats.flush(x, t) if x.dtype.kind == "f" else x for x in args)
        result = function(*args)
        result = floats.flush(result, t) if ftz else result
        return (floats.saturate(result, t) if sat else result,)

    return Plan((t,), sources or (t,) * count, compute)


def approximate(form: Form, function: Callable[..., Array]) -> Plan:
    """An .approx form: the exact value as far as float64 has it, rounded to the type."""
    t = form.type

    def rounded(*args: Array) -> Array:
        wide = function(*(x.astype(np.float64) for x in args))
        return floats.canonical(wide.astype(floats.DTYPE[t]), t)

    return float_plan(form, 1, rounded)


APPROXIMATIONS: dict[str, Callable[[Array], Array]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rsqrt": lambda x: np.copysign(1.0, x) / np.sqrt(np.abs(x)) + np.where(x < 0, np.nan, 0.0),
    "rcp": lambda x: 1.0 / x,
    "sqrt": np.sqrt,
}


def approximate_division(form: Form) -> Plan:
    full = "full" in form

    def function(a: Array, b: Array) -> Array:
        quotient = (a.astype(np.float64) / b.astype(np.float64)).astype(np.float32)
        if not full:
            huge = (np.abs(b) > 2.0**126) & np.isfinite(b)
            zero = np.copysign(np.float32(0), quotient)
            quotient = np.where(huge, np.where(np.isinf(a), floats.NAN["f32"], zero), quotient)
        return floats.canonical(quotient, "f32")

    return float_plan(form, 2, function)


def extreme(form: Form) -> Plan:
    """min, max of two or three values, with .NaN, .abs and .xorsign."""
    t, larger, nan = form.type, form.op == "max", "NaN" in form
    three = "abs" in form and "xorsign" not in form

    def function(*args: Array) -> Array:
        sign = np.signbit(args[0]) ^ np.signbit(args[1])
        if "abs" in form:
            args = tuple(np.abs(x) for x in args)
        result = floats.minmax(args[0], args[1], t, larger, nan)
        if three:
            result = floats.minmax(result, args[2], t, larger, nan)
        if "xorsign" in form:
            result = np.where(np.isnan(result), result, np.copysign(result, np.where(sign, -1, 1).astype(result.dtype)))
        return floats.canonical(result.astype(floats.DTYPE[t]), t)

    return float_plan(form, 3 if three else 2, function)


def float_arithmetic(form: Form) -> Plan | None:
    op, t, mode = form.op, form.type, form.rounding
    if t not in ("f32", "f64"):
        return None
    if op in ("fma", "mad"):
        return float_plan(form, 3, lambda a, b, c: floats.fma(a, b, c, t, mode))
    if op == "add":
        return float_plan(form, 2, lambda a, b: floats.add(a, b, t, mode))
    if op == "sub":
        return float_plan(form, 2, lambda a, b: floats.add(a, -b, t, mode))
    if op == "mul":
        return float_plan(form, 2, lambda a, b: floats.mul(a, b, t, mode))
    if op == "div":
        if "approx" in form or "full" in form:
            return approximate_division(form)
        return float_plan(form, 2, lambda a, b: floats.div(a, b, t, mode))
    if op in ("min", "max"):
        return extreme(form)
    if op in APPROXIMATIONS and "approx" in form:
        return approximate(form, APPROXIMATIONS[op])
    if op == "rcp":
        return float_plan(form, 1, lambda a: floats.div(np.ones_like(a), a, t, mode))
    if op == "sqrt":
        return float_plan(form, 1, lambda a: floats.sqrt(a, t, mode))
    if op == "abs":
        return float_plan(form, 1, np.abs)
    if op == "neg":
        return float_plan(form, 1, np.negative)
    if op == "copysign":
        return float_plan(form, 2, lambda a, b: np.copysign(b, a))
    return None


TESTS: dict[str, Callable[[Array, str], Array]] = {
    "finite": lambda x, t: np.isfinite(x),
    "infinite": lambda x, t: np.isinf(x),
    "number": lambda x, t: ~np.isnan(x),
    "notanumber": lambda x, t: np.isnan(x),
    "normal": lambda x, t: np.isfinite(x) & (np.abs(x) >= floats.LEAST_NORMAL[t]),
    "subnormal": lambda x, t: (x != 0) & (np.abs(x) < floats.LEAST_NORMAL[t]),
}


# --- comparison and selection -----------------------------------------------------------------------------------------

COMPARISONS = {*integers.ORDERED, *integers.UNSIGNED_NAMES, "num", "nan", "equ", "neu", "ltu", "leu", "gtu", "geu"}


def comparing(form: Form) -> Callable[..., tuple[Array, Array]]:
    """(a, b, c) -> (r bop c, not r bop c) for r = a cmp b."""
    how = form.mods[0]
    if how not in COMPARISONS:
        raise Unsupported(f"comparison .{how}")
    combine = integers.BOOLEAN.get(form.mods[1])
    ftz = "ftz" in form

    def compute(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
        if ftz:
            a, b = floats.flush(a, "f32"), floats.flush(b, "f32")
        r = integers.compare(a, b, how)
        return (combine(r, c), combine(~r, c)) if combine else (r, ~r)

    return compute


def setp(form: Form) -> Plan:
    return Plan(("pred", "pred"), (form.type, form.type, "pred"), comparing(form), optional=1)


def set_plan(form: Form) -> Plan:
    target, source = form.types
    inner = comparing(form)
    true = {"f32": np.float32(1), "u32": np.uint32(0xFFFFFFFF), "s32": np.int32(-1)}[target]

    def compute(a: Array, b: Array, c: Array) -> tuple[Array]:
        return (np.where(inner(a, b, c)[0], true, DTYPES[target](0)),)

    return Plan((target,), (source, source, "pred"), compute, optional=1)


def slct(form: Form) -> Plan:
    target, by = form.types
    ftz = "ftz" in form

    def function(a: Array, b: Array, c: Array) -> Array:
        c = floats.flush(c, "f32") if ftz else c
        return np.where(c >= 0, a, b)

    return simple(target, (target, target, by), function)


# --- conversion -------------------------------------------------------------------------------------------------------


def cvt(form: Form) -> Plan:
    target, source = form.types
    rounding = next((m for m in form.mods if m in ROUNDINGS or m in floats.INTEGRAL), None)
    ftz, sat = "ftz" in form, "sat" in form
    from_float, to_float = source[0] == "f", target[0] == "f"

    def function(a: Array) -> Array:
        if ftz and source == "f32":
            a = floats.flush(a, "f32")
        if from_float and not to_float:
            return floats.to_integer(a, source, target, rounding or "rzi").astype(integers.UNSIGNED[int(target[1:])])
        if to_float and not from_float:
            result = floats.from_integer(a, target, rounding or "rn")
        elif from_float:
            if rounding in floats.INTEGRAL:
                a = floats.integral(a, source, rounding)
            result = float_to_float(a, source, target, rounding or "rn")
        else:
            return integer_to_integer(a, target, sat)
        if ftz and target == "f32":
            result = floats.flush(result, "f32")
        return floats.saturate(result, target) if sat else result

    return simple(target, (source,), function)


def float_to_float(a: Array, source: str, target: str, mode: str) -> Array:
    if source == target:
        return floats.canonical(a, source)
    if source == "f32":
        return floats.widen(a)
    return floats.canonical(floats.narrow(a, "rn" if mode in floats.INTEGRAL else mode), "f32")


def integer_to_integer(a: Array, target: str, sat: bool) -> Array:
    dtype = DTYPES[target]
    if sat:
        info, own = np.iinfo(dtype), np.iinfo(a.dtype)
        a = np.clip(a, max(info.min, own.min), min(info.max, own.max))
    return a.astype(dtype)


# --- integers ---------------------------------------------------------------------------------------------------------


def carried(form: Form) -> Plan:
    """add.cc, addc, sub.cc, subc, mad.cc, madc; a sum without carry-in begins with 0, a difference with 1."""
    op, t = form.op, form.type
    carry_in = op in ("addc", "subc", "madc")
    step = integers.sub_carry if op in ("sub", "subc") else integers.add_carry

    def compute(*args: Array) -> tuple[Array, Array]:
        carry = args[-1] if carry_in else np.full(args[0].shape, op == "sub")
        if op in ("mad", "madc"):
            a, b, c = args[:3]
            return step(integers.mul_hi(a, b) if "hi" in form else a * b, c, carry)
        return step(args[0], args[1], carry)

    sources = (t,) * (3 if op in ("mad", "madc") else 2)
    return Plan((t,), sources, compute, carry_in=carry_in, carry_out="cc" in form)


def multiplication(form: Form) -> Plan:
    """mul and mad with .lo, .hi, .wide."""
    t, adds = form.type, form.op == "mad"
    if "wide" in form:
        target = t[0] + str(2 * int(t[1:]))
        if adds:
            return simple(target, (t, t, target), lambda a, b, c: integers.mul_wide(a, b) + c)
        return simple(target, (t, t), integers.mul_wide)
    if "hi" in form:
        if adds and "sat" in form:
            return simple(t, (t, t, t), lambda a, b, c: integers.add_saturating(integers.mul_hi(a, b), c))
        if adds:
            return simple(t, (t, t, t), lambda a, b, c: integers.mul_hi(a, b) + c)
        return simple(t, (t, t), integers.mul_hi)
    if "lo" not in form:
        raise Unsupported(f"{form.op}.{'.'.join(form.mods)}: .lo, .hi or .wide expected")
    return simple(t, (t, t, t), lambda a, b, c: a * b + c) if adds else simple(t, (t, t), lambda a, b: a * b)


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": np.minimum,
    "max": np.maximum,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "div": lambda a, b: integers.divide(a, b, False),
    "rem": lambda a, b: integers.divide(a, b, True),
}
UNARY: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "neg": lambda a: -a,
    "not": lambda a: ~a,
    "cnot": lambda a: (a == 0).astype(a.dtype),
    "brev": integers.brev,
}


def integer_arithmetic(form: Form) -> Plan | None:
    op, t = form.op, form.type
    if "cc" in form or op in ("addc", "subc", "madc"):
        return carried(form)
    if "sat" in form and op in ("add", "sub"):
        sign = 1 if op == "add" else -1
        return simple(t, (t, t), lambda a, b: integers.add_saturating(a, sign * b.astype(np.int64)))
    if op in ("mul", "mad"):
        return multiplication(form)
    if "relu" in form:
        return simple(t, (t, t), lambda a, b: np.maximum(BINARY[op](a, b), a.dtype.type(0)))
    if op in BINARY:
        return simple(t, (t, t), BINARY[op])
    if op in UNARY:
        return simple(t, (t,), UNARY[op])
    return None


def integer_bits(form: Form) -> Plan | None:
    op, t = form.op, form.type
    if op == "shl":
        return simple(t, (t, "u32"), integers.shift_left)
    if op == "shr":
        return simple(t, (t, "u32"), integers.shift_right)
    if op in ("popc", "clz"):
        return simple("u32", (t,), integers.popc if op == "popc" else integers.clz)
    if op == "bfind":
        return simple("u32", (t,), lambda a: integers.bfind(a, "shiftamt" in form))
    if op == "bfe":
        return simple(t, (t, "u32", "u32"), integers.bfe)
    if op == "bfi":
        return simple(t, (t, t, "u32", "u32"), integers.bfi)
    if op == "bmsk":
        return simple(t, ("u32", "u32"), lambda a, b: integers.bmsk(a, b, "clamp" in form))
    if op == "szext":
        return simple(t, (t, "u32"), lambda a, b: integers.szext(a, b, "clamp" in form))
    if op == "shf":
        return simple(t, (t, t, "u32"), lambda a, b, c: integers.funnel(a, b, c, "l" in form, "wrap" in form))
    if op == "lop3":
        return simple(t, (t, t, t, "u32"), lambda a, b, c, d: integers.lop3(a, b, c, int(d[0])))
    if op == "prmt":
        mode = next((m for m in form.mods if m in integers.PRMT_MODES), None)
        return simple(t, (t, t, t), lambda a, b, c: integers.prmt(a, b, c, mode))
    return None


def integer_rest(form: Form) -> Plan | None:
    op, t = form.op, form.type
    if op == "sad":
        return simple(t, (t, t, t), integers.sad)
    if op == "mul24":
        return simple(t, (t, t), lambda a, b: integers.mul24(a, b, "hi" in form))
    if op == "mad24" and "sat" not in form:
        return simple(t, (t, t, "u32"), lambda a, b, c: integers.mul24(a, b, "hi" in form) + c)
    if op in ("dp4a", "dp2a"):
        kinds = tuple(np.dtype(np.int8 if k[0] == "s" else np.uint8) for k in form.types)
        signed = "s32" in form.types
        target = "s32" if signed else "u32"
        if op == "dp4a":
            return simple(target, ("u32", "u32", target), lambda a, b, c: integers.dot4(a, b, c, kinds))
        return simple(target, ("u32", "u32", target), lambda a, b, c: integers.dot2(a, b, c, kinds, "hi" in form))
    return None


LOGIC: dict[str, Callable[..., Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "not": np.logical_not,
    "mov": lambda a: a,
}


@cache
def plan(op: str, mods: tuple[str, ...]) -> Plan:
    """The plan of an instruction, `plan("fma", ("rn", "f32"))`. Raises Unsupported."""
    form = Form(op, mods)
    found = pairs.plan(form)
    if found is not None:
        return found
    if not halves.TYPES.isdisjoint(form.types):
        return halves.plan(form)
    if op == "setp":
        return setp(form)
    if op == "set":
        return set_plan(form)
    if op == "slct":
        return slct(form)
    if op == "cvt":
        return cvt(form)
    t = form.type
    if op == "selp":
        return simple(t, (t, t, "pred"), lambda a, b, c: np.where(c, a, b))
    if op == "testp":
        return simple("pred", (t,), lambda a: TESTS[mods[0]](a, t))
    if t == "pred" and op in LOGIC:
        return simple("pred", ("pred",) * (1 if op in ("not", "mov") else 2), LOGIC[op])
    if t[0] == "f":
        found = float_arithmetic(form)
    else:
        found = integer_arithmetic(form) or integer_bits(form) or integer_rest(form)
    if found is None:
        raise Unsupported(f"{op}.{'.'.join(mods)}")
    return found


def evaluate(text: str, *operands: Array) -> Array:
    """The first result of an instruction on arrays of its source types: evaluate("add.s32", a, b)."""
    op, *mods = text.split(".")
    chosen = plan(op, tuple(mods))
    args = [np.ascontiguousarray(x).view(DTYPES[t]) for x, t in zip(operands, chosen.sources, strict=False)]
    args += [np.zeros(args[0].shape, dtype=DTYPES[t]) for t in chosen.sources[len(args) :]]
    if chosen.carry_in:
        args.append(np.ascontiguousarray(operands[len(chosen.sources)]).astype(np.bool_))
    with np.errstate(all="ignore"):
        result = chosen.compute(*args)
    return np.ascontiguousarray(result[0]).view(DTYPES[chosen.results[0]])
