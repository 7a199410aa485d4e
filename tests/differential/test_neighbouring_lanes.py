"""Kernels whose lanes read what their neighbours wrote: every rewrite is proven and leaves the same.

Under Loom's memory model without a WARPSYNC anywhere, and PTX with the ones that PTX asks for.
"""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import fewest_registers, prepare, rewrite_to_budget
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check

GTX680 = load_machine("gtx680")
HEAD = """
.kernel k
    .block 32
    .param out 8
    .param a 8
    .shared words 4096 16
    S2R R0, SR_TID.X
    MOV R2, c[0][a]
    MOV R3, c[0][a+4]
    IMAD.WIDE R2, R0, {stride}, R2
    LDG R10, [R2]
    LDG R11, [R2+4]
    LDG R12, [R2+8]
    LDG R13, [R2+12]
    IADD3 R14, R10, R11, R12
"""
TAIL = """
    IADD3 R16, R13, R11, R12
    IADD3 R18, R15, R16, R10
    IMAD R18, R18, R11, R14
    IMAD R19, R18, R12, R13
    IMAD R18, R19, R18, R16
    MOV R4, c[0][out]
    MOV R5, c[0][out+4]
    IMAD.WIDE R4, R0, 4, R4
    STG [R4], R18
    EXIT
.end
"""
LOOM = {
    "the next lane's word": "STG [R2], R14\nLDG R15, [R2+4]",
    "the lane's before": "STG [R2+16], R14\nLDG R15, [R2+12]",
    "the last writer": "STG [R2], R14\nSTG [R2+4], R11\nLDG R15, [R2+8]",
    "read before it is written": "LDG R15, [R2+4]\nSTG [R2], R14\nIADD3 R15, R15, R14, RZ",
    "parts of words": "STG.U16 [R2+2], R14\nLDG.U8 R15, [R2+7]\nSTG.U8 [R2+5], R15\nLDG R15, [R2]",
    "an address of its own": "IADD3 R6, P0, R2, 4, RZ\nIADD3.X R7, R3, RZ, RZ, P0\nSTG [R2], R14\nLDG R15, [R6]",
    "atomics": "ATOMG.ADD R15, [R2+4], R14\nSTG [R2], R15\nRED.ADD [R2+8], R11\nLDG R15, [R2+4]",
    "generic and global": "ST [R2], R14\nLDG R15, [R2+4]\nSTG [R2+8], R15\nLD R15, [R2+12]",
    "shared": "SHF.L.U32 R6, R0, 2, RZ\nSTS [R6], R14\nLDS R15, [R6+4]\nSTS [R6+4], R15\nLDS R15, [R6]",
    "shared by generic addresses": """S2R R6, SR_SHARED_WINDOW\nMOV R7, 0\nIMAD.WIDE R6, R0, 4, R6
        SHF.L.U32 R8, R0, 2, RZ\nST [R6], R14\nLDS R15, [R8+4]\nSTS [R8+8], R15\nLD R15, [R6+12]""",
    "halves of the warp": """ISETP.LT.U32 P0, PT, R0, 16, PT\n@P0 BRA low, join\nSTG [R2], R14\nLDG R15, [R2-4]
        BRA join\nlow:\nSTG [R2+4], R12\nLDG R15, [R2+8]\njoin:\nSTG [R2+4], R15\nLDG R6, [R2]
        IADD3 R15, R15, R6, RZ""",
    "a loop": """MOV R6, 0\nMOV R15, R14\nloop:\nSTG [R2], R15\nLDG R7, [R2+4]\nIADD3 R15, R15, R7, R6
        IADD3 R6, R6, 1, RZ\nISETP.LT P0, PT, R6, 5, PT\n@P0 BRA loop, out\nout:""",
    "a guarded store": """ISETP.LT.U32 P0, PT, R11, R12, PT\nLOP3 R6, R0, 1, RZ, 0xc0\nISETP.EQ P1, PT, R6, 0, PT
        @P1 STG [R2+4], R14\n@!P1 STG [R2-4], R11\nLDG R15, [R2]\n@P1 LDG R6, [R2+8]\nIADD3 R15, R15, R6, RZ""",
    "a call between": "STG [R2], R14\nCALL f\nLDG R15, [R2+4]",
    "marked accesses": "STG.CV [R2], R14\nLDG.CV R15, [R2+4]\nMEMBAR.GPU\nSTG [R2+8], R15\nLDG R15, [R2+4]",
    "exchange and shuffle": "STG [R2], R14\nSHFL.IDX PT, R6, R14, 3, 31\nLDG R15, [R2+4]\nIADD3 R15, R15, R6, RZ",
}  # fmt: skip
CALLEE = ".func f\nLDG R15, [R2+8]\nSTG [R2+4], R15\nLDG R15, [R2+12]\nSTG [R2+12], R15\nRET\n.end\n"


def loom(name: str, stride: int) -> Module:
    return assemble(HEAD.format(stride=stride) + LOOM[name] + TAIL + CALLEE)


def outcome(module: Module, kernel: str) -> list[np.ndarray]:
    names = [p.name for p in module.function(kernel).info.params]
    data = {names[0]: np.zeros(64, np.uint32), names[1]: np.arange(7, 263, dtype=np.uint32)}
    arguments = tuple(Argument(n, "buffer", "u32", (len(x),)) for n, x in data.items())
    launch = Launch(kernel, (1, 1, 1), (32, 1, 1), arguments=arguments)
    result = run(schedule(module, GTX680), kernel, launch, GTX680, engine="python", buffers=data)
    return [result.buffers[n] for n in names]


def proven_and_equal(module: Module, kernel: str) -> None:
    """At the fewest registers, some more, and as many as it likes; for latencies and without; calls inlined or not."""
    expected = outcome(module, kernel)
    for inline in ("none", "all") if len(module.functions) > 1 else ("none",):
        prepared = prepare(module, kernel, inline=inline)
        least = fewest_registers(prepared)
        assert least is not None
        for registers, slots, machine in ((least, 0, None), (least + 2, 2, GTX680), (24, 0, GTX680), (40, 0, None)):
            try:
                rewritten = rewrite_to_budget(prepared, max(registers, least), slots, machine=machine).module
            except Infeasible:
                continue
            assert not check(module, rewritten, kernel).errors, (inline, registers)
            for found, wanted in zip(outcome(rewritten, kernel), expected, strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{inline} {registers}")


@pytest.mark.rotates
@pytest.mark.parametrize("stride", [4, 16])
@pytest.mark.parametrize("name", LOOM)
def test_lanes_of_a_warp_see_each_other_under_loom(name: str, stride: int) -> None:
    proven_and_equal(loom(name, stride), "k")


PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 a) {{
    .reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %d<8>;
    .shared .align 16 .b8 words[1024];
    mov.u32 %r0, %tid.x; ld.param.u64 %d0, [out]; ld.param.u64 %d1, [a];
    mul.wide.u32 %d2, %r0, 4; add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2;
    mov.u32 %r1, words; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;
    ld.global.u32 %r10, [%d1]; ld.global.u32 %r11, [%d1+256]; ld.global.u32 %r12, [%d1+512];
    bar.warp.sync -1;
    {body}
    mad.lo.u32 %r20, %r10, %r11, %r15; mad.lo.u32 %r20, %r20, %r12, %r15; st.global.u32 [%d0], %r20; ret;
}}
"""
WITH_MEETINGS = {
    "global": """st.global.u32 [%d1], %r12; bar.warp.sync -1; ld.global.u32 %r15, [%d1+4]; bar.warp.sync -1;
        st.global.u32 [%d1+4], %r11; bar.warp.sync -1; ld.global.u32 %r16, [%d1+8]; add.u32 %r15, %r15, %r16;""",
    "behind a shuffle": """shfl.sync.down.b32 %r13, %r12, 1, 31, -1; st.global.u32 [%d1], %r13; bar.warp.sync -1;
        ld.global.u32 %r15, [%d1+4]; bar.warp.sync -1; st.global.u32 [%d1], %r15;""",
    "shared": """st.shared.u32 [%r1], %r12; bar.warp.sync -1; ld.shared.u32 %r15, [%r1+4]; bar.warp.sync -1;
        st.shared.u32 [%r1+4], %r11; bar.warp.sync -1; ld.shared.u32 %r16, [%r1+8]; add.u32 %r15, %r15, %r16;""",
    "volatile": """st.volatile.shared.u32 [%r1], %r12; ld.volatile.shared.u32 %r15, [%r1+4];
        st.volatile.global.u32 [%d1], %r15; ld.volatile.global.u32 %r16, [%d1+4]; add.u32 %r15, %r15, %r16;""",
    "halves": """setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW; st.global.u32 [%d1], %r11; bar.warp.sync 0xffff0000;
        ld.global.u32 %r15, [%d1+4]; bra.uni ALL; LOW: st.global.u32 [%d1], %r12; bar.warp.sync 0xffff;
        ld.global.u32 %r15, [%d1+8]; ALL: bar.warp.sync -1; ld.global.u32 %r16, [%d1+12]; add.u32 %r15, %r15, %r16;""",
    "a barrier": """st.global.u32 [%d1], %r12; bar.sync 0; ld.global.u32 %r15, [%d1+4]; bar.sync 0;
        st.global.u32 [%d1+4], %r15;""",
    "acquire and release": """st.global.u32 [%d1], %r12; st.release.gpu.global.u32 [%d1+256], %r11;
        ld.acquire.gpu.global.u32 %r15, [%d1+260]; ld.global.u32 %r16, [%d1+4]; add.u32 %r15, %r15, %r16;""",
}  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("name", WITH_MEETINGS)
def test_what_ptx_orders_stays_in_order(name: str) -> None:
    module = import_ptx(PTX.format(body=WITH_MEETINGS[name]), machine="gtx680").module
    assert module.memory_model == "ptx"
    proven_and_equal(module, "k")
