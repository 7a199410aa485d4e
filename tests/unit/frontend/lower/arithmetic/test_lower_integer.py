"""Integer sums, products, quotients of PTX, imported and emulated, against Python's integers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput
from tests.support.oracles.arithmetic.integers import bits, check, number, triples
from tests.support.ptx.elementwise import element_kernel
from tests.support.ptx.harness import imported
from tests.support.ptx.patterns import specials

TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")
WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def quotient(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def limited(x: int) -> int:
    return max(-(1 << 31), min((1 << 31) - 1, x))


@pytest.mark.rotates
@pytest.mark.parametrize("t", TYPES)
def test_sums_and_order(t: str) -> None:
    body = f"""
        add.{t} %r0, %a0, %a1; sub.{t} %r1, %a0, %a1; min.{t} %r2, %a0, %a1; max.{t} %r3, %a0, %a1;
        sad.{t} %r4, %a0, %a1, %a2; add.{t} %r5, %a0, 77; sub.{t} %r6, 5, %a0;
        add.{t} %a0, %a0, %a1; sub.{t} %r7, %a0, %a1;"""
    outputs = [t] * 8
    check(
        body, [t] * 3, outputs,
        lambda a, b, c: (a + b, a - b, min(a, b), max(a, b), c + abs(a - b), a + 77, 5 - a, a),
    )  # fmt: skip


@pytest.mark.parametrize("t", ["s16", "s32", "s64"])
def test_neg_abs(t: str) -> None:
    check(f"neg.{t} %r0, %a0; abs.{t} %r1, %a0; neg.{t} %a0, %a0; abs.{t} %r2, %a0;", [t], [t] * 3,
          lambda a: (-a, abs(a), abs(a)))  # fmt: skip


def test_saturated() -> None:
    body = """add.sat.s32 %r0, %a0, %a1; sub.sat.s32 %r1, %a0, %a1; mad.hi.sat.s32 %r2, %a0, %a1, %a2;
        mad24.hi.sat.s32 %r3, %a0, %a1, %a2;"""

    def oracle(a: int, b: int, c: int) -> tuple[int, ...]:
        low = number(a << 8, "s32") >> 8, number(b << 8, "s32") >> 8
        return limited(a + b), limited(a - b), limited((a * b >> 32) + c), limited((low[0] * low[1] >> 16) + c)

    check(body, ["s32"] * 3, ["s32"] * 4, oracle)


@pytest.mark.rotates
@pytest.mark.parametrize("t", TYPES)
def test_products(t: str) -> None:
    size = bits(t)
    body = f"""
        mul.lo.{t} %r0, %a0, %a1; mul.hi.{t} %r1, %a0, %a1; mad.lo.{t} %r2, %a0, %a1, %a2;
        mad.hi.{t} %r3, %a0, %a1, %a2; mul.lo.{t} %r4, %a0, 100; mul.lo.{t} %a0, %a0, %a0; mov.b{size} %r5, %a0;"""
    check(body, [t] * 3, [t] * 6, lambda a, b, c: (
        a * b, a * b >> size, a * b + c, (a * b >> size) + c, a * 100, a * a))  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("t", WIDE)
def test_wide_products(t: str) -> None:
    w = WIDE[t]
    body = f"mul.wide.{t} %r0, %a0, %a1; mad.wide.{t} %r1, %a0, %a1, %a2; mul.wide.{t} %r2, %a0, 12;"
    check(body, [t, t, w], [w] * 3, lambda a, b, c: (a * b, a * b + c, a * 12))


@pytest.mark.parametrize("t", ["u32", "s32"])
def test_24_bit_products(t: str) -> None:
    body = f"""mul24.lo.{t} %r0, %a0, %a1; mul24.hi.{t} %r1, %a0, %a1; mad24.lo.{t} %r2, %a0, %a1, %a2;
        mad24.hi.{t} %r3, %a0, %a1, %a2;"""

    def oracle(a: int, b: int, c: int) -> tuple[int, ...]:
        x, y = (number(v << 8, t) >> 8 for v in (a, b))
        return x * y, x * y >> 16, x * y + c, (x * y >> 16) + c

    check(body, [t] * 3, [t] * 4, oracle)


@pytest.mark.parametrize("size", [32, 64])
def test_carry_chains(size: int) -> None:
    """Two words of `size` bits and the carry out of them: sums, differences, products' halves added."""
    u = f"u{size}"
    body = f"""
        add.cc.{u} %r0, %a0, %a2; addc.cc.{u} %r1, %a1, %a3; addc.{u} %r2, 0, 0;
        sub.cc.{u} %r3, %a0, %a2; subc.cc.{u} %r4, %a1, %a3; subc.{u} %r5, 0, 0;
        mad.lo.cc.{u} %r6, %a0, %a1, %a2; madc.hi.cc.{u} %r7, %a0, %a1, %a3; addc.{u} %r8, 0, 0;
        mad.hi.cc.{u} %r9, %a0, %a1, %a2; madc.lo.{u} %r10, %a0, %a1, %a3;"""

    def oracle(a: int, b: int, c: int, d: int) -> tuple[int, ...]:
        low, mask = 1 << size, (1 << size) - 1
        x, y, p = a + b * low, c + d * low, a * b
        total, gap, product = x + y, x - y, p + (c + d * low)
        first = (p >> size) + c
        return (
            total, total >> size, total >> 2 * size, gap, gap >> size, -(x < y), product, product >> size,
            product >> 2 * size, first, (p & mask) + d + (first >> size),
        )  # fmt: skip

    check(body, [u] * 4, [u] * 11, oracle)


def test_carry_across_blocks_and_guards() -> None:
    """CC.CF lives on behind a label, and a guarded .cc writes it in its own lanes only."""
    body = """
        setp.ne.u32 %p0, %a2, 0;
        add.cc.u32 %r0, %a0, %a1;
        @%p0 add.cc.u32 %w0, %a0, 0xffffffff;
        @%p0 bra L;
        mov.u32 %w1, 1;
    L:  addc.u32 %r1, 0, 0;"""

    def oracle(a: int, b: int, c: int) -> tuple[int, ...]:
        return a + b, (a + 0xFFFFFFFF if c else a + b) >> 32

    check(body, ["u32"] * 3, ["u32"] * 2, oracle)


@pytest.mark.parametrize("size", [32, 64])
def test_sums_and_differences_share_one_flag(size: int) -> None:
    """The carry of a + ~b + 1 behind a difference, as hardware has it and nvcc's division of 128 bits relies on."""
    u = f"u{size}"
    body = f"""
        sub.cc.{u} %r0, %a0, %a1; addc.{u} %r1, %a2, 0; add.cc.{u} %r2, %a0, %a1; subc.{u} %r3, %a2, 0;
        sub.cc.{u} %r4, %a0, %a1; addc.cc.{u} %r5, %a2, %a2; subc.{u} %r6, %a0, %a2;"""

    def oracle(a: int, b: int, c: int) -> tuple[int, ...]:
        carry, total = int(a >= b), 2 * c + int(a >= b)
        return a - b, c + carry, a + b, c - 1 + (a + b >> size), a - b, total, a - c - 1 + (total >> size)

    check(body, [u] * 3, [u] * 7, oracle)


def test_carry_of_whichever_path_was_taken() -> None:
    body = """
        setp.eq.u32 %p0, %a2, 0;
        add.cc.u32 %r0, %a0, %a1;
        @%p0 bra L;
        sub.cc.u32 %w0, %a0, %a1;
    L:  addc.u32 %r1, 0, 0;"""

    def oracle(a: int, b: int, c: int) -> tuple[int, ...]:
        return a + b, int(a >= b) if c else (a + b) >> 32

    check(body, ["u32"] * 3, ["u32"] * 2, oracle)


@pytest.mark.rotates
@pytest.mark.parametrize("t", TYPES)
def test_quotients(t: str) -> None:
    def oracle(a: int, b: int) -> tuple[int, ...] | None:
        return (quotient(a, b), a - b * quotient(a, b)) if b else None

    check(f"div.{t} %r0, %a0, %a1; rem.{t} %r1, %a0, %a1;", [t] * 2, [t] * 2, oracle, triples([t, t], 3000))


@settings(max_examples=25)
@given(
    st.sampled_from(TYPES[:4]), st.integers(1, 2**32 - 1), st.lists(st.integers(0, 2**32 - 1), min_size=8, max_size=8)
)
def test_quotients_by_constants(t: str, divisor: int, more: list[int]) -> None:
    divisor = number(divisor, t) or 3
    mask = (1 << bits(t)) - 1
    near = [divisor * k + d for k in (1, 2, 3, 1000, mask // abs(divisor)) for d in (-1, 0, 1)]
    column = specials(t) + [x & mask for x in (*more, *near)]
    check(
        f"div.{t} %r0, %a0, {divisor}; rem.{t} %r1, %a0, {divisor};", [t], [t] * 2,
        lambda a: (quotient(a, divisor), a - divisor * quotient(a, divisor)), [column],
    )  # fmt: skip


@settings(max_examples=20)
@given(st.sampled_from(("u32", "s32", "u64", "s64")), st.data())
def test_quotients_near_whole_numbers(t: str, data: st.DataObject) -> None:
    """Dividends around multiples of the divisor, where an estimate errs."""
    size = bits(t)
    number_of = st.integers(0, (1 << size) - 1)
    mask = (1 << size) - 1
    rows = []
    for _ in range(24):
        b = data.draw(number_of) >> data.draw(st.integers(0, size - 2)) or 1
        k = data.draw(number_of) % (mask // b + 1)
        rows += [((k * b + d) & mask, b) for d in (-1, 0, 1)]
    check(
        f"div.{t} %r0, %a0, %a1; rem.{t} %r1, %a0, %a1;", [t] * 2, [t] * 2,
        lambda a, b: (quotient(a, b), a - b * quotient(a, b)), [[a for a, _ in rows], [b for _, b in rows]],
    )  # fmt: skip


def test_quotient_of_all_small_numbers() -> None:
    """Every 16-bit divisor, with dividends next to its multiples."""
    divisors = [*list(range(1, 1 << 16, 7)), 65535, 65534, 256, 255, 257]
    dividends = [(b * (65535 // b) - (b & 1)) % 65536 for b in divisors]
    check("div.u16 %r0, %a0, %a1;", ["u16"] * 2, ["u16"], lambda a, b: a // b, [dividends, divisors])


def test_dot_products_and_byte_differences() -> None:
    def part(x: int, k: int, width: int, signed: bool) -> int:
        return number(x >> width * k, ("s" if signed else "u") + str(width))

    body, wanted = [], []
    for s, x in enumerate(("u32", "s32")):
        for r, y in enumerate(("u32", "s32")):
            at = len(wanted)
            body.append(f"dp4a.{x}.{y} %r{at}, %a0, %a1, %a2; dp2a.lo.{x}.{y} %r{at + 1}, %a0, %a1, %a2;")
            body.append(f"dp2a.hi.{x}.{y} %r{at + 2}, %a0, %a1, %a2;")
            for width, up in ((8, 0), (16, 0), (16, 2)):
                wanted.append(
                    lambda a, b, c, s=s, r=r, width=width, up=up: (
                        c + sum(part(a, k, width, bool(s)) * part(b, k + up, 8, bool(r)) for k in range(32 // width))
                    )
                )
    for x in ("u32", "s32"):
        at = len(wanted)
        body.append(
            f"vabsdiff4.u32.{x}.{x}.add %r{at}, %a0, %a1, %a2; vabsdiff4.u32.{x}.{x} %r{at + 1}, %a0, %a1, %a2;"
        )
        signed = x == "s32"
        gaps = lambda a, b, signed=signed: [abs(part(a, k, 8, signed) - part(b, k, 8, signed)) for k in range(4)]  # noqa: E731
        wanted.append(lambda a, b, c, gaps=gaps: c + sum(gaps(a, b)))
        wanted.append(lambda a, b, c, gaps=gaps: sum(g << 8 * k for k, g in enumerate(gaps(a, b))))
    check("\n".join(body), ["u32"] * 3, ["u32"] * len(wanted), lambda *v: tuple(f(*v) for f in wanted))


@pytest.mark.parametrize(
    "text",
    [
        "add.sat.u32 %w0, %w1, %w2;",
        "add.u8 %h0, %h1, %h2;",
        "add.b32 %w0, %w1, %w2;",
        "add.s32 %w0, %h1, %w2;",
        "add.s32 %w0, %f1, %w2;",
        "add.s32.wide %w0, %w1, %w2;",
        "add.s32 %w0, %w1;",
        "add.cc.u16 %h0, %h1, %h2;",
        "addc.u32 %w0, %w1, %w2;",
        "mul.s32 %w0, %w1, %w2;",
        "mul.wide.u64 %d0, %d1, %d2;",
        "mul.wide.u32 %w0, %w1, %w2;",
        "mad.lo.sat.s32 %w0, %w1, %w2, %w3;",
        "mul.lo.cc.u32 %w0, %w1, %w2;",
        "neg.u32 %w0, %w1;",
        "div.rn.s32 %w0, %w1, %w2;",
        "add.u32 5, %w1, %w2;",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        imported(element_kernel(text, [], []))
    assert "line" in str(caught.value)
