"""Generic addresses of constants and parameters: copies in global and local memory, with the contents of the launch."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault
from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import read_module, write_module
from binalloc.launch.file import parse_launch
from binalloc.models.machines.reader import load_machine
from tests.support.ptx.bodies import both, emulate, imported
from tests.support.ptx.texts import kernel

LANE = np.arange(32)
TABLE = ".const .align 4 .b8 first[3] = {7, 8, 9};\n.const .align 16 .u32 table[40] = {" + ", ".join(
    str(3 * k + 1) for k in range(40)
) + "};\n.global .u32 other[40] = {" + ", ".join(str(1000 + k) for k in range(40)) + "};\n"  # fmt: skip
PICK = """.func (.reg .u32 r) pick(.reg .b64 place) { .reg .u32 %a<3>; ld.u32 %a1, [place]; ld.u32 %a2, [place+4];
    add.u32 r, %a1, %a2; ret; }
"""
OFFSET = "mul.wide.u32 %d3, %r0, 4;"


def test_a_pointer_to_constants_or_to_memory() -> None:
    body = f"""{OFFSET} mov.u64 %d4, table; cvta.const.u64 %d5, %d4; mov.u64 %d6, other; cvta.global.u64 %d7, %d6;
        setp.lt.u32 %p1, %r0, 13; selp.b64 %d8, %d5, %d7, %p1; add.s64 %d8, %d8, %d3; ld.u32 %r1, [%d8];
        cvta.to.const.u64 %d9, %d8; @%p1 ld.const.u32 %r2, [%d9+4]; @!%p1 mov.u32 %r2, 0; add.u32 %r1, %r1, %r2;
        st.global.u32 [%d1], %r1;"""
    found = both(body, head=TABLE)
    np.testing.assert_array_equal(found, np.where(LANE < 13, 3 * LANE + 1 + 3 * LANE + 4, 1000 + LANE))


def test_a_pointer_to_constants_as_an_argument() -> None:
    body = f"""{OFFSET} mov.u64 %d4, table; cvta.const.u64 %d5, %d4; add.s64 %d5, %d5, %d3; call (%r1), pick, (%d5);
        st.global.u32 [%d1], %r1;"""
    np.testing.assert_array_equal(both(body, head=TABLE + PICK), 6 * LANE + 5)


def test_which_space_an_address_is_in() -> None:
    body = """mov.u64 %d4, table; cvta.const.u64 %d4, %d4; cvta.global.u64 %d5, %d0; mov.u64 %d6, other;
        add.s64 %d7, %d4, 160; isspacep.const %p1, %d4; isspacep.global %p2, %d4; isspacep.const %p3, %d5;
        isspacep.global %p4, %d5; isspacep.global %p5, %d6; isspacep.const %p6, %d7; isspacep.shared %p7, %d4;
        selp.u32 %r1, 1, 0, %p1;""" + "".join(
        f"selp.u32 %r2, {1 << k}, 0, %p{k + 1}; or.b32 %r1, %r1, %r2;" for k in range(1, 7)
    )  # fmt: skip
    found = both(f"{body} st.global.u32 [%d1], %r1;", head=TABLE, compare=False)
    assert set(found) == {0b0011001}


def test_the_copy_holds_what_the_launch_gives_a_constant() -> None:
    body = f"""{OFFSET} mov.u64 %d4, table; cvta.const.u64 %d5, %d4; add.s64 %d5, %d5, %d3; ld.u32 %r1, [%d5];
        add.s64 %d4, %d4, %d3; ld.const.u32 %r2, [%d4]; mul.lo.u32 %r2, %r2, 1000; add.u32 %r1, %r1, %r2;
        st.global.u32 [%d1], %r1;"""
    module = read_module(write_module(import_ptx(kernel(body, head=TABLE), machine="gtx680").module))
    launch = parse_launch({
        "kernel": "k", "grid": 1, "block": 32,
        "argument": [
            {"name": "out", "kind": "buffer", "dtype": "u32", "shape": 32},
            {"name": "table", "kind": "symbol", "dtype": "u32", "shape": 10, "init": {"kind": "arange", "start": 5}},
        ],
    })  # fmt: skip
    out = run(module, "k", launch, load_machine("gtx680"), engine="python").buffers["out"]
    wanted = np.where(LANE < 10, 5 + LANE, 3 * LANE + 1)
    np.testing.assert_array_equal(out, 1001 * wanted)


def test_addresses_of_constants_as_initial_values() -> None:
    """A generic one is in the copy, one of the space itself an offset in the bank."""
    head = TABLE + ".global .u64 place[2] = {generic(table)+8, generic(other)};\n.global .u64 plain = table;\n"
    body = f"""{OFFSET} setp.lt.u32 %p1, %r0, 13; ld.global.u64 %d4, [place]; ld.global.u64 %d5, [place+8];
        selp.b64 %d6, %d4, %d5, %p1; add.s64 %d6, %d6, %d3; ld.u32 %r1, [%d6]; ld.global.u64 %d7, [plain];
        add.s64 %d7, %d7, %d3; ld.const.u32 %r2, [%d7]; mul.lo.u32 %r2, %r2, 10000; add.u32 %r1, %r1, %r2;
        st.global.u32 [%d1], %r1;"""
    found = both(body, head=head)
    wanted = np.where(LANE < 13, 3 * (LANE + 2) + 1, 1000 + LANE) + 10000 * (3 * LANE + 1)
    np.testing.assert_array_equal(found, wanted)


def test_no_copy_is_made_where_none_is_needed() -> None:
    body = "mov.u64 %d4, table; ld.const.u32 %r1, [%d4]; cvta.to.global.u64 %d5, %d0; st.global.u32 [%d1], %r1;"
    module = imported(kernel(body, head=TABLE)).module
    assert [v.name for v in module.globals] == []


def test_an_address_behind_the_constants_faults() -> None:
    body = "mov.u64 %d4, table; cvta.const.u64 %d5, %d4; ld.u32 %r1, [%d5+160]; st.global.u32 [%d1], %r1;"
    with pytest.raises(KernelFault, match="out of bounds"):
        emulate(imported(kernel(body, head=TABLE)).module, [np.zeros(32, np.uint32)], 1, 32)


PARAMS = (".param .u8 flag", ".param .align 8 .b8 pair[23]", ".param .u32 last")
PAIR = np.arange(50, 73).astype(np.uint8).tobytes()


@pytest.mark.parametrize("called", [False, True])
def test_the_address_of_a_kernels_parameter(called: bool) -> None:
    """Bytes of a parameter whose size is no multiple of four, through a function and a loop of other accesses."""
    helper = ".func (.reg .u32 r) get(.reg .b64 p) { .reg .u32 %a<3>; ld.u8 %a1, [p]; add.u32 r, %a1, 0; ret; }\n"
    get = "call (%r1), get, (%d6);" if called else "ld.u8 %r1, [%d6];"
    body = f"""min.u32 %r3, %r0, 22; cvt.u64.u32 %d3, %r3; mov.b64 %d4, pair; cvta.param.u64 %d5, %d4;
        add.s64 %d6, %d5, %d3; {get} cvta.to.param.u64 %d7, %d5; ld.param.u32 %r2, [%d7+8];
        ld.param.u8 %r4, [flag]; ld.param.u32 %r5, [last]; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;
        setp.eq.u32 %p1, %r0, 31; selp.u32 %r1, %r2, %r1, %p1; st.global.u32 [%d1], %r1;"""
    args = [np.uint8(3), PAIR, np.uint32(400)]
    found = both(body, head=helper, args=args, params=PARAMS, compare=False)
    wanted = 50 + np.minimum(LANE, 22) + 403
    wanted[31] = int.from_bytes(PAIR[8:12], "little")
    np.testing.assert_array_equal(found, wanted)


def test_local_variables_lie_beside_the_copy() -> None:
    body = """.local .align 8 .b8 own[24]; mov.u64 %d4, own; st.local.u32 [own+4], %r0; mov.b64 %d5, pair;
        cvta.param.u64 %d6, %d5; ld.u64 %d7, [%d6+8]; ld.local.u32 %r1, [own+4]; cvt.u32.u64 %r2, %d7;
        add.u32 %r1, %r1, %r2; cvta.local.u64 %d4, %d4; isspacep.local %p1, %d6; isspacep.param %p2, %d6;
        selp.u32 %r3, 7, 0, %p1; add.u32 %r1, %r1, %r3; @%p2 add.u32 %r1, %r1, 100; st.global.u32 [%d1], %r1;"""
    found = both(body, args=[np.uint8(3), PAIR, np.uint32(400)], params=PARAMS, compare=False)
    np.testing.assert_array_equal(found, LANE + int.from_bytes(PAIR[8:12], "little") + 7)
