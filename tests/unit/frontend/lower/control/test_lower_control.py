"""Branches, ends, barriers, fences and special registers: import and emulation against the interpreter and by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest

from binalloc.errors import KernelFault, MalformedInput, UsageError
from tests.support.ptx.bodies import both, code, emulate, imported, lowered
from tests.support.ptx.texts import kernel

SHARED = ".shared .align 4 .b8 buf[4096];\n"


def test_divergent_loops_and_branches_meet_again() -> None:
    out = both(
        """mov.u32 %r1, 0; mov.u32 %r2, 0;
    LOOP: and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra EVEN;
        add.u32 %r2, %r2, 100; bra.uni NEXT;
    EVEN: add.u32 %r2, %r2, 1;
    NEXT: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, %r0; @%p2 bra LOOP;
        activemask.b32 %r4; mad.lo.u32 %r2, %r4, 1000, %r2; st.global.u32 [%d1], %r2;""",
        64,
    )
    lane = np.maximum(np.arange(64), 1)
    np.testing.assert_array_equal(out, ((lane // 2) * 100 + (lane + 1) // 2 - 1000) % 2**32)


def test_lanes_that_end_early_are_not_waited_for() -> None:
    """The branch to the end is an EXIT, so the barrier behind it sees live lanes only."""
    body = """setp.ge.u32 %p1, %r0, 40; @%p1 bra DONE; st.shared.u32 [buf], %r0; bar.sync 0;
        ld.shared.u32 %r2, [buf]; setp.lt.u32 %p2, %r2, 40; selp.u32 %r3, 1, 0, %p2; st.global.u32 [%d1], %r3;
    DONE:"""
    out = both(body, 64, head=SHARED)
    np.testing.assert_array_equal(out, (np.arange(64) < 40).astype(int))
    assert re.search(r"@Q\d+ EXIT", code(body, head=SHARED))


@pytest.mark.parametrize("end", ["ret", "exit", "@%p1 ret; st.global.u32 [%d1+512], %r0; exit"])
def test_ends(end: str) -> None:
    out = both(f"setp.lt.u32 %p1, %r0, 5; st.global.u32 [%d1], 9; {end};\nst.global.u32 [%d1], 8;", words=256)
    np.testing.assert_array_equal(out[:32], 9)
    assert out[128:160].any() == ("@" in end)
    if "@" in end:
        np.testing.assert_array_equal(out[128:160], np.where(np.arange(32) < 5, 0, np.arange(32)))


def test_a_branch_by_index_takes_the_label_of_its_number() -> None:
    body = """and.b32 %r1, %r0, 3;
    list: .branchtargets A, B, C, A;
        setp.ne.u32 %p1, %r0, 9; mov.u32 %r2, 7;
        @%p1 brx.idx %r1, list;
        bra OUT;
    A: mov.u32 %r2, 10; bra OUT;
    B: mov.u32 %r2, 20; bra OUT;
    C: mov.u32 %r2, 30;
    OUT: st.global.u32 [%d1], %r2;"""
    lane = np.arange(32)
    expected = np.where(lane == 9, 7, np.array([10, 20, 30, 10])[lane & 3])
    np.testing.assert_array_equal(both(body, compare=False), expected)


def test_a_trap_faults() -> None:
    text = kernel("setp.eq.u32 %p1, %r0, 3; @%p1 trap; st.global.u32 [%d1], 1;")
    with pytest.raises(KernelFault, match="the kernel trapped"):
        emulate(imported(text).module, [np.zeros(32, np.uint32)], 1, 32)


def test_hints_of_time_do_nothing() -> None:
    both("nanosleep.u32 100; mov.u32 %r1, 5; nanosleep.u32 %r1; pmevent 3; st.global.u32 [%d1], %r0;", compare=False)


def test_barriers_with_numbers_and_counts() -> None:
    """Two warps meet at barrier 1, two at barrier 2, whose number stands in a register."""
    body = """setp.lt.u32 %p1, %r0, 64; selp.u32 %r1, 1, 2, %p1; mov.u32 %r2, 64;
        shl.b32 %r3, %r0, 2; add.u32 %r3, %r3, 8; mov.u32 %r9, buf; add.u32 %r3, %r3, %r9;
        st.shared.u32 [%r3], %r0; barrier.sync %r1, %r2;
        xor.b32 %r4, %r0, 32; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r9; ld.shared.u32 %r5, [%r4+8];
        st.global.u32 [%d1], %r5;"""
    np.testing.assert_array_equal(both(body, 128, head=SHARED, compare=False), np.arange(128) ^ 32)


def test_producers_arrive_and_consumers_wait() -> None:
    body = """mov.u32 %r9, buf; shl.b32 %r3, %r0, 2; add.u32 %r3, %r3, %r9; setp.ge.u32 %p1, %r0, 32; @%p1 bra CONSUME;
        st.shared.u32 [%r3], 11; bar.arrive 1, 64; bra OUT;
    CONSUME: bar.sync 1, 64; ld.shared.u32 %r4, [%r3+-128]; st.global.u32 [%d1], %r4;
    OUT:"""
    np.testing.assert_array_equal(both(body, 64, head=SHARED), [0] * 32 + [11] * 32)


def test_a_barrier_known_to_be_a_constant_is_one_instruction() -> None:
    text = code("mov.u32 %r1, 3; mov.u32 %r2, 64; barrier.sync %r1, %r2; bar.sync 0; barrier.sync.aligned 5;")
    assert re.findall(r"BAR\.SYNC (.*)", text) == ["3, 0x40", "0", "5"]


@pytest.mark.parametrize("count", ["", "64, "])
def test_barriers_that_reduce(count: str) -> None:
    body = f"""setp.lt.u32 %p1, %r0, 37; bar.red.popc.u32 %r1, 0, {count}%p1; bar.red.and.pred %p2, 1, {count}!%p1;
        bar.red.or.pred %p3, 1, {count}%p1; selp.u32 %r2, 1000, 0, %p2; selp.u32 %r3, 2000, 0, %p3;
        add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; st.global.u32 [%d1], %r1;"""
    np.testing.assert_array_equal(both(body, 64), 2037)


def test_fences_have_the_scope_asked_for() -> None:
    text = code("membar.cta; membar.gl; membar.sys; fence.acq_rel.gpu; fence.sc.cta; fence.acq_rel.cluster;")
    assert re.findall(r"MEMBAR\.(\w+)", text) == ["CTA", "GPU", "SYS", "GPU", "CTA", "GPU"]


def test_special_registers() -> None:
    names = [f"%{n}.{a}" for n in ("tid", "ntid", "ctaid", "nctaid") for a in "xyz"]
    names += ["%laneid", "%warpid", "%nwarpid", "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt"]
    names += ["%lanemask_ge", "%dynamic_smem_size"]
    stores = "".join(f"mov.u32 %r1, {n}; st.global.u32 [%d1+{4 * k}], %r1;\n" for k, n in enumerate(names))
    place = f"""mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r5, %r2, %r4, %r0;
        mad.lo.u32 %r5, %r3, 48, %r5; mul.wide.u32 %d1, %r5, {4 * len(names)}; add.s64 %d1, %d0, %d1;"""
    out = both(place + stores, (16, 3), 48 * 2 * len(names), grid=2, dynamic=640).reshape(2, 48, len(names))
    assert list(out[1, 37]) == [
        5, 2, 0, 16, 3, 1, 1, 0, 0, 2, 1, 1, 5, 1, 2, 1 << 5, 31, 63, 2**32 - 64, 2**32 - 32, 640,
    ]  # fmt: skip


def test_the_fourth_element_is_zero() -> None:
    np.testing.assert_array_equal(both("mov.u32 %r1, %ctaid.w; st.global.u32 [%d1], %r1;", compare=False), 0)


def test_a_known_block_size_is_a_constant() -> None:
    body = "mov.u32 %r1, %ntid.x; mov.u32 %r2, %ntid.y; st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r2;"
    text = code(body, bounds=".reqntid 64, 2")
    assert "NTID" not in text
    assert "0x40" in text
    assert "NTID" in code(body)
    info = lowered(kernel(body), block_dim=(8, 4, 1)).routines["k"].info
    assert info.block == (8, 4, 1)


def test_clocks_go_on() -> None:
    body = """mov.u64 %d4, %clock64; mov.u32 %r1, %clock; bar.sync 0; mov.u64 %d5, %clock64; sub.s64 %d6, %d5, %d4;
        st.global.u64 [%d1], %d6;"""
    (out,) = emulate(imported(kernel(body, size=8)).module, [np.zeros(32, np.uint64)], 1, 32)
    assert (out > 0).all()
    assert (out < 10_000).all()


def test_bounds_reach_the_kernel() -> None:
    routine = lowered(kernel("", bounds=".maxntid 128, 2, 1 .minnctapersm 3")).routines["k"]
    assert (routine.info.max_threads, routine.min_blocks, routine.info.block) == (256, 3, (0, 0, 0))
    routine = lowered(kernel("", bounds=".reqntid 32, 4, 2")).routines["k"]
    assert routine.info.block == (32, 4, 2)


@pytest.mark.parametrize(
    ("bounds", "options", "message"),
    [
        (".maxntid 2048, 1, 1", {}, "1024 threads"),
        (".reqntid 64, 32", {}, "1024 threads"),
        (".reqntid 64 .maxntid 32", {}, "contradictory"),
        (".reqntid 64", {"block_dim": (32, 1, 1)}, "contradictory"),
        (".maxntid 64", {"block_dim": (128, 1, 1)}, "contradictory"),
    ],
)
def test_bounds_that_contradict_are_refused(
    bounds: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(MalformedInput, match=message):
        lowered(kernel("", bounds=bounds), **options)  # type: ignore[arg-type]


def test_a_missing_kernel_is_a_mistake_of_usage() -> None:
    with pytest.raises(UsageError, match=r"no such kernel; found nothere; expected k"):
        lowered(kernel(""), ["nothere"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("bar.sync 16;", "barrier 16"),
        ("bar.sync 0, 33;", "33 threads"),
        ("bar.arrive 0;", "1 operands"),
        ("griddepcontrol;", "griddepcontrol without an action"),
        ("membar;", "scope"),
        ("barrier.cluster.arrive;", "clusters"),
        ("frobnicate.u32 %r1;", "frobnicate is not supported"),
    ],
)
def test_what_cannot_be_is_refused(body: str, message: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        lowered(kernel("\n  " + body))
    assert message in str(caught.value)
    assert "column 3" in str(caught.value.place)


def test_lines_of_the_source_are_kept() -> None:
    text = kernel(
        """.loc 1 12 0
    st.global.u32 [%d1], %r0;
    .loc 1 13 5
    st.global.u32 [%d1], %r0;"""
    ) + '.file 1 "a.cu"\n'
    program = lowered(text)
    nodes = [n for n in program.routines["k"].nodes() if n.instr.name == "STG"]
    assert [program.locations[n.loc] for n in nodes] == [("a.cu", 12), ("a.cu", 13)]


def test_the_last_word_is_an_exit_and_no_block_is_empty() -> None:
    program = lowered(kernel("setp.eq.u32 %p1, %r0, 0; @%p1 bra A; bra B; A: B: L: bra L;"))
    blocks = program.routines["k"].blocks
    assert all(block.nodes for block in blocks)
    assert blocks[-1].nodes[-1].instr.name == "EXIT"
    numbers = {block.number for block in blocks}
    assert all(n.target in numbers for block in blocks for n in block.nodes if n.target >= 0)


def test_a_jump_to_a_jump_to_the_end_ends_the_lanes() -> None:
    body = """setp.ge.u32 %p1, %r0, 40; @%p1 bra A; bra B; A: bra DONE; B: bar.sync 0; st.global.u32 [%d1], 1; bra DONE;
    DONE:"""
    assert re.search(r"@Q\d+ EXIT", code(body))
    np.testing.assert_array_equal(both(body, 64, compare=False), [1] * 40 + [0] * 24)
