"""Which shared variables an access is said to touch, rule by rule. `one` and `two` are static, `more` is dynamic."""

from __future__ import annotations

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import DYNAMIC, Function, Module
from binalloc.isa.kinds import Space

HEAD = """
.version 8.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 more[];
.extern .shared .align 8 .b8 again[];
.shared .align 4 .b8 of_module[64];
.shared .align 4 .b8 small[2];
"""
KERNEL = (
    HEAD
    + """
{functions}
.visible .entry k(.param .u64 p, .param .u32 n)
{{
.shared .align 16 .b8 one[128];
.shared .align 16 .b8 two[128];
.reg .pred %p<3>;
.reg .b16 %h<4>;
.reg .b32 %r<30>;
.reg .b64 %d<20>;
ld.param.u64 %d0, [p];
ld.param.u32 %r0, [n];
setp.eq.u32 %p1, %r0, 1;
mov.u32 %r1, one;
mov.u32 %r2, two;
mov.u32 %r3, %tid.x;
{body}
st.global.u32 [%d0], %r29;
ret;
}}
"""
)
ONE, TWO, BOTH = ("one",), ("two",), ("one", "two")


def imported(body: str, functions: str = "", *, optimised: bool = True) -> Module:
    """The binary of a kernel."""
    text = KERNEL.format(functions=functions, body=body)
    return import_ptx(text, optimised=optimised).module


def last(fn: Function) -> tuple[str, ...] | None:
    """What the last access to shared or generic memory is said to touch."""
    words = [w for w, instr in enumerate(fn.instrs) if instr.op.space in (Space.SHARED, Space.GENERIC)]
    return fn.touches.get(words[-1])


LOAD = "ld.shared.u32 %r29, [%r9];"
RULES = {
    # the symbol itself, and sums with numbers
    "ld.shared.u32 %r29, [one];": ONE,
    "ld.shared.u32 %r29, [one+64];": ONE,
    "ld.shared.u32 %r29, [of_module];": ("of_module",),
    "ld.shared.u32 %r29, [%r1+4];": ONE,
    "ld.u32 %r29, [two];": TWO,
    f"add.u32 %r9, %r1, %r3; {LOAD}": ONE,
    f"add.u32 %r9, %r3, %r2; {LOAD}": TWO,
    f"sub.u32 %r9, %r1, %r3; {LOAD}": ONE,
    f"add.u32 %r9, %r1, 12; {LOAD}": ONE,
    f"mad.lo.u32 %r9, %r3, 4, %r2; {LOAD}": TWO,
    f"mad.lo.u32 %r9, %r3, %r3, %r1; {LOAD}": ONE,
    f"ld.global.u32 %r8, [%d0]; add.u32 %r9, %r1, %r8; {LOAD}": ONE,
    f"ld.shared.u32 %r8, [%r2]; add.u32 %r9, %r1, %r8; {LOAD}": ONE,
    "ld.shared.u32 %r29, of_module[3];": ("of_module",),
    "ld.shared.u32 %r29, of_module[%r3+1];": ("of_module",),
    # copies and conversions
    f"mov.u32 %r8, %r1; mov.b32 %r9, %r8; {LOAD}": ONE,
    "cvt.u64.u32 %d1, %r1; ld.shared.u32 %r29, [%d1];": ONE,
    "mov.u64 %d1, one; ld.shared.u32 %r29, [%d1];": ONE,
    f"mov.u64 %d1, two; cvt.u32.u64 %r9, %d1; {LOAD}": TWO,
    "mov.u64 %d1, one; cvta.shared.u64 %d2, %d1; mul.wide.u32 %d3, %r3, 4; add.s64 %d4, %d2, %d3; "
    "ld.u32 %r29, [%d4];": ONE,
    "mov.u64 %d1, one; cvta.shared.u64 %d2, %d1; cvta.to.shared.u64 %d3, %d2; ld.shared.u32 %r29, [%d3];": ONE,
    "cvt.u64.u32 %d1, %r1; mad.wide.u32 %d2, %r3, 4, %d1; ld.shared.u32 %r29, [%d2];": ONE,
    f"mov.u64 %d1, one; mov.b64 {{%r9, %r8}}, %d1; {LOAD}": ONE,
    "mov.b64 %d1, {%r1, 0}; ld.shared.u32 %r29, [%d1];": ONE,
    f"cvt.u16.u32 %h1, %r1; cvt.u32.u16 %r9, %h1; {LOAD}": None,
    # choices
    f"selp.u32 %r9, %r1, %r2, %p1; {LOAD}": BOTH,
    f"selp.u32 %r8, %r1, %r2, %p1; add.u32 %r9, %r8, 4; {LOAD}": BOTH,
    f"selp.u32 %r9, %r1, 0, %p1; {LOAD}": None,
    f"selp.u32 %r8, 4, 8, %p1; add.u32 %r9, %r8, %r1; {LOAD}": ONE,
    f"min.u32 %r9, %r1, %r2; {LOAD}": BOTH,
    f"mov.u32 %r9, %r1; @%p1 mov.u32 %r9, %r2; {LOAD}": BOTH,
    f"mov.u32 %r9, %r1; @%p1 bra X; mov.u32 %r9, %r2; X: {LOAD}": BOTH,
    f"mov.u32 %r9, %r1; L: add.u32 %r9, %r9, 4; setp.lt.u32 %p2, %r9, %r0; @%p2 bra L; {LOAD}": ONE,
    f"shfl.sync.idx.b32 %r9, %r1, 0, 31, -1; {LOAD}": ONE,
    # masks
    f"add.u32 %r8, %r1, %r3; and.b32 %r9, %r8, -16; {LOAD}": ONE,
    f"and.b32 %r9, %r1, 4294967280; {LOAD}": ONE,
    f"and.b32 %r9, %r1, -32; {LOAD}": None,  # more than the variable is aligned to
    f"mov.u32 %r8, small; and.b32 %r9, %r8, -2; {LOAD}": ("small",),
    f"mov.u32 %r8, small; and.b32 %r9, %r8, -4; {LOAD}": None,  # the word has a neighbour's bytes, too
    f"mov.u32 %r8, more; and.b32 %r9, %r8, -1024; {LOAD}": (DYNAMIC,),
    f"mov.u32 %r8, more; and.b32 %r9, %r8, 4294966272; {LOAD}": (DYNAMIC,),
    f"mov.u32 %r8, more; and.b32 %r9, %r8, -2048; {LOAD}": None,
    f"and.b32 %r9, %r1, 4080; {LOAD}": None,
    f"and.b32 %r9, %r1, %r3; {LOAD}": None,
    f"xor.b32 %r9, %r1, 4; {LOAD}": None,
    f"or.b32 %r9, %r1, %r3; {LOAD}": None,
    # what is not known
    f"mov.u32 %r9, 0; {LOAD}": None,
    f"shl.b32 %r9, %r3, 2; {LOAD}": None,
    f"mov.u32 %r9, %r0; {LOAD}": None,
    f"ld.global.u32 %r9, [%d0]; {LOAD}": None,
    f"ld.shared.u32 %r9, [%r1]; {LOAD}": None,
    f"add.u32 %r9, %r1, %r2; {LOAD}": None,
    f"add.u32 %r8, %r1, %r1; sub.u32 %r9, %r8, %r1; {LOAD}": None,
    f"sub.u32 %r8, %r2, %r1; add.u32 %r9, %r8, %r1; {LOAD}": None,
    f"sub.u32 %r9, %r3, %r1; {LOAD}": None,
    f"neg.s32 %r9, %r1; {LOAD}": None,
    f"mul.lo.u32 %r9, %r1, 1; {LOAD}": None,
    f"mad.lo.u32 %r9, %r1, 4, %r2; {LOAD}": None,
    f"mad.lo.u32 %r9, %r1, 1, %r3; {LOAD}": None,
    f"mad.lo.u32 %r9, %r3, %r1, 8; {LOAD}": None,
    f"shl.b32 %r9, %r1, 1; {LOAD}": None,
    f"prmt.b32 %r9, %r1, %r2, 0x3210; {LOAD}": None,
    f"add.u32 %r8, %r1, %r2; selp.u32 %r9, %r8, %r1, %p1; {LOAD}": None,
    f"mov.u32 %r9, %r1; @%p1 add.u32 %r9, %r1, %r2; {LOAD}": None,
    # dynamic memory is one variable, whatever its names
    "ld.shared.u32 %r29, [more];": (DYNAMIC,),
    f"mov.u32 %r8, again; add.u32 %r9, %r8, %r3; {LOAD}": (DYNAMIC,),
    f"mov.u32 %r8, again; mov.u32 %r7, more; selp.u32 %r9, %r8, %r7, %p1; {LOAD}": (DYNAMIC,),
    f"mov.u32 %r8, more; selp.u32 %r9, %r8, %r1, %p1; {LOAD}": (DYNAMIC, "one"),
    # what was loaded is an index, or an address: r + (p - q) is in r's variable
    f"ld.shared.u32 %r8, [%r2]; sub.u32 %r7, %r1, %r8; ld.shared.u32 %r6, [%r2+4]; add.u32 %r9, %r6, %r7; {LOAD}": None,
    "mov.u64 %d1, one; ld.shared.v2.u64 {%d2, %d3}, [two]; sub.s64 %d4, %d1, %d2; add.s64 %d5, %d3, %d4; "
    "ld.shared.u32 %r29, [%d5];": None,
    f"ld.shared.u32 %r8, [%r2]; ld.shared.u32 %r7, [%r2+4]; sub.u32 %r6, %r7, %r8; add.u32 %r9, %r1, %r6; {LOAD}": None,
    f"ld.shared.u32 %r8, [%r2]; ld.shared.u32 %r7, [%r2+4]; sub.u32 %r6, %r7, %r8; "
    f"mad.lo.u32 %r9, %r6, 4, %r1; {LOAD}": ONE,
    f"ld.shared.u32 %r8, [%r2]; neg.s32 %r7, %r8; add.u32 %r9, %r1, %r7; {LOAD}": None,
    f"ld.shared.u32 %r8, [%r2]; not.b32 %r7, %r8; add.u32 %r9, %r1, %r7; {LOAD}": None,
    f"ld.shared.u32 %r8, [%r2]; mad.lo.s32 %r9, %r8, -1, %r1; {LOAD}": None,
    f"ld.shared.u32 %r8, [%r2]; mul.lo.s32 %r7, %r8, -1; add.u32 %r9, %r7, %r1; {LOAD}": None,
    f"ld.shared.u32 %r8, [%r2]; mul.lo.s32 %r7, %r8, 4; sub.u32 %r9, %r1, %r7; {LOAD}": ONE,
    "ld.shared.u32 %r8, [%r2]; cvt.u64.u32 %d1, %r8; mov.u64 %d2, one; sub.u64 %d3, %d2, %d1; "
    "ld.shared.u32 %r29, [%d3];": None,
    f"ld.shared.u32 %r8, [%r2]; and.b32 %r7, %r8, -4; sub.u32 %r9, %r1, %r7; {LOAD}": None,
    f"ld.shared.u32 %r8, [%r2]; add.u32 %r7, %r8, 4; sub.u32 %r9, %r1, %r7; {LOAD}": None,
    f"ld.shared.u32 %r8, [%r2]; shfl.sync.idx.b32 %r7, %r8, 0, 31, -1; sub.u32 %r9, %r1, %r7; {LOAD}": None,
    f"ld.shared.u32 %r8, [%r2]; selp.b32 %r7, 0, %r8, %p1; sub.u32 %r9, %r1, %r7; {LOAD}": None,
    f"ld.shared.u64 %d1, [two]; mov.b64 {{%r8, %r7}}, %d1; sub.u32 %r9, %r1, %r7; {LOAD}": None,
    f"atom.shared.exch.b32 %r8, [%r2], 1; sub.u32 %r9, %r1, %r8; {LOAD}": None,
    f"ld.shared.u16 %h1, [%r2]; cvt.u32.u16 %r8, %h1; sub.u32 %r9, %r1, %r8; {LOAD}": ONE,
    f"sub.u32 %r9, %r1, %r0; {LOAD}": ONE,  # a kernel's parameter is no address of a shared variable
    # operations that are none on addresses
    f"add.u16x2 %r9, %r1, %r3; {LOAD}": None,
    f"min.u16x2 %r9, %r1, %r2; {LOAD}": None,
    f"bar.red.popc.u32 %r8, 0, %p1; add.u32 %r9, %r1, %r8; {LOAD}": ONE,
    f"bar.red.popc.u32 %r8, 0, %p1; selp.u32 %r9, %r1, %r8, %p1; {LOAD}": None,
    # other accesses
    "st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0};": ONE,
    "atom.shared.add.u32 %r29, [%r1], 1;": ONE,
    "red.shared.add.u32 [%r2], 1;": TWO,
    "@%p1 st.shared.u32 [%r1], %r0;": ONE,
    "mov.u32 %r29, 1; ld.shared.u32 %r8, [%r1]; @%p1 mov.u32 %r29, %r8;": ONE,
    "cp.async.ca.shared.global [%r1], [%d0], 4;": ONE,
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r29}, [%r1];": ONE,
}


@pytest.mark.parametrize("optimised", [True, False])
@pytest.mark.parametrize("body", RULES)
def test_rule(body: str, optimised: bool) -> None:
    body = body.replace("; ", ";\n").replace(": ", ":\n")
    fn = imported(body, optimised=optimised).function("k")
    expected = RULES[next(rule for rule in RULES if rule.replace("; ", ";\n").replace(": ", ":\n") == body)]
    assert last(fn) == expected


def test_atomics_on_halves_touch_the_word_around_so_nothing_is_said() -> None:
    fn = imported("mov.u16 %h1, 1;\natom.shared.add.noftz.f16 %h2, [%r1], %h1;\ncvt.u32.u16 %r29, %h2;").function("k")
    assert not fn.touches


FUNCTION = """
.func (.param .b32 result) f(.param .b64 a, .param .b32 n)
{{
.reg .b32 %r<9>;
.reg .b64 %d<9>;
ld.param.u64 %d1, [a];
ld.param.u32 %r1, [n];
mul.wide.u32 %d2, %r1, 4;
add.u64 %d3, %d1, %d2;
ld.shared.u32 %r2, [%d3];
{body}
st.param.b32 [result], %r3;
ret;
}}
"""
SAME = "mov.u32 %r3, %r2;"
CALL = """
{{
.param .b64 p0;
st.param.b64 [p0], {pointer};
.param .b32 p1;
st.param.b32 [p1], %r3;
.param .b32 r;
call (r), f, (p0, p1);
ld.param.b32 %r{to}, [r];
}}
"""
POINTERS = "cvt.u64.u32 %d1, %r1;\ncvt.u64.u32 %d2, %r2;\n"


def _calls(*pointers: str) -> str:
    return POINTERS + "".join(CALL.format(pointer=pointer, to=20 + k) for k, pointer in enumerate(pointers))


@pytest.mark.parametrize(
    ("pointers", "expected"),
    [(["%d1"], ONE), (["%d1", "%d1"], ONE), (["%d1", "%d2"], BOTH), (["%d1", "%d0"], None), (["%d0"], None)],
)
def test_arguments_come_from_all_calls(pointers: list[str], expected: tuple[str, ...] | None) -> None:
    module = imported(_calls(*pointers), FUNCTION.format(body=SAME))
    assert last(module.function("f")) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (SAME, None), ("cvt.u32.u64 %r3, %d1;", ONE), ("cvt.u32.u64 %r3, %d3;", ONE),
        ("mov.u32 %r3, of_module;", ("of_module",)), ("add.u32 %r3, %r1, 4;", None),
    ],
)
def test_results_come_from_the_function(body: str, expected: tuple[str, ...] | None) -> None:
    module = imported(_calls("%d1") + "ld.shared.u32 %r29, [%r20];", FUNCTION.format(body=body))
    assert last(module.function("k")) == expected


def test_a_register_has_one_set_of_symbols_wherever_it_is() -> None:
    module = imported("mov.u32 %r9, %r1;\nld.shared.u32 %r29, [%r9];\nmov.u32 %r9, %r2;\nst.shared.u32 [%r9], %r0;")
    assert set(module.function("k").touches.values()) == {BOTH}


def test_an_index_from_a_function_is_a_number() -> None:
    body = _calls("%d1") + "add.u32 %r9, %r2, %r20;\nld.shared.u32 %r29, [%r9];"
    assert last(imported(body, FUNCTION.format(body=SAME)).function("k")) == TWO


def test_a_function_whose_address_is_taken_may_get_any_argument() -> None:
    body = "mov.u64 %d5, f;\nst.global.u64 [%d0], %d5;\n" + _calls("%d1")
    assert last(imported(body, FUNCTION.format(body=SAME)).function("f")) is None


def test_kernels_that_mean_other_variables_say_nothing() -> None:
    other = KERNEL.format(functions=FUNCTION.format(body=SAME), body=_calls("%d1"))
    second = other[other.index(".visible") :].replace(" k(", " other(").replace(" one", " three").replace("two", "four")
    module = import_ptx(other + second).module
    functions = [fn for fn in module if fn.name.startswith("f")]
    assert functions
    assert all(last(fn) is None for fn in functions)
    assert last(import_ptx(other + second, kernels=["other"]).module.function("f")) == ("three",)
