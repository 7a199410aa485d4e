"""What Triton and CUTLASS write and nvcc does not: braces around one element, literals of 64 bits, long names."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.interface.names import NAME_LIMIT
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.ptx.bodies import both
from tests.support.ptx.harness import MACHINE, launched
from tests.support.ptx.texts import HEAD, entry, kernel

LANE = np.arange(32, dtype=np.uint32)
BUFFER = (np.arange(64, dtype=np.uint32) * 2654435761).astype(np.uint32)
INPUT = {"args": (BUFFER,), "params": (".param .u64 in",)}
THERE = "ld.param.b64 { %d2 }, [ in + 0 ]; mul.wide.u32 %d3, %r0, 8; add.s64 %d2, %d2, %d3;"


@pytest.mark.parametrize("guard", ["", "@%p1 ", "@!%p1 "])
def test_an_element_in_braces(guard: str) -> None:
    body = f"""{THERE} setp.lt.u32 %p1, %r0, 11; mov.u32 %r1, 5;
        {guard}ld.global.b32 {{ %r1 }}, [ %d2 + 4 ];\nst.global.b32 [ %d1 + 0 ], {{ %r1 }};"""
    read = {"": LANE >= 0, "@%p1 ": LANE < 11, "@!%p1 ": LANE >= 11}[guard]
    np.testing.assert_array_equal(both(body, **INPUT), np.where(read, BUFFER[1::2], 5))


@pytest.mark.rotates
@pytest.mark.parametrize("size", [8, 16, 32, 64])
@pytest.mark.parametrize("space", ["shared", "local", "global"])
def test_braces_around_one_element_of_every_size_and_space(size: int, space: str) -> None:
    """Stored where the thread's own element is, with braces, and loaded with them."""
    register = {8: "%h1", 16: "%h1", 32: "%r1", 64: "%d4"}[size]
    own = {"shared": "mul.wide.u32 %d5, %r0, 8; mov.u64 %d6, s; add.u64 %d5, %d6, %d5;", "local": "mov.u64 %d5, l;",
           "global": "mul.wide.u32 %d5, %r0, 8; mov.u64 %d6, g; add.u64 %d5, %d6, %d5;"}[space]  # fmt: skip
    body = f"""{THERE} .local .align 8 .b8 l[8]; {own} ld.global.b{size} {{{register}}}, [%d2];
        st.{space}.b{size} [%d5], {{ {register} }}; ld.{space}.b{size} {{ %d7 }}, [%d5];
        st.global.b32 [%d1], {{%d7}};"""
    head = ".shared .align 8 .b8 s[256]; .global .align 8 .b8 g[256];\n"
    expected = BUFFER[::2] & np.uint32((1 << min(size, 32)) - 1)
    np.testing.assert_array_equal(both(body, head=head, **INPUT), expected)


def test_braces_around_one_element_of_a_parameter_a_constant_and_a_mov() -> None:
    body = """ld.param.b32 {%r1}, [by]; ld.const.b16 {%h1}, [c+2]; cvt.u32.u16 %r2, %h1; mov.b32 {%r3}, {%r1};
        add.u32 %r3, %r3, %r2; { .param .b32 a; .param .b32 r; st.param.b32 [a], {%r3}; call (r), f, (a);
        ld.param.b32 {%r4}, [r]; } st.global.b32 [%d1], {%r4};"""
    head = """.const .b16 c[2] = {3, 40};
        .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x<2>; ld.param.b32 {%x1}, [a]; add.u32 %x1, %x1, 1000;
        st.param.b32 [r], {%x1}; ret; }"""
    found = both(body, head=head, args=(np.uint32(7),), params=(".param .b32 by",))
    np.testing.assert_array_equal(found, np.full(32, 1047))


@pytest.mark.parametrize(
    "text", ["ld.global.b32 {}, [%d1];", "ld.global.b32 {{%r1}}, [%d1];", "ld.global.b32 {%r1,%r2,%r3}, [%d1];",
             "ld.global.b32 {%r1,%r2}, [%d1];", "ld.global.v2.b32 {%r1}, [%d1];", "ld.global.v2.b32 %r1, [%d1];",
             "st.global.b32 [%d1], {};", "st.global.b32 [%d1], {%r1, {%r2}};", "add.u32 {%r1}, %r2, %r3;",
             "ld.global.b32 {%r1, [%d1];", "mov.b32 {}, %r1;", "ld.global.v3.b32 {%r1,%r2,%r3}, [%d1];"],
)  # fmt: skip
def test_braces_that_hold_another_number_of_elements(text: str) -> None:
    with pytest.raises(MalformedInput, match=r"line 11"):
        import_ptx(kernel(text), machine="gtx680")


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("add.u32 %r1, %r0, 0xffffffffffffffffU;", LANE - np.uint32(1)),
        ("add.s32 %r1, 0x1ffffffff, %r0;", LANE - np.uint32(1)),
        ("mov.b32 %r1, -4294967295;", np.ones(32)),
        ("and.b32 %r1, %r0, 0xffffffff0000000f;", LANE & 15),
        ("shl.b32 %r1, %r0, 0x100000001;", LANE << 1),
        ("mul.wide.s32 %d4, %r0, 0x1ffffffff; mov.b64 {%r1, %r2}, %d4; xor.b32 %r1, %r1, %r2;",
         np.where(LANE > 0, LANE - np.uint32(1), 0)),
        ("setp.lt.s32 %p1, %r0, 0xfffffffffffffff0; selp.b32 %r1, 0x500000001, 0x700000002, %p1;", np.full(32, 2)),
        ("mov.u16 %h1, 0x12345; cvt.u32.u16 %r1, %h1;", np.full(32, 0x2345)),
        ("cvt.s32.s16 %r1, 65541;", np.full(32, 5)),
        ("cvt.u64.u32 %d4, 0x1fffffffe; shr.u64 %d4, %d4, 1; cvt.u32.u64 %r1, %d4;", np.full(32, 0x7FFFFFFF)),
        ("cvt.s32.s8 %r1, 0x1ff;", np.full(32, 0xFFFFFFFF)),
        ("mov.b64 %d4, {0x3fffffffe, %r0}; cvt.u32.u64 %r1, %d4;", np.full(32, 0xFFFFFFFE)),
        ("mov.u32 %r2, 0x100000003; shfl.sync.idx.b32 %r1, %r0, 0x100000005, 0x10000001f, 0x1ffffffff;",
         np.full(32, 5)),
    ],
)  # fmt: skip
def test_the_low_bits_of_a_literal(instruction: str, expected: np.ndarray) -> None:
    """As ptxas 13.0 has it, whose machine code for these lines was read."""
    np.testing.assert_array_equal(both(f"{instruction} st.global.u32 [%d1], %r1;"), expected.astype(np.uint32))


def test_a_literal_of_64_bits_carries_like_its_low_bits() -> None:
    """0xffffffffffffffffU + 1 in 32 bits."""
    body = "add.cc.u32 %r1, 0xffffffffffffffffU, 1; addc.u32 %r2, %r1, 0; st.global.u32 [%d1], %r2;"
    np.testing.assert_array_equal(both(body), np.ones(32))


def test_the_low_bits_of_initial_values_and_of_a_stored_literal() -> None:
    head = """.global .u8 a[4] = {256, 0x1ff, -129, 5}; .global .u32 b = 0x1ffffffff;
        .const .s16 c[2] = {65541, -65537};\n"""
    body = """ld.global.u32 %r1, [a]; ld.global.u32 %r2, [b]; ld.const.u32 %r3, [c]; xor.b32 %r1, %r1, %r2;
        xor.b32 %r1, %r1, %r3; st.global.u32 [%d1], %r1; st.global.u8 [%d1], 0x1234;"""
    bits = 0x057FFF00 ^ 0xFFFFFFFF ^ 0xFFFF0005
    np.testing.assert_array_equal(both(body, head=head, compare=False), np.full(32, bits & 0xFFFFFF00 | 0x34))


LONG = "n" * (NAME_LIMIT // 4)


def test_names_as_long_as_those_of_templates() -> None:
    """Of a kernel, a parameter, variables of a function's scope, registers: through a binary, and rewritten."""
    text = f"""{HEAD}.func (.reg .b32 r) fLONG(.reg .b32 a) {{ {{ .shared .u32 sLONG[32]; .reg .b32 xLONG;
        st.shared.u32 [sLONG], a; ld.shared.u32 xLONG, [sLONG]; add.u32 r, xLONG, 1; }} ret; }}
        .visible .entry kLONG(.param .u64 pLONG) {{ .reg .b64 %d1; .reg .b32 %r<2>; ld.param.u64 %d1, [pLONG];
        mov.u32 %r1, 6; call (%r1), fLONG, (%r1); st.global.u32 [%d1], %r1; ret; }}""".replace("LONG", LONG[1:])
    kernel_name, parameter = f"k{LONG[1:]}", f"p{LONG[1:]}"
    module = read_module(write_module(import_ptx(text, machine="gtx680").module))
    rewritten = rewrite(module, kernel_name, 16, 2)
    assert check(module, rewritten, kernel_name).errors == []
    for each in (module, read_module(write_module(schedule(rewritten, MACHINE)))):
        out = launched(each, kernel_name, [parameter], [np.zeros(1, np.uint32)], block=1, engine="python")
        assert out[parameter].tolist() == [7]


@pytest.mark.parametrize(
    "text",
    [entry("n" * 100_000, ""), entry("k", f".reg .b32 {'n' * 100_000};"), entry("k", f"{'n' * 100_000}:"),
     f".global .u32 {LONG}x;", f".func {LONG}x();", entry("k", f".shared .u32 {LONG}x;")],
)  # fmt: skip
def test_a_longer_name_is_refused_as_such(text: str) -> None:
    with pytest.raises(MalformedInput, match=r"a name of (100000|16384) characters.*at most 16383 characters") as found:
        import_ptx(HEAD + text, machine="gtx680")
    assert len(str(found.value)) < 400
