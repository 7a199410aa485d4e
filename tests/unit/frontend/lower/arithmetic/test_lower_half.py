"""f16 and bf16: what is refused, how far the .approx forms are off, additions to one half of a word.

What instructions compute to the bit is compared in `tests/property/frontend/test_ptx_forms.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import KernelFault, MalformedInput
from binalloc.frontend.importer import import_ptx
from binalloc.frontend.refused import NotImportable
from tests.support.ptx.elementwise import elementwise
from tests.support.ptx.harness import run_ptx
from tests.support.ptx.interpreter.arithmetic.halves import numbers
from tests.support.ptx.texts import kernel

EVERY = np.arange(1 << 16, dtype=np.uint16)
SIGN = 0x8000


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        # suffixes of f16 alone
        ("add.sat.bf16 %h0, %h1, %h2;", "modifier .sat of add is not for type .bf16", ".f16 or .f16x2"),
        ("mul.ftz.bf16x2 %r0, %r1, %r2;", "modifier .ftz of mul is not for type .bf16x2", ".f16 or .f16x2"),
        ("fma.rn.ftz.bf16 %h0, %h1, %h2, %h3;", "modifier .ftz of fma is not for type .bf16", ".f16 or .f16x2"),
        ("min.ftz.bf16 %h0, %h1, %h2;", "modifier .ftz of min is not for type .bf16", ".f16 or .f16x2"),
        ("neg.ftz.bf16x2 %r0, %r1;", "modifier .ftz of neg is not for type .bf16x2", ".f16 or .f16x2"),
        ("setp.lt.ftz.bf16 %p0, %h1, %h2;", "modifier .ftz of setp is not for type .bf16", ".f16 or .f16x2"),
        ("set.lt.ftz.u32.bf16x2 %r0, %r1, %r2;", "modifier .ftz of set is not for type .bf16x2", ".f16 or .f16x2"),
        # what clamps, what rounds
        ("fma.rn.sat.relu.f16 %h0, %h1, %h2, %h3;", "a result is clamped one way", ".sat or .relu"),
        ("add.relu.f16 %h0, %h1, %h2;", "modifier .relu of add is not supported here", None),
        ("fma.f16 %h0, %h1, %h2, %h3;", "fma of type .f16 rounds by .rn", ".rn"),
        ("fma.rz.bf16 %h0, %h1, %h2, %h3;", "fma of type .bf16 rounds by .rn", ".rn"),
        ("add.rz.f16 %h0, %h1, %h2;", "modifier .rz of add is not supported here", None),
        ("fma.rn.oob.f16 %h0, %h1, %h2, %h3;", "operands that may be out of bounds are not supported", None),
        ("fma.f32.f16 %f0, %h1, %h2, %f1;", "fma must name its rounding", ".rn, .rz, .rm, .rp"),
        ("mul.f32.f16 %f0, %h1, %f1;", "mul has no type .f32", ".f16"),
        ("add.ftz.f32.bf16 %f0, %h1, %f1;", "modifier .ftz of add is not supported here", None),
        ("add.f32.f16x2 %f0, %r1, %f1;", "add has no type .f32", ".f16x2"),
        ("max.xorsign.f16 %h0, %h1, %h2;", ".xorsign needs .abs", ".xorsign.abs"),
        ("max.abs.f16 %h0, %h1, %h2;", "modifier .abs of max is not supported here", None),
        ("ex2.approx.ftz.f16 %h0, %h1;", "ex2 of type .f16 is .approx", "ex2.approx.f16"),
        ("ex2.approx.bf16 %h0, %h1;", "ex2 of type .bf16 is .approx.ftz", "ex2.approx.ftz.bf16"),
        ("tanh.approx.ftz.bf16 %h0, %h1;", "tanh of type .bf16 is .approx", "tanh.approx.bf16"),
        ("tanh.f16 %h0, %h1;", "tanh of type .f16 is .approx", "tanh.approx.f16"),
        # comparisons
        ("setp.lt.f16 %p0|%p1, %h1, %h2;", "setp of type .f16 has one destination", "one predicate"),
        ("setp.lt.f16x2 %p0|%p0, %r1, %r2;", "both destinations are the same predicate", "two predicates"),
        ("setp.lo.f16 %p0, %h1, %h2;", "no comparison .lo of type .f16", None),
        ("set.lt.u16.f16x2 %h0, %r1, %r2;", "set has no type .u16", ".u32, .s32, .f16x2"),
        ("set.lt.f32.f16 %f0, %h1, %h2;", "set has no type .f32", None),
        ("set.lt.f16.bf16 %h0, %h1, %h2;", "set has no type .f16", None),
        ("set.lt.bf16x2.f16x2 %r0, %r1, %r2;", "set has no type .bf16x2", None),
        ("set.lt.ftz.bf16.f16 %h0, %h1, %h2;", "modifier .ftz of set is not for a result of type .bf16", None),
        ("set.lt.ftz.bf16.f32 %h0, %f1, %f2;", "modifier .ftz of set is not for a result of type .bf16", None),
        ("set.lt.f16x2.f32 %r0, %f1, %f2;", "set has no type .f16x2", None),
        # conversions
        ("cvt.f16.f32 %h0, %f1;", "this conversion must name its rounding", ".rn, .rz, .rm, .rp"),
        ("cvt.bf16.s32 %h0, %r1;", "this conversion must name its rounding", ".rn, .rz, .rm, .rp"),
        ("cvt.rni.f16.f32 %h0, %f1;", "this conversion must name its rounding", ".rn, .rz, .rm, .rp"),
        ("cvt.s32.f16 %r0, %h1;", "this conversion must name its rounding", ".rni, .rzi, .rmi, .rpi"),
        ("cvt.rn.f16.f16 %h0, %h1;", "this conversion must name its rounding", ".rni, .rzi, .rmi, .rpi"),
        ("cvt.rm.f16x2.f32 %r0, %f1, %f2;", "this conversion must name its rounding", ".rn, .rz"),
        ("cvt.rn.f32.f16 %f0, %h1;", "this conversion does not round", None),
        ("cvt.rni.f32.bf16 %f0, %h1;", "this conversion does not round", None),
        ("cvt.rn.sat.bf16.f32 %h0, %f1;", "modifier .sat of cvt is not for .bf16, nor for pairs", None),
        ("cvt.sat.f32.bf16 %f0, %h1;", "modifier .sat of cvt is not for .bf16, nor for pairs", None),
        ("cvt.rn.sat.f16x2.f32 %r0, %f1, %f2;", "modifier .sat of cvt is not for .bf16, nor for pairs", None),
        ("cvt.rn.sat.relu.f16.f32 %h0, %f1;", "cvt.relu rounds by .rn or .rz, and has neither .sat nor .ftz", None),
        ("cvt.rm.relu.f16.f32 %h0, %f1;", "cvt.relu rounds by .rn or .rz", ".rn.relu or .rz.relu"),
        ("cvt.rn.ftz.satfinite.f16.f32 %h0, %f1;", "cvt.satfinite rounds by .rn or .rz", None),
        ("cvt.rn.relu.f16.f64 %h0, %g1;", "modifier .relu of cvt is for halves of .f32", None),
        ("cvt.rzi.relu.s32.f16 %r0, %h1;", "modifier .relu of cvt is for halves of .f32", None),
        ("cvt.rn.ftz.f16.f64 %h0, %g1;", "modifier .ftz of cvt needs .f32", None),
        ("cvt.rn.ftz.f16x2.f32 %r0, %f1, %f2;", "modifier .ftz of cvt needs .f32", None),
        ("cvt.ftz.f16.f16 %h0, %h1;", "modifier .ftz of cvt needs .f32", None),
        ("cvt.rn.bf16.u8 %h0, %h1;", "no cvt between .bf16 and integers of 8 bits", "16 bits or more"),
        ("cvt.rn.f16x2.f16 %r0, %h1, %h2;", "no conversion from .f16 to .f16x2", ".f32"),
        ("cvt.f32.f16x2 %f0, %r1;", "cvt has no source of type .f16x2", "one value"),
        ("cvt.rn.f16x2.f32 %r0, %f1;", "cvt with 2 operands", "3 operands"),
        ("cvt.rn.f16.f32 %h0, %f1, %f2;", "cvt with 3 operands", "2 operands"),
        ("cvt.rs.f16x2.f32 %r0, %f1, %f2, %r1;", "stochastic rounding is not supported", None),
        # atomics
        ("atom.global.add.f16 %h0, [%d0], %h1;", "atom.add.f16 needs .noftz", None),
        ("red.shared.add.bf16x2 [%r0], %r1;", "red.add.bf16x2 needs .noftz", None),
        ("atom.global.add.noftz.f32 %f0, [%d0], %f1;", "atom.add.f32 has no .noftz", None),
        ("atom.global.max.noftz.f16 %h0, [%d0], %h1;", "atom has no type .f16", None),
        # types and operands
        ("add.f16 %f0, %f1, %f2;", "%f1 is .f32", "a register for type .f16"),
        ("add.f16x2 %f0, %f1, %f2;", "%f1 is .f32", "a register for type .f16x2"),
        ("add.bf16x2 %r0, %f1, %r2;", "%f1 is .f32", "a register for type .bf16x2"),
        ("add.f16 %r0, %h1, %h2;", "%r0 is .b32", "a register for type .f16"),
        ("add.bf16 %h0, %h1, 1;", "an integer where a floating constant must stand", None),
        ("add.f16 %h0, %h1, 0f3F800000;", "operand does not fit type .f16", None),
        ("div.f16 %h0, %h1, %h2;", "div has no type .f16", None),
        ("mad.f16 %h0, %h1, %h2, %h3;", "mad", None),
        ("rcp.approx.f16 %h0, %h1;", "instruction rcp is not supported", None),
        ("selp.f16 %h0, %h1, %h2, %p0;", "selp has no type .f16", None),
        ("ld.global.f16 %h0, [%d0];", "ld has no type .f16", None),
        ("tex.2d.v2.f16x2.f32 {%r0, %r1}, [%d0, {%f0, %f1}];", "textures of halves are not supported", None),
    ],
)
def test_refused_by_one_error(text: str, message: str, expected: str | None) -> None:
    with pytest.raises(NotImportable) as caught:
        import_ptx(kernel("\n  " + text), "x.ptx", machine="gtx680")
    ((refusal,),) = [left.refusals for left in caught.value.left_out]
    error = refusal.error
    assert isinstance(error, MalformedInput)
    assert message in error.message
    assert str(error.place).endswith("column 3")
    assert text.rstrip(";") in str(error.found)
    if expected is not None:
        assert error.expected == expected


# --- .approx ----------------------------------------------------------------------------------------------------------


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("op", "t", "relative", "absolute"),
    [("ex2.approx", "f16", 2**-9.9, 0.0), ("ex2.approx.ftz", "bf16", 2.0**-7, 0.0),
     ("tanh.approx", "f16", 0.0, 2**-10.987), ("tanh.approx", "bf16", 0.0, 2.0**-8)],
)  # fmt: skip
def test_approximations_are_as_near_as_ptx_says(op: str, t: str, relative: float, absolute: float) -> None:
    """Of every pattern, alone and as either half of a pair. Between two halves the smaller distance is the bound."""
    infinity, lowest = (0x7C00, 2.0**-14) if t == "f16" else (0x7F80, 2.0**-126)
    words = EVERY.astype(np.uint32) | EVERY[::-1].astype(np.uint32) << np.uint32(16)
    found, packed = elementwise(
        f"cvt.u16.u32 %r0, %a0; {op}.{t} %r0, %r0; {op}.{t}x2 %r1, %a0;", ["u32"], ["u16", "u32"], [words]
    )
    assert (packed.astype(np.uint16) == found).all()
    assert ((packed >> np.uint32(16)).astype(np.uint16) == found[::-1]).all()
    with np.errstate(invalid="ignore"):
        x, got = numbers(EVERY, t), numbers(found, t)
    ftz = "ftz" in op
    x = np.where((np.abs(x) < lowest) & ftz, 0.0, x)
    with np.errstate(over="ignore"):
        exact = np.exp2(x) if op.startswith("ex2") else np.tanh(x)
    magnitudes = EVERY & 0x7FFF
    nan = magnitudes > infinity
    assert (found[nan] == 0x7FFF).all()
    largest = numbers(np.array([infinity - 1], np.uint16), t)[0]
    huge = ~nan & (exact > largest)
    assert (got[huge] >= largest).all()
    inside = ~nan & ~huge
    step = np.maximum(np.abs(exact) * 2.0 ** (-11 if t == "f16" else -8), 0 if ftz else lowest * 2.0**-11)
    bound = np.maximum(relative * np.abs(exact) + absolute, step)
    small = inside & ftz & (exact < lowest)
    assert (found[small & (exact < lowest * (1 - relative))] == 0).all()
    inside &= ~small
    assert (np.abs(got[inside] - exact[inside]) <= bound[inside]).all()
    minus = np.array([SIGN, 0, infinity, infinity | SIGN], dtype=np.uint16)
    one = 0x3C00 if t == "f16" else 0x3F80
    wanted = [one, one, infinity, 0] if op.startswith("ex2") else [SIGN, 0, one, one | SIGN]
    assert found[minus].tolist() == wanted


# --- atomics ----------------------------------------------------------------------------------------------------------

ADD = """
    and.b32 %r1, %r0, 3; mul.wide.u32 %d2, %r1, 2; add.s64 %d3, %d0, %d2; mov.b16 %h1, {one};
    cvta.global.u64 %d4, %d3; mov.u32 %r2, sums; mad.lo.u32 %r2, %r1, 2, %r2; cvt.u64.u32 %d5, %r2;
    cvta.shared.u64 %d5, %d5;
    mov.b16 %h2, 0; st.shared.b16 [%r2], %h2; bar.sync 0;
    atom.global.add.noftz.{t} %h3, [%d3], %h1; red.add.noftz.{t} [%d4+8], %h1;
    atom.shared.add.noftz.{t} %h3, [%r2], %h1; atom.add.noftz.{t} %h3, [%d5], %h1;
    bar.sync 0; ld.shared.b16 %h3, [%r2]; st.global.b16 [%d3+16], %h3;
"""


@pytest.mark.parametrize(
    ("t", "one", "sixteen", "thirty_two"), [("f16", 0x3C00, 0x4C00, 0x5000), ("bf16", 0x3F80, 0x4180, 0x4200)]
)
def test_additions_to_neighbours_do_not_meet(t: str, one: int, sixteen: int, thirty_two: int) -> None:
    """Lanes of two warps add to both halves of two words, in all spaces."""
    text = kernel(ADD.format(one=one, t=t), head=".shared .align 2 .b8 sums[8];", size=2)
    (out,) = run_ptx(text, "k", [np.zeros(12, np.uint16)], block=64)
    assert out.tolist() == [sixteen] * 8 + [thirty_two] * 4


def test_the_other_half_keeps_its_bits_and_the_old_value_comes_back() -> None:
    body = """mov.b16 %h1, 0x3C00; atom.global.add.noftz.f16 %h2, [%d0+2], %h1; st.global.b16 [%d0+4], %h2;
        mov.b16 %h1, 0x8000; atom.global.add.noftz.bf16 %h2, [%d0+8], %h1; st.global.b16 [%d0+6], %h2;"""
    (out,) = run_ptx(kernel(body), "k", [np.array([0x7D01, 0x4000, 0, 0, 0xFFA1], np.uint16)], block=1)
    assert out.tolist() == [0x7D01, 0x4200, 0x4000, 0xFFA1, 0xFFA1]


HEAD = """.shared .align 2 .b8 tail[6]; .global .align 2 .b8 first[2]; .global .align 2 .b8 second[2];"""


def test_a_half_at_the_end_of_its_memory_needs_no_whole_word() -> None:
    body = """mov.b16 %h1, 0x3C00; mov.b16 %h0, 0; st.shared.b16 [tail+4], %h0;
        atom.global.add.noftz.f16 %h2, [%d0+4], %h1; atom.shared.add.noftz.f16 %h2, [tail+4], %h1;
        atom.global.add.noftz.f16 %h2, [first], %h1; atom.global.add.noftz.f16 %h2, [second], %h1;
        ld.shared.b16 %h3, [tail+4]; st.global.b16 [%d0], %h3;
        ld.global.b16 %h3, [second]; st.global.b16 [%d0+2], %h3;"""
    (out,) = run_ptx(kernel(body, head=HEAD), "k", [np.zeros(3, np.uint16)], block=1)
    assert out.tolist() == [0x3C00] * 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("atom.global.add.noftz.f16 %h2, [%d0+6], %h1;", "out of bounds; found address 0x10000006, 2 bytes"),
        ("atom.global.add.noftz.f16 %h2, [%d0+8], %h1;", "out of bounds; found address 0x10000008, 2 bytes"),
        ("atom.global.add.noftz.f16 %h2, [%d0+-2], %h1;", "global memory access out of bounds"),
        ("atom.global.add.noftz.f16x2 %r2, [%d0+4], %r1;", "global memory access out of bounds"),
        ("atom.shared.add.noftz.f16x2 %r2, [tail+4], %r1;", "shared memory access out of bounds"),
        ("atom.shared.add.noftz.f16 %h2, [tail+6], %h1;", "shared memory access out of bounds"),
        ("atom.global.add.noftz.f16 %h2, [%d0+1], %h1;", "misaligned"),
        ("atom.global.add.noftz.bf16 %h2, [%d0+3], %h1;", "misaligned"),
        ("red.global.add.noftz.f16x2 [%d0+2], %r1;", "misaligned"),
    ],
)
def test_what_lies_outside_faults(body: str, message: str) -> None:
    text = kernel(f"mov.b16 %h1, 0x3C00; mov.u32 %r1, 0x3C003C00; {body}", head=HEAD)
    with pytest.raises(KernelFault, match=message):
        run_ptx(text, "k", [np.zeros(3, np.uint16)], block=1)
