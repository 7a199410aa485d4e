"""PTX parser: operands, statements, scopes, calls and functions, and the tree they become."""

from __future__ import annotations

import pytest

from binalloc.frontend.ptx.ast import (
    Address,
    Discard,
    Dual,
    Float,
    Instruction,
    Integer,
    Label,
    Negated,
    Operand,
    PtxFunction,
    Register,
    Special,
    Symbol,
    TextPosition,
    TextureAddress,
    Variable,
    Vector,
)
from binalloc.frontend.ptx.dump import format_instruction
from binalloc.frontend.ptx.parser import parse
from tests.support.paths import ROOT
from tests.support.ptx.texts import HEAD

REGISTERS = ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %rd<20>; .shared .b8 buf[64];"
REPEATED = ")" + "*+"


def function(body: str, module: str = "", registers: str = REGISTERS) -> PtxFunction:
    """The kernel `k` with this body."""
    return parse(
        f"{HEAD}{module}\n.visible .entry k(.param .u64 a, .param .u32 n)\n{{\n{registers}\n{body}\n}}\n"
    ).functions["k"]


def only(body: str, module: str = "") -> Instruction:
    """The only instruction of the body."""
    (item,) = function(body, module).body or []
    assert isinstance(item, Instruction)
    return item


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
        TextureAddress(Register("%rd1"), None, (Register("%f5"), Register("%f6"))),
    ),
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, %rd2, {%r1}];": (
        Vector(tuple(Register(f"%f{i}") for i in range(1, 5))),
        TextureAddress(Register("%rd1"), Register("%rd2"), (r(1),)),
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
    assert first.place == TextPosition(9, 9)
    assert first.loc == (3, 17)
    assert first.text == "@!%p1 mad.lo.s32 %r1, %r2, %r3, 4;"
    assert (second.op, second.mods, second.guard, second.operands) == ("ret", (), ("%p2", False), ())


def items(body: str, module: str = "") -> list[str]:
    """The body, an item a line: labels with a colon, instructions by opcode and operands."""
    out = []
    for item in function(body, module).body or []:
        out.append(f"{item.name}:" if isinstance(item, Label) else format_instruction(item))
    return out


def test_several_statements_on_a_line_and_one_over_several() -> None:
    got = items("m: b: mov.u32 %r1, 1; /* x ; */ mov.u32\n%r2 /* y */,\n// z\n2\n; ret;")
    assert got == ["m:", "b:", "mov.u32 %r1, 1;", "mov.u32 %r2, 2;", "ret;"]


def test_text_of_a_statement_with_comments_is_one_line_without_them() -> None:
    assert only("@%p1 mov.u32 /* ; */ %r2,\n\t // c\n 2 ;").text == "@%p1 mov.u32 %r2, 2 ;"


def test_modifiers_with_colons_and_digits() -> None:
    assert only("ld.global.L1::no_allocate.L2::128B.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1];").mods == (
        "global",
        "L1::no_allocate",
        "L2::128B",
        "v4",
        "u32",
    )


def test_inner_scopes_are_flattened_with_names_of_their_own() -> None:
    f = function(
        """
        { .reg .pred p; .reg .b32 t<2>; .shared .b32 buf;
          setp.eq.u32 p, %r1, 0; @!p bra L; mov.u32 t1, buf; L: st.shared.u32 [buf+4], t1; }
        { .reg .pred p; @p bra L; { bra L; L: } L: }
        mov.u32 %r1, buf;
        """
    )
    got = [f"{i.name}:" if isinstance(i, Label) else format_instruction(i) for i in f.body or []]
    assert got == [
        "setp.eq.u32 p.1, %r1, 0;",
        "@!p.1 bra L.1;",
        "mov.u32 t1.1, buf.1;",
        "L.1:",
        "st.shared.u32 [buf.1+4], t1.1;",
        "@p.2 bra L.2;",
        "bra L.3;",
        "L.3:",
        "L.2:",
        "mov.u32 %r1, buf;",
    ]
    assert f.registers == {"p.1": "pred", "%r1": "b32", "t1.1": "b32", "p.2": "pred"}
    assert list(f.variables) == ["buf", "buf.1"]
    assert f.variables["buf.1"].size == 4


def test_a_branch_out_of_a_scope_finds_the_outer_label() -> None:
    assert items("{ bra.uni done; } { { @%p1 bra done; } } done: ret;") == [
        "bra.uni done;",
        "@%p1 bra done;",
        "done:",
        "ret;",
    ]


def test_an_inner_label_hides_one_further_out_even_before_it_stands_there() -> None:
    assert items("L: { bra L; L: } bra L;") == ["L:", "bra L.1;", "L.1:", "bra L;"]


def test_registers_of_a_parametrised_declaration_exist_as_they_are_used() -> None:
    f = function("mov.u32 x7, x4000000;", registers=".reg .b32 x<4294967295>; .reg .s16 y;")
    assert f.registers == {"y": "s16", "x7": "b32", "x4000000": "b32"}


def test_vector_registers_are_their_components() -> None:
    f = function("mov.v2.u32 v, %tid; add.u32 v.x, v.y, w1.b;", registers=".reg .v2 .u32 v; .reg .v4 .u32 w<2>;")
    first, second = f.body or []
    assert isinstance(first, Instruction)
    assert isinstance(second, Instruction)
    assert first.operands == (Vector((Register("v.x"), Register("v.y"))), Special("%tid"))
    assert second.operands == (Register("v.x"), Register("v.y"), Register("w1.z"))


FUNCTIONS = """
.func f;
.extern .func (.param .b32 _) g (.param .b32 _, .param .align 8 .b8 _[16]);
.func (.reg .f32 y) h (.reg .f32 x) { mov.f32 y, x; ret; }
"""


@pytest.mark.parametrize(
    ("text", "callee", "results", "arguments"),
    [
        ("call f;", Symbol("f"), (), ()),
        ("call.uni f, ();", Symbol("f"), (), ()),
        ("call.uni (%r1), g, (%r2, buf);", Symbol("g"), (r(1),), (r(2), Symbol("buf"))),
        ("call (_), g, (3, buf);", Symbol("g"), (Discard(),), (Integer(3), Symbol("buf"))),
        ("call (%f1), h, (0f3F800000);", Symbol("h"), (Register("%f1"),), (Float(0x3F800000, 32),)),
        ("call (%r1),\n%rd1,\n(\n%r2\n)\n, proto;", Register("%rd1"), (r(1),), (r(2),)),
        ("call %rd1, proto;", Register("%rd1"), (), ()),
    ],
)
def test_calls(text: str, callee: Operand, results: tuple[Operand, ...], arguments: tuple[Operand, ...]) -> None:
    call = only("proto : .callprototype (.param .b32 _) _ (.param .b32 _);\n" + text, FUNCTIONS)
    assert (call.callee, call.results, call.arguments, call.operands) == (callee, results, arguments, ())
    assert call.prototype == ("proto" if isinstance(callee, Register) else None)


def test_call_sequence_of_nvcc() -> None:
    body = """{ // callseq 0, 0
    .reg .b32 temp_param_reg;
    .param .b32 param0;
    st.param.b32 [param0+0], %r1;
    .param .align 8 .b8 param1[16];
    .param .b32 retval0;
    call.uni (retval0), g, ( param0, param1 );
    ld.param.b32 %r2, [retval0+0];
    } // callseq 0
    """
    f = function(body, FUNCTIONS)
    store, call, load = f.body or []
    assert isinstance(store, Instruction)
    assert isinstance(call, Instruction)
    assert isinstance(load, Instruction)
    assert store.operands == (Address(Symbol("param0.1")), r(1))
    assert (call.results, call.arguments) == ((Symbol("retval0.1"),), (Symbol("param0.1"), Symbol("param1.1")))
    assert load.operands == (r(2), Address(Symbol("retval0.1")))
    assert [(v.name, v.space, v.size, v.align) for v in list(f.variables.values())[1:]] == [
        ("param0.1", "param", 4, 4),
        ("param1.1", "param", 16, 8),
        ("retval0.1", "param", 4, 4),
    ]


def test_branch_targets() -> None:
    f = function("ts: .branchtargets m, b; brx.idx %r1, ts; m: { x: .branchtargets m, b; brx.idx %r1, x; b: } b: ret;")
    assert f.branch_targets == {"ts": ("m", "b"), "x.1": ("m", "b.1")}
    assert [i.operands for i in f.body or [] if isinstance(i, Instruction)] == [
        (r(1), Symbol("ts")),
        (r(1), Symbol("x.1")),
        (),
    ]


def test_function_headers() -> None:
    text = f"""{HEAD}
    .visible .func (.param .align 8 .b8 out[24]) f (.param .b32 x, .reg .u16 y)
    .noreturn_ ;"""
    module = parse(
        text.replace(".noreturn_", "")
        + """
    .weak .func stop (.param .b64 .ptr .global .align 16 p) .noreturn { trap; }
    .entry k (.param .v2 .f32 v, .param .b8 s[3][4]) .maxntid 32, 4 .reqntid 8,8,2 .minnctapersm 3 .maxnreg 40
    .pragma "nounroll"; .maxnctapersm 2 { ret; }
    .visible .entry empty () { }
    """
    )
    f, stop, k, empty = module.functions.values()
    assert [(v.name, v.space, v.type, v.size, v.align, v.array) for v in f.results + f.parameters] == [
        ("out", "param", "b8", 24, 8, True),
        ("x", "param", "b32", 4, 4, False),
        ("y", "reg", "u16", 2, 2, False),
    ]
    assert (f.is_entry, f.body, f.noreturn) == (False, None, False)
    assert stop.noreturn
    assert [(v.name, v.size, v.align) for v in [*stop.parameters, *k.parameters]] == [
        ("p", 8, 8),
        ("v", 8, 8),
        ("s", 12, 1),
    ]
    assert (k.maxntid, k.reqntid, k.min_blocks, k.max_registers, k.max_threads) == ((32, 4, 1), (8, 8, 2), 3, 40, 128)
    assert empty.body == []


def test_a_definition_takes_the_place_of_its_declaration() -> None:
    module = parse(f"{HEAD}.func b (.param .b32 x); .func a {{ ret; }} .func b (.param .b32 y) {{ call b, (y); ret; }}")
    assert list(module.functions) == ["b", "a"]
    assert [v.name for v in module.functions["b"].parameters] == ["y"]
    assert len(module.functions["b"].body or []) == 2


def test_declarations_of_old_compilers_have_no_semicolon() -> None:
    head = ".version 2.3\n.target sm_20\n"
    module = parse(
        f'{head}.visible .func () f (.param .u32 x)\n.func g .file 1 "x"\n.func h .global .b32 %L;\n.func f2;'
    )
    assert list(module.functions) == ["f", "g", "h", "f2"]
    assert list(module.variables) == ["%L"]


def test_module_head_files_sections_and_lines() -> None:
    module = parse(
        """// first
.version 9.0
.target sm_90a, texmode_independent, debug
.file 1 "a.cu"
.file 2 "b.cu", 12345, 678
.loc 2 5 0
.func f { mov.u32 a, a; }
.section .debug_str { L: .b8 1,2 // }
.b32 L+4 }
.section .debug_info
{
}
""".replace("mov.u32 a, a;", ".reg .b32 a; mov.u32 a, a;")
        + "\0\0"
    )
    assert (module.version, module.target, module.address_size) == ((9, 0), "sm_90a", 32)
    assert module.files == {1: "a.cu", 2: "b.cu"}
    assert module.lines == 12
    (instruction,) = module.functions["f"].body or []
    assert isinstance(instruction, Instruction)
    assert instruction.loc == (2, 5)


def test_loc_with_inlining_names_the_line_itself_and_ends_with_the_function() -> None:
    for label in ("$L__info_string0", "$L__info_string0+12", "$L + 12"):
        body = f".loc 2 152 3, function_name {label}, inlined_at 1 28 3\nmov.u32 %r1, 1;"
        assert only(body).loc == (2, 152)
    module = parse(f"{HEAD}.loc 1 1 1 .func f {{ .loc 1 2 3 ret; }} .func g {{ ret; }}")
    (end,) = module.functions["g"].body or []
    assert isinstance(end, Instruction)
    assert end.loc is None


def test_line_0_is_no_line() -> None:
    """nvcc and clang write it for code that comes from no line: it stays with the line before, or has none."""
    body = function(".loc 1 0 0\n nop;\n.loc 1 7 1\n nop;\n.loc 2 0 0\n nop;\n.loc 2 8 1\n ret;").body
    assert [item.loc for item in body] == [None, (1, 7), (1, 7), (2, 8)]


def test_extern_shared_in_a_body_and_at_module_scope() -> None:
    f = function(".extern .shared .align 16 .b8 dyn[]; mov.u32 %r1, dyn;", ".extern .shared .v4 .f32 other[];")
    v = f.variables["dyn"]
    assert v == Variable("dyn", "shared", "b8", 0, 16, v.place, linkage="extern", array=True)


def test_no_group_is_repeated_possessively() -> None:
    """Before Python 3.11.5 a group with alternatives under `*+` loses what it should match; `(?>(...)*)` does not."""
    sources = {path: path.read_text() for path in sorted((ROOT / "binalloc").rglob("*.py"))}
    found = [f"{path.name}: {line}" for path, text in sources.items() for line in text.splitlines() if REPEATED in line]
    assert [line for line in found if "`(...)*+`" not in line] == []
