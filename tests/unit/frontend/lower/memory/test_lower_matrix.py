"""ldmatrix without any mma: import and emulation against the interpreter and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc import Request, rewrite_kernel
from binalloc.errors import KernelFault, MalformedInput
from tests.support.ptx.bodies import both, emulate, imported
from tests.support.ptx.texts import kernel

T = np.arange(32)
SHARED = ".shared .align 16 .b8 s[512];\n"
FILLED = """shl.b32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r2, %r2, %r1; mul.lo.u32 %r3, %r0, 0x80007;
    add.u32 %r3, %r3, 0x10000; st.shared.u32 [%r2], %r3; add.u32 %r3, %r3, 0x20002; st.shared.u32 [%r2+4], %r3;
    add.u32 %r3, %r3, 0x20002; st.shared.u32 [%r2+8], %r3; add.u32 %r3, %r3, 0x20002; st.shared.u32 [%r2+12], %r3;
    bar.sync 0;"""
"""Row t of 8 halves is at s + 16 t; %r2 is its address."""
STORED = """mul.wide.u32 %d4, %r0, {bytes}; add.s64 %d4, %d4, %d0; st.global.u32 [%d4], %r10;"""


def stored(count: int) -> str:
    more = "".join(f"st.global.u32 [%d4+{4 * k}], %r{10 + k};" for k in range(1, count))
    return STORED.format(bytes=4 * count) + more


def rows() -> np.ndarray:
    first = (0x80007 * T + 0x10000).astype(np.uint32)
    return np.stack([first + np.uint32(0x20002 * k) for k in range(4)], axis=1).view(np.uint16)


@pytest.mark.rotates
@pytest.mark.parametrize("space", [".shared", ".shared::cta", ""])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices(count: int, turned: bool, space: str) -> None:
    to = "" if space else "cvt.u64.u32 %d3, %r2; cvta.shared.u64 %d3, %d3;"
    at, registers = "%r2" if space else "%d3", ", ".join(f"%r{10 + k}" for k in range(count))
    trans = ".trans" if turned else ""
    body = f"{FILLED}{to} ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {{{registers}}}, [{at}];{stored(count)}"
    found = both(body, head=SHARED, words=32 * count).reshape(32, count)
    for m in range(count):
        matrix = rows()[8 * m : 8 * m + 8]
        matrix = matrix.T if turned else matrix
        want = np.ascontiguousarray(matrix).reshape(-1).view(np.uint32)
        np.testing.assert_array_equal(found[:, m], want)


def test_a_name_with_an_offset_is_an_address_and_a_guard_is_obeyed() -> None:
    body = f"""{FILLED} mov.u32 %r10, 7; mov.u32 %r11, 9; mov.u32 %r4, 0; setp.eq.u32 %p1, %r4, 0;
        @%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [s+32];
        @!%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r11}}, [s+32];{stored(2)}"""
    found = both(body, head=SHARED, words=64).reshape(32, 2)
    np.testing.assert_array_equal(found[:, 0], rows()[2].view(np.uint32)[T % 4])
    np.testing.assert_array_equal(found[:, 1], 9)


def test_a_load_under_a_guard_that_lanes_disagree_on_faults() -> None:
    body = f"""{FILLED} setp.lt.u32 %p1, %r0, 16; mov.u32 %r10, 0;
        @%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r2];{stored(1)}"""
    with pytest.raises(KernelFault, match="not converged"):
        emulate(imported(kernel(body, head=SHARED)).module, [np.zeros(32, np.uint32)], 1, 32)


def test_rewrites_at_two_budgets_give_what_the_original_gives() -> None:
    """Four matrices and the same turned, summed: the groups of four registers do not fit at once."""
    body = f"""{FILLED} ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r2];
        ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%r4, %r5, %r6, %r7}}, [%r2];
        ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%r8, %r9}}, [%r2];
        add.u32 %r10, %r10, %r4; add.u32 %r11, %r11, %r5; add.u32 %r12, %r12, %r6; add.u32 %r13, %r13, %r7;
        xor.b32 %r10, %r10, %r8; xor.b32 %r11, %r11, %r9; {stored(4)}"""
    module = imported(kernel(body, head=SHARED, bounds=".reqntid 32")).module
    halves = [rows()[8 * m : 8 * m + 8] for m in range(4)]
    plain, turned = ([np.ascontiguousarray(h).reshape(-1).view(np.uint32) for h in some]
                     for some in (halves, [h.T for h in halves]))  # fmt: skip
    want = [p + t for p, t in zip(plain, turned, strict=True)]
    want[0], want[1] = want[0] ^ plain[0], want[1] ^ plain[1]
    demand = module.functions[0].info.registers
    binaries = [module]
    for registers in (demand - 2, demand - 4):
        outcome = rewrite_kernel(module, Request(machine="gtx680", registers=registers, emulate=False))
        assert outcome.checked
        assert outcome.rewritten.registers <= registers
        binaries.append(outcome.rewritten.module)
    for binary in binaries:
        (found,) = emulate(binary, [np.zeros(128, np.uint32)], 1, 32)
        np.testing.assert_array_equal(found.reshape(32, 4).T, want)


@pytest.mark.parametrize(("text", "message"), [
    ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r2]", "expected 2"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r2]", "b32"),
    ("ldmatrix.sync.aligned.m8n8.shared.b16 {%r1}, [%r2]", "not an ldmatrix"),
    ("ldmatrix.aligned.m8n8.x1.shared.b16 {%r1}, [%r2]", "not an ldmatrix"),
    ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r2]", "tensor instructions"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, [%r2]", "b16"),
])  # fmt: skip
def test_what_is_no_ldmatrix_of_halves_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedInput, match=message):
        imported(kernel(text + ";", head=SHARED))


def rows_after(found: np.ndarray) -> np.ndarray:
    """The 32 rows of shared memory, from what each lane reads at its own row."""
    return np.ascontiguousarray(found.reshape(32, 4)).view(np.uint16)


LOOKED_AT = """bar.sync 0; ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r2];""" + stored(4)
GIVEN = "".join(f"mad.lo.u32 %r{4 + k}, %r0, 0x00030005, {0x01000200 * (k + 1)};" for k in range(4))
"""%r4 to %r7: words that differ between lanes and matrices."""


def given() -> np.ndarray:
    return np.array([[(t * 0x00030005 + 0x01000200 * (k + 1)) & 0xFFFFFFFF for t in T] for k in range(4)], np.uint32)


def matrices_stored(count: int, turned: bool) -> np.ndarray:
    """Rows after a store at the rows of FILLED, where matrix m goes to rows 8 m to 8 m + 7."""
    want = rows().copy()
    for m in range(count):
        matrix = given()[m].view(np.uint16).reshape(8, 8)
        want[8 * m : 8 * m + 8] = matrix.T if turned else matrix
    return want


@pytest.mark.rotates
@pytest.mark.parametrize("space", [".shared", ".shared::cta", ""])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices_are_stored(count: int, turned: bool, space: str) -> None:
    to = "" if space else "cvt.u64.u32 %d3, %r2; cvta.shared.u64 %d3, %d3;"
    at, registers = "%r2" if space else "%d3", ", ".join(f"%r{4 + k}" for k in range(count))
    form = f"stmatrix.sync.aligned.m8n8.x{count}{'.trans' if turned else ''}{space}.b16"
    body = f"{FILLED}{GIVEN}{to} bar.sync 0; {form} [{at}], {{{registers}}};{LOOKED_AT}"
    found = both(body, head=SHARED, words=128, compare=False)
    np.testing.assert_array_equal(rows_after(found), matrices_stored(count, turned))


def test_a_store_of_matrices_is_undone_by_a_load() -> None:
    """Rows in another order, at an offset, under a guard that all lanes agree on."""
    body = f"""{FILLED}{GIVEN} xor.b32 %r1, %r1, 0x50; mov.u32 %r2, s; add.u32 %r2, %r2, %r1; bar.sync 0;
        setp.lt.u32 %p1, %r0, 99; @!%p1 stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {{%r1}};
        @%p1 stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2+16], {{%r4, %r5, %r6, %r7}}; bar.sync 0;
        ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r2+16];{stored(4)}"""
    found = both(body, head=SHARED.replace("512", "528"), words=128, compare=False)
    np.testing.assert_array_equal(found.reshape(32, 4).T, given())


def test_a_store_of_matrices_under_a_guard_that_lanes_disagree_on_faults() -> None:
    body = f"""{FILLED} setp.lt.u32 %p1, %r0, 16;
        @%p1 stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {{%r0}};{LOOKED_AT}"""
    with pytest.raises(KernelFault, match="not converged"):
        emulate(imported(kernel(body, head=SHARED)).module, [np.zeros(128, np.uint32)], 1, 32)


def test_rewrites_of_a_store_of_matrices_are_proven() -> None:
    form = "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
    body = f"{FILLED}{GIVEN} bar.sync 0; {form} [%r2], {{%r4, %r5, %r6, %r7}};{LOOKED_AT}"
    module = imported(kernel(body, head=SHARED, bounds=".reqntid 32")).module
    demand = module.functions[0].info.registers
    for registers in (demand - 2, demand - 4):
        outcome = rewrite_kernel(module, Request(machine="gtx680", registers=registers, emulate=False))
        assert outcome.checked
        (found,) = emulate(outcome.rewritten.module, [np.zeros(128, np.uint32)], 1, 32)
        np.testing.assert_array_equal(rows_after(found), matrices_stored(4, True))


@pytest.mark.parametrize(("text", "message"), [
    ("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r1}", "expected 2"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%d1}", "b32"),
    ("stmatrix.aligned.m8n8.x1.shared.b16 [%r2], {%r1}", "not a stmatrix"),
    ("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r1}", "tensor instructions"),
])  # fmt: skip
def test_what_is_no_stmatrix_of_halves_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedInput, match=message):
        imported(kernel(text + ";", head=SHARED))
