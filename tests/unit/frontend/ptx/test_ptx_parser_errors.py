"""PTX parser: every refusal names its line and column, quotes the text and says what was expected."""

from __future__ import annotations

import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx.parser import parse
from tests.support.ptx.texts import HEAD

FUNCTIONS = ".func f (.param .b32 x); .func (.param .b32 y) g; .entry kk { ret; } .global .b32 gv;\n"
OPEN = "{\n.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .v2 .b32 v; .shared .b8 buf[64];\n"


def failure(text: str) -> MalformedInput:
    with pytest.raises(MalformedInput) as caught:
        parse(text, "x.ptx")
    assert caught.value.file == "x.ptx"
    assert caught.value.exit_code == 3
    return caught.value


BODY = [
    # text of the body's line, column, word found, part of the message or of what was expected
    ("add.s32 %r1, %r20, 4;", 14, "%r20", "undeclared register"),
    ("add.s32 %r1, %r01, 4;", 14, "%r01", "undeclared register"),
    ("mov.u32 %r1, %tid.q;", 18, ".q", "',' or ';'"),
    ("mov.u32 %r1, v.z;", 14, "v.z", "undeclared name"),
    ("mov.u32 %r1, other; ret;", 14, "other", "undeclared name"),
    ("bra nowhere; ret; nowhere2: ret;", 5, "nowhere", "label"),
    ("{ inner: } bra inner;", 16, "inner", "undeclared name"),
    ("{ { bra inner; } } { inner: }", 9, "inner", "undeclared name"),
    ("x: .branchtargets gv;", 19, "gv", "undeclared name"),
    ("add.s32 %r1, %r2 4;", 18, "4", "',' or ';'"),
    ("add.s32 %r1, %r2, ;", 19, ";", "an operand"),
    ("add.s32 %r1, , %r2;", 14, ",", "an operand"),
    ("add.s32 %r1 %r2", 13, "%r2", "',' or ';'"),
    ("ret", 4, "", "unexpected"),
    ("ret }", 5, "}", "an operand"),
    ("@%p1 ;", 6, ";", "an instruction after the guard"),
    ("@ ret;", 6, ";", "an instruction after the guard"),
    ("@7 ret;", 2, "7", "a predicate register"),
    ("@%r1 ret;", 2, "%r1", "predicate"),
    ("@!%p4 ret;", 3, "%p4", "undeclared register"),
    ("123;", 1, "123", "an instruction"),
    ("l: l: ret;", 4, "l", "declared twice"),
    ("buf: ret;", 1, "buf", "declared twice"),
    (".reg .b32 %r5;", 11, "%r5", "declared twice"),
    (".reg .b32 %r1<3>;", 11, "%r1", "declared twice"),
    (".reg .b32 q7; .reg .b32 q<8>;", 25, "q", "declared twice"),
    (".reg .b32 q10<2>; .reg .b32 q<101>;", 29, "q", "declared twice"),
    (".reg .b32 buf;", 11, "buf", "declared twice"),
    (".reg .b32 k_a;", 11, "k_a", "declared twice"),
    (".reg .b32 %tid;", 11, "%tid", "reserved"),
    (".reg .b32 x.1;", 11, "x.1", "identifier"),
    ("p.1: ret;", 1, "p.1", "identifier"),
    (".reg .b32 x<99999999999>;", 13, "99999999999", "number of registers"),
    (".reg .b33 x;", 6, ".b33", "an alignment or type"),
    (".reg x;", 6, "x", "a type"),
    (".reg .b32 .f32 x;", 11, ".f32", "two types"),
    (".reg .align 4 .b32 x;", 1, ".reg", "alignment of a register"),
    (".reg .v8 .b16 x;", 15, ".v8", "vector of registers"),
    (".shared .pred x;", 1, ".pred", "predicates live in registers"),
    (".shared .b8 x[-4];", 15, "-", "size of an array"),
    (".shared .b8 x[1.5];", 15, "1.5", "not an integer"),
    (".shared .b8 x[];", 13, "x", "array without a size"),
    (".shared .b8 x[9999999][9999999];", 13, "x", "variable too large"),
    (".shared .align 3 .b8 x;", 16, "3", "power of two"),
    (".shared .b32 x = 4;", 16, "=", "initialiser"),
    (".const[3] .b32 x;", 8, "3", "constant bank"),
    ("ld.u32 %r1, [%rd1+%r2];", 19, "%r2", "one base"),
    ("ld.u32 %r1, [buf+%r2];", 18, "%r2", "one base"),
    ("ld.u32 %r1, [%rd1+1.5];", 18, "+", "not an integer"),
    ("ld.u32 %r1, [%rd1;", 18, ";", "']'"),
    ("ld.u32 %r1, [v];", 14, "v", "not an address"),
    ("mov.u32 %r1, %r2-4;", 14, "%r2", "outside of an address"),
    ("mov.b64 {%r1, [%rd1]}, %rd1;", 15, "[", "item of a vector"),
    ("mov.b64 {%r1, %r2, %rd1;", 24, ";", "'}'"),
    ("setp.lt.s32 %p1|4, %r1, 2;", 17, "4", "a register after '|'"),
    ("setp.lt.s32 %p1|buf, %r1, 2;", 17, "buf", "a register after '|'"),
    ("mov.u32 %r1, !buf;", 15, "buf", "only a register can be negated"),
    ("mov.u32 %r1, 08;", 14, "08", "octal"),
    ("mov.u32 %r1, 0x;", 14, "0x", "an operand"),
    ("mov.u32 %r1, 118446744073709551616;", 14, "118446744073709551616", "number too large"),
    ("mov.u32 %r1, 1/0;", 15, "/", "division by zero"),
    ("mov.u32 %r1, 1 % 0;", 16, "%", "division by zero"),
    ("mov.u32 %r1, 1+1.5;", 15, "+", "operands of '+'"),
    ("mov.u32 %r1, ~1.5;", 14, "~", "floating constant"),
    ("mov.u32 %r1, 1?2;", 17, ";", "':'"),
    ("mov.u32 %r1, (1+2;", 18, ";", "')'"),
    ("mov.u32 %r1, 1 $;", 16, "$", "',' or ';'"),
    ("call;", 5, ";", "the function to call"),
    ("call nobody;", 6, "nobody", "undeclared name"),
    ("call gv;", 6, "gv", "not a function"),
    ("call kk;", 6, "kk", "call of a kernel"),
    ("call f;", 6, "0", "number of arguments"),
    ("call f, (1, 2);", 9, "2", "number of arguments"),
    ("call (%r1), f, (1);", 13, "1", "number of results"),
    ("call g;", 6, "0", "number of results"),
    ("call (%r1) g;", 12, "g", "','"),
    ("call (%r1), g, (1;", 18, ";", "')'"),
    ("call %rd1, (%r1);", 6, "%rd1", "without a prototype"),
    ("call %rd1, (%r1), proto;", 19, "proto", "undeclared name"),
    ("x: .calltargets f, nobody;", 20, "nobody", "undeclared name"),
    (".entry q { }", 1, ".entry", "an instruction, or one of"),
    (".pragma nounroll;", 9, "nounroll", "a string"),
    ('.pragma "nounroll;', 9, '"', "string without end"),
    ("ret; /* no end", 6, "/*", "comment without end"),
    (".loc 1 99999999999 0", 8, "99999999999", "less than 1000000000"),
    (".loc 1 2 3, nothing", 11, ",", "inlined_at"),
    (".loc 1 2 3;", 11, ";", "inlined_at"),
    (".loc 1 2 3, function_name f, inlined_at 1 2", 11, ",", "inlined_at"),
    ("ret;;", 5, ";", "an instruction, label or directive"),
]


@pytest.mark.parametrize(("line", "column", "found", "expected"), BODY, ids=[b[0] for b in BODY])
def test_refusals_in_a_body(line: str, column: int, found: str, expected: str) -> None:
    e = failure(f"{HEAD}{FUNCTIONS}.entry k (.param .u32 k_a) {OPEN}{line}")
    if line == "ret":  # runs into the end of the text
        assert e.place == "line 7, column 4"
    else:
        e = failure(f"{HEAD}{FUNCTIONS}.entry k (.param .u32 k_a) {OPEN}{line}\nret; }}\n")
    assert e.place == f"line 7, column {column}"
    assert str(e.found).startswith(f"'{found}") or not found
    assert expected in f"{e.message} {e.expected}"


MODULE = [
    ("", 1, 1, "", ".version"),
    (".target sm_75", 1, 1, ".target", ".version"),
    (".version 8", 1, 10, "8", "a version"),
    (".version 8.0\n", 2, 1, "", ".target"),
    (".version 8.0\n.target gfx90", 2, 9, "gfx90", "sm_NN"),
    (".version 8.0\n.target debug\n", 3, 1, "", "sm_75"),
    (".version 8.0\n.target sm_75\n.target sm_80", 3, 9, "sm_80", "a second target"),
    (".version 8.0\n.func f;", 2, 1, ".func", "no .target"),
    (f"{HEAD}.version 7.0", 4, 1, ".version", "second .version"),
    (f"{HEAD}.address_size 32", 4, 15, "32", "address size"),
    (f"{HEAD}.address_size 48", 4, 15, "48", "address size"),
    (f"{HEAD}add.s32 x;", 4, 1, "add", "a directive, function or variable"),
    (f"{HEAD}.visible ret;", 4, 10, "ret", ".entry, .func or a variable"),
    (f"{HEAD}.func f {{ ret; }};", 4, 17, ";", "a directive, function or variable"),
    (f"{HEAD}.alias a, b;", 4, 8, "a", "undeclared"),
    (f"{HEAD}.visible .reg .b32 x;", 4, 20, "x", "no linkage, and a name of its own"),
    (f"{HEAD}.nothing 5;", 4, 1, ".nothing", "a space"),
    (f"{HEAD}.section .debug {{ .b8 1", 4, 10, ".debug", "debug data"),
    (f"{HEAD}.file 1 name", 4, 9, "name", "as a string"),
    (f"{HEAD}.entry k {{ ret;", 4, 16, "", "no end"),
    (f"{HEAD}.entry k {{ ret; }} .entry k {{ ret; }}", 4, 26, "k", "declared twice"),
    (f"{HEAD}.func k; .func k (.param .b32 x) {{ ret; }}", 4, 16, "k", "declared differently"),
    (f"{HEAD}.extern .func k {{ ret; }}", 4, 15, "k", "external function"),
    (f"{HEAD}.global .b32 k; .func k;", 4, 23, "k", "declared twice"),
    (f"{HEAD}.func k; .global .b32 k;", 4, 23, "k", "declared twice"),
    (f"{HEAD}.global .b32 k; .global .b32 k;", 4, 30, "k", "declared twice"),
    (f"{HEAD}.extern .global .b32 k; .global .b64 k;", 4, 38, "k", "declared differently"),
    (f"{HEAD}.entry k (.reg .b32 x) {{ }}", 4, 11, ".reg", ".param"),
    (f"{HEAD}.entry k (.param .b32 x, .param .b32 x) {{ }}", 4, 38, "x", "declared twice"),
    (f"{HEAD}.func k (.param .b8 x[]);", 4, 21, "x", "parameter without a size"),
    (f"{HEAD}.func k (.reg .v2 .b32 x);", 4, 24, "x", "parameter in a register"),
    (f"{HEAD}.entry k .maxntid 32, 33 {{ ret; }}", 4, 10, ".maxntid 32, 33", "1 to 1024 threads"),
    (f"{HEAD}.entry k .reqntid 0 {{ ret; }}", 4, 10, ".reqntid 0", "1 to 1024 threads"),
    (f"{HEAD}.entry k .reqntid 1,1,1,1 {{ ret; }}", 4, 10, ".reqntid", "at most three"),
    (f"{HEAD}.entry k .maxntid 64 .reqntid 128 {{ ret; }}", 4, 8, "k", "contradictory bounds"),
    (f"{HEAD}.entry k .minnctapersm 99999999999 {{ ret; }}", 4, 24, "99999999999", "too large"),
    (f"{HEAD}.entry k .noreturn {{ ret; }}", 4, 10, ".noreturn", "does not return"),
    (f"{HEAD}.entry k .explicitcluster {{ ret; }}", 4, 10, ".explicitcluster", "clusters"),
    (f"{HEAD}.entry k .sometimes {{ ret; }}", 4, 10, ".sometimes", "'{'"),
    (f"{HEAD}.entry k ret;", 4, 10, "ret", "after the header"),
    (f"{HEAD}.entry 5;", 4, 8, "5", "the name of the function"),
    (f"{HEAD}.tex .b8 t;", 4, 1, ".tex", "type of a texture"),
    (f"{HEAD}.global .b8 x[0];", 4, 13, "x", "array without a size"),
    (f"{HEAD}.const .f32 x = 1;", 4, 17, "1", "integer value for a .f32"),
    (f"{HEAD}.shared .texref t;", 4, 1, ".shared", "texref"),
    (f"{HEAD}.global .b8 x[2] = {{1, 2, 3}};", 4, 27, "3", "too many items"),
    (f"{HEAD}.global .b8 x[2] = 5;", 4, 20, "5", "'{'"),
    (f"{HEAD}.global .b8 x[2] = {{1, {{2}}}};", 4, 24, "{", "nested too deeply"),
    (f"{HEAD}.global .b8 x = 0x10000000000000000000000;", 4, 17, "0x10000000000000000000000", "at most 22 digits"),
    (f"{HEAD}.global .b16 x = 1.5;", 4, 18, "1.5", "floating value"),
    (f"{HEAD}.global .b32 x = y;", 4, 18, "y", "undeclared name"),
    (f"{HEAD}.global .b32 x; .global .b32 z = x;", 4, 34, "x", "address in a .b32"),
    (f"{HEAD}.global .b32 y; .global .b8 x[8] = {{0xFFF(y)}};", 4, 37, "0xFFF", "0xFF, 0xFF00 and so on"),
    (f"{HEAD}.global .b32 y; .global .b8 x[8] = {{0xF(y)}};", 4, 37, "0xF", "mask of an address"),
    (f"{HEAD}.extern .global .b32 x = 1;", 4, 24, "=", "initialiser of an external"),
    (f"{HEAD}.global .attribute(managed) .b32 x;", 4, 20, "managed", "an attribute"),
    (f"{HEAD}.global .b32 x", 4, 15, "", "';'"),
    (
        ".version 1.4\n.target sm_10, map_f64_to_f32\n.entry k { .reg .f64 d; ret; }",
        2,
        16,
        "map_f64_to_f32",
        "narrows doubles",
    ),
]


@pytest.mark.parametrize(("text", "line", "column", "found", "expected"), MODULE, ids=[m[0][-40:] for m in MODULE])
def test_refusals_at_module_scope(text: str, line: int, column: int, found: str, expected: str) -> None:
    e = failure(text)
    assert e.place == f"line {line}, column {column}"
    assert str(e.found).startswith(f"'{found}'") or not found
    assert expected in f"{e.message} {e.expected}"


def test_the_message_reads_as_one_sentence() -> None:
    e = failure(f"{HEAD}.func f {{\n\tadd.s32 \t%r1, 4, 5;\n}}")
    assert str(e) == (
        "x.ptx: line 5, column 11: undeclared register; found '%r1' in 'add.s32 %r1, 4, 5;'; "
        "expected a register declared by '.reg', or a special register"
    )


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100000 + "1",
        "-" * 100000 + "1",
        "1?" * 5000 + "1",
        "1||1&&1|1^1&1==1<1<<1+1*(" * 3000 + "1",
        "9" * 100000,
        "0x" + "f" * 100000,
        "1." + "0" * 100000,
        "{" * 100000,
    ],
    ids=["parentheses", "signs", "conditions", "levels", "digits", "hexadecimal", "fraction", "braces"],
)
def test_no_depth_or_length_breaks_the_parser(text: str) -> None:
    failure(f"{HEAD}.func f {{ .reg .b32 a; mov.b32 a, {text}; }}")
    failure(f"{HEAD}.global .b32 x[4] = {text};")
    failure(f"{HEAD}.func f {{ {text}")


def test_a_long_expression_is_no_deep_one() -> None:
    parse(f"{HEAD}.func f {{ .reg .b32 a; mov.b32 a, {'+'.join(['1'] * 20000)}; }}")


def test_scopes_have_a_limit() -> None:
    failure(f"{HEAD}.func f {{ {'{' * 1000}{'}' * 1000} }}")
    parse(f"{HEAD}.func f {{ {'{' * 150}{'}' * 150} }}")
