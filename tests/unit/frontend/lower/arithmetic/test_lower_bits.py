"""Logic, shifts, bit counting, fields, masks, permutation, packing of PTX, against Python's integers."""

from __future__ import annotations

import pytest

from binalloc.errors import MalformedInput
from tests.support.kits.suite import rotation
from tests.support.oracles.arithmetic.integers import bits, check, number
from tests.support.ptx.elementwise import element_kernel
from tests.support.ptx.harness import imported
from tests.support.ptx.patterns import random_patterns, specials

COUNTS = [*range(70), 128, 255, 256, 257, 1 << 31, (1 << 32) - 1]


def counted(type_: str) -> list[list[int]]:
    """Special values of the type, each with every count worth trying."""
    values = [*specials(type_)[::3], *random_patterns(type_, 6, 5)]
    return [[v for v in values for _ in COUNTS], [n for _ in values for n in COUNTS]]


@pytest.mark.parametrize("size", [16, 32, 64])
def test_logic(size: int) -> None:
    t = f"b{size}"
    body = f"""and.{t} %r0, %a0, %a1; or.{t} %r1, %a0, %a1; xor.{t} %r2, %a0, %a1; not.{t} %r3, %a0;
        cnot.{t} %r4, %a0; and.{t} %r5, %a0, 0xff; or.{t} %r6, %a0, 0; xor.{t} %r7, %a0, -1; or.{t} %r8, %a0, -1;
        and.{t} %r9, %a0, -1; and.{t} %a0, %a0, %a1; mov.{t} %r10, %a0;"""
    check(body, [t] * 2, [t] * 11, lambda a, b: (
        a & b, a | b, a ^ b, ~a, int(a == 0), a & 0xFF, a, ~a, -1, a, a & b))  # fmt: skip


def test_predicate_logic() -> None:
    body = """and.pred %r0, %a0, %a1; or.pred %r1, %a0, %a1; xor.pred %r2, %a0, !%a1; not.pred %r3, %a0;
        mov.pred %r4, %a1; mov.pred %r5, 1; and.pred %r6, %a0, 0; not.pred %r7, !%a0;"""
    check(body, ["pred"] * 2, ["pred"] * 8, lambda a, b: (
        a & b, a | b, 1 ^ a ^ b, 1 ^ a, b, 1, 0, a), [[0, 0, 1, 1], [0, 1, 0, 1]])  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("table", [0, 0x96, 0xE8, 0x1B, 0x80, 0xFE, 0xFF])
def test_lop3(table: int) -> None:
    def oracle(a: int, b: int, c: int) -> tuple[int, int]:
        out = 0
        for k in range(32):
            out |= (table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k
        return out, out

    check(
        f"lop3.b32 %r0, %a0, %a1, %a2, {table}; lop3.b32 %r1, %a0, %a1, %a2, {table};", ["b32"] * 3, ["b32"] * 2, oracle
    )
    check(
        f"setp.ne.u32 %p0, %a2, 0; lop3.or.b32 %r0|%r1, %a0, %a1, %a2, {table}, %p0;", ["b32"] * 3, ["b32", "pred"],
        lambda a, b, c: (oracle(a, b, c)[0], int(oracle(a, b, c)[0] != 0 or c != 0)),
    )  # fmt: skip


@pytest.mark.parametrize("size", [16, 32, 64])
def test_shifts_by_registers(size: int) -> None:
    body = f"""shl.b{size} %r0, %a0, %a1; shr.u{size} %r1, %a0, %a1; shr.s{size} %r2, %a0, %a1;
        shr.b{size} %r3, %a0, %a1; shl.b{size} %r4, %a0, %a1;
        shr.s{size} %r4, %r4, %a1; shl.b{size} %a0, %a0, %a1; mov.b{size} %r5, %a0;"""

    def oracle(a: int, n: int) -> tuple[int, ...]:
        n, s = min(n, 100), number(a, f"s{size}")
        left = number(a << n, f"s{size}")
        return a << n, a >> n, s >> n, a >> n, left >> n, left

    check(body, [f"b{size}", "u32"], [f"b{size}"] * 6, oracle, counted(f"b{size}"))


@pytest.mark.rotates
@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("n", [0, 1, 7, 15, 16, 31, 32, 33, 47, 63, 64, 65, 4294967295])
def test_shifts_by_constants(size: int, n: int) -> None:
    body = f"""shl.b{size} %r0, %a0, {n}; shr.u{size} %r1, %a0, {n}; shr.s{size} %r2, %a0, {n};
        shl.b{size} %r3, %a0, 3; shl.b{size} %r3, %r3, {n}; shr.s{size} %a0, %a0, {n}; mov.b{size} %r4, %a0;"""

    def oracle(a: int) -> tuple[int, ...]:
        k, s = min(n, 100), number(a, f"s{size}")
        return a << k, a >> k, s >> k, a << k + 3, s >> k

    check(body, [f"b{size}"], [f"b{size}"] * 5, oracle)


def test_funnel_shifts() -> None:
    body = """shf.l.wrap.b32 %r0, %a0, %a1, %a2; shf.l.clamp.b32 %r1, %a0, %a1, %a2; shf.r.wrap.b32 %r2, %a0, %a1, %a2;
        shf.r.clamp.b32 %r3, %a0, %a1, %a2; shf.l.wrap.b32 %r4, %a0, %a0, 7; shf.r.clamp.b32 %r5, %a0, %a1, 40;"""

    def oracle(a: int, b: int, n: int) -> tuple[int, ...]:
        v, c, w = b << 32 | a, min(n, 32), n & 31
        return v << w >> 32, v << c >> 32, v >> w, v >> c, (a << 32 | a) << 7 >> 32, v >> 32

    values = counted("b32")
    check(body, ["b32", "b32", "u32"], ["b32"] * 6, oracle, [values[0], values[0][::-1], values[1]])


@pytest.mark.parametrize("size", [32, 64])
def test_counts(size: int) -> None:
    u, s, b = f"u{size}", f"s{size}", f"b{size}"
    body = f"""popc.{b} %r0, %a0; clz.{b} %r1, %a0; bfind.{u} %r2, %a0; bfind.{s} %r3, %a0;
        bfind.shiftamt.{u} %r4, %a0; bfind.shiftamt.{s} %r5, %a0; brev.{b} %r6, %a0;"""

    def oracle(a: int) -> tuple[int, ...]:
        signed = a ^ ((1 << size) - 1) if a >> (size - 1) else a
        first, second = a.bit_length() - 1, signed.bit_length() - 1
        amounts = [size - 1 - x if x >= 0 else -1 for x in (first, second)]
        return a.bit_count(), size - a.bit_length(), first, second, *amounts, int(f"{a:0{size}b}"[::-1], 2)

    check(body, [b], ["u32"] * 6 + [b], oracle)


def field(a: int, pos: int, length: int, size: int, signed: bool) -> int:
    """bfe as PTX ISA writes it."""
    pos, length, top = pos & 0xFF, length & 0xFF, size - 1
    sign = 0 if not signed or length == 0 else a >> min(pos + length - 1, top) & 1
    return sum((a >> (pos + i) & 1 if i < length and pos + i <= top else sign) << i for i in range(size))


def inserted(a: int, b: int, pos: int, length: int, size: int) -> int:
    """bfi as PTX ISA writes it."""
    pos, length = pos & 0xFF, length & 0xFF
    mask = ((1 << length) - 1 << pos) & ((1 << size) - 1)
    return (a << pos) & mask | b & ~mask


PLACES = [
    (p, n) for p in (0, 1, 8, 24, 31, 32, 33, 56, 63, 64, 255, 256) for n in (0, 1, 5, 8, 31, 32, 33, 64, 200, 257)
]


@pytest.mark.parametrize("size", [32, 64])
def test_fields_by_registers(size: int) -> None:
    values = [*specials(f"b{size}")[::4], *random_patterns(f"b{size}", 5, 3)]
    rows = [(v, values[-1 - k % len(values)], p, n) for k, v in enumerate(values) for p, n in PLACES]
    body = f"""bfe.u{size} %r0, %a0, %a2, %a3; bfe.s{size} %r1, %a0, %a2, %a3; bfi.b{size} %r2, %a0, %a1, %a2, %a3;
        bfi.b{size} %a0, %a0, %a1, %a2, %a3; mov.b{size} %r3, %a0;"""
    b = f"b{size}"
    check(
        body, [b, b, "u32", "u32"], [b] * 4,
        lambda x, y, p, n: (
            field(x, p, n, size, False), field(x, p, n, size, True), *[inserted(x, y, p, n, size)] * 2),
        [list(column) for column in zip(*rows, strict=True)],
    )  # fmt: skip


@pytest.mark.parametrize("size", [32, 64])
def test_fields_by_constants(size: int) -> None:
    b = f"b{size}"
    for first in rotation.sample(range(0, len(PLACES), 10), "places"):
        chosen = PLACES[first : first + 10]
        body = "".join(
            f"bfe.u{size} %r{3 * k}, %a0, {p}, {n}; bfe.s{size} %r{3 * k + 1}, %a0, {p}, {n};"
            f"bfi.b{size} %r{3 * k + 2}, %a0, %a1, {p}, {n};"
            for k, (p, n) in enumerate(chosen)
        )
        check(body, [b, b], [b] * 30, lambda x, y, chosen=chosen: tuple(
            value for p, n in chosen for value in (
                field(x, p, n, size, False), field(x, p, n, size, True), inserted(x, y, p, n, size))),
            [specials(b)[::4], specials(b)[::-4]])  # fmt: skip


def test_masks_and_extension() -> None:
    body = """bmsk.clamp.b32 %r0, %a0, %a1; bmsk.wrap.b32 %r1, %a0, %a1; szext.clamp.u32 %r2, %a2, %a1;
        szext.wrap.u32 %r3, %a2, %a1; szext.clamp.s32 %r4, %a2, %a1; szext.wrap.s32 %r5, %a2, %a1;"""

    def low(x: int, n: int, signed: bool) -> int:
        return number(x, f"s{n}") if signed and n else x & ((1 << n) - 1)

    def oracle(a: int, b: int, x: int) -> tuple[int, ...]:
        c, w = min(b, 32), b & 31
        masks = ((1 << c) - 1) << min(a, 32), ((1 << w) - 1) << (a & 31)
        return *masks, low(x, c, False), low(x, w, False), low(x, c, True), low(x, w, True)

    rows = [(a, b, x) for a in COUNTS[::4] for b in COUNTS for x in (0xDEADBEEF, 0x7FFFFFFF)]
    check(body, ["u32"] * 3, ["u32"] * 6, oracle, [list(column) for column in zip(*rows, strict=True)])


def test_permutation() -> None:
    modes = ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    body = "prmt.b32 %r0, %a0, %a1, %a2; prmt.b32 %r7, %a0, %a1, 0x5140;" + "".join(
        f"prmt.b32.{mode} %r{k + 1}, %a0, %a1, %a2;" for k, mode in enumerate(modes)
    )

    def general(v: int, s: int) -> int:
        out = 0
        for j in range(4):
            nibble = s >> 4 * j & 15
            byte = v >> 8 * (nibble & 7) & 0xFF
            out |= (0xFF * (byte >> 7) if nibble & 8 else byte) << 8 * j
        return out

    def oracle(a: int, b: int, s: int) -> tuple[int, ...]:
        v, q = b << 32 | a, s & 3
        tables = {
            "f4e": (0x3210, 0x4321, 0x5432, 0x6543), "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
            "rc8": (0x0000, 0x1111, 0x2222, 0x3333), "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
            "ecr": (0x0000, 0x1110, 0x2210, 0x3210), "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
        }  # fmt: skip
        return general(v, s), *(general(v, tables[mode][q]) for mode in modes), general(v, 0x5140)

    check(body, ["b32"] * 3, ["b32"] * 8, oracle)


def test_packing() -> None:
    body = """mov.b64 %r0, {%a0, %a1}; mov.b64 {%r1, %r2}, %a2; cvt.u16.u32 %h0, %a0; cvt.u16.u32 %h1, %a1;
        mov.b32 %r3, {%h0, %h1}; mov.b32 {%h2, %h3}, %a0; mov.b32 %r4, {%h3, %h2}; mov.b64 %r5, {%h0, %h1, %h3, %h2};
        mov.b64 {%h4, %h5, %h6, %h7}, %a2; mov.b64 %r6, {%h7, %h6, %h5, %h4}; mov.b64 {_, %r7}, %a2;
        mov.b32 {%h8, _}, %a1; cvt.u32.u16 %r8, %h8; mov.b64 {%r9, _}, 0x123456789abcdef0;"""

    def oracle(a: int, b: int, d: int) -> tuple[int, ...]:
        h = [d >> 16 * k & 0xFFFF for k in range(4)]
        low, top = a & 0xFFFF, a >> 16
        return (
            b << 32 | a, d, d >> 32, (b & 0xFFFF) << 16 | low, low << 16 | top,
            low << 48 | top << 32 | (b & 0xFFFF) << 16 | low, h[0] << 48 | h[1] << 32 | h[2] << 16 | h[3],
            d >> 32, b & 0xFFFF, 0x9ABCDEF0,
        )  # fmt: skip

    check(body, ["b32", "b32", "b64"], ["b64", "b32", "b32", "b32", "b32", "b64", "b64", "b32", "u32", "b32"], oracle)


def test_packing_bytes_and_quads() -> None:
    declarations = "        .reg .b8 %b<8>; .reg .b128 %o; .reg .u64 %v<2>;"
    body = (
        declarations
        + """mov.b128 %o, {%a1, %a0}; mov.b128 {%v0, %v1}, %o; add.u64 %r0, %v0, 0; add.u64 %r1, %v1, 0;
        cvt.u32.u64 %w0, %a0; mov.b32 {%b0, %b1, %b2, %b3}, %w0; mov.b32 %r2, {%b3, %b2, %b1, %b0};
        mov.b16 %h0, {%b1, %b2}; cvt.u32.u16 %r3, %h0;"""
    )
    check(body, ["b64"] * 2, ["b64", "b64", "b32", "b32"], lambda a, b: (
        b, a, int.from_bytes((a & 0xFFFFFFFF).to_bytes(4, "big"), "little"), a >> 8 & 0xFFFF))  # fmt: skip


def test_selection() -> None:
    body = """selp.b16 %r0, %a0, %a1, %a2; selp.b64 %r1, %a3, 77, %a2; selp.f32 %r2, 0f3F800000, 0f00000000, %a2;
        selp.b64 %a3, %a4, %a3, !%a2; mov.b64 %r3, %a3; selp.s32 %r4, -1, 5, %a2;"""
    check(
        body, ["b16", "b16", "pred", "b64", "b64"], ["b16", "b64", "f32", "b64", "s32"],
        lambda a, b, p, x, y: (a if p else b, x if p else 77, int(bool(p)), x if p else y, -1 if p else 5),
        [[1, 2, 65535], [3, 4, 5], [0, 1, 0], [1 << 40, 2, 3], [4, 5 << 50, 6]],
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "and.s32 %w0, %w1, %w2;",
        "and.b32 %w0, %w1, %p1;",
        "and.b32 %w0, %h1, %w2;",
        "xor.pred %p0, %w1, %p2;",
        "shl.u32 %w0, %w1, 3;",
        "shl.b32 %w0, %w1, %h1;",
        "shf.l.b32 %w0, %w1, %w2, 3;",
        "shf.l.wrap.b64 %d0, %d1, %d2, 3;",
        "lop3.b32 %w0, %w1, %w2, %w3, 256;",
        "lop3.b32 %w0, %w1, %w2, %w3, %w4;",
        "popc.u32 %w0, %w1;",
        "popc.b64 %d0, %d1;",
        "prmt.b32.f5e %w0, %w1, %w2, %w3;",
        "bmsk.b32 %w0, %w1, %w2;",
        "mov.b64 %d0, {%w1, %h1};",
        "mov.b32 {%w0, %w1}, %w2;",
        "mov.u64 %d0, {%w1, %w2};",
        "mov.u32 %w0, %d0;",
        "mov.u32 %w0, 0f3F800000;",
        "mov.f32 %f0, 1;",
        "mov.u32 %w0, L; L:",
        "selp.b32 %w0, %w1, %w2, %w3;",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        imported(element_kernel(text, [], []))
    assert "line" in str(caught.value)


def test_the_oracles_fields_agree_with_shifts() -> None:
    assert field(0xABCD, 4, 8, 32, False) == 0xBC
    assert field(0xABCD, 4, 8, 32, True) == 0xFFFFFFBC
    assert inserted(0xF, 0, 8, 4, 32) == 0xF00
    assert bits("u16") == 16
