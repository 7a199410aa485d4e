"""A kernel that can never end says which of its warps wait where for what, and what is the likely cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs import run as driver
from binalloc.emulator.stops import spin
from binalloc.emulator.stops.deadlock import MOST_LINES
from binalloc.errors import KernelFault
from binalloc.isa.instruction import Instr
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import go, module, op

LOOP = [op("BRA", target=-1, diverges=0)]


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless loops are looked for after a thousand cycles."""
    monkeypatch.setattr(driver, "SPIN_CYCLES", 1_000)
    monkeypatch.setattr(spin, "APART", 1_000)


def deadlock(code: list[Instr], **options: Any) -> KernelFault:
    with pytest.raises(KernelFault, match="deadlock") as caught:
        go(module(code), **options)
    return caught.value


def by_warp(*bodies: list[Instr]) -> list[Instr]:
    """Warp i runs the i-th of these, each of which ends by itself."""
    code = [op("S2R", rd=0, sreg=0, wbar=0)]
    left = list(bodies)
    while len(left) > 1:
        first = left.pop(0)
        bound = 32 * (len(bodies) - len(left))
        code += [op("ISETP", pd0=0, ra=0, form=1, imm=bound, icmp=6, wait=1),
                 op("BRA", guard=(0, False), target=len(first)), *first]  # fmt: skip
    return [*code, *left[0]]


def bar(number: int, warps: int = 0) -> Instr:
    return op("BAR", barid=number, form=1, imm=32 * warps)


END = op("EXIT")


def test_a_warp_that_ends_before_a_barrier_that_counts_on_it() -> None:
    fault = deadlock(by_warp([bar(3, 3), END], [END], [bar(3, 3), END]), block=96)
    assert fault.message == "deadlock: warp 1 of block 0 ended without coming to barrier 3, which takes 3 warps"
    assert "block 0 (SM 0): warps 0, 2 at barrier 3" not in str(fault)  # they stand at different words
    assert "warp 0 at barrier 3 (2 of 3 warps came) in k+3 `BAR.SYNC 3, 0x60`; warp 1 ended in k+7 `EXIT`" in str(fault)


def test_warps_that_stand_alike_are_told_of_together_and_so_are_blocks() -> None:
    fault = deadlock(by_warp([END], [bar(1, 5), END]), block=160, grid=3)
    assert str(fault.found).startswith("blocks 0 to 2: warp 0 ended in k+3 `EXIT`; warps 1 to 4 at barrier 1 (4 of 5")


def test_a_barrier_in_a_callee_with_its_source_line() -> None:
    code = by_warp([END], [op("CALL", target=0), END])
    m = module(code, functions={"f": [bar(0, 2), op("RET")]})
    at = next(i for i, one in enumerate(code) if one.op.name == "CALL")
    m.functions[0].instrs[at] = op("CALL", target=m.function("f").address - at - 1)
    m.function("f").lines = {0: ("f.cu", 12)}
    with pytest.raises(KernelFault) as caught:
        go(m, block=64)
    assert "in f+0 `BAR.SYNC 0, 0x40` (f.cu:12)" in str(caught.value)


def test_a_warp_that_spins_while_others_wait_for_it(early: None) -> None:
    fault = deadlock(by_warp([bar(0), END], [*LOOP, END], [bar(0), END]), block=96)
    assert fault.message == "deadlock: warp 1 of block 0 spins and never comes to barrier 0, which takes 3 warps"
    assert "warp 1 spinning at k+7" in str(fault)


def test_blocks_that_cannot_start_are_the_likely_cause(early: None) -> None:
    fault = deadlock([*LOOP, END], grid=10, blocks_per_sm=4)
    assert fault.message == "deadlock: the warps spin for ever, and 6 blocks cannot start before one of these has ended"
    assert str(fault.found) == "blocks 0 to 3: warp 0 spinning at k+0 `BRA .L0`; 6 blocks have not started"


def test_blocks_wait_in_the_queues_of_their_sms(early: None) -> None:
    fault = deadlock([*LOOP, END], grid=10, blocks_per_sm=2, sms=3, dispatcher="serial", batches="stride:2")
    assert str(fault.found).endswith("4 blocks have not started: 2 in the queue of SM 0, 2 in the queue of SM 1")


def test_loops_that_nothing_changes(early: None) -> None:
    assert deadlock([*LOOP, END]).message == "deadlock: the warps spin in loops that nothing changes any more"


@pytest.mark.parametrize("sms", [1, 3])
def test_long_explanations_are_cut(sms: int) -> None:
    """Warps of 32 different bodies."""
    bodies = [[bar(i % 16, 2), op("NOP"), END] for i in range(16)]
    fault = deadlock(by_warp(*bodies), block=512, grid=sms, sms=sms)
    assert str(fault.found).count(" at barrier ") == MOST_LINES
    assert f"and {16 - MOST_LINES if sms == 1 else 3 * 8} more groups of warps" in str(fault.found)
    assert len(str(fault)) < 3_000


def test_both_engines_and_the_per_cycle_mode_say_the_same() -> None:
    code = by_warp([bar(3, 3), END], [END], [bar(4, 3), END])
    texts = {
        str(deadlock(code, block=96, engine=engine, reference=reference))
        for engine in ("python", "numba")
        for reference in (False, True)
    }
    assert len(texts) == 1


def test_an_arrival_that_does_not_wait_counts() -> None:
    fault = deadlock(by_warp([op("BAR", bar=1, barid=2, form=1, imm=96), END], [bar(2, 3), END], [END]), block=96)
    assert "(2 of 3 warps came)" in str(fault)
    said = "barrier 2, which takes 3 warps of block 0, 2 came (1 without waiting), and warps 0, 2 ended"
    assert fault.message == f"deadlock: {said}"


def slow_atomics(name: str) -> Machine:
    """On which 32 lanes at one word take 3.2 million cycles."""
    m = load_machine(name)
    return replace(m, l2=replace(m.l2, atomic_cycles=100_000))


POINTER = [op("MOV", rd=2, form=2, cbank=0, coff=0), op("MOV", rd=3, form=2, cbank=0, coff=4)]


@pytest.mark.rotates("long")
@pytest.mark.parametrize("reference", [False, True])
def test_what_is_still_on_its_way_when_all_have_ended_is_waited_for(reference: bool) -> None:
    code = module([*POINTER, op("RED", ra=2, rb=255, aop=0, atyp=0, rbar=0), END], params={"x": 8})
    options: dict[str, Any] = {"engine": "numba", "machine": slow_atomics("gtx680"), "hazards": False}
    result = go(code, buffers={"x": np.zeros(1, np.uint32)}, reference=reference, **options)
    assert result.cycles > 3_200_000


def test_a_block_comes_when_the_last_result_of_one_that_has_ended_has_come() -> None:
    """Block 0 spins, on what its L1 has, until block 2 says so, which has room when an atomic of block 1 is done."""
    spinning = [op("LDG", rd=6, ra=2, width=4, moff=128), op("ISETP", pd0=0, ra=6, form=1, imm=0, icmp=2),
                op("BRA", guard=(0, False), target=-3, diverges=0), END]  # fmt: skip
    ending = [*[op("NOP")] * 200, op("ATOMG", rd=6, ra=2, rb=255, rc=255, aop=0, atyp=0, wbar=0), END]
    saying = [op("MOV", rd=6, form=1, imm=1), op("STG", ra=2, rb=6, width=4, moff=128), END]
    block = op("S2R", rd=0, sreg=6, wbar=0)
    first = [op("ISETP", pd0=1, ra=0, form=1, imm=0, icmp=4, wait=1),
             op("BRA", guard=(1, False), target=len(spinning), diverges=0)]  # fmt: skip
    second = [op("ISETP", pd0=1, ra=0, form=1, imm=1, icmp=4),
              op("BRA", guard=(1, False), target=len(ending), diverges=0)]  # fmt: skip
    code = module([*POINTER, block, *first, *spinning, *second, *ending, *saying], params={"x": 8}, machine="c2075")
    options: dict[str, Any] = {"engine": "numba", "machine": slow_atomics("c2075"), "hazards": False}
    result = go(code, grid=3, blocks_per_sm=2, buffers={"x": np.zeros(64, np.uint32)}, **options)
    assert result.cycles > 3_200_000
    assert result.buffers["x"].tolist() == [0] * 32 + [1] + [0] * 31
