"""A warp that stopped: what it holds is what the program has computed so far, and nothing of the instruction itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.debug.breaks import breaking
from binalloc.emulator.debug.state import ReconvergenceEntry, WarpState, stopped_warp
from binalloc.emulator.runs.issue_log import IssueLog
from binalloc.emulator.stops.stopped import Stopped
from binalloc.isa.instruction import Instr
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.public import go as in_pairs
from tests.support.kits.emulator.public import kernel, ready
from tests.support.kits.emulator.small import address, go, module, op

ALL = 0xFFFFFFFF


def stopped(code: list[Instr], where: str, **options: Any) -> WarpState:
    """The warp that is about to execute the instruction at `where`, `x` being 0, 1, 2 and so on."""
    info = {"shared_bytes": 256, "local_bytes": 16, "registers": 20} | options.pop("info", {})
    made = module([*address(), *code, op("EXIT")], params={"x": 8}, **info)
    buffers = {"x": np.arange(64, dtype=np.uint32)}
    with pytest.raises(Stopped) as caught:
        go(made, buffers=buffers, log=IssueLog([breaking([where])], everything=False), **options)
    return stopped_warp(caught.value.device)


def test_registers_are_those_in_front_of_the_instruction() -> None:
    warp = stopped([op("MOV", rd=6, rb=0), op("IADD3", rd=6, ra=6, form=1, imm=1, rc=255)], "k+5")
    assert warp.registers.shape == (20, 32)
    assert warp.registers[6].tolist() == list(range(32))
    assert (warp.pc, warp.active, warp.mask, warp.space, warp.words) == (5, ALL, ALL, None, {})
    assert warp.stack == [ReconvergenceEntry("plain", 5, None, ALL)]


def test_a_guard_that_lets_nobody_through_does_not_stop() -> None:
    compare = op("ISETP", pd0=1, ra=0, form=1, imm=4, icmp=1, guard=(7, False))
    never = op("STG", ra=4, rb=0, width=4, guard=(7, True))
    warp = stopped([compare, never, op("NOP", guard=(1, False))], "k+6")
    assert (warp.active, warp.mask) == (ALL, 15)
    assert warp.predicates[1] == 15
    made = module([*address(), compare, never, op("EXIT")], params={"x": 8})
    go(made, buffers={"x": np.zeros(64, np.uint32)}, log=IssueLog([breaking(["k+5"])], everything=False))


def test_in_a_branch_the_stack_says_who_waits_where() -> None:
    code = [
        op("ISETP", pd0=0, ra=0, form=1, imm=8, icmp=1), op("BRA", guard=(0, False), target=1, diverges=1, reconv=2),
        op("NOP"), op("NOP"), op("NOP"),
    ]  # fmt: skip
    warp = stopped(code, "k+6")
    assert warp.mask == ALL & ~0xFF
    assert warp.stack[0] == ReconvergenceEntry("plain", 6, 8, ALL & ~0xFF)
    assert warp.stack[-1] == ReconvergenceEntry("plain", 8, None, ALL)
    assert ReconvergenceEntry("plain", 7, 8, 0xFF) in warp.stack


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_words_at_the_addresses_of_every_space(engine: str) -> None:
    scaled = op("IMAD", rd=8, ra=0, form=1, imm=4, rc=255)
    fill = [scaled, op("STS", ra=8, rb=0, width=4), op("STL", ra=255, rb=8, width=4, moff=4)]
    loads = {
        "global": op("LDG", rd=9, ra=4, width=4, wbar=1),
        "shared": op("LDS", rd=9, ra=8, width=4, wbar=1),
        "local": op("LDL", rd=9, ra=255, width=4, moff=4, wbar=1),
        "const": op("LDC", rd=9, ra=255, width=4, cbank=0, coff=0, wbar=1),
    }
    expected = {
        "global": {t: [t] for t in range(32)}, "shared": {t: [t] for t in range(32)},
        "local": {t: [4 * t] for t in range(32)}, "const": {t: [0x10000000] for t in range(32)},
    }  # fmt: skip
    for space, load in loads.items():
        warp = stopped([*fill, load], "k+7", engine=engine)
        assert (warp.space, warp.words) == (space, expected[space])
    wide = stopped([op("LDG", rd=8, ra=2, width=6, moff=16, wbar=1)], "k+4", engine=engine)
    assert (wide.addresses[7], wide.words[7]) == (0x10000010, [4, 5, 6, 7])


def test_generic_addresses_lead_to_their_space() -> None:
    for base, expected in ((0x01000000, [7]), (0x02000004, [9])):
        code = [
            op("MOV", rd=8, form=1, imm=7), op("STS", ra=255, rb=8, width=4), op("MOV", rd=8, form=1, imm=9),
            op("STL", ra=255, rb=8, width=4, moff=4), op("MOV", rd=10, form=1, imm=base), op("MOV", rd=11, rb=255),
            op("LD", rd=12, ra=10, width=4, wbar=1),
        ]  # fmt: skip
        warp = stopped(code, "k+10", hazards=False)
        assert (warp.space, warp.addresses[0], warp.words[0]) == ("generic", base, expected)


def test_words_outside_of_the_space_are_none() -> None:
    warp = stopped([op("LDS", rd=9, ra=255, width=4, moff=0x4000, wbar=1)], "k+4")
    assert set(map(tuple, warp.words.values())) == {()}


def test_the_other_warps_of_the_block_and_no_others() -> None:
    """The second warp of two goes to the barrier at once; the first one is on its way."""
    code = [
        op("LOP3", rd=6, ra=0, form=1, imm=32, rc=255, lut=0xC0), op("ISETP", pd0=0, ra=6, form=1, imm=0, icmp=4),
        op("BRA", guard=(0, False), target=9, diverges=1, reconv=9), *[op("NOP") for _ in range(9)],
        op("BAR", form=1, imm=0), op("NOP"),
    ]  # fmt: skip
    warp = stopped(code, "k+15", block=64, grid=3)
    assert warp.warp == 0
    assert [(other.warp, other.doing, other.pc) for other in warp.others] == [(1, "waits at barrier 0", 16)]
    behind = stopped(code, "k+17", block=64, grid=3)
    assert [other.doing in ("goes on behind a barrier", "ready") for other in behind.others] == [True]


def test_busy_scoreboards_are_told() -> None:
    warp = stopped([op("LDG", rd=9, ra=4, width=4, wbar=3, stall=1), op("NOP")], "k+5")
    assert warp.busy == [3]
    assert warp.registers[9].tolist() == list(range(32)), "data is exchanged at issue"


def test_words_of_blocks_that_share_memory_lie_in_two_places() -> None:
    """Blocks 0 and 1 are a pair. Each leaves its number in a private word and in a shared one."""
    machine = load_machine("gpgpusim-sharing")
    text = kernel(
        """
    STS.32 [R4], R1
    STS.32 [R4+0x1000], R1
    ISETP.EQ.AND P0, PT, R1, RZ, PT
    @P0 EXIT
    LDS.32 R6, [R4]
    LDS.32 R7, [R4+0x1000]
""", private=9216)  # fmt: skip
    for where in ("k+11", "k+12"):
        with pytest.raises(Stopped) as caught:
            in_pairs(ready(text, machine), machine=machine, sharing="1:1024",
                     log=IssueLog([breaking([where])], everything=False))  # fmt: skip
        warp = stopped_warp(caught.value.device)
        assert (warp.block, warp.words) == (1, {t: [1] for t in range(32)})
