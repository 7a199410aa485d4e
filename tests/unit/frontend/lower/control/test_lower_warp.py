"""Warp operations and atomics: import and emulation against the interpreter and by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest

from binalloc.errors import KernelFault, MalformedInput
from tests.support.ptx.bodies import both, code, emulate, imported, lowered
from tests.support.ptx.texts import kernel

LANE = np.arange(32)
SHARED = ".shared .align 8 .b8 buf[1024];\n"


@pytest.mark.rotates
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("clamp", ["0", "31", "0x1c03", "0x1800"])
def test_shuffles(mode: str, sync: bool, clamp: str) -> None:
    tail = ", -1" if sync else ""
    dot = ".sync" if sync else ""
    body = f"""add.u32 %r1, %r0, 100; and.b32 %r2, %r0, 5; mov.u32 %r8, {clamp};
        shfl{dot}.{mode}.b32 %r3|%p1, %r1, 3, {clamp}{tail}; shfl{dot}.{mode}.b32 %r4, %r1, %r2, %r8{tail};
        selp.u32 %r5, 1000, 0, %p1; add.u32 %r3, %r3, %r5; mad.lo.u32 %r3, %r4, 100000, %r3;
        st.global.u32 [%d1], %r3;"""
    both(body)


def test_a_shuffle_under_a_guard() -> None:
    body = """setp.lt.u32 %p1, %r0, 8; mov.u32 %r2, 55; @%p1 shfl.sync.bfly.b32 %r2, %r0, 1, 31, 0xff;
        st.global.u32 [%d1], %r2;"""
    np.testing.assert_array_equal(both(body), np.where(LANE < 8, LANE ^ 1, 55))


@pytest.mark.parametrize("sync", [False, True])
def test_votes(sync: bool) -> None:
    dot, tail = (".sync", ", 0xffffffff") if sync else ("", "")
    body = "mov.u32 %r9, 0; setp.lt.u32 %p1, %r0, 99; setp.lt.u32 %p2, %r0, 7;"
    for bit, (mode, p) in enumerate((m, p) for m in ("all", "any", "uni") for p in ("%p1", "%p2", "!%p1")):
        body += f"vote{dot}.{mode}.pred %p3, {p}{tail}; selp.u32 %r1, {1 << bit}, 0, %p3; or.b32 %r9, %r9, %r1;"
    body += f"vote{dot}.ballot.b32 %r2, !%p2{tail}; xor.b32 %r9, %r9, %r2; st.global.u32 [%d1], %r9;"
    found = both(body)
    np.testing.assert_array_equal(found, (2**32 - 128) ^ 0b101_011_001)


def test_votes_of_two_groups_in_one_instruction() -> None:
    """Each lane's mask names its own half of the warp: the halves vote apart although they are converged."""
    body = """setp.lt.u32 %p1, %r0, 16; selp.b32 %r1, 0xffff, 0xffff0000, %p1; setp.lt.u32 %p2, %r0, 20;
        vote.sync.all.pred %p3, %p2, %r1; vote.sync.any.pred %p4, %p2, %r1; vote.sync.uni.pred %p5, %p2, %r1;
        vote.sync.ballot.b32 %r2, %p2, %r1; and.b32 %r3, %r0, 1; match.any.sync.b32 %r4, %r3, %r1;
        shr.u32 %r5, %r0, 4; match.all.sync.b32 %r6|%p6, %r5, %r1; match.all.sync.b32 %r7|%p7, %r3, %r1;
        selp.u32 %r8, 1, 0, %p3; selp.u32 %r9, 2, 0, %p4; selp.u32 %r10, 4, 0, %p5; selp.u32 %r11, 8, 0, %p6;
        selp.u32 %r12, 16, 0, %p7; or.b32 %r8, %r8, %r9; or.b32 %r8, %r8, %r10; or.b32 %r8, %r8, %r11;
        or.b32 %r8, %r8, %r12; shl.b32 %r2, %r2, 0; mul.wide.u32 %d4, %r0, 20; add.s64 %d4, %d4, %d0;
        st.global.u32 [%d4], %r8; st.global.u32 [%d4+4], %r2; st.global.u32 [%d4+8], %r4; st.global.u32 [%d4+12], %r6;
        st.global.u32 [%d4+16], %r7;"""
    out = both(body, words=160, compare=False).reshape(32, 5)
    low = LANE < 16
    half = np.where(low, 0xFFFF, 0xFFFF0000)
    np.testing.assert_array_equal(out[:, 0], np.where(low, 1 + 2 + 4 + 8, 2 + 8))
    np.testing.assert_array_equal(out[:, 1], np.where(low, 0xFFFF, 0xF0000))
    np.testing.assert_array_equal(out[:, 2], half & np.where(LANE & 1, 0xAAAAAAAA, 0x55555555))
    np.testing.assert_array_equal(out[:, 3], half)
    np.testing.assert_array_equal(out[:, 4], 0)


@pytest.mark.parametrize("width", [32, 64])
def test_matches_of_the_whole_warp(width: int) -> None:
    value = "%r1" if width == 32 else "%d4"
    body = f"""and.b32 %r1, %r0, 3; cvt.u64.u32 %d4, %r1; match.any.sync.b{width} %r2, {value}, -1;
        match.all.sync.b{width} %r3|%p1, {value}, -1; selp.u32 %r4, 1, 0, %p1; add.u32 %r2, %r2, %r3;
        add.u32 %r2, %r2, %r4; st.global.u32 [%d1], %r2;"""
    np.testing.assert_array_equal(both(body), 0x11111111 << (LANE & 3))


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("add.u32", int((LANE * 7).sum())), ("min.u32", 0), ("max.u32", 217), ("and.b32", 0), ("or.b32", 255),
        ("xor.b32", int(np.bitwise_xor.reduce(LANE * 7))), ("min.s32", -100), ("max.s32", 117),
    ],
)  # fmt: skip
def test_reductions(op: str, expected: int) -> None:
    shift = "sub.u32 %r1, %r1, 100;" if op.endswith("s32") else ""
    body = f"mul.lo.u32 %r1, %r0, 7; {shift} redux.sync.{op} %r2, %r1, 0xffffffff; st.global.u32 [%d1], %r2;"
    np.testing.assert_array_equal(both(body, compare=False), expected % 2**32)


def test_a_reduction_of_some_lanes() -> None:
    body = """setp.ge.u32 %p1, %r0, 16; @%p1 bra OUT; setp.lt.u32 %p2, %r0, 5; selp.b32 %r1, 0x1f, 0xffe0, %p2;
        redux.sync.add.u32 %r2, %r0, %r1; st.global.u32 [%d1], %r2; OUT:"""
    np.testing.assert_array_equal(both(body, compare=False), [10] * 5 + [110] * 11 + [0] * 16)


def test_a_reduction_behind_a_guard() -> None:
    body = """setp.lt.u32 %p1, %r0, 12; mov.u32 %r2, 7; @%p1 redux.sync.add.u32 %r2, %r0, 0xfff;
        setp.eq.u32 %p2, %r0, 99; @%p2 redux.sync.max.u32 %r2, %r0, 0xffffffff;
        @!%p1 redux.sync.xor.b32 %r2, %r2, 0xfffff000; st.global.u32 [%d1], %r2;"""
    np.testing.assert_array_equal(both(body), np.where(LANE < 12, 66, 0))


NAN, SMALL = 0x7FC00001, 0x80000000


@pytest.mark.rotates
@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("marks", ["", ".NaN", ".abs", ".abs.NaN"])
@pytest.mark.parametrize("special", [0x3F800000, SMALL, NAN, 0xFF800000])
def test_reductions_of_f32(op: str, marks: str, special: int) -> None:
    """Two halves of the warp apart; lane 3 of the first one, and all of the second, have a special value."""
    body = f"""sub.u32 %r1, %r0, 5; cvt.rn.f32.s32 %f1, %r1; setp.lt.u32 %p1, %r0, 16; mov.b32 %f2, {special};
        setp.eq.u32 %p2, %r0, 3; selp.f32 %f1, %f2, %f1, %p2; selp.f32 %f1, %f1, %f2, %p1;
        selp.b32 %r2, 0xffff, 0xffff0000, %p1; mov.b32 %f3, 0f00000000; mov.b32 %r4, %f3;
        @%p1 redux.sync.{op}{marks}.f32 %f3, %f1, %r2; @!%p1 redux.sync.{op}{marks}.f32 %f3, %f1, %r2;
        st.global.f32 [%d1], %f3;"""
    found = both(body).view(np.float32)
    values = np.where(LANE == 3, np.nan, LANE - 5.0)
    if special != NAN:
        values[3] = np.array(special, np.uint32).view(np.float32)
    values = np.abs(values) if "abs" in marks else values
    reduce = getattr(np, op if "NaN" in marks else f"nan{op}")
    np.testing.assert_equal(found[:16], np.float32(reduce(values[:16])))


def test_an_election() -> None:
    """Of two groups in one instruction, and of a group whose lowest lane has ended."""
    body = """setp.lt.u32 %p1, %r0, 16; selp.b32 %r1, 0xfff8, 0xffff0000, %p1; setp.lt.u32 %p2, %r0, 3; @%p2 exit;
        setp.eq.u32 %p3, %r0, 16; @%p3 exit; mov.u32 %r2, 99; elect.sync %r2|%p4, %r1; selp.u32 %r3, 100, 0, %p4;
        add.u32 %r2, %r2, %r3; setp.ge.u32 %p5, %r0, 20; @%p5 elect.sync _|%p4, 0xfff00000;
        selp.u32 %r3, 1000, 0, %p4; add.u32 %r2, %r2, %r3; st.global.u32 [%d1], %r2;"""
    wanted = np.where(LANE < 16, 3, 17) + 1100 * np.isin(LANE, (3, 17)) + 1000 * (LANE == 20)
    np.testing.assert_array_equal(both(body), np.where((LANE < 3) | (LANE == 16), 0, wanted))


def test_lanes_that_ended_are_not_missed_but_lanes_elsewhere_are() -> None:
    both("""setp.ge.u32 %p1, %r0, 20; @%p1 exit; bar.warp.sync -1; vote.sync.ballot.b32 %r1, 1, -1;
        st.global.u32 [%d1], %r1;""")
    text = kernel("setp.ge.u32 %p1, %r0, 20; @%p1 bra A; bar.warp.sync -1; A: st.global.u32 [%d1], 1;")
    with pytest.raises(KernelFault, match="not converged"):
        emulate(imported(text).module, [np.zeros(32, np.uint32)], 1, 32)


def test_warp_barriers_order_accesses_and_all_stand() -> None:
    text = code("""bar.warp.sync -1; st.global.u32 [%d1], %r0; bar.warp.sync -1; ld.global.u32 %r1, [%d1+4];
        bar.warp.sync -1; shfl.sync.down.b32 %r1, %r1, 1, 31, -1; bar.warp.sync -1; st.global.u32 [%d1], %r1;""")
    found = re.findall(r"WARPSYNC|SHFL|STG|LDG", text)
    assert found == ["WARPSYNC", "STG", "WARPSYNC", "LDG", "WARPSYNC", "SHFL", "WARPSYNC", "STG"]


def test_one_check_in_a_block_is_enough() -> None:
    steps = "shfl.sync.down.b32 %r1, %r1, 1, 31, -1;" * 3
    text = code(f"mov.u32 %r1, %r0; mov.b32 %r8, -1; {steps} shfl.sync.up.b32 %r1, %r1, 1, 0, %r8; L: {steps}")
    assert text.count("WARPSYNC") == 2


@pytest.mark.rotates
@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize(
    ("op", "start", "operand"),
    [
        ("add.u32", 5, "%r0"), ("add.s32", 5, "-3"), ("add.u64", 2**33, "%d4"), ("min.s32", 3, "%r1"),
        ("min.u32", 90, "%r1"), ("max.s32", 3, "%r1"), ("max.u32", 3, "%r1"),
        ("min.s64", 3, "%d5"), ("max.u64", 3, "%d5"),
        ("inc.u32", 3, "20"), ("dec.u32", 3, "20"), ("and.b32", 0xFF, "%r1"), ("or.b32", 1, "%r1"),
        ("xor.b32", 1, "%r1"), ("and.b64", 2**40 - 1, "%d5"), ("or.b64", 1, "%d5"), ("xor.b64", 1, "%d5"),
        ("exch.b32", 1, "%r1"), ("exch.b64", 1, "%d5"), ("cas.b32", 0, "0, %r1"), ("cas.b64", 0, "0, %d5"),
        ("add.f32", 0, "%f1"), ("add.f64", 0, "%g1"),
    ],
)  # fmt: skip
def test_atomics(space: str, op: str, start: int, operand: str) -> None:
    size = int(op[-2:])
    old, one = (f"%d{k}" if size == 64 else f"%r{k}" for k in (9, 10))
    if op[-3] == "f":
        old = "%g3" if size == 64 else "%f3"
    place, dot = {"global": ("%d0", ".global"), "shared": ("buf", ".shared"), "generic": ("%d0", "")}[space]
    body = f"""sub.u32 %r1, %r0, 16; cvt.u64.u32 %d4, %r0; cvt.s64.s32 %d5, %r1; mov.b32 %f1, 0f3fc00000;
        mov.b64 %g1, 0d3ff8000000000000; setp.eq.u32 %p1, %r0, 0; mov.u{size} {one}, {start};
        @%p1 st{dot}.u{size} [{place}], {one}; bar.warp.sync -1;
        atom{dot}.{op} {old}, [{place}], {operand}; mul.wide.u32 %d20, %r0, 8; add.s64 %d20, %d20, %d0;
        st.global.b{size} [%d20+8], {old};"""
    if "exch" not in op and "cas" not in op:
        body += f"""setp.lt.u32 %p2, %r0, 9; @%p2 red{dot}.relaxed.gpu.{op} [{place}], {operand};""".replace(
            f"red{dot}.relaxed.gpu", f"red.relaxed.gpu{dot}"
        )
        body += f"atom{dot}.{op} _, [{place}], {operand};"
    body += f"bar.warp.sync -1; ld{dot}.b{size} {old}, [{place}]; @%p1 st.global.b{size} [%d0+280], {old};"
    out = both(body, words=80, head=SHARED)
    assert out.any()


@pytest.mark.rotates
@pytest.mark.parametrize("space", ["global", "generic"])
@pytest.mark.parametrize(
    ("kind", "registers"),
    [("v2.f32", "%f"), ("v4.f32", "%f"), ("v2.f16x2", "%r1"), ("v4.bf16x2", "%r1"), ("v8.f16", "%h")],
)  # fmt: skip
def test_atomics_on_vectors(space: str, kind: str, registers: str) -> None:
    """Element by element; lanes share four places, and one of two vectors is an addition without a result."""
    count, type_ = int(kind[1]), kind[3:]
    size, noftz = {"f32": 4, "f16x2": 4, "bf16x2": 4, "f16": 2}[type_], "" if type_ == "f32" else ".noftz"
    dot = ".global" if space == "global" else ""
    old, new = (", ".join(f"{registers}{k + first}" for k in range(count)) for first in (0, 8))
    if registers == "%r1":
        old, new = (", ".join(f"%r{k + first}" for k in range(count)) for first in (10, 20))
    lines = "".join(
        f"add.u32 %r2, %r0, {k + 1}; " + (f"cvt.rn.f32.u32 %f{8 + k}, %r2; " if type_ == "f32" else
        f"cvt.rn.f16.u32 %h{8 + k}, %r2; " if type_ == "f16" else f"mul.lo.u32 %r{20 + k}, %r2, 0x01100110; ")
        for k in range(count)
    )  # fmt: skip
    load = {"%f": "f32", "%r1": "b32", "%h": "b16"}[registers]
    first = old.split(", ")
    body = f"""and.b32 %r3, %r0, 3; mul.lo.u32 %r4, %r3, {size * count}; cvt.u64.u32 %d2, %r4; add.s64 %d2, %d2, %d0;
        {lines} setp.lt.u32 %p1, %r0, 20; @%p1 atom{dot}.{kind}.add{noftz} {{{old}}}, [%d2], {{{new}}};
        red{dot}.relaxed.gpu.{kind}.add{noftz} [%d2], {{{new}}};
        mul.wide.u32 %d3, %r0, 16; add.s64 %d3, %d3, %d0;""" + "".join(
        f"@%p1 st.global.{load} [%d3+{64 + size * k}], {name};" for k, name in enumerate(first)
    )  # fmt: skip
    assert both(body, words=160).any()


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
def test_compare_and_swap_of_halves_of_words(space: str) -> None:
    """All lanes count up two halves of one word, each in a loop of its own, as locks do; a guard leaves some out."""
    place, dot = {"global": ("%d0", ".global"), "shared": ("buf", ".shared"), "generic": ("%d0", "")}[space]
    to = "cvt.u64.u32 %d7, %r6; add.s64 %d7, %d7, %d0;"
    to = "mov.u32 %r7, buf; add.u32 %r7, %r7, %r6;" if space == "shared" else to
    at = "[%r7]" if space == "shared" else "[%d7]"
    body = f"""setp.eq.u32 %p1, %r0, 0; @%p1 st{dot}.u32 [{place}], 0x00fe0005; @%p1 st{dot}.u32 [{place}+4], 77;
        bar.warp.sync -1; and.b32 %r5, %r0, 1; shl.b32 %r6, %r5, 1; {to}
        setp.lt.u32 %p4, %r0, 21; @!%p4 bra OUT;
    AGAIN: ld.volatile{dot}.u16 %h1, {at}; add.u16 %h2, %h1, 1; atom{dot}.cas.b16 %h3, {at}, %h1, %h2;
        setp.ne.u16 %p2, %h1, %h3; @%p2 bra AGAIN;
    OUT: bar.warp.sync -1; mov.u16 %h4, 9; setp.lt.u32 %p3, %r0, 4;
        @%p3 atom{dot}.cas.b16 %h4, {at}, 0xffff, 3; st.global.u16 [%d1+16], %h4;
        bar.warp.sync -1; ld{dot}.b64 %d9, [{place}]; @%p1 st.global.b64 [%d0], %d9;"""
    out = both(body, words=64, head=SHARED)
    assert out[0] == (0xFE + 10) << 16 | 5 + 11
    assert out[1] == 77
    np.testing.assert_array_equal(out.view(np.uint16)[8 : 8 + 64 : 2][:32][:6], [16, 264, 16, 264, 9, 9])


def test_orderings_of_atomics_put_fences_around_them() -> None:
    text = code("""atom.acq_rel.gpu.global.add.u32 %r1, [%d0], 1; red.release.cta.and.b32 [%d0], 1;
        atom.acquire.sys.or.b32 %r2, [%d0], 2; atom.relaxed.gpu.add.u32 %r2, [%d0], 2;
        atom.add.release.gpu.u32 %r3, [%d0], 1;""")
    lines = [line.split()[0] for line in text.splitlines() if "MEMBAR" in line or "ATOM" in line or "RED" in line]
    assert lines == [
        "MEMBAR.GPU", "ATOMG.ADD", "MEMBAR.GPU", "MEMBAR.CTA", "ATOM.AND", "ATOM.OR", "MEMBAR.SYS", "ATOM.ADD",
        "MEMBAR.GPU", "ATOM.ADD",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("elect.sync %r1, -1;", "elect has two destinations"),
        ("redux.sync.add.f32 %f1, %f2, -1;", "no type .f32"),
        ("redux.sync.max.NaN.u32 %r1, %r2, -1;", "with .abs or .NaN"),
        ("atom.global.v2.f16.min.noftz {%h1, %h2}, [%d0], {%h3, %h4};", "minima and maxima of halves"),
        ("atom.global.v4.f32.add {%f1, %f2}, [%d0], {%f3, %f4};", "not as many values"),
        ("atom.global.v8.f32.add {%f1, %f2}, [%d0], {%f3, %f4};", "no type .f32"),
        ("atom.shared.v2.f32.add {%f1, %f2}, [%r0], {%f3, %f4};", "in shared memory"),
        ("atom.global.add.b16 %h1, [%d0], %h2;", "no type .b16"),
        ("shfl.sync.b32 %r1, %r0, 1, 31, -1;", "without a mode"),
        ("shfl.sync.up.b64 %d1, %d0, 1, 31, -1;", "no type .b64"),
        ("vote.sync.ballot.b32 %r1, %p1;", "2 operands"),
        ("atom.global.add.f16 %h1, [%d0], %h1;", "needs .noftz"),
        ("atom.global.inc.u64 %d1, [%d0], %d1;", "no type .u64"),
        ("atom.local.add.u32 %r1, [%d0], %r1;", "modifier .local"),
        ("red.global.exch.b32 [%d0], %r1;", "without an operation"),
        ("atom.global.cas.b32 %r1, [%d0], %r1;", "3 operands"),
        ("atom.global.add.s64 %d1, [%d0], %r1;", "%r1 is .b32"),
        ("tex.2dms.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d0, {%r1, %r2, %r3, %r4}];", "multisampled"),
        ("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d0, {%f1}];", "1 coordinates"),
    ],
)
def test_what_cannot_be_is_refused(body: str, message: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        lowered(kernel("\n  " + body))
    assert message in str(caught.value)
    assert "column 3" in str(caught.value.place)
