"""The PTX interpreter's integer operations: worked values, and carry chains against wide integers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ptx.interpreter.arithmetic.operations import evaluate, plan
from tests.support.ptx.interpreter.arithmetic.plans import Unsupported

WORKED = [
    # add, sub, mul, mad
    ("add.s32", (0x7FFFFFFF, 1), 0x80000000),
    ("add.sat.s32", (0x7FFFFFFF, 1), 0x7FFFFFFF),
    ("sub.sat.s32", (0x80000000, 1), 0x80000000),
    ("sub.sat.s32", (0, 0x80000000), 0x7FFFFFFF),
    ("sub.s64", (0, 1), 2**64 - 1),
    ("add.s16", (0x7FFF, 2), 0x8001),
    ("mul.lo.u32", (0xFFFFFFFF, 0xFFFFFFFF), 1),
    ("mul.hi.u32", (0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFE),
    ("mul.hi.s32", (0xFFFFFFFF, 5), 0xFFFFFFFF),
    ("mul.hi.u64", (2**64 - 1, 2**64 - 1), 2**64 - 2),
    ("mul.hi.s64", (2**63, 2**63), 2**62),
    ("mul.wide.s16", (0x8000, 0x8000), 0x40000000),
    ("mul.wide.u16", (0xFFFF, 0xFFFF), 0xFFFE0001),
    ("mul.wide.s32", (0xFFFFFFFF, 3), 2**64 - 3),
    ("mad.wide.u32", (0xFFFFFFFF, 2, 5), 0x200000003),
    ("mad.lo.s32", (3, 0xFFFFFFFE, 1), 0xFFFFFFFB),
    ("mad.hi.u32", (0x80000000, 4, 0xFFFFFFFF), 1),
    ("mul24.lo.u32", (0xFF000003, 0x05000004), 12),
    ("mul24.hi.u32", (0xFFFFFF, 0xFFFFFF), 0xFFFFFE00),
    ("mul24.lo.s32", (0x00FFFFFF, 2), 0xFFFFFFFE),
    ("mad24.lo.s32", (0x00FFFFFF, 2, 7), 5),
    # division
    ("div.s32", (0xFFFFFFF9, 2), 0xFFFFFFFD),
    ("rem.s32", (0xFFFFFFF9, 2), 0xFFFFFFFF),
    ("rem.s32", (7, 0xFFFFFFFE), 1),
    ("div.u32", (0xFFFFFFF9, 2), 0x7FFFFFFC),
    ("div.s32", (0x80000000, 0xFFFFFFFF), 0x80000000),
    ("rem.s64", (2**63, 2**64 - 1), 0),
    ("div.u16", (0xFFFF, 7), 9362),
    ("div.s64", (2**64 - 100, 7), 2**64 - 14),
    # abs, neg, min, max, sad
    ("abs.s32", (0x80000000,), 0x80000000),
    ("abs.s64", (2**64 - 5,), 5),
    ("neg.s32", (0x80000000,), 0x80000000),
    ("neg.s16", (1,), 0xFFFF),
    ("min.s32", (0xFFFFFFFF, 1), 0xFFFFFFFF),
    ("min.u32", (0xFFFFFFFF, 1), 1),
    ("max.s64", (2**63, 3), 3),
    ("max.u16", (0xFFFF, 3), 0xFFFF),
    ("sad.u32", (3, 10, 100), 107),
    ("sad.s32", (0xFFFFFFFD, 4, 1), 8),
    # bits
    ("popc.b32", (0xF0F00001,), 9),
    ("popc.b64", (2**64 - 1,), 64),
    ("clz.b32", (0,), 32),
    ("clz.b64", (1,), 63),
    ("brev.b32", (0x00000003,), 0xC0000000),
    ("brev.b64", (1,), 2**63),
    ("bfind.u32", (0,), 0xFFFFFFFF),
    ("bfind.u32", (0x00010000,), 16),
    ("bfind.s32", (0xFFFFFFFF,), 0xFFFFFFFF),
    ("bfind.s32", (0xFFFF0000,), 15),
    ("bfind.shiftamt.u32", (0x00010000,), 15),
    ("bfind.shiftamt.u32", (0,), 0xFFFFFFFF),
    ("bfind.u64", (2**40,), 40),
    ("bfe.u32", (0xABCD1234, 8, 8), 0x12),
    ("bfe.s32", (0x0000F000, 12, 4), 0xFFFFFFFF),
    ("bfe.s32", (0x80000000, 28, 8), 0xFFFFFFF8),
    ("bfe.s32", (0x80000000, 40, 4), 0xFFFFFFFF),
    ("bfe.u32", (0xFFFFFFFF, 40, 4), 0),
    ("bfe.s32", (0xFFFFFFFF, 3, 0), 0),
    ("bfe.u32", (0xFFFFFFFF, 0x104, 0x108), 0xFF),
    ("bfe.s64", (2**63, 60, 4), 2**64 - 8),
    ("bfi.b32", (0xF, 0xFFFF0000, 4, 8), 0xFFFF00F0),
    ("bfi.b32", (0xFFFFFFFF, 0, 28, 8), 0xF0000000),
    ("bfi.b32", (0xFFFFFFFF, 0x5, 32, 4), 0x5),
    ("bfi.b64", (0x3, 0, 40, 2), 0x30000000000),
    ("bmsk.clamp.b32", (4, 8), 0xFF0),
    ("bmsk.clamp.b32", (4, 40), 0xFFFFFFF0),
    ("bmsk.clamp.b32", (32, 4), 0),
    ("bmsk.clamp.b32", (4, 0), 0),
    ("bmsk.wrap.b32", (33, 34), 0x6),
    ("bmsk.wrap.b32", (8, 28), 0xFFFFFF00),
    ("szext.clamp.s32", (0xFF, 8), 0xFFFFFFFF),
    ("szext.clamp.u32", (0x1FF, 8), 0xFF),
    ("szext.wrap.s32", (0xFF, 32), 0),
    ("szext.clamp.s32", (0x12345678, 32), 0x12345678),
    ("lop3.b32", (0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA, 0x96), 0x96969696),
    ("cnot.b32", (0,), 1),
    ("cnot.b32", (7,), 0),
    ("not.b16", (0x00FF,), 0xFF00),
    # shifts
    ("shl.b32", (1, 31), 0x80000000),
    ("shl.b32", (1, 32), 0),
    ("shl.b32", (1, 0xFFFFFFFF), 0),
    ("shl.b64", (1, 63), 2**63),
    ("shl.b16", (0x8001, 1), 2),
    ("shr.u32", (0x80000000, 31), 1),
    ("shr.u32", (0x80000000, 32), 0),
    ("shr.s32", (0x80000000, 40), 0xFFFFFFFF),
    ("shr.s64", (2**63, 62), 2**64 - 2),
    ("shr.s16", (0x8000, 15), 0xFFFF),
    ("shr.b32", (0x80000000, 4), 0x08000000),
    ("shf.l.wrap.b32", (0x12345678, 0x9ABCDEF0, 8), 0xBCDEF012),
    ("shf.l.wrap.b32", (0x12345678, 0x9ABCDEF0, 32), 0x9ABCDEF0),
    ("shf.l.clamp.b32", (0x12345678, 0x9ABCDEF0, 40), 0x12345678),
    ("shf.r.wrap.b32", (0x12345678, 0x9ABCDEF0, 8), 0xF0123456),
    ("shf.r.clamp.b32", (0x12345678, 0x9ABCDEF0, 32), 0x9ABCDEF0),
    # prmt, {b, a} = bytes 7..0
    ("prmt.b32", (0x33221100, 0x77665544, 0x7520), 0x77552200),
    ("prmt.b32", (0x80112233, 0, 0xB000), 0xFF333333),
    ("prmt.b32.f4e", (0x33221100, 0x77665544, 1), 0x44332211),
    ("prmt.b32.b4e", (0x33221100, 0x77665544, 1), 0x66770011),
    ("prmt.b32.rc8", (0x33221100, 0x77665544, 2), 0x22222222),
    ("prmt.b32.ecl", (0x33221100, 0x77665544, 2), 0x33222222),
    ("prmt.b32.ecr", (0x33221100, 0x77665544, 2), 0x22221100),
    ("prmt.b32.rc16", (0x33221100, 0x77665544, 1), 0x33223322),
    # dot products
    ("dp4a.s32.s32", (0x80FF0102, 0x01020304, 10), (10 - 128 - 2 + 3 + 8) & 0xFFFFFFFF),
    ("dp4a.u32.u32", (0x80FF0102, 0x01020304, 10), 10 + 128 + 510 + 3 + 8),
    ("dp2a.lo.s32.s32", (0xFFFF0002, 0x01020304, 1), (1 - 3 + 8)),
    ("dp2a.hi.u32.u32", (0x00010002, 0x01020304, 1), 1 + 1 + 4),
    # comparison and selection
    ("setp.lt.s32", (0xFFFFFFFF, 0), True),
    ("setp.lt.u32", (0xFFFFFFFF, 0), False),
    ("setp.lo.u32", (1, 2), True),
    ("setp.hs.u32", (2, 2), True),
    ("setp.hi.s32", (0xFFFFFFFF, 2), True),
    ("setp.eq.b64", (2**40, 0), False),
    ("setp.lt.and.s32", (1, 2, False), False),
    ("setp.gt.or.s32", (1, 2, True), True),
    ("setp.lt.xor.s32", (1, 2, True), False),
    ("set.lt.u32.s32", (1, 2), 0xFFFFFFFF),
    ("set.gt.f32.s32", (2, 1), 0x3F800000),
    ("selp.b32", (1, 2, True), 1),
    ("selp.b64", (1, 2, False), 2),
    ("slct.u32.s32", (1, 2, 0x80000000), 2),
    ("slct.u32.s32", (1, 2, 0), 1),
    # conversion between integers
    ("cvt.s32.s8", (0x80,), 0xFFFFFF80),
    ("cvt.u32.u8", (0x80,), 0x80),
    ("cvt.u64.s32", (0x80000000,), 0xFFFFFFFF80000000),
    ("cvt.s64.u32", (0x80000000,), 0x80000000),
    ("cvt.u8.u32", (0x1234,), 0x34),
    ("cvt.sat.u8.s32", (0xFFFFFFFF,), 0),
    ("cvt.sat.u8.s32", (300,), 255),
    ("cvt.sat.s8.s32", (0xFFFFFF00,), 0x80),
    ("cvt.sat.s32.u32", (0xFFFFFFFF,), 0x7FFFFFFF),
]  # fmt: skip


def packed(value: int | bool, kind: str) -> np.ndarray:
    if kind == "pred":
        return np.array([bool(value)])
    return np.array([value], dtype=np.dtype(f"u{int(kind[1:]) // 8}"))


@pytest.mark.parametrize(("text", "operands", "expected"), WORKED, ids=[f"{i}-{w[0]}" for i, w in enumerate(WORKED)])
def test_worked_values(text: str, operands: tuple[int, ...], expected: int) -> None:
    op, *mods = text.split(".")
    chosen = plan(op, tuple(mods))
    result = evaluate(text, *[packed(v, t) for v, t in zip(operands, chosen.sources, strict=False)])
    if result.dtype != np.bool_:
        result = result.view(np.dtype(f"u{result.dtype.itemsize}"))
    assert result.tolist() == [expected], hex(int(result[0]))


def chain(texts: list[str], columns: list[list[np.ndarray]]) -> tuple[list[np.ndarray], np.ndarray]:
    carry = np.zeros(len(columns[0][0]), dtype=np.bool_)
    results = []
    for text, column in zip(texts, columns, strict=True):
        op, *mods = text.split(".")
        chosen = plan(op, tuple(mods))
        out = chosen.compute(*column, carry) if chosen.carry_in else chosen.compute(*column)
        results.append(out[0])
        carry = out[1] if chosen.carry_out else carry
    return results, carry


@pytest.mark.parametrize("width", [32, 64])
def test_carry_chains_are_wide_arithmetic(width: int) -> None:
    """Three limbs: add.cc, addc.cc, addc and their subtraction; operands full of ones and zeros, where carries run."""
    rng = np.random.default_rng(3)
    top = 1 << (3 * width)
    limbs = [0, 1, (1 << width) - 1, (1 << width) - 2]
    a, b = ([sum(limbs[rng.integers(4)] << (k * width) for k in range(3)) for _ in range(400)] for _ in range(2))
    dtype = np.dtype(f"u{width // 8}")

    def split(values: list[int]) -> list[np.ndarray]:
        return [np.array([v >> (k * width) & ((1 << width) - 1) for v in values], dtype=dtype) for k in range(3)]

    def joined(columns: list[np.ndarray]) -> list[int]:
        return [
            sum(v << (k * width) for k, v in enumerate(row)) for row in zip(*[c.tolist() for c in columns], strict=True)
        ]

    pairs = [list(p) for p in zip(split(a), split(b), strict=True)]
    total, carry = chain([f"add.cc.u{width}", f"addc.cc.u{width}", f"addc.cc.u{width}"], pairs)
    assert joined(total) == [(x + y) % top for x, y in zip(a, b, strict=True)]
    assert carry.tolist() == [x + y >= top for x, y in zip(a, b, strict=True)]
    difference, carry = chain([f"sub.cc.u{width}", f"subc.cc.u{width}", f"subc.cc.u{width}"], pairs)
    assert joined(difference) == [(x - y) % top for x, y in zip(a, b, strict=True)]
    assert carry.tolist() == [x >= y for x, y in zip(a, b, strict=True)]


def test_multiply_add_with_carry() -> None:
    """A 64-bit product plus 64-bit addend from 32-bit pieces: mad.lo.cc then madc.hi."""
    rng = np.random.default_rng(4)
    a, b = (rng.integers(0, 1 << 32, 300, dtype=np.uint32) | np.uint32(0xF0000000) for _ in range(2))
    c = rng.integers(0, 1 << 64, 300, dtype=np.uint64)
    low, high = c.astype(np.uint32), (c >> np.uint64(32)).astype(np.uint32)
    results, carry = chain(["mad.lo.cc.u32", "madc.hi.cc.u32"], [[a, b, low], [a, b, high]])
    for x, y, z, lo, hi, out in zip(*(v.tolist() for v in (a, b, c, *results, carry)), strict=True):
        assert (out << 64 | hi << 32 | lo) == x * y + z


def test_what_is_not_known_is_refused() -> None:
    for op, mods in [
        ("add", ("e4m3",)),
        ("mma", ("sync",)),
        ("mul", ("s32",)),
        ("setp", ("foo", "s32")),
        ("xyz", ("b32",)),
    ]:
        with pytest.raises(Unsupported):
            plan(op, mods)
