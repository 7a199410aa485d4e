"""A wide product that only sums read is taken in by each of them (`frontend/opt/known.py`)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from binalloc.frontend.importer import import_ptx
from tests.support.ptx.bodies import both
from tests.support.ptx.texts import kernel

PARAMS = (".param .u64 one", ".param .u64 other")
POINTERS = """ld.param.u64 %d2, [one]; ld.param.u64 %d3, [other];
    cvta.to.global.u64 %d2, %d2; cvta.to.global.u64 %d3, %d3;
"""


def operations(body: str) -> Counter[str]:
    """How often the imported kernel has each operation; sums by whether they take a carry in."""
    function = import_ptx(kernel(body, params=PARAMS), machine="gtx680").module.function("k")
    return Counter(i.op.name + (".X" if i.op.name == "IADD3" and i.f["x"] else "") for i in function.instrs)


def outcome(body: str) -> np.ndarray:
    one, other = (np.arange(k, k + 80, dtype=np.uint32) for k in (100, 7000))
    return both(body, args=(one, other), params=PARAMS)


INDEXED = POINTERS + """
    mad.lo.u32 %r1, %r0, 2, 1; mul.wide.u32 %d4, %r1, 4;
    add.s64 %d5, %d2, %d4; ld.global.u32 %r2, [%d5];
    add.s64 %d6, %d3, %d4; ld.global.u32 %r3, [%d6];
"""


def test_every_sum_takes_the_product_in() -> None:
    body = INDEXED + "sub.u32 %r4, %r3, %r2; st.global.u32 [%d1], %r4;"
    counts = operations(body)
    assert counts["IMAD.WIDE"] == 3  # for the two elements read, and for the one written, whose
    assert counts["IADD3.X"] == 1  # address is a variable written twice: nothing is known of it
    np.testing.assert_array_equal(outcome(body), 6900)


def test_between_the_sums_an_index_takes_one_register() -> None:
    """Six elements of one array are read, then the same six of the other: six registers, and what an access needs."""
    first = "".join(
        f"xor.b32 %r{k}, %r0, {k}; mul.wide.u32 %d{k}, %r{k}, 4; add.s64 %d{k + 10}, %d2, %d{k};\n"
        f"ld.global.u32 %r{k + 10}, [%d{k + 10}]; st.global.u32 [%d1], %r{k + 10};\n"
        for k in range(11, 17)
    )
    then = "".join(
        f"add.s64 %d{k + 20}, %d3, %d{k}; ld.global.u32 %r{k + 20}, [%d{k + 20}]; st.global.u32 [%d1], %r{k + 20};\n"
        for k in range(11, 17)
    )
    assert import_ptx(kernel(POINTERS + first + then, params=PARAMS), machine="gtx680").kernels[0].register_demand <= 14
    outcome(POINTERS + first + then)


@pytest.mark.parametrize(
    "more",
    [
        "cvt.u32.u64 %r5, %d4;",  # read as a number
        "add.s64 %d7, %d4, 16; add.s64 %d8, %d7, %d2; ld.global.u32 %r5, [%d8];",  # another sum is in between
        "sub.s64 %d7, %d3, %d4; cvt.u32.u64 %r5, %d7; sub.u32 %r5, %r5, %r5;",  # subtracted
    ],
)
def test_a_product_that_is_wanted_anyway_stays(more: str) -> None:
    body = INDEXED + more + "add.u32 %r4, %r3, %r2; add.u32 %r4, %r4, %r5; st.global.u32 [%d1], %r4;"
    assert operations(body)["IADD3.X"] >= 2
    outcome(body)


def test_what_was_multiplied_may_change_before_the_sums() -> None:
    body = POINTERS + """
    add.u32 %r1, %r0, 1; mul.wide.u32 %d4, %r1, 4; mov.u32 %r5, 0;
again:
    add.u32 %r1, %r1, 5;
    add.s64 %d5, %d2, %d4; ld.global.u32 %r2, [%d5];
    add.s64 %d6, %d3, %d4; ld.global.u32 %r3, [%d6];
    add.u32 %r5, %r5, %r2; add.u32 %r5, %r5, %r3;
    setp.lt.u32 %p1, %r1, 40; @%p1 bra again;
    st.global.u32 [%d1], %r5;"""
    outcome(body)


@pytest.mark.rotates
@pytest.mark.parametrize("type_", ["s32", "u32"])
@pytest.mark.parametrize("factor", ["4", "-8", "%r7"])
def test_sums_of_all_kinds_of_products(type_: str, factor: str) -> None:
    """The low words of three sums, and their high words, over indices with either sign."""
    words = "".join(
        f"add.s64 %d{k + 3}, %d4, %d{k}; mov.b64 {{%r3, %r4}}, %d{k + 3}; xor.b32 %r5, %r5, %r3;\n"
        "mad.lo.u32 %r5, %r5, 31, %r4;\n"
        for k in range(8, 11)
    )
    body = POINTERS + f"""
    mad.lo.u32 %r1, %r0, 0x0f0f0f0f, 0x7fffff00; mov.u32 %r6, 0x80000001; xor.b32 %r7, %r6, %r0; mov.u32 %r5, 0;
    cvt.u64.u32 %d8, %r1; shl.b64 %d9, %d8, 31; not.b64 %d10, %d8; mul.wide.{type_} %d4, %r1, {factor};
    {words} st.global.u32 [%d1], %r5;"""
    outcome(body)
    assert operations(body)["IMAD.WIDE"] >= 3
