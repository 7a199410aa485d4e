"""Block sizes that code takes for granted."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.pipeline.skeleton.parameters.blocks import block_sides
from tests.support.programs.builder import program
from tests.support.ptx.harness import imported

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .f32 %f<9>;"
STORE = """ld.param.u64 %d1, [x]; mul.wide.u32 %d2, %r9, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r9; ret;"""
IDS = "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ntid.x;"


def sides(body: str, parameters: str = ".param .u64 x, .param .u32 n") -> tuple[int, int, int]:
    text = f"{HEAD}.visible .entry k({parameters}) {{ {REGISTERS} {IDS} {body} {STORE} }}\n"
    return block_sides(analyse(imported(text), "k", lift=True))


@pytest.mark.parametrize("n", [32, 96, 128, 200, 224, 1000, 1024])
def test_one_dimension(n: int) -> None:
    assert sides(f"mad.lo.u32 %r9, %r2, {n}, %r1;") == (n, 0, 0)
    assert sides(f"mul.lo.u32 %r8, %r2, {n}; add.u32 %r9, %r1, %r8;") == (n, 0, 0)
    assert sides(f"mad.lo.u32 %r8, %r2, {n}, %r1; shl.b32 %r9, %r8, 2;") == (n, 0, 0), "four elements a thread"


def test_two_dimensions() -> None:
    body = """shl.b32 %r6, %r2, 5; add.u32 %r6, %r6, %r1; shl.b32 %r7, %r4, 4; add.u32 %r7, %r7, %r3;
        ld.param.u32 %r8, [n]; mad.lo.u32 %r9, %r7, %r8, %r6;"""
    assert sides(body) == (32, 16, 0)


def test_several_elements_a_block_apart() -> None:
    """Four of 256 threads each: `c * 1024 + t + k * 256`."""
    body = """mad.lo.u32 %r6, %r2, 1024, %r1; add.u32 %r7, %r6, 256; add.u32 %r8, %r6, 512; add.u32 %r9, %r6, 768;
        xor.b32 %r9, %r9, %r7; xor.b32 %r9, %r9, %r8; xor.b32 %r9, %r9, %r6;"""
    assert sides(body) == (256, 0, 0)
    near = "mad.lo.u32 %r6, %r2, 128, %r1; add.u32 %r7, %r6, 1; add.u32 %r8, %r6, 2; xor.b32 %r9, %r7, %r8;"
    assert sides(near) == (128, 0, 0), "neighbours say nothing"


@pytest.mark.parametrize(
    "body",
    [
        "mad.lo.u32 %r9, %r2, %r5, %r1;",
        "ld.param.u32 %r8, [n]; mad.lo.u32 %r9, %r2, %r8, %r1;",
        "add.u32 %r9, %r2, %r1;",
        "mul.lo.u32 %r9, %r2, 64;",
        "mad.lo.u32 %r9, %r1, 64, %r2;",
        "mad.lo.u32 %r9, %r2, 64, %r3;",
        "mul.lo.u32 %r8, %r2, 64; sub.u32 %r9, %r8, %r1;",
        "mad.lo.u32 %r8, %r1, 3, 0; mad.lo.u32 %r9, %r2, 100, %r8;",
    ],
)
def test_nothing_is_told(body: str) -> None:
    """blockDim, a parameter, no product, no thread, the wrong way round, another axis, backwards, not whole."""
    assert sides(body) == (0, 0, 0)


def test_a_value_with_several_definitions_is_not_followed() -> None:
    module = program("""
.kernel k registers=8
.block 32
.param x 8
S2R R0, SR_CTAID.X
S2R R1, SR_TID.X
ISETP.LT P0, PT, R1, 9, PT
IMAD R2, R0, 64, R1
@P0 IMAD R2, R0, 96, R1
IADD3 R3, R2, 256, RZ
MOV R4, c[0][x]
MOV R5, c[0][x+4]
STG [R4], R3
EXIT
""")
    assert block_sides(analyse(module, "k")) == (64, 0, 0), "the guarded one may not happen"
