"""setp, set, slct of PTX against comparisons of exact values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from binalloc.errors import MalformedInput
from tests.support.oracles.arithmetic.integers import check, number
from tests.support.oracles.arithmetic.rational import F32, F64
from tests.support.ptx.elementwise import element_kernel
from tests.support.ptx.harness import imported
from tests.support.ptx.patterns import specials

ORDER: dict[str, Callable[[object, object], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,  # type: ignore[operator]
    "le": lambda a, b: a <= b,  # type: ignore[operator]
    "gt": lambda a, b: a > b,  # type: ignore[operator]
    "ge": lambda a, b: a >= b,  # type: ignore[operator]
}
NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
COMBINE = {"and": lambda r, c: r & c, "or": lambda r, c: r | c, "xor": lambda r, c: r ^ c}


def value(pattern: int, type_: str, ftz: bool = False) -> Fraction | float | None:
    """The number a pattern of any type stands for; None for NaN."""
    if type_[0] != "f":
        return Fraction(number(pattern, type_))
    form = F32 if type_ == "f32" else F64
    if ftz and not pattern & form.inf:
        return Fraction(0)
    found = form.decode(pattern)
    if isinstance(found, Fraction):
        return found
    return {"nan": None, "+inf": float("inf"), "-inf": float("-inf"), "-0": Fraction(0)}[found]


def truth(name: str, a: object, b: object) -> int:
    """A PTX comparison."""
    unordered = a is None or b is None
    if name in ("num", "nan"):
        return int(unordered == (name == "nan"))
    if unordered:
        return int(name.endswith("u"))
    name = NAMES.get(name, name)
    return int(ORDER[name if name in ORDER else name[:-1]](a, b))


def names(type_: str) -> list[str]:
    if type_[0] == "f":
        return [*ORDER, *(f"{n}u" for n in ORDER), "num", "nan"]
    return [*ORDER, *(NAMES if type_[0] == "u" else ())] if type_[0] != "b" else ["eq", "ne"]


def operands(type_: str) -> list[list[int]]:
    chosen = specials(type_)[:: 1 if type_[0] != "f" else 3]
    if type_[0] == "f":
        chosen = sorted(
            {*chosen, *(F32 if type_ == "f32" else F64).__dict__.values()} - {24, 53, 127, 1023, -126, -1022}
        )
        chosen = [x for x in chosen if x >= 0]
    rows = [(a, b) for a in chosen for b in chosen]
    step = max(1, len(rows) // 900)
    rows = rows[::step] + [(a, a) for a in chosen]
    return [[a for a, _ in rows], [b for _, b in rows]]


ALL = ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64")


@pytest.mark.rotates
@pytest.mark.parametrize("t", ALL)
def test_every_comparison(t: str) -> None:
    asked = names(t)
    for chosen in (asked[k : k + 5] for k in range(0, len(asked), 5)):
        body = "".join(f"setp.{name}.{t} %r{2 * k}|%r{2 * k + 1}, %a0, %a1;" for k, name in enumerate(chosen))

        def oracle(a: int, b: int, chosen: list[str] = chosen) -> tuple[int, ...]:
            results = [truth(name, value(a, t), value(b, t)) for name in chosen]
            return tuple(x for r in results for x in (r, 1 - r))

        check(body, [t, t], ["pred"] * (2 * len(chosen)), oracle, operands(t))


@pytest.mark.rotates
@pytest.mark.parametrize("t", ["u16", "s32", "u64", "s64", "f32", "f64"])
@pytest.mark.parametrize("bop", COMBINE)
def test_combined_with_a_predicate(t: str, bop: str) -> None:
    body = f"""setp.lt.{bop}.{t} %r0|%r1, %a0, %a1, %a2; setp.ge.{bop}.{t} %r2|_, %a0, %a1, !%a2;
        setp.eq.{bop}.{t} _|%r3, %a0, %a1, %a2; set.gt.{bop}.u32.{t} %r4, %a0, %a1, %a2;"""

    def oracle(a: int, b: int, c: int) -> tuple[int, ...]:
        f = COMBINE[bop]
        lt, ge, eq, gt = (truth(name, value(a, t), value(b, t)) for name in ("lt", "ge", "eq", "gt"))
        return f(lt, c), f(1 - lt, c), f(ge, 1 - c), f(1 - eq, c), -f(gt, c)

    x, y = operands(t)
    check(body, [t, t, "pred"], ["pred"] * 4 + ["s32"], oracle, [x, y, [k * 5 // 3 % 2 for k in range(len(x))]])


@pytest.mark.rotates
@pytest.mark.parametrize("t", ["s16", "u32", "s64", "u64"])
def test_constants_on_either_side(t: str) -> None:
    big = (1 << int(t[1:]) - 1) - 2
    body = f"""setp.lt.{t} %r0, %a0, 7; setp.lt.{t} %r1, 7, %a0; setp.ge.{t} %r2, {big}, %a0; setp.ne.{t} %r3, 0, %a0;
        setp.gt.{t} %r4, %a0, {big};"""
    check(body, [t], ["pred"] * 5, lambda a: (a < 7, a > 7, big >= a, a != 0, a > big))


def test_float_constants_and_flushing() -> None:
    body = """setp.lt.f32 %r0, %a0, 0f3F800000; setp.gtu.f32 %r1, 0f3F800000, %a0; setp.ne.f32 %r2, %a0, 0f00000001;
        setp.eq.ftz.f32 %r3, %a0, 0f00000000; setp.gt.ftz.f32 %r4, %a0, 0f00000000;
        setp.lt.f64 %r5, 0d3FF0000000000001, %a1; setp.leu.f64 %r6, %a1, 0d4000000000000000;"""

    def oracle(a: int, b: int) -> tuple[int, ...]:
        x, y, flushed = value(a, "f32"), value(b, "f64"), value(a, "f32", ftz=True)
        return (
            truth("lt", x, 1), truth("gtu", 1, x), truth("ne", x, Fraction(2) ** -149), truth("eq", flushed, 0),
            truth("gt", flushed, 0), truth("lt", 1 + Fraction(2) ** -52, y), truth("leu", y, 2),
        )  # fmt: skip

    singles, doubles = specials("f32"), specials("f64")
    count = min(len(singles), len(doubles))
    check(body, ["f32", "f64"], ["pred"] * 7, _patterned(oracle), [singles[:count], doubles[:count]])


def _patterned(oracle: Callable[..., tuple[int, ...]]) -> Callable[..., tuple[int, ...]]:
    return oracle


def test_set_and_slct() -> None:
    body = """set.lt.s32.s32 %r0, %a0, %a1; set.ge.f32.u32 %r1, %a0, %a1; set.neu.u32.f32 %r2, %a2, %a2;
        slct.u32.s32 %r3, %a0, %a1, %a0; slct.f32.f32 %r4, %a2, 0f3F800000, %a2; slct.ftz.s32.f32 %r5, %a0, %a1, %a2;
        slct.u64.s32 %r6, %a3, 9, %a1;"""

    def oracle(a: int, b: int, x: int, d: int) -> tuple[int, ...]:
        f, flushed = value(x, "f32"), value(x, "f32", ftz=True)
        u = [v & 0xFFFFFFFF for v in (a, b)]
        return (
            -(a < b), 0x3F800000 if u[0] >= u[1] else 0, -(f is None), a if a >= 0 else b,
            x if truth("ge", f, 0) else 0x3F800000, a if truth("ge", flushed, 0) else b, d if b >= 0 else 9,
        )  # fmt: skip

    floats = specials("f32")
    ints = (specials("s32") * 4)[: len(floats)]
    columns = [ints, ints[::-1], floats, (specials("u64") * 4)[: len(floats)]]
    kinds = ["s32", "b32", "b32", "u32", "b32", "s32", "u64"]
    declarations = "mov.b32 %f0, %a2; "
    text = declarations + body.replace("%a2", "%f0").replace("%r1,", "%f1,").replace("%r4,", "%f2,")
    check(text + "mov.b32 %r1, %f1; mov.b32 %r4, %f2;", ["s32", "s32", "b32", "u64"], kinds, oracle, columns)


def test_a_guarded_comparison_keeps_the_other_lanes() -> None:
    body = """setp.ne.u32 %p0, %a1, 0; setp.lt.u32 %r0, %a0, 100; setp.lt.u32 %r1, %a0, 100;
        @%p0 setp.gt.u32 %r0|%r1, %a0, 50;"""
    check(body, ["u32", "u32"], ["pred"] * 2, lambda a, g: (
        int(a > 50 if g else a < 100), int(a <= 50 if g else a < 100)),
        [[0, 50, 51, 99, 100, 200] * 2, [0] * 6 + [1] * 6])  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "setp.lt.b32 %p0, %w0, %w1;",
        "setp.lo.s32 %p0, %w0, %w1;",
        "setp.equ.s32 %p0, %w0, %w1;",
        "setp.hi.f32 %p0, %f0, %f1;",
        "setp.s32 %p0, %w0, %w1;",
        "setp.lt.ftz.s32 %p0, %w0, %w1;",
        "setp.lt.ftz.f64 %p0, %g0, %g1;",
        "setp.lt.and.s32 %p0, %w0, %w1;",
        "setp.lt.s32 %p0, %w0, %w1, %p1;",
        "setp.lt.s32 %w2, %w0, %w1;",
        "setp.lt.s32 %p0, %w0, %d1;",
        "setp.lt.s32 %p0|%p0, %w0, %w1;",
        "set.lt.u64.s32 %d0, %w0, %w1;",
        "slct.u32.u32 %w0, %w1, %w2, %w3;",
        "slct.ftz.u32.s32 %w0, %w1, %w2, %w3;",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        imported(element_kernel(text, [], []))
    assert "line" in str(caught.value)
