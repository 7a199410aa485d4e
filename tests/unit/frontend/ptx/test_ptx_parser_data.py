"""PTX parser: literals, constant expressions, variables and initialisers."""

from __future__ import annotations

import struct

import pytest

from binalloc.frontend.ptx.ast import Float, Instruction, Integer, Operand, Relocation, Variable
from binalloc.frontend.ptx.parser import parse
from tests.support.ptx.texts import HEAD


def constant(text: str) -> Operand:
    """The constant operand that the text becomes."""
    module = parse(f"{HEAD}.func f {{ .reg .b64 %rd1; mov.b64 %rd1, {text}; }}")
    (instruction,) = module.functions["f"].body or []
    assert isinstance(instruction, Instruction)
    return instruction.operands[1]


def variables(text: str) -> dict[str, Variable]:
    return parse(HEAD + text).variables


def data(text: str) -> bytes | None:
    """The bytes of the only variable."""
    (v,) = variables(text).values()
    return v.init


def doubled(value: float) -> Float:
    return Float(struct.unpack("<Q", struct.pack("<d", value))[0], 64)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("017", 15),
        ("0x1F", 31),
        ("0XffU", 255),
        ("0b101", 5),
        ("12U", 12),
        ("-5", -5),
        ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0xFFFFFFFFFFFFFFFF", 2**64 - 1),
        ("-1U", -1),
        ("-(1U)", 2**64 - 1),
        ("~0", -1),
        ("~0U", 2**64 - 1),
        ("!5", 0),
        ("!0", 1),
        ("+7", 7),
        ("WARP_SZ", 32),
        ("WARP_SZ*2-1", 63),
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("7-3-2", 2),
        ("-7/2", -3),
        ("-7 % 2", -1),
        ("-7/2U", (2**64 - 7) // 2),
        ("1<<4|3", 19),
        ("-8>>1", -4),
        ("0xFFFFFFFFFFFFFFF8>>1", 0x7FFFFFFFFFFFFFFC),
        ("1<<64", 0),
        ("-1>>70", -1),
        ("6&3^1|8", 11),
        ("2<3==1", 1),
        ("-1<1U", 0),
        ("1&&0||1", 1),
        ("0?2:1?3:4", 3),
        ("(.s64)0xFFFFFFFFFFFFFFFF", -1),
        ("(.u64)-1", 2**64 - 1),
        ("9223372036854775807+1", -(2**63)),
        ("1.5<2.0", 1),
    ],
)
def test_integer_constants(text: str, value: int) -> None:
    assert constant(text) == Integer(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0f3f800000", Float(0x3F800000, 32)),
        ("0F7FC00001", Float(0x7FC00001, 32)),
        ("-0f00000000", Float(0x80000000, 32)),
        ("0d7FF8000000000001", Float(0x7FF8000000000001, 64)),
        ("1.5", doubled(1.5)),
        (".5", doubled(0.5)),
        ("1.", doubled(1.0)),
        ("1e-3", doubled(1e-3)),
        ("-2.5E+2", doubled(-250.0)),
        ("1e999", doubled(float("inf"))),
        ("1.0/4.0+1.0*2.0-0.5", doubled(1.75)),
    ],
)
def test_floating_constants(text: str, value: Float) -> None:
    assert constant(text) == value


@pytest.mark.parametrize(
    ("text", "type_", "size", "align", "array"),
    [
        (".global .b32 x;", "b32", 4, 4, False),
        (".global .align 16 .b8 x[24];", "b8", 24, 16, True),
        (".const .f64 x[3][2];", "f64", 48, 8, True),
        (".shared .v4 .f32 x;", "f32", 16, 16, False),
        (".shared .align 4 .v2 .u16 x[WARP_SZ];", "u16", 128, 4, True),
        (".global .attribute(.managed) .u64 x;", "u64", 8, 8, False),
        (".visible .global .attribute(.unified(19, 95)) .align 64 .f32 x[4*2];", "f32", 32, 64, True),
        (".local .s16 x;", "s16", 2, 2, False),
        (".global .texref x;", "texref", 8, 8, False),
        (".global .u32 %x;", "u32", 4, 4, False),
        (".extern .global .b8 x[];", "b8", 0, 1, True),
        (".common .global .b32 x;", "b32", 4, 4, False),
        (".const[0] .u8 x;", "u8", 1, 1, False),
    ],
)
def test_variables(text: str, type_: str, size: int, align: int, array: bool) -> None:
    (v,) = variables(text).values()
    assert (v.name.strip("%"), v.type, v.size, v.align, v.array, v.init) == ("x", type_, size, align, array, None)
    assert v.external == text.startswith(".extern")
    assert f".{v.space}" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".global .u32 x = 258;", b"\2\1"),
        (".global .u32 x = {5};", b"\5"),
        (".global .s8 x = -1;", b"\xff"),
        (".global .u32 x = 0;", b""),
        (".global .b8 x[4] = {1, 2};", b"\1\2"),
        (".global .b8 x[4] = {};", b""),
        (".global .b8 x[6] = {1, 0, 0, 4, 0};", b"\1\0\0\4"),
        (".global .b16 x[2] = {1, 010};", b"\1\0\x08"),
        (".global .u16 x[2] = {0xFFFF, 1+1};", b"\xff\xff\2"),
        (".global .s32 x[3] = {-1, 2, -3};", struct.pack("<3i", -1, 2, -3)),
        (".global .b8 x[2][3] = {{1, 2}, {3}};", b"\1\2\0\3"),
        (".global .b8 x[2][3] = {1, 2, 3, 4};", b"\1\2\3\4"),
        (".global .b8 x[2][2] = {1, {3}};", b"\1\0\3"),
        (".global .b8 x[2][2] = {{1, 2,}, {3, 4},};", b"\1\2\3\4"),
        (".global .v2 .u16 x = {1, 2};", b"\1\0\2"),
        (".global .v2 .u8 x[2] = {{1, 2}, {3, 4}};", b"\1\2\3\4"),
        (".const .f32 x[3] = {1.0, 0f40000000, -1.0};", struct.pack("<3f", 1, 2, -1)),
        (".const .f32 x = 0.1;", struct.pack("<f", 0.1)),
        (".const .f32 x = 1e60;", struct.pack("<f", float("inf"))),
        (".const .f64 x = 0d3FF8000000000000;", struct.pack("<d", 1.5)),
        (".const .f64 x = 0f3FC00000;", struct.pack("<d", 1.5)),
        (".const .b32 x = 0f3FC00000;", struct.pack("<f", 1.5)),
        (".const .f16 x = 1.0;", b"\0\x3c"),
        (".global .b32 x = 0xFFFFFFFFFFFFFFFF;", b"\xff\xff\xff\xff"),
    ],
)
def test_initialisers(text: str, expected: bytes) -> None:
    assert data(text) == expected


def test_the_old_directive_of_textures() -> None:
    (v,) = variables(".tex .u64 t;").values()
    assert (v.space, v.type) == ("global", "texref")


def test_an_array_without_size_takes_that_of_its_initialiser() -> None:
    (v,) = variables(".global .u16 x[] = {1, 2, 0};").values()
    assert (v.size, v.init) == (6, b"\1\0\2")
    (v,) = variables(".global .u8 x[][4] = {{1}, {2}};").values()
    assert (v.size, v.init) == (8, b"\1\0\0\0\2")


def test_a_huge_array_with_few_values_stays_small() -> None:
    (v,) = variables(".global .u32 x[1000000000] = {7};").values()
    assert (v.size, v.init) == (4_000_000_000, b"\7")


def test_addresses_in_initialisers() -> None:
    v = variables(
        """
    .global .b32 y[4];
    .func f;
    .global .u64 x[4] = {f, 3, generic(y)+8, y-4};
    .global .u64 self = self;
    """
    )
    assert [r[:4] for r in v["x"].relocations] == [(0, "f", 0, False), (16, "y", 8, True), (24, "y", -4, False)]
    assert v["x"].init == bytes(8) + b"\3"
    assert v["self"].relocations == (Relocation(0, "self", 0, False),)


def test_an_address_byte_by_byte() -> None:
    masks = ", ".join(f"{0xFF << 8 * i:#x}(generic(y)+4)" for i in range(8))
    v = variables(f".global .b32 y; .global .align 8 .b8 x[16] = {{1, 0, 0, 0, 0, 0, 0, 0, {masks}}};")
    assert v["x"].relocations == (Relocation(8, "y", 4, True),)
    assert v["x"].init == b"\1"


def test_an_external_declaration_gives_way_to_the_definition() -> None:
    for text in (".extern .const .u32 x; .const .u32 x = 5;", ".const .u32 x = 5; .extern .const .u32 x;"):
        (v,) = variables(text).values()
        assert (v.external, v.init) == (False, b"\5")


def test_several_variables_of_one_declaration() -> None:
    v = variables(".global .b16 a = 1, b[2] = {2, 3}, c;")
    assert {n: (x.size, x.init) for n, x in v.items()} == {"a": (2, b"\1"), "b": (4, b"\2\0\3"), "c": (2, None)}
