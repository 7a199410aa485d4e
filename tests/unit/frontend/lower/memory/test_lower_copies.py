"""cp.async, values of 128 bits, hints for the second-level cache: import and emulation against the interpreter and
NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from binalloc.errors import KernelFault, MalformedInput
from tests.support.ptx.bodies import both, code, emulate, imported, lowered
from tests.support.ptx.texts import kernel

BYTES = np.random.default_rng(11).integers(1, 256, 2048).astype(np.uint8)
IN = (".param .u64 in",)
INPUT = "ld.param.u64 %d2, [in]; cvta.to.global.u64 %d2, %d2;\n"
SHARED = ".shared .align 16 .b8 buf[1024];\n"
STORE = """cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all; bar.sync 0;
    mul.wide.u32 %d5, %r0, 16; add.s64 %d5, %d5, %d0; ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r2];
    st.global.v4.u32 [%d5], {%r11, %r12, %r13, %r14};"""


def copied(text: str) -> np.ndarray:
    """16 bytes for each thread, of shared memory that held 0xEE, after copies to [%r2] of [%d3], 16 bytes each."""
    body = f"""{INPUT} mul.wide.u32 %d3, %r0, 16; add.s64 %d3, %d3, %d2; mov.u32 %r2, buf; mad.lo.u32 %r2, %r0, 16, %r2;
        mov.u32 %r3, 0xeeeeeeee; st.shared.v4.u32 [%r2], {{%r3, %r3, %r3, %r3}}; bar.sync 0; {text} {STORE}"""
    return both(body, words=128, head=SHARED, args=[BYTES], params=IN).view(np.uint8).reshape(32, 16)


@pytest.mark.rotates
@pytest.mark.parametrize("form", ["ca.shared.global", "ca.shared::cta.global.L2::128B"])
@pytest.mark.parametrize("size", [4, 8, 16])
def test_a_copy(form: str, size: int) -> None:
    found = copied(f"cp.async.{form} [%r2], [%d3], {size};")
    np.testing.assert_array_equal(found[:, :size], BYTES[:512].reshape(32, 16)[:, :size])
    assert (found[:, size:] == 0xEE).all()


def test_a_copy_past_the_first_level_cache_and_under_a_guard() -> None:
    text = "cp.async.cg.shared.global [%r2], [%d3], 16;"
    assert "LDG.128.CG" in code(f"mov.u64 %d3, 0; mov.u32 %r2, 0; {text}")
    found = copied(f"setp.lt.u32 %p1, %r0, 5; @%p1 {text} @!%p1 cp.async.ca.shared.global [%r2+8], [%d3], 8;")
    np.testing.assert_array_equal(found[:5], BYTES[:80].reshape(5, 16))
    np.testing.assert_array_equal(found[5:, 8:], BYTES[80:512].reshape(27, 16)[:, :8])


@pytest.mark.rotates
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("guard", ["", "@%p1 "])
@pytest.mark.parametrize("hint", [False, True])
def test_zeros_follow_a_short_source(size: int, guard: str, hint: bool) -> None:
    """Of every length; what lies behind it is not read: the last lanes' sources end with the buffer."""
    form, last = (".L2::cache_hint", ", %d9") if hint else ("", "")
    found = copied(f"""and.b32 %r4, %r0, 31; min.u32 %r4, %r4, {size}; setp.ne.u32 %p1, %r0, 3; mov.u64 %d9, 0;
        sub.u32 %r5, 2048, %r4; cvt.u64.u32 %d4, %r5; add.s64 %d4, %d4, %d2; and.b64 %d4, %d4, -{size};
        setp.eq.u32 %p2, %r4, {size}; selp.b64 %d4, %d4, %d3, %p2;
        {guard}cp.async.ca.shared.global{form} [%r2], [%d4], {size}, %r4{last};""")
    for lane in range(32):
        count = min(lane, size)
        of = BYTES[2048 - size :] if count == size else BYTES[16 * lane :]
        wanted = [*of[:count], *[0] * (size - count)]
        if guard and lane == 3:
            wanted = [0xEE] * size
        assert found[lane, :size].tolist() == wanted, lane


def test_nothing_is_read_of_a_source_of_no_length() -> None:
    found = copied("""mov.u64 %d4, 0; setp.lt.u32 %p1, %r0, 16; mov.u32 %r4, 0;
        @%p1 cp.async.ca.shared.global [%r2], [%d4], 16, %r4; setp.eq.u32 %p2, %r0, %r0;
        @!%p1 cp.async.cg.shared.global [%r2], [%d4], 16, %p2;""")
    assert not found.any()


def test_what_is_ignored_is_chosen_by_a_predicate() -> None:
    found = copied("setp.lt.u32 %p1, %r0, 7; cp.async.ca.shared.global [%r2], [%d3], 8, %p1;")
    assert not found[:7, :8].any()
    np.testing.assert_array_equal(found[7:, :8], BYTES[:512].reshape(32, 16)[7:, :8])


def test_a_misaligned_copy_faults() -> None:
    text = kernel(f"{INPUT} add.s64 %d3, %d2, 4; mov.u32 %r2, buf; cp.async.ca.shared.global [%r2], [%d3], 8;",
                  head=SHARED, params=IN)  # fmt: skip
    with pytest.raises(KernelFault, match="align"):
        emulate(imported(text).module, [np.zeros(32, np.uint32), BYTES], 1, 32)


@pytest.mark.parametrize("space", ["global", "generic", "shared", "local"])
def test_a_value_of_128_bits_is_moved_whole(space: str) -> None:
    """From memory to a register, and through the space back to memory."""
    dot = {"generic": ""}.get(space, f".{space}")
    place = {"shared": "[%r2]", "local": "[own+16]"}.get(space, "[%d4]")
    body = f""".reg .b128 %q<4>; .local .align 16 .b8 own[32]; {INPUT} mul.wide.u32 %d3, %r0, 16; add.s64 %d4, %d3, %d0;
        add.s64 %d3, %d3, %d2; mov.u32 %r2, buf; mad.lo.u32 %r2, %r0, 16, %r2; ld.global.b128 %q1, [%d3];
        setp.lt.u32 %p1, %r0, 9; @%p1 ld.volatile.global.b128 %q1, [%d3+512]; st{dot}.b128 {place}, %q1;
        ld{dot}.b128 %q2, {place}; mov.b128 %q3, %q2; st.relaxed.gpu.global.b128 [%d4], %q3;"""
    out = both(body, words=128, head=SHARED, args=[BYTES], params=IN, compare=False).view(np.uint8)
    np.testing.assert_array_equal(out, np.concatenate([BYTES[512:656], BYTES[144:512]]))


def test_128_bits_of_constants_and_parameters() -> None:
    head = ".const .align 16 .b32 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
    body = """.reg .b128 %q<4>; ld.const.b128 %q1, [table+16]; mov.u64 %d4, table; ld.const.b128 %q2, [%d4];
        ld.param.b128 %q3, [pair]; st.global.b128 [%d0], %q1; st.global.b128 [%d0+16], %q2;
        st.global.b128 [%d0+32], %q3;"""
    pair = np.arange(100, 104, dtype=np.uint32).tobytes()
    params = (".param .align 16 .b8 pair[16]",)
    out = both(body, 1, words=12, head=head, args=[pair], params=params, compare=False)
    np.testing.assert_array_equal(out, [5, 6, 7, 8, 1, 2, 3, 4, 100, 101, 102, 103])


def test_hints_change_nothing() -> None:
    body = f"""{INPUT} discard.global.L2 [%d2], 128; discard.L2 [%d2], 128; applypriority.L2::evict_normal [%d2], 128;
        createpolicy.fractional.L2::evict_last.b64 %d4, 1.0; createpolicy.cvt.L2.b64 %d6, 0x1234;
        createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d5, %f1; griddepcontrol.wait;
        createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %d7, [%d2], 64, %r0;
        mul.wide.u32 %d3, %r0, 4; add.s64 %d3, %d3, %d2; griddepcontrol.launch_dependents;
        ld.global.L2::cache_hint.u32 %r1, [%d3], %d4; st.global.L2::cache_hint.u32 [%d1], %r1, %d7;"""
    out = both(body, args=[BYTES], params=IN)
    np.testing.assert_array_equal(out, BYTES[:128].view(np.uint32))


def test_a_breakpoint_stops_the_kernel() -> None:
    text = kernel("setp.eq.u32 %p1, %r0, 40; @%p1 brkpt; st.global.u32 [%d1], %r0;")
    out = emulate(imported(text).module, [np.zeros(32, np.uint32)], 1, 32)[0]
    np.testing.assert_array_equal(out, np.arange(32))
    with pytest.raises(KernelFault):
        emulate(imported(text.replace("%r0, 40", "%r0, 4")).module, [np.zeros(32, np.uint32)], 1, 32)


def test_every_grid_is_the_first() -> None:
    out = both("mov.u64 %d4, %gridid; mov.u32 %r1, %gridid; cvt.u32.u64 %r2, %d4; add.u32 %r1, %r1, %r2; "
               "add.u32 %r1, %r1, 5; st.global.u32 [%d1], %r1;")  # fmt: skip
    assert (out == 5).all()


REFUSED = [
    ("cp.async.cg.shared.global [%r1], [%d1], 8;", "the size of a cp.async"),
    ("cp.async.ca.shared.global [%r1], [%d1], 12;", "the size of a cp.async"),
    ("cp.async.ca.shared.global [%r1], [%d1], %r2;", "the size of a cp.async"),
    ("cp.async.ca.global.shared [%r1], [%d1];", "cp with 2 operands"),
    ("cp.async.ca.shared [%r1], [%d1], 8;", "not a cp.async"),
    ("cp.async.shared.global [%r1], [%d1], 8;", "not a cp.async"),
    ("cp.async.ca.shared.global.L2::cache_hint [%r1], [%d1], 8;", "needs a policy"),
    ("cp.async.wait_group %r1;", "must be a constant"),
    ("cp.async.wait_all 2;", "cp with 1 operands"),
    ("cp.async.mbarrier.arrive.shared.b64 [%r1];", "copies in bulk and barriers in memory"),
    ("cp.async.bulk.commit_group;", "copies in bulk and barriers in memory"),
    ("ld.global.v2.b128 {%d1, %d2}, [%d1];", "a vector of values of type .b128"),
    ("ld.global.b128 %d1, [%d1];", "%d1 is .b64"),
    ("st.global.b128 [%d1], 5;", "does not fit type .b128"),
    ("discard.global.L2 [%d1], 64;", "the size of discard"),
    ("discard.global [%d1], 128;", "discard without a level"),
    ("createpolicy.L2.b64 %d1, 1.0;", "createpolicy without a kind"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED, ids=[body for body, _ in REFUSED])
def test_refused(body: str, message: str) -> None:
    with pytest.raises(MalformedInput, match=re.escape(message)) as caught:
        lowered(kernel("\n  " + body))
    assert "column 3" in str(caught.value.place)
