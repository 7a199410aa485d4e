"""PTX parser: each construct of the grammar, and the tree it becomes."""

from __future__ import annotations

import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx.ast import (
    Address,
    Discard,
    Dual,
    Float,
    Function,
    Instruction,
    Integer,
    Negated,
    Operand,
    Place,
    Register,
    Special,
    Symbol,
    Texture,
    Vector,
)
from binalloc.frontend.ptx.parser import parse

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
REGISTERS = ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %rd<20>; .shared .b8 buf[64];"


def function(body: str, module: str = "", registers: str = REGISTERS) -> Function:
    """The kernel `k` with this body."""
    return parse(
        f"{HEAD}{module}\n.visible .entry k(.param .u64 a, .param .u32 n)\n{{\n{registers}\n{body}\n}}\n"
    ).functions["k"]


def only(body: str, module: str = "") -> Instruction:
    """The only instruction of the body."""
    (item,) = function(body, module).body or []
    assert isinstance(item, Instruction)
    return item


def fails(text: str) -> MalformedInput:
    with pytest.raises(MalformedInput) as caught:
        parse(text, "x.ptx")
    return caught.value


def r(n: int) -> Register:
    return Register(f"%r{n}")


OPERANDS: dict[str, tuple[Operand, ...]] = {
    "add.s32 %r1, %r2, 4;": (r(1), r(2), Integer(4)),
    "add.s32 %r1, %r2, -4;": (r(1), r(2), Integer(-4)),
    "mov.u32 %r1, %tid.x;": (r(1), Special("%tid.x")),
    "mov.u32 %r1, WARP_SZ;": (r(1), Integer(32)),
    "mov.f32 %f1, 0f3F800000;": (Register("%f1"), Float(0x3F800000, 32)),
    "mov.f64 %rd1, 0d3FF0000000000000;": (Register("%rd1"), Float(0x3FF0000000000000, 64)),
    "mov.f32 %f1, 1.5;": (Register("%f1"), Float(0x3FF8000000000000, 64)),
    "mov.f32 %f1, -0f3F800000;": (Register("%f1"), Float(0xBF800000, 32)),
    "mov.u64 %rd1, buf;": (Register("%rd1"), Symbol("buf")),
    "mov.u64 %rd1, buf+8;": (Register("%rd1"), Symbol("buf", 8)),
    "ld.param.u32 %r1, [n];": (r(1), Address(Symbol("n"))),
    "ld.param.u32 %r1, [a+4];": (r(1), Address(Symbol("a"), 4)),
    "ld.u32 %r1, [%rd1+4];": (r(1), Address(Register("%rd1"), 4)),
    "ld.u32 %r1, [%rd1+-4];": (r(1), Address(Register("%rd1"), -4)),
    "ld.u32 %r1, [%rd1-4];": (r(1), Address(Register("%rd1"), -4)),
    "ld.u32 %r1, [ %rd1 + 2*(3+1) ];": (r(1), Address(Register("%rd1"), 8)),
    "ld.u32 %r1, [16];": (r(1), Address(None, 16)),
    "ld.v2.u32 {%r1, %r2}, [%rd1];": (Vector((r(1), r(2))), Address(Register("%rd1"))),
    "mov.b64 {%r1, _}, %rd1;": (Vector((r(1), Discard())), Register("%rd1")),
    "setp.lt.s32 %p1|%p2, %r1, %r2;": (Dual(Register("%p1"), Register("%p2")), r(1), r(2)),
    "setp.lt.and.s32 _|%p2, %r1, %r2, !%p1;": (
        Dual(Discard(), Register("%p2")),
        r(1),
        r(2),
        Negated(Register("%p1")),
    ),
    "shfl.sync.bfly.b32 %r1|_, %r2, 1, 31, -1;": (
        Dual(r(1), Discard()),
        r(2),
        Integer(1),
        Integer(31),
        Integer(-1),
    ),
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];": (
        Vector(tuple(Register(f"%f{i}") for i in range(1, 5))),
        Texture(Register("%rd1"), None, (Register("%f5"), Register("%f6"))),
    ),
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, %rd2, {%r1}];": (
        Vector(tuple(Register(f"%f{i}") for i in range(1, 5))),
        Texture(Register("%rd1"), Register("%rd2"), (r(1),)),
    ),
}


@pytest.mark.parametrize("text", OPERANDS)
def test_operands(text: str) -> None:
    instruction = only(text)
    assert instruction.operands == OPERANDS[text]
    assert instruction.text == text


def test_opcode_guard_place_and_loc() -> None:
    body = function(".loc 3 17 5\n  @!%p1 mad.lo.s32\t%r1, %r2,\n %r3, 4;\n@%p2 ret;").body
    assert body is not None
    first, second = body
    assert isinstance(first, Instruction)
    assert isinstance(second, Instruction)
    assert (first.op, first.mods) == ("mad", ("lo", "s32"))
    assert first.guard == ("%p1", True)
    assert first.place == Place(9, 9)
    assert first.loc == (3, 17)
    assert first.text == "@!%p1 mad.lo.s32 %r1, %r2, %r3, 4;"
    assert (second.op, second.mods, second.guard, second.operands) == ("ret", (), ("%p2", False), ())
