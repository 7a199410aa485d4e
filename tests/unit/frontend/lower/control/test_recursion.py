"""Functions that come back to themselves: frames on a stack, what they hand over, what they keep, where they end."""

from __future__ import annotations

import re

import numpy as np
import pytest

from binalloc.errors import KernelFault, UsageError
from binalloc.frontend.ir import dump
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.kits.machines import roomy_machine
from tests.support.ptx.bodies import both, emulate, imported, lowered
from tests.support.ptx.harness import launched
from tests.support.ptx.texts import kernel

LANE = np.arange(32)
DOWN = """.func (.param .b32 r) down(.param .b32 n)
{ .reg .b32 %x<5>; .reg .pred %q<2>; ld.param.u32 %x1, [n]; setp.eq.u32 %q1, %x1, 0; mov.u32 %x2, 0; @%q1 bra DONE;
  sub.u32 %x3, %x1, 1;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %x3; call.uni (b), down, (a); ld.param.b32 %x2, [b]; }
  add.u32 %x2, %x2, %x1;
DONE: st.param.b32 [r], %x2; ret; }
"""


def calls(name: str, argument: str = "%r0", result: str = "%r2") -> str:
    return f"""{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {argument}; call (b), {name}, (a);
        ld.param.b32 {result}, [b]; }}"""


STORE = " st.global.u32 [%d1], %r2;"


def test_lanes_go_down_to_depths_of_their_own() -> None:
    np.testing.assert_array_equal(both(calls("down") + STORE, head=DOWN), LANE * (LANE + 1) // 2)


def test_several_calls_of_one_function_and_values_that_live_across_them() -> None:
    head = """.func (.reg .u32 r) fib(.reg .u32 n) { .reg .pred %q<2>; .reg .u32 %x<5>; mov.u32 r, n;
        setp.lt.u32 %q1, n, 2; @%q1 ret; sub.u32 %x1, n, 1; sub.u32 %x2, n, 2; call (%x3), fib, (%x1);
        call (%x4), fib, (%x2); add.u32 r, %x3, %x4; ret; }\n"""
    body = "rem.u32 %r1, %r0, 11; call (%r2), fib, (%r1); mad.lo.u32 %r2, %r2, 100, %r0;" + STORE
    fib = [0, 1]
    while len(fib) < 11:
        fib.append(fib[-1] + fib[-2])
    np.testing.assert_array_equal(both(body, head=head), np.array(fib)[LANE % 11] * 100 + LANE)


def test_predicates_live_across_and_the_argument_goes_on_being_one() -> None:
    """Nine predicates at once, more than there are, and a guarded return behind the call."""
    bits = " ".join(f"and.b32 %x2, %x1, {1 << k}; setp.ne.u32 %q{k + 1}, %x2, 0;" for k in range(9))
    sums = " ".join(f"@%q{k + 1} add.u32 r, r, {3**k};" for k in range(9))
    head = f""".func (.reg .u32 r) walk(.reg .u32 n) {{ .reg .pred %q<12>; .reg .u32 %x<9>; setp.eq.u32 %q10, n, 0;
        mov.u32 r, 0; @%q10 ret; mul.lo.u32 %x1, n, 77; {bits} shr.u32 %x3, n, 1; call (r), walk, (%x3); {sums}
        @!%q3 ret; add.u32 r, r, n; ret; }}\n"""
    both("mul.lo.u32 %r1, %r0, 37; call (%r2), walk, (%r1);" + STORE, head=head)


STRUCTS = """.func (.param .align 8 .b8 r[24])
fold(.param .align 8 .b8 s[20], .param .b8 n, .param .b16 h, .param .f64 f)
{ .reg .b32 %x<9>; .reg .b64 %y<5>; .reg .b16 %h<9>; .reg .f64 %g<5>; .reg .pred %q<3>;
  .local .align 16 .b8 mine[48]; .param .align 8 .b8 t[20]; .param .align 8 .b8 o[24];
  ld.param.u8 %h1, [n]; ld.param.u16 %h2, [h]; ld.param.f64 %g1, [f]; ld.param.u64 %y1, [s+8]; ld.param.u32 %x1, [s];
  ld.param.u8 %h3, [s+17]; st.local.u64 [mine+32], %y1; st.local.v4.u32 [mine+16], {%x1, %x1, 7, 9};
  setp.ne.u16 %q1, %h1, 0; @%q1 bra DEEPER;
  st.param.u64 [r], %y1; st.param.f64 [r+8], %g1; st.param.u32 [r+16], %x1; st.param.b16 [r+20], %h2;
  st.param.b16 [r+22], %h3; ret;
DEEPER: sub.u16 %h4, %h1, 1; add.u64 %y2, %y1, %y1; add.u32 %x2, %x1, 5; add.f64 %g2, %g1, 0d3ff8000000000000;
  st.param.u32 [t], %x2; st.param.u32 [t+4], 4; st.param.u64 [t+8], %y2; st.param.b8 [t+16], 1; st.param.b8 [t+17], %h4;
  st.param.b8 [t+18], 3; st.param.b8 [t+19], 4; add.u16 %h5, %h2, 257;
  { .param .b8 m; .param .b16 k; .param .f64 d; st.param.b8 [m], %h4; st.param.b16 [k], %h5; st.param.f64 [d], %g2;
    call (o), fold, (t, m, k, d); }
  ld.param.u64 %y3, [o]; ld.param.f64 %g3, [o+8]; ld.param.u32 %x3, [o+16]; ld.param.u16 %h6, [o+20];
  ld.local.u64 %y4, [mine+32]; add.u64 %y3, %y3, %y4; ld.local.u32 %x4, [mine+20]; add.u32 %x3, %x3, %x4;
  mul.f64 %g3, %g3, %g1; st.param.u64 [r], %y3; st.param.f64 [r+8], %g3; st.param.u32 [r+16], %x3;
  st.param.b16 [r+20], %h6; st.param.b16 [r+22], %h3; ret; }
"""


def test_structs_and_every_size_and_arrays_of_the_frame() -> None:
    body = """.param .align 8 .b8 s0[20]; .param .align 8 .b8 r0[24]; .param .b8 n0; .param .b16 h0; .param .f64 f0;
        rem.u32 %r1, %r0, 9; cvt.u16.u32 %h1, %r1; mul.wide.u32 %d4, %r0, 123456789; st.param.u32 [s0], %r0;
        st.param.u32 [s0+4], 1; st.param.u64 [s0+8], %d4; st.param.u32 [s0+16], 0x01020304; st.param.b8 [n0], %h1;
        st.param.b16 [h0], %h1; st.param.f64 [f0], 0d3ff4000000000000; call (r0), fold, (s0, n0, h0, f0);
        ld.param.u64 %d5, [r0]; ld.param.f64 %g1, [r0+8]; ld.param.u64 %d6, [r0+16]; mul.wide.u32 %d7, %r0, 24;
        add.u64 %d7, %d7, %d0; st.global.u64 [%d7], %d5; st.global.f64 [%d7+8], %g1; st.global.u64 [%d7+16], %d6;"""
    both(body, words=192, head=STRUCTS)


def test_addresses_of_the_frame_go_down_the_stack() -> None:
    """Each frame stores into an array of its caller's, through a generic address, and its parameter lies in memory."""
    head = """.func chain(.param .u64 up, .param .align 4 .b8 w[8]) { .reg .u64 %y<6>; .reg .u32 %x<6>;
        .reg .pred %q<2>; .local .align 8 .b8 mine[12]; ld.param.u64 %y1, [up]; mov.b64 %y2, w;
        ld.param.u32 %x1, [%y2+4]; st.u32 [%y1], %x1; setp.eq.u32 %q1, %x1, 0; @%q1 bra END;
        mov.u64 %y3, mine; cvta.local.u64 %y3, %y3;
        add.u64 %y3, %y3, 8; sub.u32 %x2, %x1, 1; st.local.u32 [mine+4], %x1;
        { .param .u64 a; .param .align 4 .b8 b[8]; st.param.u64 [a], %y3; st.param.u32 [b], 3; st.param.u32 [b+4], %x2;
          call chain, (a, b); }
        ld.local.u32 %x3, [mine+8]; ld.local.u32 %x4, [mine+4]; mad.lo.u32 %x3, %x3, 10, %x4; st.u32 [%y1], %x3;
        END: ret; }\n"""
    body = """.local .align 4 .b8 own[8]; .param .u64 a; .param .align 4 .b8 b[8]; mov.u64 %d3, own;
        cvta.local.u64 %d3, %d3; rem.u32 %r1, %r0, 7; st.param.u64 [a], %d3; st.param.u32 [b], 9;
        st.param.u32 [b+4], %r1; call chain, (a, b); ld.local.u32 %r2, [own];"""
    found = both(body + STORE, head=head, compare=False)
    expected = [0]
    for k in range(1, 7):
        expected.append(10 * expected[-1] + k)
    np.testing.assert_array_equal(found, np.array(expected)[LANE % 7])


MUTUAL = """.func (.reg .u32 r) odd(.reg .u32 n);
.func (.reg .u32 r) leaf(.reg .u32 n) { .local .align 4 .b8 d[4]; st.local.u32 [d], n; ld.local.u32 r, [d];
  mul.lo.u32 r, r, 3; ret; }
.func (.reg .u32 r) even(.reg .u32 n) { .reg .pred %q<2>; .reg .u32 %x<4>; setp.eq.u32 %q1, n, 0; mov.u32 r, 1;
  @%q1 ret; sub.u32 %x1, n, 1; call (%x2), odd, (%x1); call (%x3), leaf, (n); add.u32 r, %x2, %x3; ret; }
.func (.reg .u32 r) odd(.reg .u32 n) { .reg .pred %q<2>; .reg .u32 %x<4>; setp.eq.u32 %q1, n, 0; mov.u32 r, 2;
  @%q1 ret; sub.u32 %x1, n, 1; call (%x3), leaf, (%x1); call (%x2), even, (%x1); mad.lo.u32 r, %x2, 2, %x3; ret; }
.func (.reg .u32 r) between(.reg .u32 n) { .local .align 4 .b8 d[8]; .reg .u32 %x<4>; st.local.u32 [d+4], n;
  call (%x1), even, (n); ld.local.u32 %x2, [d+4]; mad.lo.u32 r, %x1, 100, %x2; ret; }
"""


def test_functions_that_call_one_another_and_others_outside_of_the_cycle() -> None:
    body = "rem.u32 %r1, %r0, 13; call (%r2), between, (%r1); call (%r3), odd, (%r1); add.u32 %r2, %r2, %r3;" + STORE
    both(body, head=MUTUAL)
    routines = lowered(kernel(body, head=MUTUAL)).routines
    assert {name for name, r in routines.items() if r.cycle} == {"even", "odd"}
    assert re.search(r"STL.32 \[0x[0-9a-f]+\]", dump(routines["leaf"]))  # where it has always been


def test_two_cycles_one_behind_the_other() -> None:
    """The second begins where the first one's frames end."""
    head = DOWN + """.func (.reg .u32 r) outer(.reg .u32 n) { .reg .pred %q<2>; .reg .u32 %x<6>; .local .b32 d[3];
        mov.u32 r, 7; setp.eq.u32 %q1, n, 0; @%q1 ret; st.local.u32 [d+8], n; sub.u32 %x1, n, 1;
        { .param .b32 a; .param .b32 b; st.param.b32 [a], n; call (b), down, (a); ld.param.b32 %x2, [b]; }
        call (%x3), outer, (%x1); ld.local.u32 %x4, [d+8]; mad.lo.u32 r, %x3, 3, %x2; xor.b32 r, r, %x4; ret; }\n"""
    both("rem.u32 %r1, %r0, 10; call (%r2), outer, (%r1);" + STORE, head=head)


POINTERS = """.func (.reg .u32 r) one(.reg .u64 f, .reg .u32 n); .func (.reg .u32 r) two(.reg .u64 f, .reg .u32 n);
.func (.reg .u32 r) three(.reg .u64 f, .reg .u32 n) { mad.lo.u32 r, n, 5, 1; ret; }
.global .u64 table[3] = {one, two, three};
""" + "".join(
    f""".func (.reg .u32 r) {name}(.reg .u64 f, .reg .u32 n) {{ .reg .pred %q<2>; .reg .u32 %x<5>; .reg .u64 %y<5>;
  P: .callprototype (.reg .u32 _) _ (.reg .u64 _, .reg .u32 _);
  mov.u32 r, {seed}; setp.eq.u32 %q1, n, 0; @%q1 ret; sub.u32 %x1, n, 1; mul.lo.u32 %x2, n, {seed};
  rem.u32 %x2, %x2, 3; mul.wide.u32 %y1, %x2, 8; mov.u64 %y2, table; add.u64 %y2, %y2, %y1; ld.global.u64 %y3, [%y2];
  call (%x3), %y3, (f, %x1), P; mad.lo.u32 r, %x3, {seed}, n; ret; }}\n"""
    for name, seed in (("one", 5), ("two", 11))
)


def test_pointers_to_functions_that_may_come_back() -> None:
    body = """mov.u64 %d5, one; mov.u64 %d6, two; setp.lt.u32 %p1, %r0, 13; selp.b64 %d5, %d5, %d6, %p1;
        P: .callprototype (.reg .u32 _) _ (.reg .u64 _, .reg .u32 _); rem.u32 %r1, %r0, 8;
        call (%r2), %d5, (%d6, %r1), P;"""
    both(body + STORE, head=POINTERS)


def test_threads_may_end_inside() -> None:
    head = DOWN.replace("DONE:", "setp.eq.u32 %q1, %x1, 9; @%q1 exit; DONE:")
    np.testing.assert_array_equal(both(calls("down") + STORE, head=head), np.where(LANE < 9, LANE * (LANE + 1) // 2, 0))


@pytest.mark.parametrize("stack", [64, 1024, 4096])
def test_the_stack_is_used_to_its_last_byte(stack: int) -> None:
    module = imported(kernel(calls("down", "%r3") + STORE, head=DOWN, params=[".param .u32 n"]).replace(
        "mov.u32 %r0", "ld.param.u32 %r3, [n]; mov.u32 %r0"), stack_bytes=stack).module
    frame = module.function("down").info.local_frame
    assert frame == 8
    deep = stack // frame - 1
    assert emulate(module, [np.zeros(32, np.uint32), np.uint32(deep)], 1, 32)[0][0] == deep * (deep + 1) // 2
    with pytest.raises(KernelFault) as caught:
        emulate(module, [np.zeros(32, np.uint32), np.uint32(deep + 1)], 1, 32)
    text = str(caught.value)
    assert "stack overflow" in text
    assert f"down needs a frame of 8 bytes, {deep + 2:,} calls deep" in text
    assert f"the stack of {stack:,} bytes per thread" in text
    assert "more stack_bytes" in text


def test_recursion_without_end_fills_the_reconvergence_stack() -> None:
    module = imported(kernel("call spin;", head=".func spin() { call spin; ret; }\n")).module
    with pytest.raises(KernelFault, match="found more than 1024 entries, 1,023 calls deep"):
        emulate(module, [np.zeros(32, np.uint32)], 1, 32)


def test_kernels_without_recursion_have_no_stack() -> None:
    other = "\n.visible .entry other(.param .u64 out) { .local .b32 d[2]; st.local.u32 [d+4], 1; ret; }\n"
    found = imported(kernel(calls("down") + STORE, head=DOWN) + other)
    assert {k.name: k.local_bytes for k in found.kernels} == {"k": 8 + 4 + 1024 + 4, "other": 8}
    assert found.module.provenance[0]["stack_bytes"] == 1024


@pytest.mark.parametrize("size", [0, -4, (1 << 22) + 1])
def test_sizes_of_a_stack_that_cannot_be(size: int) -> None:
    with pytest.raises(UsageError, match="no size of a stack"):
        imported(kernel(calls("down") + STORE, head=DOWN), stack_bytes=size)


def test_frames_and_stack_that_local_memory_does_not_hold() -> None:
    text = kernel(f".local .b32 big[{4_000_000}]; mov.u64 %d4, big; {calls('down')}" + STORE, head=DOWN)
    with pytest.raises(UsageError, match="no room for the stack"):
        imported(text, stack_bytes=1 << 22)


@pytest.mark.rotates("long")
def test_more_values_than_registers_before_and_across_the_call() -> None:
    """300 live at once, of which 150 are needed behind the call: what is spilled for want of registers has one place
    for all frames, what lives across the call one in each."""
    make = " ".join(f"mad.lo.u32 %v{k}, n, {k + 3}, {k * k};" for k in range(300))
    front = "mov.u32 r, 0; " + " ".join(f"mad.lo.u32 r, r, 3, %v{k};" for k in reversed(range(300)))
    back = " ".join(f"xor.b32 %x3, %v{k}, {k}; mad.lo.u32 r, r, 5, %x3;" for k in range(0, 300, 2))
    head = f""".func (.reg .u32 r) wide(.reg .u32 n) {{ .reg .u32 %v<300>; .reg .u32 %x<5>; .reg .pred %q<2>;
        .local .align 8 .b64 d[2]; {make} {front} st.local.u32 [d+12], r; setp.eq.u32 %q1, n, 0; @%q1 ret;
        sub.u32 %x1, n, 1; call (%x2), wide, (%x1); ld.local.u32 r, [d+12]; add.u32 r, r, %x2; {back} ret; }}\n"""
    body = "rem.u32 %r1, %r0, 4; call (%r2), wide, (%r1);" + STORE
    both(body, head=head, check=True, stack=8192)
    spilled = []
    for machine, most in ((load_machine("gtx680"), 63), (roomy_machine(), 255)):
        found = imported(kernel(body, head=head), machine=machine)
        function = found.module.function("wide")
        assert most - 10 < function.info.registers <= most
        assert 600 <= function.info.local_frame <= 700
        assert found.kernels[0].register_demand > 255
        places = {i.f["moff"] for i in function.instrs if i.name == "LDL" and i.f["ra"] == 255}
        spilled.append(len(places) - 1)  # the stack's pointer is there, too
    assert spilled[0] > spilled[1] + 80


SLIM = """.func (.reg .u32 r) slim(.reg .u32 n);
.func (.reg .u32 r) broad(.reg .u32 n) {{ .local .align 4 .b8 d[4]; .reg .u32 %x<40>; .reg .pred %q<2>; mov.u32 r, 5;
  setp.eq.u32 %q1, n, 0; @%q1 ret; {make} sub.u32 %x1, n, 1; call (r), slim, (%x1); {take} ret; }}
.func (.reg .u32 r) slim(.reg .u32 n) {{ .reg .u32 %x<3>; .reg .pred %q<2>; mov.u32 r, 9; setp.eq.u32 %q1, n, 0;
  @%q1 ret; sub.u32 %x1, n, 1; call (r), broad, (%x1); ret; }}
.func (.reg .u32 r) left(.reg .u32 n) {{ .local .b32 d[4]; st.local.u32 [d+4], n; call (r), slim, (n);
  ld.local.u32 n, [d+4]; add.u32 r, r, n; ret; }}
.func (.reg .u32 r) right(.reg .u32 n) {{ .local .b32 d[8]; st.local.u32 [d+28], n; call (r), broad, (n);
  ld.local.u32 n, [d+28]; mad.lo.u32 r, r, 3, n; ret; }}
""".format(
    make=" ".join(f"mad.lo.u32 %x{k}, n, {k}, {7 * k};" for k in range(2, 40)),
    take=" ".join(f"mad.lo.u32 r, r, 3, %x{k}; mul.lo.u32 r, r, %x{k};" for k in range(2, 40)),
)


@pytest.mark.rotates
@pytest.mark.parametrize("called", ["slim", "broad", "left", "right"])
def test_whoever_of_a_cycle_is_called_overwrites_what_all_of_it_do(called: str) -> None:
    """The caller's values stay clear of the registers of those that are not called directly."""
    make = " ".join(f"mul.lo.u32 %r{k}, %r0, {k};" for k in range(8, 24))
    take = " ".join(f"mad.lo.u32 %r2, %r2, 5, %r{k};" for k in range(8, 24))
    both(f"{make} rem.u32 %r1, %r0, 6; call (%r2), {called}, (%r1); {take}" + STORE, head=SLIM)


def test_static_frames_below_a_cycle_are_clear_of_those_of_every_way_into_it() -> None:
    head = MUTUAL + """.func (.reg .u32 r) deep(.reg .u32 n) { .local .align 4 .b8 d[64]; .reg .u32 %x<4>;
        """ + " ".join(f"st.local.u32 [d+{4 * k}], n;" for k in range(16)) + " call (r), odd, (n); " + " ".join(
        f"ld.local.u32 %x1, [d+{4 * k}]; mad.lo.u32 r, r, 3, %x1;" for k in range(16)) + " ret; }\n"
    for first, second in (("even", "deep"), ("deep", "even"), ("deep", "odd")):
        both(f"""rem.u32 %r1, %r0, 7; call (%r2), {first}, (%r1); call (%r3), {second}, (%r1);
            mad.lo.u32 %r2, %r2, 7, %r3;""" + STORE, head=head)


def test_a_function_that_a_cycle_and_a_rewritten_kernel_share_is_there_for_both() -> None:
    """The kernel without recursion is rewritten, with a copy of the function; the other one runs as before."""
    many = range(4, 36)
    other = """\n.visible .entry plain(.param .u64 out) { .reg .u64 %d<4>; .reg .u32 %r<40>; ld.param.u64 %d1, [out];
        mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2; """
    other += " ".join(f"mul.lo.u32 %r{k}, %r1, {k};" for k in many) + " call (%r2), leaf, (%r1); "
    other += " ".join(f"mad.lo.u32 %r2, %r2, 5, %r{k};" for k in many) + " st.global.u32 [%d1], %r2; ret; }\n"
    text = kernel("rem.u32 %r1, %r0, 13; call (%r2), even, (%r1);" + STORE, head=MUTUAL) + other
    original = imported(text).module
    rewritten = rewrite(original, "plain", 16, 4)
    assert check(original, rewritten, "plain").errors == []
    scheduled = schedule(rewritten, load_machine("gtx680"))
    for name in ("k", "plain"):
        one, two = (launched(m, name, ["out"], [np.zeros(32, np.uint32)])["out"] for m in (original, scheduled))
        np.testing.assert_array_equal(one, two)


def test_results_that_nobody_takes_and_arguments_that_are_constants() -> None:
    head = """.func (.reg .u32 r, .reg .u64 q) pair(.reg .u32 n, .reg .u64 m) { .reg .pred %p<2>; .reg .u32 %x<4>;
        .reg .u64 %y<4>; mov.u32 r, n; mov.u64 q, m; setp.eq.u32 %p1, n, 0; @%p1 ret; sub.u32 %x1, n, 1;
        call (_, %y1), pair, (%x1, 0x123456789abcdef); call (%x2, _), pair, (0, m); add.u64 q, q, %y1;
        add.u32 r, n, %x2; ret; }\n"""
    body = """rem.u32 %r1, %r0, 5; cvt.u64.u32 %d5, %r0; call (%r2, %d6), pair, (%r1, %d5); call (_, %d7), pair, (2, 9);
        add.u64 %d6, %d6, %d7; mul.wide.u32 %d8, %r0, 16; add.u64 %d8, %d8, %d0; st.global.u64 [%d8], %d6;
        st.global.u32 [%d8+8], %r2;"""
    both(body, words=128, head=head)


def test_a_kernel_that_begins_with_a_loop_sets_the_stack_once_for_all_rounds() -> None:
    body = f"""mov.u32 %r5, 0; mov.u32 %r6, 0;
    AGAIN: {calls("down", "%r6")} add.u32 %r5, %r5, %r2; add.u32 %r6, %r6, 1; setp.le.u32 %p1, %r6, %r0;
        @%p1 bra AGAIN; mov.u32 %r2, %r5;"""
    expected = [sum(k * (k + 1) // 2 for k in range(t + 1)) for t in LANE]
    np.testing.assert_array_equal(both(body + STORE, head=DOWN), expected)


def test_a_function_that_begins_with_a_loop_makes_its_frame_once() -> None:
    head = """.func (.reg .u32 r) walk(.reg .u32 n) { .reg .pred %q<2>; .reg .u32 %x<4>; AGAIN: shr.u32 %x1, n, 1;
        sub.u32 n, n, %x1; setp.gt.u32 %q1, n, 40; @%q1 bra AGAIN; mov.u32 r, n; setp.lt.u32 %q1, n, 2; @%q1 ret;
        sub.u32 %x2, n, 1; call (%x3), walk, (%x2); mad.lo.u32 r, %x3, 3, n; ret; }\n"""
    both("mul.lo.u32 %r1, %r0, 9; call (%r2), walk, (%r1);" + STORE, head=head)


def test_functions_of_two_kernels_whose_shared_variables_lie_elsewhere() -> None:
    """Each kernel has a copy of the cycle, whose functions call one another and not the other's."""
    head = """.shared .align 4 .b8 mine[128];
    .func (.reg .u32 r) odd(.reg .u32 n);
    .func (.reg .u32 r) even(.reg .u32 n) { .reg .pred %q<2>; .reg .u32 %x<5>; mov.u32 %x1, %tid.x; shl.b32 %x1, %x1, 2;
      mov.u32 %x2, mine; add.u32 %x2, %x2, %x1; ld.shared.u32 r, [%x2]; setp.eq.u32 %q1, n, 0; @%q1 ret;
      sub.u32 %x3, n, 1; call (%x4), odd, (%x3); add.u32 r, r, %x4; ret; }
    .func (.reg .u32 r) odd(.reg .u32 n) { .reg .u32 %x<3>; .reg .pred %q<2>; mov.u32 r, 3; setp.eq.u32 %q1, n, 0;
      @%q1 ret; sub.u32 %x1, n, 1; call (%x2), even, (%x1); mul.lo.u32 r, %x2, 3; ret; }
    .visible .entry other() { .shared .align 16 .b8 first[64]; .reg .u32 %r<3>; mov.u32 %r2, first;
      st.shared.u32 [%r2], 1; mov.u32 %r1, 1; call (%r1), even, (%r1); ret; }\n"""
    body = """mov.u32 %r3, mine; shl.b32 %r4, %r0, 2; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r0;
        rem.u32 %r1, %r0, 9; call (%r2), even, (%r1);"""
    both(body + STORE, head=head)
    names = {routine.name: routine.cycle for routine in lowered(kernel(body, head=head)).routines.values()}
    assert {name for name, cycle in names.items() if cycle} == {"even", "odd", "even.k", "odd.k"}
    assert set(names["even.k"]) == {"even.k", "odd.k"}


def test_a_function_whose_first_block_is_empty() -> None:
    """Arguments alone before the second label, as nvcc -G writes it."""
    head = DOWN.replace("ld.param.u32 %x1, [n];", "BEGIN: ld.param.u32 %x1, [n]; NEXT:")
    np.testing.assert_array_equal(both(calls("down") + STORE, head=head), LANE * (LANE + 1) // 2)


def test_zeros_handed_to_a_function_where_registers_are_short() -> None:
    """The rest of a kernel that reaches recursion has the machine's registers: zeros among arguments are made anew."""
    names = [f"%v{k}" for k in range(60)]
    head = """.func (.reg .u32 r) last(.param .align 4 .b8 p[240], .reg .u32 n) { .reg .u32 %x<3>;
        ld.param.u32 r, [p+236]; ld.param.u32 %x1, [p]; add.u32 r, r, %x1; add.u32 r, r, n; ret; }\n"""
    before = "".join(f"ld.global.u32 {name}, [%d1+{4 * k}];" for k, name in enumerate(names))
    words = "".join(f"st.param.b32 [p+{4 * k}], {name if k % 5 == 4 else 0};" for k, name in enumerate(names))
    handed = f"{{ .param .align 4 .b8 p[240]; {words} call (%r2), last, (p, %r0); }}"
    after = "".join(f"xor.b32 %r2, %r2, {name}; mul.lo.u32 %r2, %r2, 3;" for name in names)
    both(f".reg .u32 %v<60>; {before} {calls('down')} {handed} {after}" + STORE, head=DOWN + head, words=96)
