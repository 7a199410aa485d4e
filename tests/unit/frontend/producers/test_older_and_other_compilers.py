"""Registers outside of functions (CUDA 2 and 3), generic accesses by name, fences between proxies, vectors that are
moved as a whole, marks of lines, blanks inside of opcodes."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.importer import import_ptx
from tests.support.ptx.bodies import both, code
from tests.support.ptx.harness import launched
from tests.support.ptx.texts import kernel

LANE = np.arange(32, dtype=np.uint32)
OLD = ".version 1.4\n.target sm_13\n"
OUTSIDE = ".reg .u32 %ra<4>; .reg .u32 %rv1; .reg .v2 .u32 pair; .reg .pred odd;\n"


def test_registers_outside_of_functions_belong_to_each_function() -> None:
    head = OUTSIDE + """.func (.reg .u32 %rv1) twice(.reg .u32 %ra1) { .reg .u32 %x; mov.u32 %ra2, 2;
        mul.lo.u32 %x, %ra1, %ra2; mov.u32 %rv1, %x; ret; }\n"""
    body = """mov.u32 %ra1, %r0; call (%rv1), twice, (%ra1);
        mov.u32 %r1, %rv1; and.b32 %ra3, %r0, 1; setp.ne.u32 odd, %ra3, 0; @odd add.u32 %r1, %r1, 1000;
        st.global.u32 [%d1], %r1;"""
    np.testing.assert_array_equal(both(body, head=head), 2 * LANE + 1000 * (LANE % 2))
    vector = "mov.u32 pair.x, %r0; mov.u32 pair.y, 5; add.u32 %r1, pair.x, pair.y; st.global.u32 [%d1], %r1;"
    np.testing.assert_array_equal(both(vector, head=head, compare=False), LANE + 5)


def test_a_file_of_nvopencc() -> None:
    """The layout of its files: registers of calls that the file does not have, version and target of its time."""
    sets = (("u32", "%ra"), ("u64", "%rda"), ("f32", "%fa"), ("f64", "%fda"))
    registers = "".join(f"\t.reg .{kind} {name}<17>;\n" for kind, name in sets)
    text = f"""{OLD}\t// compiled with be\n{registers}\t.reg .u32 %rv<5>;
        .entry k (\n\t\t.param .u64 __cudaparm_k_out)\n\t{{\n\t.reg .u32 %r<5>;\n\t.reg .u64 %rd<4>;
        .loc\t16\t3\t0\n$LBB1_k:\n\tmov.u32 \t%r1, %tid.x;\n\tld.param.u64 \t%rd1, [__cudaparm_k_out];
        mul.wide.u32 %rd2, %r1, 4;\n\tadd.u64 %rd3, %rd1, %rd2;\n\tmul24.lo.u32 %ra1, %r1, 7;
        st.global.u32 \t[%rd3+0], %ra1;\n\texit;\n$LDWend_k:\n\t}} // k\n"""
    module = import_ptx(text, machine="gtx680").module
    out = launched(module, "k", ["__cudaparm_k_out"], [np.zeros(32, np.uint32)], engine="python")
    assert out["__cudaparm_k_out"].tolist() == (7 * LANE).tolist()


def test_names_of_functions_and_of_scopes_hide_registers_outside_of_them() -> None:
    head = ".reg .b32 a; .reg .b32 v<3>; .reg .pred p;\n"
    body = """mov.b32 a, 1; { .reg .f32 a; .reg .b32 v<3>; mov.f32 a, 0f40000000; mov.b32 v2, 50;
        { .reg .b16 a; mov.b16 a, 7; cvt.u32.u16 v1, a; } add.u32 v2, v2, v1; mov.b32 %r2, v2; cvt.rzi.u32.f32 %r3, a; }
        add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, a; st.global.u32 [%d1], %r1;"""
    np.testing.assert_array_equal(both(body, head=head), np.full(32, 60))


KEEPS = ".func keep() { add.u32 %ra1, %ra1, 1; ret; }\n"
READS = ".func look(.reg .b32 x) { .reg .b32 y; mov.u32 %ra1, x; ret; }\n"


@pytest.mark.parametrize(
    ("head", "body", "line"),
    [
        (KEEPS, "mov.u32 %ra1, 3; call keep; mov.u32 %r1, 0;", 5),
        (READS, "mov.u32 %ra1, 3; call look, (%r0);\nadd.u32 %r1, %ra1, 1;", 14),
        (READS, "mov.u32 %ra1, 3; bra L;\nL: call look, (%ra1);", 14),
        (READS, "setp.eq.u32 %p1, %r0, 3; @%p1 mov.u32 %ra1, 3;\n call look, (%ra1);", 14),
        (".func two() { mov.u32 %r1, %ra2; ret; }\n".replace("mov.u32 %r1", ".reg .b32 %r1; mov.u32 %r1"),
         "call two;", 5),
    ],
)  # fmt: skip
def test_a_value_that_goes_from_one_function_to_another_outside_of_both(head: str, body: str, line: int) -> None:
    """Refused with its place; the same without the other function imports."""
    with pytest.raises(MalformedInput, match=rf"line {line}, .*outside of functions and may hold another function's"):
        import_ptx(kernel(body, head=OUTSIDE + head), machine="gtx680")


@pytest.mark.parametrize("text", [
    ".reg .u32 a; .reg .u32 a;", ".reg .u32 a<3>; .reg .u32 a1;", ".reg .u32 a; .global .u32 a;",
    ".global .u32 a; .reg .u32 a;", ".reg .u32 a; .func a() {ret;}", ".func a() {ret;} .reg .u32 a;",
    ".visible .reg .u32 a;", ".param .u32 a;", ".reg .u32 WARP_SZ;", ".reg .u32 a<5000000000>;",
])  # fmt: skip
def test_registers_outside_of_functions_that_clash(text: str) -> None:
    with pytest.raises(MalformedInput, match=r"line 4"):
        import_ptx(kernel("", head=text), machine="gtx680")


@pytest.mark.parametrize("use", ["mov.u32 %r1, a;", "@a mov.u32 %r1, 2;"])
def test_a_register_that_is_declared_behind_its_use(use: str) -> None:
    with pytest.raises(MalformedInput, match=r"undeclared|not a predicate"):
        import_ptx(kernel(use) + ".reg .u32 a;", machine="gtx680")


SHARED = ".shared .align 16 .b32 s[64]; .extern .shared .b8 dynamic[];\n"


def test_a_generic_access_by_the_name_of_a_shared_variable() -> None:
    """Loads, stores, atomics; of one word, halves, vectors, dynamic memory, of local variables, too."""
    body = """.local .align 8 .b32 l[4]; setp.ne.u32 %p1, %r0, 0;
        @!%p1 st.b32 [s+4], 5; @!%p1 st.v2.b32 [s+8], {6, 7}; @!%p1 st.u16 [dynamic+2], 9; bar.sync 0;
        ld.b32 %r1, [s+4]; ld.v2.b32 {%r2, %r3}, [ s + 8 ]; ld.u16 %r4, [dynamic+2];
        st.u32 [l+4], %r0; ld.u32 %r5, [l+4];
        atom.add.u32 %r6, [s+32], 1; red.add.u32 [s+36], 2; bar.sync 0; ld.volatile.u32 %r7, [s+36];
        shl.b32 %r2, %r2, 4; shl.b32 %r3, %r3, 8; shl.b32 %r4, %r4, 12; shl.b32 %r5, %r5, 16; shl.b32 %r7, %r7, 22;
        add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;
        add.u32 %r1, %r1, %r7; st.global.u32 [%d1], %r1;"""
    found = both("st.b32 [s+36], 0; bar.sync 0;" + body, head=SHARED, dynamic=16)
    whole = 5 + (6 << 4) + (7 << 8) + (9 << 12) + (LANE << 16) + np.uint32(64 << 22)
    np.testing.assert_array_equal(found, whole.astype(np.uint32))


def test_a_generic_access_by_the_name_of_a_global_variable_stays_one() -> None:
    body = "st.u32 [g+4], 8; ld.u32 %r1, [g+4]; st.global.u32 [%d1], %r1;"
    np.testing.assert_array_equal(both(body, head=".global .u32 g[4];\n"), np.full(32, 8))


def test_prefetches_by_name() -> None:
    np.testing.assert_array_equal(both("prefetch.L1 [s]; st.global.u32 [%d1], %r0;", head=SHARED), LANE)


NOTHING = ["fence.proxy.alias", "fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta",
           "fence.proxy.async.shared::cluster", "membar.proxy.alias"]  # fmt: skip
ORDERS = ["fence.proxy.tensormap::generic.release.gpu", "fence.proxy.tensormap::generic.release.sys",
          "fence.proxy.tensormap::generic.acquire.cta [%d0], 128", "fence.mbarrier_init.release.cluster",
          "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
          "fence.acquire.sync_restrict::shared::cluster.cluster",
          "fence.release.sync_restrict::shared::cta.cluster"]  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("text", NOTHING + ORDERS)
def test_fences_between_proxies(text: str) -> None:
    """Those with a scope are fences of it, the others order nothing, guarded or not."""
    body = f"setp.ne.u32 %p1, %r0, 3; {text}; @%p1 {text}; st.global.u32 [%d1], %r0;"
    assert code(body).count("MEMBAR") == (2 if text in ORDERS else 0)
    np.testing.assert_array_equal(both(body), LANE)


@pytest.mark.parametrize("text", [
    "fence.proxy", "fence.proxy.async.gpu", "fence.proxy.alias.acquire", "fence.proxy.tensormap::generic.release",
    "fence.proxy.tensormap::generic.acquire.gpu", "fence.proxy.alias [%d0], 128", "fence.proxy.async.local",
])  # fmt: skip
def test_fences_that_are_none(text: str) -> None:
    with pytest.raises(MalformedInput, match="line 11, column 1"):
        import_ptx(kernel(f"{text};"), machine="gtx680")


def test_vectors_are_moved_as_a_whole() -> None:
    """Also onto themselves in another order, and whole special registers."""
    body = """.reg .v4 .u32 v, w; .reg .v2 .f32 x; .reg .v2 .b64 y; mov.v4.u32 v, {%r0, 2, 3, 4};
        mov.v4.u32 {v.x, v.y, v.z, v.w}, {v.y, v.x, v.w, v.z}; mov.v4.u32 w, v; mov.v4.u32 v, %tid;
        mov.v2.f32 x, {0f40000000, 0f3f800000}; mov.v2.b64 y, {7, %d0}; cvt.rzi.u32.f32 %r6, x.y; cvt.u32.u64 %r7, y.x;
        mov.v4.u32 {_, %r1, _, %r2}, w; mad.lo.u32 %r1, w.x, 100, %r1; mad.lo.u32 %r2, w.z, 1000, %r2;
        add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, v.x; add.u32 %r1, %r1, %r6; add.u32 %r1, %r1, %r7;
        st.global.u32 [%d1], %r1;"""
    found = both(body, compare=False)
    np.testing.assert_array_equal(found, 200 + LANE + 4000 + 3 + LANE + 1 + 7)


@pytest.mark.parametrize("text", [
    "mov.v4.u32 %r1, %r2;", "mov.v2.u32 {%r1,%r2}, {%r3};", "mov.v2.u32 {%r1}, {%r2,%r3};",
    "mov.v3.u32 {%r1,%r2,%r3}, {%r3,%r4,%r5};", "mov.v2.u32 {%r1,%r2}, %tid.x;",
])  # fmt: skip
def test_vectors_that_do_not_fit(text: str) -> None:
    with pytest.raises(MalformedInput, match="line 11"):
        import_ptx(kernel(text), machine="gtx680")


def test_marks_of_lines_blanks_in_opcodes_and_promises_of_addresses() -> None:
    body = """# 3 "kernel.cu"
#line 4
    add\n .u32 %r1, %r0, 1; @%p1 ld . global .u32 %r1, [%d1]; @ ! %p1 mul /* by */ . lo // the
    .u32 %r1, %r1, 3; st.global.u32 [%d1].unified, %r1;
# 12 "other.cu" 2"""
    np.testing.assert_array_equal(both("setp.ne.u32 %p1, %r0, %r0;\n" + body, compare=False), 3 * (LANE + 1))


@pytest.mark.parametrize("text", ["#define A 3", "#", "#pragma once", " x # 3", "#if 1", "add # 3 \n.u32 %r1, %r1, 1;"])
def test_what_else_a_preprocessor_leaves_is_refused(text: str) -> None:
    with pytest.raises(MalformedInput, match="line 11"):
        import_ptx(kernel(text))


def test_the_address_of_an_element() -> None:
    """As tinygrad names local memory, and ptxas 13.0 counts: in elements."""
    head = ".shared .align 8 .b64 wide[4]; .global .u16 halves[4] = {1, 2, 3, 4}; .shared .u32 plane[4][4];\n"
    body = """.local .align 16 .b32 local0[8]; mov.u64 %d2, local0[0]; mov.u64 %d3, local0[2+1]; mov.u64 %d4, wide[3];
        mov.u64 %d5, wide; mov.u64 %d6, halves[2]; mov.u64 %d7, plane[0]; mov.u64 %d8, plane; sub.u64 %d7, %d7, %d8;
        st.local.u32 [%d3], %r0; ld.local.u32 %r1, [%d2+12]; sub.u64 %d4, %d4, %d5; cvt.u32.u64 %r2, %d4;
        ld.global.u16 %r3, [%d6]; cvt.u32.u64 %r4, %d7; mad.lo.u32 %r1, %r2, 100, %r1; mad.lo.u32 %r1, %r3, 10000, %r1;
        add.u32 %r1, %r1, %r4; st.global.u32 [%d1], %r1;"""
    np.testing.assert_array_equal(both(body, head=head, compare=False), LANE + 2400 + 30000)


@pytest.mark.parametrize("text", ["mov.u64 %d2, s[%f1];", "mov.u64 %d2, s[1;",
                                  "mov.u64 %d2, s[1][1];", "L: mov.u64 %d2, L[1];"])  # fmt: skip
def test_indices_that_are_none(text: str) -> None:
    with pytest.raises(MalformedInput, match="line 11"):
        import_ptx(kernel(text, head=".shared .u32 s[4], plane[4][4];"))
