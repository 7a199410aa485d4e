"""Forms that the manual does not have and ptxas 13.0 takes, with the meaning that its machine code shows."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.importer import import_ptx
from binalloc.frontend.ptx.dump import format_module
from binalloc.frontend.ptx.parser import parse
from tests.support.ptx.bodies import both
from tests.support.ptx.texts import kernel

LANE = np.arange(32, dtype=np.uint32)


def values(body: str, head: str = "") -> list[int]:
    """Register %r1 of each lane behind the body."""
    return both(f"{body} st.global.u32 [%d1], %r1;", head=head, compare=False).tolist()


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("mov.u32 %r1, %r0+4;", LANE + 4),
        ("mul.lo.u32 %r1, %r0+4*5, %r0;", (LANE + 20) * LANE),
        ("mul.lo.u32 %r1, %r0, %r0+-4;", (LANE - 4) * LANE),
        ("setp.lt.u32 %p1, %r0+4, 9; selp.u32 %r1, 1, 2, %p1;", np.where(LANE < 5, 1, 2)),
        ("mov.u32 %r1, 9; setp.lt.u32 %p1, %r0, 5; @%p1 add.u32 %r1, %r0+1, %r0+2;",
         np.where(LANE < 5, 2 * LANE + 3, 9)),
        ("cvt.u16.u32 %h1, %r0; add.u16 %h1, %h1+70000, 1; cvt.u32.u16 %r1, %h1;", LANE + 70001 - 65536),
        ("cvt.u64.u32 %d2, %r0; shl.b64 %d2, %d2+8589934592, 1; shr.u64 %d2, %d2, 30; cvt.u32.u64 %r1, %d2;",
         np.full(32, 16)),
        ("{ .reg .b32 x; mov.u32 x, 3; bra inner; inner: mov.u32 %r1, x+1; }", np.full(32, 4)),
    ],
)  # fmt: skip
def test_a_register_and_a_constant_are_added(body: str, wanted: np.ndarray) -> None:
    assert values(body) == (wanted & 0xFFFFFFFF).tolist()


@pytest.mark.parametrize("body", [
    "mov.u32 %r1+4, %r0;", "mov.u32 %r1, %r0-4;", "mov.b64 %d2, {%r0+4, %r0};", "and.pred %p1, %p1+1, %p1;",
    "mov.f32 %f1, %f1+4;", "call f, (%r0+4);", "mov.u32 %r1, %tid.x+4;", "setp.eq.u32 %p1|%p2+1, %r0, 1;",
    "mov.u32 v[%r0], 3;", "mov.u32 v[1], 3;", "mov.u32 %r1, one[%r0];", "mov.u32 %r1, v[%f1];", "mov.u32 %r1, v[%q];",
    "ld.shared.u32 %r1, one[1];", "ld.shared.u32 %r1, v;", "ld.shared.u32 %r1, %r0;", "mov.u32 %r1, v[%tid.x];",
    "atom.shared.add.u32 %r1, v[%r0], 1;",
])  # fmt: skip
def test_where_nothing_is_computed(body: str) -> None:
    head = ".shared .u32 v[8]; .shared .u32 one; .func f(.reg .u32 a) { ret; }\n"
    with pytest.raises(MalformedInput, match="line"):
        import_ptx(kernel(body, head=head), machine="gtx680")


ARRAYS = ".shared .u32 before[3]; .shared .u32 v[64]; .shared .u32 two[4][16]; .shared .v4 .u32 quads[16];\n"
FILL = "mul.lo.u32 %r2, %r0, 10; st.shared.u32 v[%r0], %r2; st.shared.u32 v[%r0+32], %r0; bar.sync 0;"


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("xor.b32 %r3, %r0, 1; ld.shared.u32 %r1, v[%r3];", 10 * (LANE ^ 1)),
        ("ld.shared.u32 %r1, v[%r0+32];", LANE),
        ("ld.shared.u32 %r1, v[3];", np.full(32, 30)),
        ("ld.shared.u32 %r1, v[2+3];", np.full(32, 50)),
        ("ld.u32 %r1, v[%r0];", 10 * LANE),
        ("ld.u32 %r1, v[4];", np.full(32, 40)),
        ("cvt.u16.u32 %h1, %r0; ld.shared.u32 %r1, v[%h1];", 10 * LANE),
        ("cvt.u64.u32 %d2, %r0; ld.shared.u32 %r1, v[%d2];", 10 * LANE),
        ("mov.u32 %r1, v[%r0]; mov.u32 %r2, v; sub.u32 %r1, %r1, %r2;", 4 * LANE),
        ("mov.u64 %d2, v[%r0]; mov.u64 %d3, v; sub.u64 %d2, %d2, %d3; cvt.u32.u64 %r1, %d2;", 4 * LANE),
        ("mov.u32 %r1, two[2]; mov.u32 %r2, two; sub.u32 %r1, %r1, %r2;", np.full(32, 8)),
        ("mov.u32 %r1, two[%r0]; mov.u32 %r2, two; sub.u32 %r1, %r1, %r2;", 4 * LANE),
        ("mov.u32 %r1, quads[2]; mov.u32 %r2, quads; sub.u32 %r1, %r1, %r2;", np.full(32, 8)),
        ("setp.lt.u32 %p1, %r0, 5; mov.u32 %r1, 7; @%p1 ld.shared.u32 %r1, v[%r0];", np.where(LANE < 5, 10 * LANE, 7)),
        ("{ .local .u32 l[4]; st.local.u32 l[1], %r0; ld.local.u32 %r1, l[1]; }", LANE),
        ("{ .local .u64 l[40]; st.local.u64 l[%r0], 9; ld.local.u32 %r1, l[%r0]; }", np.full(32, 9)),
        ("ld.const.u32 %r1, c[%r0];", np.array([5, 6, 7] + 29 * [0])),
        ("ld.const.u32 %r1, c[1];", np.full(32, 6)),
    ],
)  # fmt: skip
def test_an_index_counts_in_elements_of_the_fundamental_type(body: str, wanted: np.ndarray) -> None:
    assert values(FILL + body, ARRAYS + ".const .u32 c[64] = {5, 6, 7};\n") == wanted.tolist()


def test_what_is_computed_is_written_back_as_text() -> None:
    module = parse(kernel(FILL + "ld.shared.u32 %r1, v[%r0+32];", head=ARRAYS))
    again = parse(format_module(module), flattened=True)
    assert [i.operands for i in again.functions["k"].body or []] == [
        i.operands for i in module.functions["k"].body or []
    ]


@pytest.mark.parametrize(("register", "plus"), [("b16", 0), ("u16", 8), ("s16", 8), ("b8", 0)])
def test_addresses_in_short_registers(register: str, plus: int) -> None:
    """Extended to 32 bits by the register's type."""
    body = f"""{{ .reg .{register} a; mov.u32 %r2, v; cvt.{register.replace("b", "u")}.u32 a, %r0;
        st.shared.u8 [%r0], %r0;        st.shared.u8 [%r0+32], 99; bar.sync 0; ld.shared.u8 %r1, [a+{plus}]; }}"""
    assert values(body, ".shared .b8 v[64];\n") == np.where(LANE + plus < 32, LANE + plus, 99).tolist()


@pytest.mark.parametrize("register", ["f32", "f16", "pred"])
def test_registers_that_hold_no_address(register: str) -> None:
    with pytest.raises(MalformedInput, match="cannot hold an address"):
        import_ptx(kernel(f"{{ .reg .{register} a; ld.shared.u32 %r1, [a]; }}"), machine="gtx680")


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0x123456789012345678", 0x3456789012345678),
        ("0x1234567890123456789012", 0x7890123456789012),
        ("28446744073709551616", 28446744073709551616 - (1 << 64)),
        ("02777777777777777777777", (1 << 63) - 1),
        ("0x1ffffffffffffffff/2", (1 << 63) - 1),
        ("-0x10000000000000001", (1 << 64) - 1),
        ("0x00000000000000000000000000000000000000012345", 0x12345),
    ],
)
def test_literals_beyond_64_bits(text: str, wanted: int) -> None:
    words = np.array(values(f"mov.u64 %d2, {text}; mov.b64 {{%r1, %r2}}, %d2;"))
    high = np.array(values(f"mov.u64 %d2, {text}; mov.b64 {{%r2, %r1}}, %d2;"))
    assert set(words + (high << 32)) == {np.int64(wanted - (1 << 64) if wanted >> 63 else wanted)}


@pytest.mark.parametrize("text", ["0x12345678901234567890123", "123456789012345678901", f"0b{'1' * 65}"])
def test_literals_that_are_too_long(text: str) -> None:
    with pytest.raises(MalformedInput, match="number too large"):
        import_ptx(kernel(f"mov.u64 %d2, {text};"), machine="gtx680")


def test_labels_with_a_percent_sign() -> None:
    body = """mov.u32 %r1, 1; bra %over; mov.u32 %r1, 2; %over: setp.gt.u32 %p1, %r0, 9; @%p1 bra %end;
        add.u32 %r1, %r1, 1; { bra %inner; mov.u32 %r1, 50; %inner: add.u32 %r1, %r1, 10; } %end:"""
    assert values(body) == np.where(LANE > 9, 1, 12).tolist()
    with pytest.raises(MalformedInput, match=r"undeclared register; found '%nowhere'"):
        import_ptx(kernel("bra %nowhere;"), machine="gtx680")


@pytest.mark.parametrize("kind", ["texref", "samplerref", "surfref"])
def test_pointers_to_textures(kind: str) -> None:
    text = kernel("").replace(".param .u64 out", f".param .u64 .ptr .{kind} t, .param .u64 out")
    assert f".ptr .{kind}" in text
    assert import_ptx(text, machine="gtx680").module.function("k").info.params[0].size == 8


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (".b32 x[3] = {1.5, 2, 0d4008000000000000}", [0x3FC00000, 2, 0x40400000]),
        (".b64 x = 1.5", [0, 0x3FF80000]),
        (".b64 x = 0f3fc00000", [0x3FC00000, 0]),
        (".u32 x[3] = {y, 5, y+4}", ["y", 5, "y+4"]),
        (".u32 x[2] = {generic(y), 0xff(y)}", ["y", "y&255"]),
        (".u64 x[2] = {0xff00(y), y}", ["y>>8&255", 0, "y", 0]),
        (".u8 x[8] = {0xff(y), 0xff00(y), 0xff0000(y), 0xff000000(y), 7, 0, 0xff(y), 0xff(y)}",
         ["y", "7|(y&255)<<16|(y&255)<<24"]),
    ],
)  # fmt: skip
def test_initial_values_as_bits_and_parts_of_addresses(declared: str, words: list[int | str]) -> None:
    """Floats as bits: a single in 32, as written in 64. Addresses: their low word or the byte that a mask names."""
    head = f".global .align 8 .u32 y[100]; .global .align 8 {declared};\n"
    y = values("mov.u32 %r1, y;", head)[0]
    for k, word in enumerate(words):
        wanted = eval(word, {"y": y}) if isinstance(word, str) else word
        assert values(f"mov.u64 %d2, x; ld.global.u32 %r1, [%d2+{4 * k}];", head)[0] == wanted
    once = parse(kernel("", head=head))
    again = parse(format_module(once), flattened=True)
    assert [(v.init, v.relocations) for v in again.variables.values()] == [
        (v.init, v.relocations) for v in once.variables.values()
    ]


@pytest.mark.parametrize("declared", [
    ".b16 x = 1.5", ".u32 x = 1.5", ".f32 x = 1", ".u16 x = y", ".f32 x = y", ".u32 x = 0xffff(y)", ".u16 x = 0xff(y)",
    ".shared .texref t = {filter_mode = nearest}", ".global .texref t = {nearest}", ".global .texref t = {}",
])  # fmt: skip
def test_initial_values_that_mean_nothing(declared: str) -> None:
    space = "" if declared.startswith((".shared", ".global")) else ".global "
    with pytest.raises(MalformedInput, match="line"):
        import_ptx(kernel("", head=f".global .u32 y; {space}{declared};\n"), machine="gtx680")


def test_conversions_between_halves_without_a_rounding() -> None:
    body = "mov.b16 %h1, {}; cvt{}.{} %h2, %h1; cvt.u32.u16 %r1, %h2;"
    for value, types in (("0x3c01", "bf16.f16"), ("0x3fff", "f16.bf16"), ("0x7f7f", "f16.bf16")):
        assert values(body.format(value, "", types)) == values(body.format(value, ".rn", types))


def test_a_barrier_of_no_threads_is_one_of_all() -> None:
    body = """st.shared.u32 v[%r0], %r0; bar.sync 0, 0; xor.b32 %r2, %r0, 63; ld.shared.u32 %r1, v[%r2];
        st.global.u32 [%d1], %r1;"""
    found = both(body, 64, head=".shared .u32 v[64];\n", compare=False)
    np.testing.assert_array_equal(found, np.arange(64) ^ 63)
