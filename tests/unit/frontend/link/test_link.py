"""Linking PTX of several files: which definition a name means, what stays apart, what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from binalloc.errors import MalformedInput, UsageError
from binalloc.frontend.importer import import_ptx
from binalloc.frontend.link.problems import NotLinkable
from binalloc.frontend.refused import NotImportable
from tests.support.ptx.harness import launched
from tests.support.ptx.linked import HEAD, answer, call, declared, function, kernel, linked, result, swapped

CALLS_F = declared("f") + kernel(call("f"))
READS_V = ".extern .global .u32 v;\n" + kernel("ld.global.u32 %r1, [v];")

ANSWERS = {
    "a function of another file": ([CALLS_F, function("f", 10)], 11),
    "beside files of sources for the host alone, which have one text": ([CALLS_F, "", function("f", 10), ""], 11),
    "a declaration that is .visible": ([declared("f", ".visible ") + kernel(call("f")), function("f", 10)], 11),
    "a strong function before a weak one": (
        [function("f", 10) + kernel(call("f")), function("f", 20, ".weak ")], 11),
    "a strong function behind a weak one": (
        [function("f", 10, ".weak ") + kernel(call("f")), function("f", 20)], 21),
    "the first of weak functions": (
        [function("f", 10, ".weak ") + kernel(call("f")), function("f", 20, ".weak ")], 11),
    "a function of the file's own": (
        [function("f", 10, "") + kernel(call("f")), function("f", 20, "")], 11),
    "one's own, though another file shares the name": (
        [function("f", 10, "") + kernel(call("f")), function("f", 20)], 11),
    "the shared one, though another file has its own": (
        [CALLS_F, function("f", 10, "") + ".visible .func g { ret; }", function("f", 20)], 21),
    "a variable of another file": ([READS_V, ".visible .global .u32 v = 5;"], 5),
    "an array declared without a size": (
        [".extern .global .align 4 .b8 v[];\n" + kernel("ld.global.u32 %r1, [v+4];"),
         ".visible .global .align 4 .b8 v[8] = {0, 0, 0, 0, 7};"], 7),
    "a strong variable over a weak one": (
        [".weak .global .u32 v = 3;\n" + kernel("ld.global.u32 %r1, [v];"), ".visible .global .u32 v = 5;"], 5),
    "the first of weak variables": (
        [".weak .global .u32 v = 3;\n" + kernel("ld.global.u32 %r1, [v];"), ".weak .global .u32 v = 5;"], 3),
    "a variable of the file's own": (
        [".global .u32 v = 3;\n" + kernel("ld.global.u32 %r1, [v];"), ".global .u32 v = 5;"], 3),
    "a constant of another file": (
        [".extern .const .u32 c;\n.const .u32 own = 1;\n" + kernel("ld.const.u32 %r1, [c];"),
         ".const .u32 own = 2;\n.visible .const .u32 c = 9;"], 9),
    "common variables, of which one has data": (
        [".common .global .u32 v;\n" + kernel("ld.global.u32 %r1, [v];"), ".common .global .u32 v = 4;"], 4),
    "a strong variable over a common one": (
        [".common .global .u32 v;\n" + kernel("ld.global.u32 %r1, [v];"), ".visible .global .u32 v = 4;"], 4),
    "an address in an initialiser": (
        [".extern .global .u32 v;\n.global .u64 p = generic(v);\n"
         + kernel("ld.global.u64 %d1, [p]; ld.u32 %r1, [%d1];"), ".visible .global .u32 v = 6;"], 6),
    "an address of one's own in an initialiser": (
        [".global .u32 v = 1;\n" + kernel("mov.u32 %r1, 0;", "other"),
         ".global .u32 v = 6;\n.global .u64 p[2] = {0, generic(v)};\n"
         + kernel("ld.global.u64 %d1, [p+8]; ld.u32 %r1, [%d1];")], 6),
    "an alias of another file": (
        [declared("g") + kernel(call("g")), function("f", 10) + declared("g", ".visible ") + ".alias g, f;"], 11),
    "an alias within a file": ([function("f", 10) + declared("g", "") + kernel(call("g")) + ".alias g, f;"], 11),
    "an alias of one's own, renamed": (
        [function("f", 20, "") + kernel(call("f"), "other"),
         function("f", 10, "") + declared("g", "") + kernel(call("g")) + ".alias g, f;"], 11),
    "a strong function over a weak alias": (
        [function("f", 10) + declared("g", ".weak ") + kernel(call("g")) + ".alias g, f;", function("g", 20)], 21),
    "shared memory of another file": (
        [".extern .shared .align 4 .b8 s[8];\n.visible .func set;\n"
         + kernel("call set; ld.shared.u32 %r1, [s+4];"),
         ".visible .shared .align 4 .b8 s[8];\n.visible .func set { st.shared.u32 [s+4], 8; ret; }"], 8),
}  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_name_means(name: str) -> None:
    texts, expected = ANSWERS[name]
    assert answer(*texts) == expected


@pytest.mark.parametrize("name", [n for n in ANSWERS if not n.startswith("the first") and len(ANSWERS[n][0]) == 2])
def test_the_order_of_files_decides_nothing_else(name: str) -> None:
    texts, expected = ANSWERS[name]
    assert answer(*swapped(texts)) == expected


def test_own_names_that_collide_are_renamed_by_the_number_of_the_file() -> None:
    own = [function("f", n, "") + f".global .u32 v = {n};\n" + kernel(call("f"), f"k{n}") for n in (1, 2, 3)]
    found = linked(*own)
    names = [f.name for f in found.module.functions]
    assert sorted(n for n in names if n[0] == "f") == ["f", "f$2", "f$3"]
    assert [result(found, f"k{n}") for n in (1, 2, 3)] == [2, 3, 4]
    taken = linked(function("f", 1, "") + function("f$2", 5, "") + kernel(call("f$2")), own[1])
    assert sorted(f.name for f in taken.module.functions if not f.info.is_kernel) == ["f$2", "f$2$"]
    assert (result(taken), result(taken, "k2")) == (6, 3)


def test_what_a_function_declares_itself_is_not_renamed() -> None:
    """Parameters, variables, registers and labels of a body hide the names of module scope."""
    body = (
        ".local .u32 v; .reg .b32 w; st.local.u32 [v], 7; ld.local.u32 %r1, [v]; mov.u32 w, 1;"
        " { .param .b32 q; st.param.b32 [q], %r1; .param .b32 r; call (r), f, (q); ld.param.b32 %r1, [r]; }"
        " bra u; mov.u32 %r1, 0; u: add.u32 %r1, %r1, w;"
    )
    head = function("f", 100, "") + "".join(f".global .u32 {name} = 1;\n" for name in "vwuqr")
    other = head.replace("100", "50") + kernel("ld.global.u32 %r1, [u];", "k2")
    for texts in ([other, head + kernel(body)], [head + kernel(body), other]):
        assert answer(*texts) == 108


def test_kernels_of_ones_own_may_share_a_name() -> None:
    found = linked(kernel("mov.u32 %r1, 1;", linkage=""), kernel("mov.u32 %r1, 2;", linkage=""))
    assert [k.name for k in found.kernels] == ["k", "k$2"]
    assert (result(found), result(found, "k$2")) == (1, 2)


def test_kernels_of_templates_are_there_once() -> None:
    text = kernel("mov.u32 %r1, 1;", linkage=".weak ")
    assert [k.name for k in linked(text, text + kernel("mov.u32 %r1, 2;", "other")).kernels] == ["k", "other"]


def test_common_variables_take_the_largest_size_and_the_strictest_alignment() -> None:
    texts = [".common .global .align 4 .u32 v;\n" + kernel("mov.u64 %d1, v; cvt.u32.u64 %r1, %d1;"),
             ".common .global .b8 v[40];", ".common .global .align 64 .b8 v[12];"]  # fmt: skip
    (v,) = linked(*texts).module.globals
    assert (v.size, v.align) == (40, 64)


def test_the_strictest_alignment_of_a_variable_holds() -> None:
    user = ".extern .global .align 32 .b8 v[4];\n" + kernel("ld.global.u32 %r1, [v];")
    found = linked(user, ".visible .global .u32 v;")
    (v,) = found.module.globals
    assert (v.size, v.align) == (4, 32)


def test_dynamic_shared_memory_is_one_for_all_files_whatever_its_type() -> None:
    texts = [
        ".extern .shared .align 4 .b8 s[];\n.extern .func set;\n" + kernel("call set; ld.shared.u32 %r1, [s+4];"),
        ".extern .shared .align 8 .f64 s[];\n.visible .func set { st.shared.u32 [s+4], 8; ret; }",
    ]
    found = linked(*texts)
    assert found.module.function("k").info.shared_bytes == 0
    assert result(found, dynamic=16) == 8


def test_source_lines_of_several_files() -> None:
    """Files are numbered by every translation unit for itself; one header of both is one file."""
    lines = ".loc 1 {} 0\nmov.u32 %r2, %tid.x;\n.loc 2 {} 0\nadd.u32 %r1, %r2, 5;"
    one = kernel(lines.format(3, 10), "one") + '.file 1 "a.cu"\n.file 2 "common.h"\n'
    two = kernel(lines.format(30, 40), "two") + '.file 1 "common.h"\n.file 2 "b.cu"\n'
    nameless = kernel(".loc 7 1 0\nmov.u32 %r1, 1;", "three") + '.file 1 "a.cu"\n.file 2 "c.cu"\n'
    module = linked(one, two, nameless).module
    found = {f.name: set(f.lines.values()) for f in module.functions}
    assert found["one"] == {("a.cu", 3), ("common.h", 10)}
    assert found["two"] == {("common.h", 30), ("b.cu", 40)}
    assert not found["three"]


CONTRADICTIONS = {
    "number of parameters": (
        [".extern .func f(.param .b32 a);\n" + kernel("{ .param .b32 q; call f, (q); }"), ".visible .func f { ret; }"],
        "declared differently", "0 parameters, as defined at b.ptx, line 4, column 16"),
    "type of a parameter": (
        [".extern .func f(.param .f32 a);\n" + kernel("mov.u32 %r1, 1;"), ".visible .func f(.param .u32 a) { ret; }"],
        "declared differently", "parameter 1 of .u32"),
    "size of a result": (
        [".extern .func (.param .b64 r) f;\n" + kernel("mov.u32 %r1, 1;"), ".visible .func (.param .b32 r) f { ret; }"],
        "declared differently", "result 1 of .b32"),
    "size of a variable": ([READS_V, ".visible .global .u64 v;"], "declared differently", "8 bytes"),
    "type of a variable": ([READS_V, ".visible .global .f32 v;"], "declared differently", ".f32"),
    "space of a variable": ([READS_V, ".visible .const .u32 v;"], "declared differently", ".const"),
    "a variable and a function": ([READS_V, ".visible .func v { ret; }"], "declared differently", "a function"),
    "a kernel and a function": ([CALLS_F, kernel("mov.u32 %r1, 1;", "f")], "declared differently", "a kernel"),
    "two functions": ([function("f", 1) + kernel(call("f")), function("f", 1)], "f is defined twice", "one definition"),
    "two variables": (
        [".visible .global .u32 v;\n" + kernel("mov.u32 %r1, 1;"), ".visible .global .u32 v;"],
        "v is defined twice", "one definition"),
    "two kernels": ([kernel("mov.u32 %r1, 1;"), kernel("mov.u32 %r1, 2;")], "k is defined twice", "one definition"),
    "weak variables of two sizes": (
        [".weak .global .u32 v;\n" + kernel("mov.u32 %r1, 1;"), ".weak .global .u64 v;"],
        "declared differently", "4 bytes"),
    "initial data too short": (
        [".common .global .u32 v = 1;\n" + kernel("mov.u32 %r1, 1;"), ".common .global .u64 v;"],
        "not the largest", "8 bytes"),
    "a definition too short for a .common": (
        [".common .global .u64 v;\n" + kernel("mov.u32 %r1, 1;"), ".visible .global .u32 v;"],
        "declared differently", "4 bytes"),
    "initial data twice": (
        [".common .global .u32 v = 1;\n" + kernel("mov.u32 %r1, 1;"), ".common .global .u32 v = 2;"],
        "initialised twice", "a.ptx, line 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_files_cannot_both_say(name: str) -> None:
    texts, message, expected = CONTRADICTIONS[name]
    with pytest.raises(NotLinkable, match=re.escape(message)) as caught:
        linked(*texts)
    error = caught.value
    assert expected in str(error)
    assert error.file in ("a.ptx", "b.ptx")
    assert (error.place or "").startswith("line ")
    assert re.search(r"[ab]\.ptx, line \d+, column \d+", str(error)), "the other place is named, too"
    with pytest.raises(NotLinkable, match=re.escape(message)):
        linked(*swapped(texts))


AGREE = [
    (".extern .global .u32 v;", ".visible .global .s32 v;"),
    (".extern .global .b32 v;", ".visible .global .f32 v;"),
    (".extern .global .align 4 .b8 v[4];", ".visible .global .f32 v;"),
    (".extern .global .f32 v[];", ".visible .global .f32 v[9];"),
    (".extern .func v(.param .b32 a);", ".visible .func v(.param .f32 a) { ret; }"),
    (".extern .func v(.param .align 4 .b8 a[8]);", ".visible .func v(.param .align 8 .b8 a[8]) { ret; }"),
    (".extern .func v(.param .s16 a);", ".visible .func v(.param .u16 a) { ret; }"),
]


@pytest.mark.parametrize(("declaration", "definition"), AGREE)
def test_what_files_may_say_differently(declaration: str, definition: str) -> None:
    assert linked(declaration + kernel("mov.u32 %r1, 1;"), definition).kernels


DISAGREE = [
    (".extern .global .u16 v[];", ".visible .global .u32 v[9];"),
    (".extern .global .bf16 v;", ".visible .global .f16 v;"),
    (".extern .func v(.param .f16 a);", ".visible .func v(.param .u16 a) { ret; }"),
    (".extern .global .texref v;", ".visible .global .u64 v;"),
]


@pytest.mark.parametrize(("declaration", "definition"), DISAGREE)
def test_types_that_are_not_the_same(declaration: str, definition: str) -> None:
    with pytest.raises(NotLinkable, match="declared differently"):
        linked(declaration + kernel("mov.u32 %r1, 1;"), definition)


def test_all_contradictions_are_told_at_once() -> None:
    twice = function("f", 1) + ".visible .global .u32 v;\n.visible .const .u32 c;\n"
    with pytest.raises(NotLinkable) as caught:
        linked(twice + kernel("mov.u32 %r1, 1;"), twice)
    assert len(caught.value.problems) == 3
    assert all(f"{name} is defined twice" in str(caught.value) for name in "fvc")
    many = "".join(f".visible .global .u32 v{n};\n" for n in range(30))
    with pytest.raises(NotLinkable, match="and 21 more"):
        linked(many + kernel("mov.u32 %r1, 1;"), many)


def test_files_of_one_program_are_alike() -> None:
    narrow = HEAD.replace("64", "32") + ".visible .func f { ret; }"
    samplers = HEAD.replace("sm_75", "sm_75, texmode_independent") + ".visible .func f { ret; }"
    for other, what in ((narrow, "sizes of addresses"), (samplers, "texture modes")):
        with pytest.raises(NotLinkable, match=what) as caught:
            import_ptx([HEAD + kernel("mov.u32 %r1, 1;"), other], ["a.ptx", "b.ptx"], machine="gtx680")
        assert "a.ptx" in str(caught.value)
        assert caught.value.file == "b.ptx"


def test_a_symbol_that_no_file_defines() -> None:
    """It is refused where a wanted kernel uses it, with file and line, and only there."""
    user = declared("far") + kernel(call("far")) + kernel("mov.u32 %r1, 1;", "good")
    other = ".extern .global .u32 away;\n.visible .func unused { .reg .b32 %r1; ld.global.u32 %r1, [away]; ret; }\n"
    with pytest.raises(NotImportable, match="far is declared but not defined in any of the 2 files") as caught:
        linked(user, other)
    assert (caught.value.file, caught.value.place) == ("a.ptx", "line 6, column 54")
    assert "Give the file that defines it" in str(caught.value)
    assert [k.name for k in linked(user, other, kernels=["good"]).kernels] == ["good"]
    assert [k.name for k in linked(user, other, skip_unsupported=True).kernels] == ["good"]
    assert answer(user, other, function("far", 4)) == 5
    with pytest.raises(NotImportable, match="far is declared but not defined in this file"):
        linked(user)


def test_further_reasons_name_their_files() -> None:
    user = declared("far") + declared("g") + kernel(call("far") + call("g"))
    with pytest.raises(NotImportable, match=r"One further reason: b\.ptx: line 4, column"):
        linked(user, function("g", "away").replace(".visible", ".extern .global .u32 away; .visible", 1))


def test_an_initialiser_with_an_address_that_no_file_defines() -> None:
    user = ".extern .global .u32 away;\n.global .u64 p = generic(away);\n" + kernel("ld.global.u32 %r1, [p];")
    with pytest.raises(NotImportable, match="declared but not defined there") as caught:
        linked(user, ".visible .func f { ret; }")
    assert (caught.value.file, caught.value.place) == ("a.ptx", "line 5, column 14")


def test_recursion_through_two_files_has_frames_on_a_stack() -> None:
    one = declared("g") + function("f", 1).replace("add.u32", call("g") + " add.u32") + kernel(call("f"))
    two = declared("f") + function("g", 1).replace("add.u32", call("f") + " add.u32")
    found = linked(one, two)
    assert found.kernels[0].calls == ["f", "g"]
    assert found.module.provenance[0]["stack_bytes"] == 1024


def test_files_without_a_kernel() -> None:
    with pytest.raises(MalformedInput, match=r"a\.ptx, b\.ptx: no kernel in any of the 2 files"):
        linked(declared("f"), declared("g"))


def test_errors_of_a_file_name_it() -> None:
    with pytest.raises(MalformedInput) as caught:
        linked(kernel("mov.u32 %r1, 1;"), ".visible .func f { wrong")
    assert caught.value.file == "b.ptx"


def test_one_text_is_given_once() -> None:
    with pytest.raises(UsageError, match="the same file twice"):
        linked(CALLS_F, function("f", 1), CALLS_F)
    with pytest.raises(UsageError, match="a path for each"):
        import_ptx([HEAD, HEAD], ["a.ptx"], machine="gtx680")
    with pytest.raises(UsageError, match="at least one text"):
        import_ptx([], machine="gtx680")


def test_the_binary_says_what_it_was_linked_from() -> None:
    one = linked(kernel("mov.u32 %r1, 1;"))
    assert set(one.module.provenance[0]) == {"tool", "version", "input_sha256", "machine"}
    two = linked(CALLS_F, function("f", 1))
    hashes = two.module.provenance[0]["inputs_sha256"]
    assert isinstance(hashes, list)
    assert [len(h) for h in hashes] == [64, 64]


def test_textures_of_two_files_stay_apart() -> None:
    found = linked(
        ".global .texref t;\n" + kernel("mov.u32 %r2, 0; tex.1d.v4.u32.s32 {%r1, %r3, %r4, %r5}, [t, {%r2}];"),
        ".global .texref t;\n" + kernel("mov.u32 %r2, 0; tex.1d.v4.u32.s32 {%r1, %r3, %r4, %r5}, [t, {%r2}];", "k2"),
    )
    assert [p.name for p in found.module.function("k2").info.params] == ["out", "t$2"]


def test_aliases_are_of_functions_alike() -> None:
    for text, message in (
        (function("f", 1) + ".func g;\n.alias g, f;", "alias of another kind"),
        (declared("f") + declared("g") + ".alias g, f;", "alias of a function"),
        (function("f", 1) + function("g", 1) + ".alias g, f;", "alias of a function"),
        (function("f", 1) + function("h", 1) + declared("g") + ".alias g, f; .alias g, h;", "alias of two"),
        (function("f", 1) + declared("g", "") + ".alias g, f;" + function("g", 1), "body of an alias"),
        (function("f", 1) + declared("g", "") + ".alias g;", "unexpected text"),
    ):
        with pytest.raises(MalformedInput, match=message):
            linked(text + kernel("mov.u32 %r1, 1;"))


def test_linked_and_whole_compute_the_same_of_arrays() -> None:
    """A file's own table, another's constants and a loop over both."""
    main = (
        ".extern .const .align 4 .b8 c[16];\n.global .align 4 .u32 t[4] = {1, 2, 3, 4};\n" + declared("f")
        + kernel("mov.u32 %r3, %tid.x; and.b32 %r3, %r3, 3; shl.b32 %r3, %r3, 2; cvt.u64.u32 %d1, %r3; mov.u64 %d2, t;"
                 "add.u64 %d2, %d2, %d1; ld.global.u32 %r4, [%d2]; mov.u64 %d3, c; add.u64 %d3, %d3, %d1;"
                 "ld.const.u32 %r5, [%d3]; mad.lo.u32 %r6, %r4, 100, %r5;" + call("f", "%r6")
                 + "cvt.u64.u32 %d1, %tid.x; shl.b64 %d1, %d1, 2; ld.param.u64 %d4, [out]; add.u64 %d4, %d4, %d1;"
                 "st.global.u32 [%d4], %r1; ret;")
    )  # fmt: skip
    other = ".visible .const .align 4 .u32 c[4] = {5, 6, 7, 8};\n.global .u32 t = 1000;\n" + function("f", "t")
    out = np.zeros(8, np.uint32)
    found = launched(linked(main, other).module, "k", ["out"], [out], block=8, engine="python")["out"]
    assert list(found) == [1000 + 100 * (n % 4 + 1) + 5 + n % 4 for n in range(8)]
