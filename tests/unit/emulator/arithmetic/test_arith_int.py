"""Integer and predicate opcodes against Python's own integers, plain and compiled alike."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from binalloc.emulator.arithmetic import integer as arith_int
from tests.support.kits.emulator.compiled import compiled

M = 0xFFFFFFFF
CORNERS = (0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 0x7F, 0x80, 0xFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001)
CORNERS += (M - 1, M)


def words(rng: random.Random) -> int:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(CORNERS)
    if kind == 1:
        return (1 << rng.randrange(32)) - rng.randrange(2) & M
    return rng.getrandbits(32)


def s32(x: int) -> int:
    return x - (x >> 31 << 32)


@pytest.fixture(params=["plain", "compiled"])
def ops(request: pytest.FixtureRequest) -> Callable[[str], Callable[..., Any]]:
    if request.param == "plain":
        return lambda name: getattr(arith_int, name)
    return lambda name: compiled()[name]


def cases(count: int, *, seed: int = 1) -> Iterator[tuple[int, int, int, random.Random]]:
    rng = random.Random(seed)
    for _ in range(count):
        yield words(rng), words(rng), words(rng), rng


def test_iadd3_sums_with_negations_and_carries(ops: Any) -> None:
    f = ops("iadd3")
    for a, b, c, rng in cases(3000):
        na, nb, nc, x, p0, p1 = (rng.randrange(2) for _ in range(6))
        t = sum((v ^ M if n else v) for v, n in ((a, na), (b, nb), (c, nc)))
        t += p0 + p1 if x else na + nb + nc
        assert f(a, b, c, na, nb, nc, x, p0, p1) == t


def test_iadd3_subtraction_carry_means_no_borrow(ops: Any) -> None:
    f = ops("iadd3")
    for a, b, _, _ in cases(500):
        t = f(a, b, 0, 0, 1, 0, 0, 0, 0)
        assert (t & M, t >> 32) == ((a - b) & M, int(a >= b))
    lo, hi = 0x1_0000_0000 - 5, 7
    t = f(lo, 9, 0, 0, 1, 0, 0, 0, 0)
    high = f(hi, 3, 0, 0, 1, 0, 1, t >> 32, 0)
    assert ((high & M) << 32 | t & M) == ((hi << 32) + lo - (3 << 32) - 9)


def test_imad_family_equals_big_integers(ops: Any) -> None:
    lo, wide, hi = ops("imad"), ops("imad_wide"), ops("imad_hi")
    for a, b, c, rng in cases(3000, seed=2):
        d, u, n = words(rng), rng.randrange(2), rng.randrange(2)
        assert lo(a, b, c, n) == (a * b + (-c if n else c)) & M
        product = a * b if u else s32(a) * s32(b)
        total = product + (d << 32 | c) & (1 << 64) - 1
        assert tuple(wide(a, b, c, d, u)) == (total & M, total >> 32)
        assert hi(a, b, c, u) == (product >> 32) + c & M


def test_lea_and_lea_hi(ops: Any) -> None:
    lea, lea_hi = ops("lea"), ops("lea_hi")
    for a, b, c, rng in cases(3000, seed=3):
        shift, n, x, p = rng.randrange(32), rng.randrange(2), rng.randrange(2), rng.randrange(2)
        assert lea(a, b, shift, n, x, p) == ((-a if n else a) << shift & M) + b + (p if x else 0)
        v = (c << 32 | a) << shift
        assert lea_hi(a, b, c, shift, x, p) == (v >> 32 & M) + b + (p if x else 0)


def shf_oracle(a: int, b: int, c: int, right: int, stype: int, hi: int, wrap: int) -> int:
    wide = stype >= 2
    v = c << 32 | a
    n = b % (64 if wide else 32) if wrap else min(b, 64 if wide else 32)
    if right and stype % 2:
        v = v - (v >> 63 << 64)
    x = v >> n if right else v << n
    return (x >> 32 if hi else x) & M


def test_shf_every_mode_and_count(ops: Any) -> None:
    f = ops("shf")
    rng = random.Random(4)
    for count in [*range(70), 0x80000000, M, 1 << 16]:
        for mode in range(32):
            a, c = words(rng), words(rng)
            flags = (mode & 1, mode >> 1 & 3, mode >> 3 & 1, mode >> 4)
            assert f(a, count, c, *flags) == shf_oracle(a, count, c, *flags), (count, flags)


def test_lop3_every_table_bit_by_bit(ops: Any) -> None:
    f = ops("lop3")
    for lut in range(256):
        masks = arith_int.table_masks(lut)
        assert f(0xF0, 0xCC, 0xAA, *masks) & 0xFF == lut
        for a, b, c, _ in cases(6, seed=lut):
            want = 0
            for i in range(32):
                want |= (lut >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i
            assert f(a, b, c, *masks) == want


def test_minimum_maximum_absolute_select(ops: Any) -> None:
    for a, b, _, rng in cases(1000, seed=5):
        u, p = rng.randrange(2), rng.randrange(2)
        key = (lambda v: v) if u else s32
        assert ops("imnmx")(a, b, p, u) == (min if p else max)(a, b, key=key)
        assert ops("iabs")(b) == abs(s32(b))
        assert ops("sel")(a, b, p) == (a if p else b)
        assert ops("mov")(b) == b


def test_isetp_every_comparison_with_ex(ops: Any) -> None:
    f = ops("icompare")
    for a, b, c, rng in cases(1500, seed=6):
        if c & 1:
            b = a
        u, p = rng.randrange(2), rng.randrange(2)
        x, y = (a, b) if u else (s32(a), s32(b))
        eq = x == y
        want = [False, x < y, eq, x <= y, x > y, not eq, x >= y, True]
        less, more = x < y or (eq and bool(p)), x > y or (eq and bool(p))
        chained = [False, less, eq and bool(p), less, more, not eq or bool(p), more, True]
        for cmp in range(8):
            assert f(a, b, cmp, u, 0, p) == want[cmp]
            assert f(a, b, cmp, u, 1, p) == chained[cmp]


def test_comparisons_of_all_pairs_of_corners(ops: Any) -> None:
    for a in CORNERS:
        for b in CORNERS:
            for u in (0, 1):
                x, y = (a, b) if u else (s32(a), s32(b))
                assert [ops("icompare")(a, b, cmp, u, 0, 0) for cmp in (1, 2, 4)] == [x < y, x == y, x > y]
                assert ops("imnmx")(a, b, 1, u) == (a if x < y else b)
                assert ops("imnmx")(a, b, 0, u) == (b if x < y else a)


def test_isetp_ex_compares_64_bit_numbers(ops: Any) -> None:
    f = ops("icompare")
    rng = random.Random(7)
    names = {1: int.__lt__, 2: int.__eq__, 3: int.__le__, 4: int.__gt__, 5: int.__ne__, 6: int.__ge__}
    for _ in range(500):
        xlo, ylo = words(rng), words(rng)
        xhi = words(rng)
        yhi = xhi if rng.randrange(2) else words(rng)
        for cmp, op in names.items():
            low = f(xlo, ylo, cmp, 1, 0, 0)
            assert bool(f(xhi, yhi, cmp, 0, 1, low)) == op(s32(xhi) << 32 | xlo, s32(yhi) << 32 | ylo)


def test_bit_counts_and_reversal(ops: Any) -> None:
    for b, _, _, _ in cases(1500, seed=8):
        assert ops("popc")(b) == b.bit_count()
        assert ops("brev")(b) == int(f"{b:032b}"[::-1], 2)
        for u in (0, 1):
            x = b if u or s32(b) >= 0 else ~b & M
            pos = x.bit_length() - 1
            assert ops("flo")(b, u, 0) == pos & M
            assert ops("flo")(b, u, 1) == (31 - pos if pos >= 0 else M)


PRMT_TABLE = {  # mode: the sources of bytes 3 2 1 0 for selectors 0..3 (PTX ISA, prmt)
    1: ("3210", "4321", "5432", "6543"),
    2: ("5670", "6701", "7012", "0123"),
    3: ("0000", "1111", "2222", "3333"),
    4: ("3210", "3211", "3222", "3333"),
    5: ("0000", "1110", "2210", "3210"),
    6: ("1010", "3232", "1010", "3232"),
}


def test_prmt_default_mode_with_sign_replication(ops: Any) -> None:
    for a, b, c, _ in cases(1000, seed=9):
        source = (c << 32 | a).to_bytes(8, "little")
        out = []
        for j in range(4):
            nibble = b >> 4 * j & 15
            byte = source[nibble & 7]
            out.append((0xFF if byte & 0x80 else 0) if nibble & 8 else byte)
        assert ops("prmt")(a, b, c, 0) == int.from_bytes(bytes(out), "little")


def test_prmt_named_modes_equal_the_ptx_table(ops: Any) -> None:
    a, c = 0x33221100, 0x77665544
    for mode, rows in PRMT_TABLE.items():
        for s, row in enumerate(rows):
            want = int("".join(d * 2 for d in row), 16)
            assert ops("prmt")(a, s | 0xFFFFFFF0, c, mode) == want, (mode, s)


def test_predicate_operations(ops: Any) -> None:
    for r in (0, 1):
        for p in (0, 1):
            assert [ops("bool_op")(r, p, k) for k in range(3)] == [r & p, r | p, r ^ p]
    for index in range(8):
        p0, p1, p2 = index >> 2, index >> 1 & 1, index & 1
        for lut in (0, 0x80, 0xFE, 0x96, 0xAA, 0xCC, 0xF0, 0xFF):
            assert ops("plop3")(p0, p1, p2, lut) == lut >> index & 1
    for a, b, c, _ in cases(300, seed=10):
        preds, mask = b & 0x7F, c & 0x7F
        assert ops("p2r")(a, preds, mask) == a & ~mask | preds & mask


def shfl_oracle(mode: int, lane: int, b: int, c: int) -> tuple[int, int]:
    """The pseudocode of shfl in the PTX ISA."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    max_lane = lane & mask | cval & ~mask
    min_lane = lane & mask
    if mode == 1:
        j, p = lane - bval, lane - bval >= max_lane
    elif mode == 2:
        j, p = lane + bval, lane + bval <= max_lane
    elif mode == 3:
        j, p = lane ^ bval, lane ^ bval <= max_lane
    else:
        j = min_lane | bval & ~mask
        p = j <= max_lane
    return (j if p else lane), int(p)


def test_shfl_source_lane_stays_in_the_warp(ops: Any) -> None:
    f = ops("shfl_source")
    for mode in range(4):
        for lane in range(32):
            for b in (0, 1, 2, 7, 16, 31, 33):
                for c in (0, 31, 0x1F, 0x181F, 0x1C1F, 0x1800, 0x1E1F, 0x0F, 0x100F):
                    got = tuple(f(mode, lane, b, c))
                    assert got == shfl_oracle(mode, lane, b, c)
                    assert 0 <= got[0] < 32
