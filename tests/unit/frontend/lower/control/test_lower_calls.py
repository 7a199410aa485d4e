"""Calls: parameters and results of every size, structs by value, guarded calls, chains; what cannot be called."""

from __future__ import annotations

import re

import numpy as np
import pytest

from binalloc.errors import KernelFault, MalformedInput
from binalloc.frontend.ir import dump
from tests.support.ptx.bodies import both, code, emulate, imported, lowered
from tests.support.ptx.texts import kernel

LANE = np.arange(32)
SCALE = """.func (.param .b32 r) scale(.param .b32 a, .param .b64 b)
{ .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<3>;
  ld.param.u32 %r1, [a]; ld.param.u64 %d1, [b]; cvt.u32.u64 %r2, %d1; mul.lo.u32 %r3, %r1, %r2;
  setp.gt.u32 %p1, %r3, 40; @%p1 bra BIG; st.param.b32 [r], %r3; ret;
  BIG: mov.u32 %r4, 40; st.param.b32 [r], %r4; ret; }
"""


def call_scale(guard: str = "", uni: str = ".uni") -> str:
    return f"""{{ .param .b32 a0; .param .b64 b0; .param .b32 r0; st.param.b32 [a0], %r0; st.param.b64 [b0], 3;
        {guard} call{uni} (r0), scale, (a0, b0); ld.param.b32 %r2, [r0]; }}"""


def test_words_and_pairs_in_and_a_word_out() -> None:
    out = both(call_scale() + "st.global.u32 [%d1], %r2;", head=SCALE)
    np.testing.assert_array_equal(out, np.minimum(LANE * 3, 40))


def test_a_guarded_call_is_made_by_some_lanes() -> None:
    body = f"""setp.lt.u32 %p1, %r0, 11; {{ .param .b32 a0; .param .b64 b0; .param .b32 r0; st.param.b32 [a0], %r0;
        st.param.b64 [b0], 3; st.param.b32 [r0], 7; }} mov.u32 %r2, 7; @!%p1 bra OVER; {call_scale()}
        OVER: st.global.u32 [%d1], %r2;"""
    np.testing.assert_array_equal(both(body, head=SCALE), np.where(LANE < 11, np.minimum(LANE * 3, 40), 7))
    guarded = f"setp.lt.u32 %p1, %r0, 11; {call_scale('@%p1', '')} selp.u32 %r2, %r2, 7, %p1; st.global.u32 [%d1], %r2;"
    np.testing.assert_array_equal(
        both(guarded, head=SCALE, compare=False), np.where(LANE < 11, np.minimum(LANE * 3, 40), 7)
    )


STRUCT = """.func (.param .align 8 .b8 r[24])
turn(.param .align 8 .b8 s[20], .param .b8 flag, .param .align 4 .b8 tail[3])
{ .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .b16 %h<9>; .reg .f64 %g<3>;
  ld.param.f64 %g1, [s+8]; ld.param.u32 %r1, [s+4]; ld.param.u8 %h1, [s+3]; ld.param.s16 %r2, [s+16];
        ld.param.s8 %r3, [s];
  ld.param.u8 %h2, [flag]; ld.param.u8 %h3, [tail+2]; ld.param.v2.u8 {%h4, %h5}, [tail];
  st.param.f64 [r], %g1; st.param.b32 [r+8], %r1; st.param.b8 [r+12], %h1; st.param.b8 [r+13], %h2;
        st.param.b16 [r+14], %r2;
  st.param.v2.b8 [r+16], {%h4, %h5}; st.param.b8 [r+18], %h3; st.param.b8 [r+19], %r3; st.param.b32 [r+20], %r3; ret; }
"""


def test_structs_by_value_and_their_bytes() -> None:
    body = """mov.b64 %g1, 0d400921fb54442d18; mov.u32 %r5, 0x89abcdef; mov.u32 %r6, 0xf1e2d3c4;
        { .param .align 8 .b8 s0[20]; .param .b8 f0; .param .align 4 .b8 t0[3]; .param .align 8 .b8 r0[24];
        st.param.b32 [s0], %r6; st.param.b32 [s0+4], %r5; st.param.f64 [s0+8], %g1; st.param.b16 [s0+16], %r5;
        st.param.b8 [f0], 200; st.param.v2.b8 [t0], {1, 2}; st.param.b8 [t0+2], 3;
        call.uni (r0), turn, (s0, f0, t0);
        ld.param.f64 %g2, [r0]; ld.param.v2.u32 {%r1, %r2}, [r0+8]; ld.param.b32 %r3, [r0+16];
        ld.param.s32 %r4, [r0+20]; }
        st.global.f64 [%d0], %g2; st.global.u32 [%d0+8], %r1; st.global.u32 [%d0+12], %r2; st.global.u32 [%d0+16], %r3;
        st.global.u32 [%d0+20], %r4;"""
    out = both(body, 1, words=6, head=STRUCT)
    assert list(out) == [0x54442D18, 0x400921FB, 0x89ABCDEF, 0xCDEFC8F1, 0xC4030201, 0xFFFFFFC4]


def test_bytes_stored_in_a_loop_keep_one_another() -> None:
    """The bytes of an argument are written in different blocks."""
    head = """.func (.param .b32 r) word(.param .align 4 .b8 s[4]) { .reg .b32 %r<3>; ld.param.u32 %r1, [s];
        st.param.b32 [r], %r1; ret; }\n"""
    body = """{ .param .align 4 .b8 s0[4]; .param .b32 r0; mov.u32 %r1, 0;
        st.param.b8 [s0], 1; st.param.b8 [s0+1], 2; setp.lt.u32 %p1, %r0, 9; @%p1 bra L; st.param.b8 [s0+1], 9;
    L: st.param.b8 [s0+2], 3; st.param.b8 [s0+3], 4; call (r0), word, (s0); ld.param.u32 %r2, [r0]; }
        st.global.u32 [%d1], %r2;"""
    np.testing.assert_array_equal(both(body, head=head), np.where(LANE < 9, 0x04030201, 0x04030901))
    routine = lowered(kernel(body, head=head)).routines["k"]
    unit = next(n for n in routine.nodes() if n.callee).args[0]
    first = next(n for n in routine.nodes() if n.instr.f.get("rd") == unit)
    assert (first.instr.name, first.instr.f["rb"]) == ("MOV", 255)  # the first byte is put into something defined


def test_register_parameters() -> None:
    head = """.func (.reg .b32 r, .reg .f64 q) two(.reg .b32 a, .reg .f64 b) { add.u32 r, a, 1; mov.f64 q, b; ret;
        }\n"""
    body = """mov.f64 %g1, 0d4000000000000000; call (%r2, %g2), two, (%r0, %g1);
        call (%r3, _), two, (5, 0d3ff8000000000000);
        mul.wide.u32 %d4, %r0, 16; add.s64 %d4, %d4, %d0;
        st.global.u32 [%d4], %r2; st.global.u32 [%d4+4], %r3; st.global.f64 [%d4+8], %g2;"""
    out = both(body, words=128, head=head, compare=False).reshape(32, 4)
    np.testing.assert_array_equal(out, np.stack([LANE + 1, LANE * 0 + 6, LANE * 0, LANE * 0 + 0x40000000], axis=1))


CHAIN = """.func (.param .b32 r) leaf(.param .b32 a) { .reg .b32 %r<3>; .local .align 8 .b8 d[16]; .reg .b64 %d<3>;
  ld.param.u32 %r1, [a]; st.local.u32 [d+12], %r1; add.u32 %r1, %r1, 1; st.local.u32 [d], %r1; ld.local.u32 %r2, [d+12];
  ld.local.u32 %r1, [d]; add.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }
.func (.param .b32 r) middle(.param .b32 a) { .reg .b32 %r<5>; .local .align 4 .b8 d[4];
  ld.param.u32 %r1, [a]; st.local.u32 [d], %r1;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), leaf, (x); ld.param.b32 %r2, [y]; }
  ld.local.u32 %r3, [d]; mad.lo.u32 %r2, %r3, 1000, %r2; st.param.b32 [r], %r2; ret; }
"""
CALL_CHAIN = """.local .align 4 .b8 mine[20]; st.local.u32 [mine+16], %r0;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call.uni (y), middle, (x); ld.param.b32 %r2, [y]; }
  { .param .b32 x; .param .b32 y; st.param.b32 [x], 5; call.uni (y), leaf, (x); ld.param.b32 %r3, [y]; }
  ld.local.u32 %r4, [mine+16]; mad.lo.u32 %r2, %r4, 1000000, %r2; add.u32 %r2, %r2, %r3; st.global.u32 [%d1], %r2;"""


def test_frames_lie_behind_the_deepest_chain_of_callers() -> None:
    both(CALL_CHAIN, head=CHAIN)
    routines = lowered(kernel(CALL_CHAIN, head=CHAIN)).routines
    assert list(routines) == ["leaf", "middle", "k"]
    assert {name: r.info.local_frame for name, r in routines.items()} == {"leaf": 16, "middle": 4, "k": 20}
    assert routines["k"].info.local_bytes == 40
    assert "STL.32 [0x14]" in dump(routines["middle"])
    assert "STL.32 [0x24]" in dump(routines["leaf"])
    info = imported(kernel(CALL_CHAIN, head=CHAIN)).kernels[0]
    assert (info.local_bytes, info.calls) == (40, ["leaf", "middle"])


def test_a_parameter_whose_address_is_taken_is_in_the_frame_too() -> None:
    head = """.func (.param .b32 r) pick(.param .align 4 .b8 s[12], .param .b32 n)
    { .reg .b32 %r<5>; .reg .b64 %d<5>; mov.b64 %d1, s; ld.param.u32 %r1, [n]; mul.wide.u32 %d2, %r1, 4;
        add.s64 %d1, %d1, %d2;
      ld.param.u32 %r2, [%d1]; ld.param.u32 %r3, [s+8]; add.u32 %r2, %r2, %r3; st.param.b32 [r], %r2; ret; }\n"""
    body = """{ .param .align 4 .b8 s0[12]; .param .b32 n0; .param .b32 r0; st.param.b32 [s0], 10;
        st.param.b32 [s0+4], 20;
        st.param.b32 [s0+8], 300; setp.lt.u32 %p1, %r0, 3; selp.u32 %r1, %r0, 0, %p1; st.param.b32 [n0], %r1;
        call (r0), pick, (s0, n0); ld.param.u32 %r2, [r0]; } st.global.u32 [%d1], %r2;"""
    out = both(body, 4, head=head, compare=False)
    np.testing.assert_array_equal(out, [310, 320, 600, 310])


def test_a_thread_may_end_inside_a_function() -> None:
    head = """.func stop(.param .b32 a) { .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.u32 %r1, [a];
        setp.gt.u32 %p1, %r1, 20;
        @%p1 exit; ret; }\n"""
    body = """{ .param .b32 a0; st.param.b32 [a0], %r0; call.uni stop, (a0); } bar.sync 0; st.global.u32 [%d1], 1;"""
    np.testing.assert_array_equal(both(body, head=head), (LANE <= 20).astype(int))


def test_what_is_not_defined_here_cannot_be_called() -> None:
    body = """\n{ .param .b32 a; .param .b32 r; st.param.b32 [a], 1;
  call.uni (r), elsewhere, (a); }"""
    with pytest.raises(MalformedInput, match="elsewhere is declared but not defined") as caught:
        lowered(kernel(body, head=".extern .func (.param .b32 r) elsewhere(.param .b32 a);\n"))
    assert re.fullmatch(r"line \d+, column 3", str(caught.value.place))


def test_calls_of_kernels_are_refused() -> None:
    with pytest.raises(MalformedInput, match="call of a kernel"):
        lowered(kernel("call.uni other;", head=".entry other() { ret; }\n"))


TARGETS = """.func (.param .b32 r) plus(.param .b32 a, .param .b32 b) { .reg .b32 %x<4>; ld.param.b32 %x1, [a];
    ld.param.b32 %x2, [b]; add.u32 %x3, %x1, %x2; st.param.b32 [r], %x3; ret; }
.func (.param .b32 r) times(.param .b32 a, .param .b32 b) { .reg .b32 %x<4>; ld.param.b32 %x1, [a];
    ld.param.b32 %x2, [b]; mul.lo.u32 %x3, %x1, %x2; st.param.b32 [r], %x3; ret; }
.func (.param .b32 r) both(.param .b32 a, .param .b32 b) { .reg .b32 %x<5>; .param .b32 p; .param .b32 q; .param .b32 o;
    ld.param.b32 %x1, [a]; ld.param.b32 %x2, [b]; st.param.b32 [p], %x1; st.param.b32 [q], %x2;
    call (o), plus, (p, q); ld.param.b32 %x3, [o]; shl.b32 %x3, %x3, 4; st.param.b32 [r], %x3; ret; }
.func (.reg .u32 r) other(.reg .u64 a) { cvt.u32.u64 r, a; ret; }
.global .u64 table[4] = {plus, times, 0, both};
"""
INDIRECT = """.param .b32 p; .param .b32 q; .param .b32 o; st.param.b32 [p], %r0; st.param.b32 [q], 10;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
    {guard}call (o), %d5, (p, q), proto; {guard}ld.param.b32 %r2, [o];"""


@pytest.mark.parametrize("guard", ["", "@%p2 ", "@!%p3 "])
def test_calls_through_a_table(guard: str) -> None:
    """Lanes of a warp call three functions, one of which calls another; some call none."""
    body = f"""setp.lt.u32 %p2, %r0, 21; setp.ge.u32 %p3, %r0, 25; and.b32 %r1, %r0, 3; min.u32 %r1, %r1, 3;
        setp.eq.u32 %p1, %r1, 2; selp.b32 %r1, 3, %r1, %p1; mul.wide.u32 %d3, %r1, 8; mov.u64 %d4, table;
        add.s64 %d4, %d4, %d3; ld.global.u64 %d5, [%d4]; mov.u32 %r2, 0;
        {INDIRECT.format(guard=guard)} st.global.u32 [%d1], %r2;"""
    found = both(body, head=TARGETS)
    chosen = np.choose(LANE & 3, [LANE + 10, LANE * 10, (LANE + 10) * 16, (LANE + 10) * 16])
    taken = {"": LANE >= 0, "@%p2 ": LANE < 21, "@!%p3 ": LANE < 25}[guard]
    np.testing.assert_array_equal(found, np.where(taken, chosen, 0))


def test_addresses_of_functions_are_values() -> None:
    """Chosen by selp, kept in memory, compared; a call of one in a loop."""
    body = f"""mov.u64 %d6, plus; mov.u64 %d7, times; setp.lt.u32 %p1, %r0, 9; selp.b64 %d5, %d6, %d7, %p1;
        setp.eq.u64 %p2, %d6, %d7; setp.eq.u64 %p3, %d6, 0; ld.global.u64 %d8, [table+8]; setp.ne.u64 %p4, %d7, %d8;
        mov.u32 %r5, 0; mov.u32 %r6, 0;
    AGAIN: {INDIRECT.format(guard="")} add.u32 %r5, %r5, %r2; add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, 3;
        mov.u64 %d5, plus; @%p5 bra AGAIN; @%p2 add.u32 %r5, %r5, 1000; @%p3 add.u32 %r5, %r5, 2000;
        @%p4 add.u32 %r5, %r5, 4000; st.global.u32 [%d1], %r5;"""
    np.testing.assert_array_equal(
        both(body, head=TARGETS), np.where(LANE < 9, LANE + 10, LANE * 10) + 2 * (LANE + 10)
    )


def test_listed_targets_and_register_parameters() -> None:
    head = TARGETS + ".func (.reg .u32 r) third(.reg .u64 a) { cvt.u32.u64 r, a; add.u32 r, r, 100; ret; }\n"
    body = """mov.u64 %d4, other; mov.u64 %d5, third; setp.lt.u32 %p1, %r0, 9; selp.b64 %d6, %d4, %d5, %p1;
        cvt.u64.u32 %d7, %r0; LIST: .calltargets other, third; call (%r1), %d6, (%d7), LIST;
        st.global.u32 [%d1], %r1;"""
    np.testing.assert_array_equal(both(body, head=head), np.where(LANE < 9, LANE, LANE + 100))
    assert code(body, head=head).count("CALL ") == 2


def test_only_functions_with_these_sizes_are_called() -> None:
    """`other` takes and gives something else, and nobody takes its address."""
    body = f"ld.global.u64 %d5, [table]; {INDIRECT.format(guard='')} st.global.u32 [%d1], %r2;"
    text = code(body, head=TARGETS)
    assert text.count("CALL ") == 3
    assert "other" not in text


def test_a_call_of_no_function_faults() -> None:
    body = f"ld.global.u64 %d5, [table+16]; {INDIRECT.format(guard='')} st.global.u32 [%d1], %r2;"
    with pytest.raises(KernelFault):
        emulate(imported(kernel(body, head=TARGETS)).module, [np.zeros(32, np.uint32)], 1, 32)


def test_an_indirect_call_that_reaches_nothing_is_refused() -> None:
    body = "proto: .callprototype _ ();\n  call %d1, (), proto;"
    with pytest.raises(MalformedInput, match="no function that it could reach"):
        imported(kernel(body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{ .param .b32 x; call.uni (x), scale, (x); }", "number of arguments"),
        ("{ .param .b32 x; .param .b32 y; .param .b32 r0; call.uni (r0), scale, (x, y); }", "4 bytes as argument b"),
        ("{ .param .b32 x; .param .b64 y; call.uni scale, (x, y); }", "number of results"),
        ("{ .param .b32 x; .param .b64 y; .param .b32 r0; st.param.b64 [y+4], %d1; }", "not aligned"),
        ("{ .param .b32 x; st.param.b32 [x+4], %r1; }", "outside"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(body: str, message: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        lowered(kernel(body, head=SCALE))
    assert message in str(caught.value)
