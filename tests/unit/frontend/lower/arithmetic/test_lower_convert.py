"""cvt of PTX between every two types, against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from binalloc.errors import MalformedInput
from tests.support.oracles.arithmetic.integers import check, number
from tests.support.oracles.arithmetic.rational import F32, F64, RM, RN, RP, RZ, Format
from tests.support.ptx.elementwise import element_kernel
from tests.support.ptx.harness import imported
from tests.support.ptx.patterns import random_patterns, specials

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FORMS = {"f32": F32, "f64": F64}
MODES = {"rn": RN, "rz": RZ, "rm": RM, "rp": RP}
WHOLE = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def bits(type_: str) -> int:
    return int(type_[1:])


def span(type_: str) -> tuple[int, int]:
    n = bits(type_)
    return (-(1 << n - 1), (1 << n - 1) - 1) if type_[0] == "s" else (0, (1 << n) - 1)


def clamp(x: int, type_: str) -> int:
    low, high = span(type_)
    return max(low, min(high, x))


def columns(type_: str) -> list[list[int]]:
    return [[*specials(type_), *random_patterns(type_, 60, 9)]]


def holder(type_: str) -> str:
    """The register type an input of this type is loaded into: the harness has none below 16 bits."""
    return f"b{max(16, bits(type_))}" if type_[0] != "f" else type_


@pytest.mark.rotates
@pytest.mark.parametrize("of", INTEGERS)
def test_between_integers(of: str) -> None:
    """Also from and into wider registers: the low bits count, the result is extended by its own type."""
    lines, outputs, makers = [], [], []
    for to in INTEGERS:
        for sat in ("", ".sat"):
            at = len(outputs)
            lines.append(f"cvt{sat}.{to}.{of} %r{at}, %a0; cvt{sat}.{to}.{of} %r{at + 1}, %a1;")
            outputs += [f"b{max(16, bits(to))}", "b64"]

            def make(x: int, to: str = to, sat: str = sat) -> int:
                x = number(x, of)
                return number(clamp(x, to) if sat else x, to)

            makers.append(make)
    wide = random_patterns("u64", 40, 2) + specials("u64")
    narrow = [x & ((1 << bits(of)) - 1) for x in wide]
    for k in range(0, len(makers), 4):
        chosen = makers[k : k + 4]
        body = "".join(lines[k : k + 4])
        for j in range(8):
            body = body.replace(f"%r{2 * k + j},", f"%R{j},")
        check(
            body.replace("%R", "%r"), [holder(of), "b64"], outputs[2 * k : 2 * k + 8],
            lambda x, y, chosen=chosen: tuple(v for f in chosen for v in (f(x), f(y))), [narrow, wide],
        )  # fmt: skip


def whole(pattern: int, of: str, to: str, mode: str, ftz: bool) -> int:
    """Float to integer: limited; a NaN gives 0, or the top bit of 64-bit results and of f64."""
    form = FORMS[of]
    value = form.decode(pattern)
    if value == "nan":
        return -(1 << bits(to) - 1) if to[0] == "s" else 1 << bits(to) - 1 if of == "f64" or bits(to) == 64 else 0
    if ftz and not pattern & form.inf:
        return 0
    if isinstance(value, str):
        return {"+inf": span(to)[1], "-inf": span(to)[0], "-0": 0}[value]
    return clamp(WHOLE[mode](value), to)


@pytest.mark.rotates
@pytest.mark.parametrize("of", FORMS)
@pytest.mark.parametrize("to", INTEGERS)
def test_from_floats_to_integers(of: str, to: str) -> None:
    nan_top = of == "f64" or bits(to) == 64
    lines = [f"cvt.{mode}.{to}.{of} %r{k}, %a0;" for k, mode in enumerate(WHOLE)]
    lines.append(f"cvt.rzi.sat.{to}.{of} %r4, %a0; cvt.rzi.{to}.{of} %r5, %a0;")
    if of == "f32":
        lines.append(f"cvt.rpi.ftz.{to}.{of} %r6, %a0;")

    def oracle(a: int) -> tuple[int, ...]:
        results = [whole(a, of, to, mode, False) for mode in (*WHOLE, "rzi", "rzi")]
        if of == "f32":
            results.append(whole(a, of, to, "rpi", True))
        if FORMS[of].decode(a) == "nan" and not nan_top:
            return (0,) * len(results)
        return tuple(results)

    outputs = [holder(to)] * 5 + ["b64"] + ([holder(to)] if of == "f32" else [])
    check("".join(lines), [of], outputs, oracle, columns(of))


@pytest.mark.rotates
@pytest.mark.parametrize("to", FORMS)
@pytest.mark.parametrize("of", INTEGERS)
def test_from_integers_to_floats(of: str, to: str) -> None:
    body = "".join(f"cvt.{mode}.{to}.{of} %r{k}, %a0;" for k, mode in enumerate(MODES))
    body += f"cvt.rn.sat.{to}.{of} %r4, %a0; cvt.rz.{to}.{of} %r5, %a1;"
    form = FORMS[to]

    def oracle(x: int, y: int) -> tuple[int, ...]:
        x, y = Fraction(number(x, of)), Fraction(number(y, of))
        return *(form.encode(x, m) for m in MODES.values()), form.encode(max(Fraction(0), min(Fraction(1), x)), RN), \
            form.encode(y, RZ)  # fmt: skip

    wide = random_patterns("u64", 150, 4) + specials("u64")
    narrow = [x & ((1 << bits(of)) - 1) for x in wide]
    _patterns(body, [holder(of), "b64"], [to] * 6, oracle, [narrow, wide])


def _patterns(body: str, inputs: list[str], outputs: list[str], oracle: object, data: list[list[int]]) -> None:
    """Compare floats by their patterns: through .b registers."""
    moves = ""
    for k, t in enumerate(outputs):
        own = f"%f{k}" if t == "f32" else f"%g{k}"
        if t[0] == "f":
            body = body.replace(f"%r{k},", f"{own},")
            moves += f"mov.b{bits(t)} %r{k}, {own};"
    kinds = [f"b{bits(t)}" if t[0] == "f" else t for t in outputs]
    check(body + moves, inputs, kinds, oracle, data)  # type: ignore[arg-type]


def flushed(pattern: int, form: Format) -> int:
    return pattern if pattern & form.inf else pattern & form.sign


def saturated(pattern: int, form: Format) -> int:
    value = form.decode(pattern)
    if isinstance(value, str):
        return form.encode(Fraction(1), RN) if value == "+inf" else 0
    return form.encode(max(Fraction(0), min(Fraction(1), value)), RN)


def test_narrowing() -> None:
    body = "".join(f"cvt.{mode}.f32.f64 %r{k}, %a0;" for k, mode in enumerate(MODES))
    body += "cvt.rn.ftz.f32.f64 %r4, %a0; cvt.rz.sat.f32.f64 %r5, %a0; cvt.rp.ftz.sat.f32.f64 %r6, %a0;"

    def oracle(a: int) -> tuple[int, ...]:
        value = F64.decode(a)
        near = [F32.encode(value, m) for m in MODES.values()]
        return *near, flushed(near[0], F32), saturated(near[1], F32), saturated(flushed(near[3], F32), F32)

    near = [F64.encode(Fraction(F32.decode(p)) + d, RN) for p in specials("f32") if isinstance(F32.decode(p), Fraction)
            for d in (0, Fraction(2) ** -149, Fraction(2) ** -150, -Fraction(2) ** -151)]  # fmt: skip
    _patterns(body, ["f64"], ["f32"] * 7, oracle, [columns("f64")[0] + near])


def test_widening() -> None:
    def oracle(a: int) -> tuple[int, ...]:
        exact = F64.encode(F32.decode(a), RN)
        return exact, F64.encode(F32.decode(flushed(a, F32)), RN), saturated(exact, F64)

    body = "cvt.f64.f32 %r0, %a0; cvt.ftz.f64.f32 %r1, %a0; cvt.sat.f64.f32 %r2, %a0;"
    _patterns(body, ["f32"], ["f64"] * 3, oracle, columns("f32"))


@pytest.mark.parametrize("t", FORMS)
def test_to_whole_numbers_and_saturation(t: str) -> None:
    form = FORMS[t]
    body = "".join(f"cvt.{mode}.{t}.{t} %r{k}, %a0;" for k, mode in enumerate(WHOLE))
    body += f"cvt.sat.{t}.{t} %r4, %a0; cvt.rpi.sat.{t}.{t} %r5, %a0; cvt.{t}.{t} %r6, %a0;"
    if t == "f32":
        body += "cvt.ftz.f32.f32 %r7, %a0; cvt.rmi.ftz.f32.f32 %r8, %a0; cvt.ftz.sat.f32.f32 %r9, %a0;"

    def integral(a: int, mode: str) -> int:
        value = form.decode(a)
        if isinstance(value, str):
            return form.encode(value, RN)
        result = WHOLE[mode](value)
        return form.encode(Fraction(result), RN) | (form.sign if not result and a & form.sign else 0)

    def oracle(a: int) -> tuple[int, ...]:
        up = integral(a, "rpi")
        out = [*(integral(a, mode) for mode in WHOLE), saturated(a, form), saturated(up, form), a]
        if t == "f32":
            out += [flushed(a, form), integral(flushed(a, form), "rmi"), saturated(flushed(a, form), form)]
        return tuple(out)

    data = [x for x in columns(t)[0] if form.decode(x) != "nan"]
    _patterns(body, [t], [t] * (10 if t == "f32" else 7), oracle, [data])


@pytest.mark.parametrize(
    "text",
    [
        "cvt.s32.f32 %w0, %f0;",
        "cvt.rn.s32.f32 %w0, %f0;",
        "cvt.f32.s32 %f0, %w0;",
        "cvt.rzi.f32.s32 %f0, %w0;",
        "cvt.f32.f64 %f0, %g0;",
        "cvt.rn.f64.f32 %g0, %f0;",
        "cvt.rn.f32.f32 %f0, %f1;",
        "cvt.rn.u32.u16 %w0, %h0;",
        "cvt.ftz.s64.s32 %d0, %w0;",
        "cvt.u64.u32 %w0, %w1;",
        "cvt.u32.u64 %w0, %w1;",
        "cvt.b32.u16 %w0, %h0;",
        "cvt.u32 %w0, %w1;",
        "cvt.rni.f32.f32 %w0, %f0, %f1;",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        imported(element_kernel(text, [], []))
    assert "line" in str(caught.value)
