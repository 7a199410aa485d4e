"""Words that would stop the run in the threads that do not execute them: every pass is tempted to move, repeat or
insert one, and each rewrite is written, proven, and does what the original does."""

from __future__ import annotations

import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from binalloc.launch.types import Argument, ArgumentKind, Init, InitKind, Launch, Texture
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.transform.rewrite_judge import MACHINE, Original

LOADS = 14
HEAD = """.kernel kernel
.block 32
.param out 8
.param in 8
.param cube 4
.param image 4
S2R R0, SR_TID.X
MOV R2, c[0][in]
MOV R3, c[0][in+4]
IMAD.WIDE R2, R0, 0x4, R2
MOV R6, c[0][cube]
MOV R7, c[0][image]
ISETP.LT.U32.AND P0, PT, R0, 0x10, PT
ISETP.LT.U32.AND P1, PT, R0, 0x400, PT
LOP3 R16, R0, 0x3, RZ, 0xc0
SHF.L.U32 R16, R16, 0x2, RZ
LOP3 R17, R0, 0x3, RZ, 0xc0
LOP3 R18, R0, 0x3, RZ, 0xc0
SEL R18, R18, 0x100, P0
SEL R8, R6, 0x0, P0
SEL R9, R7, 0x4d, P0
SEL R19, R16, 0x10000, P0
"""
TAIL = """MOV R10, 0x0
{sums}
MOV R12, c[0][out]
MOV R13, c[0][out+4]
IMAD.WIDE R12, R0, 0x4, R12
IADD3 R10, R10, R40, RZ
STG [R12], R10
EXIT
.end
"""
STORE = "MOV R12, c[0][out]\nMOV R13, c[0][out+4]\nIMAD.WIDE R12, R0, 0x4, R12\n"
REGIONS = {
    "surface behind a branch": "@!P0 BRA skip, skip\nSUADDR.3D.TRAP.32 R30, R16, R6, R18\nLDG R40, [R30]\nskip:",
    "surface under a guard": "@P0 SUADDR.3D.TRAP.32 R30, R16, R6, R18\n@P0 LDG R40, [R30]",
    "handle behind a branch": "@!P0 BRA skip, skip\nSUADDR.3D.CLAMP.32 R30, R16, R8, R18\nskip:",
    "query behind a branch": "@!P0 BRA skip, skip\nTXQ.WIDTH R30, R8\nTXQ.DEPTH R31, R8\nIADD3 R40, R30, R31, RZ\n"
    "skip:",
    "query of a mixture": "@!P0 BRA skip, skip\nIADD3 R30, R8, R9, RZ\nIADD3 R30, R30, -0x2, RZ\n"
    "TXQ.WIDTH R40, R30\nskip:",
    "fetch behind a branch": "@!P0 BRA skip, skip\nTEX.2D.S32.R R40, R16, R9\nskip:",
    "index behind a branch": "@!P0 BRA skip, skip\nLDC.32 R40, c[3][R19+0x0]\nskip:",
    "no constant behind a branch": "@P1 BRA skip, skip\nIADD3 R40, R16, R18, c[0][0x200]\nskip:",
    "no constant alone": "@P1 BRA skip, skip\nMOV R30, c[0][0x200]\nIMAD R40, R16, R30, R30\nskip:",
    "no constant on either side": "MOV R40, 0x3\n@P1 BRA other, skip\nMOV R40, c[9][0x0]\nBRA skip\nother:\n"
    "IADD3 R40, R16, R18, RZ\nskip:",
    "twice, far apart": "@!P0 BRA skip, skip\nTXQ.WIDTH R30, R8\nSTG [R2+0x4000], R30\n"
    "IMAD R40, R30, R30, R16\nIADD3 R40, R40, R30, RZ\nskip:",
    "in a loop that is not entered": (
        "MOV R31, 0x0\n@P0 MOV R31, 0x3\ntop:\nISETP.EQ.AND P2, PT, R31, 0x0, PT\n@P2 BRA skip, skip\n"
        "TXQ.HEIGHT R30, R8\nIADD3 R40, R40, R30, RZ\nIADD3 R31, R31, -0x1, RZ\nBRA top\nskip:"
    ),
    "behind the end of threads": "@!P0 STG [R2+0x4000], R0\n@!P0 EXIT\nSUADDR.3D.TRAP.32 R30, R16, R6, R18\n"
    "LDG R40, [R30]",
    "argument of a callee": "MOV R50, R8\nMOV R51, R16\n@P0 CALL asks\nMOV R40, R52",
    "below a callee": "MOV R50, R6\nMOV R51, 0x0\nMOV R52, 0x0\nCALL asks\n@!P0 BRA skip, skip\n"
    "IADD3 R30, R52, R8, RZ\n"
    "IADD3 R30, R30, -0x4, RZ\nTXQ.WIDTH R40, R30\nskip:",
}
CALLEE = ".func asks\nTXQ.WIDTH R53, R50\nIADD3 R52, R53, R51, RZ\nRET\n.end\n"
BANK = ".const 3 {\n.word 5, 6, 7, 8\n}\n"
BUDGETS = (8, 10, 12, 16, 24)


def original(region: str) -> Module:
    loads = "".join(f"LDG R{60 + k}, [R2+{128 * (k + 1):#x}]\n" for k in range(LOADS))
    sums = "\n".join(f"IMAD R10, R10, 0x3, R{60 + k}" for k in range(LOADS))
    text = f"{HEAD}{loads}MOV R40, 0x7\nMOV R52, 0x1\n{region}\n{TAIL.format(sums=sums)}"
    return assemble(BANK + text + (CALLEE if "CALL" in region else ""))


def launch() -> Launch:
    def words(kind: ArgumentKind, name: str, shape: tuple[int, ...]) -> Argument:
        init = Init(InitKind.RANDOM, low=0, high=1 << 30, seed=len(name))
        texture = None if kind == ArgumentKind.BUFFER else Texture(shape)
        return Argument(name, kind, "u32", shape, init=init, texture=texture)

    return Launch("kernel", (1, 1, 1), (32, 1, 1), 0, (
        Argument("out", ArgumentKind.BUFFER, "u32", (32,)), words(ArgumentKind.BUFFER, "in", (8192,)),
        words(ArgumentKind.SURFACE, "cube", (4, 4, 4)), words(ArgumentKind.TEXTURE, "image", (4, 4)),
    ))  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)
def test_what_faults_elsewhere_stays_where_it_is(region: str) -> None:
    judge = Original(original(region), [launch()])
    assert judge.expected["kernel"]["out"].any()
    for registers in BUDGETS:
        for slots in (0, 4):
            try:
                made = rewrite(judge.module, "kernel", registers, slots)
            except Infeasible:
                assert registers < BUDGETS[-1]
                continue
            verdict = judge.judge(made, registers, slots)
            assert not verdict.failures, (registers, slots)


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)
def test_without_its_guard_each_of_them_stops_the_run(region: str) -> None:
    """So these are what they are said to be."""
    module = original(region)
    fn = module.function("kernel")
    always = [k for k, instr in enumerate(fn.instrs) if instr.name == "ISETP" and k < 10]
    for k in always:  # P0 holds everywhere, P1 nowhere
        fn.instrs[k] = fn.instrs[k].replace(imm=0x400 if fn.instrs[k].f["pd0"] == 0 else 0)
    selects = [k for k, instr in enumerate(fn.instrs) if instr.name == "SEL"]
    for k in selects:
        fn.instrs[k] = fn.instrs[k].replace(ps0n=1)
    with pytest.raises(BinallocError):
        run(schedule(module, MACHINE), "kernel", launch(), MACHINE)
