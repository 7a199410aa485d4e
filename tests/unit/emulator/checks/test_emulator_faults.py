"""Every guard of the emulator: what faults, what the message names, and what must not fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault, LimitHit, MalformedInput, Refused, UsageError
from binalloc.isa.instruction import Instr
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import address, go, module, op

X = {"x": np.zeros(32, np.uint32)}


def fault(code: list[Instr], **options: Any) -> str:
    run = {k: options.pop(k) for k in ("block", "grid", "dynamic", "max_cycles", "engine") if k in options}
    buffers = options.pop("buffers", X)
    with pytest.raises(KernelFault) as caught:
        go(module(code, params=dict.fromkeys(buffers, 8), **options), buffers=buffers, **run)
    return str(caught.value)


def test_global_access_behind_the_buffer() -> None:
    text = fault([*address(), op("LDG", rd=6, ra=4, width=4, moff=4, wbar=0), op("EXIT", wait=1)])
    assert "k+4" in text
    assert "lane 31" in text
    assert "0x10000080" in text
    assert "inside one buffer" in text
    assert "kernel k, k+4" in text
    assert "block 0, warp 0, lane 31, thread 31" in text
    assert "right behind x (0x10000000 to 0x1000007f, 128 bytes)" in text


def test_an_access_that_faults_names_its_source_line_thread_and_the_nearest_buffer() -> None:
    both = {"x": np.zeros(32, np.uint32), "y": np.zeros(16, np.uint32)}
    m = module([*address(), op("LDG", rd=6, ra=2, width=5, moff=-24, wbar=0), op("EXIT", wait=1)],
               params=dict.fromkeys(both, 8))  # fmt: skip
    m.functions[0].lines = {2: ("k.cu", 7), 5: ("k.cu", 8)}
    arguments = tuple(Argument(k, "buffer", "u32", v.shape) for k, v in both.items())
    launch = Launch("k", (2, 2, 1), (8, 2, 1), 0, arguments)
    with pytest.raises(KernelFault) as caught:
        run(m, "k", launch, load_machine("gtx680"), engine="python", buffers=both)
    text = str(caught.value)
    assert "k+4 `LDG.64 R6, [R2-0x18]` (k.cu:7), SM 0, block 0 (0, 0, 0), warp 0, lane 0, thread 0 (0, 0, 0)" in text
    assert "0xfffffe8, 8 bytes, 24 bytes in front of x (0x10000000" in text


@pytest.mark.parametrize(
    ("offset", "said"),
    [(128, "across the end of x"), (136, "4 bytes behind x"), (-8, "8 bytes in front of x"), (4200, "in front of y"),
     (0x1140, "right behind y")],
)  # fmt: skip
def test_the_nearest_buffer(offset: int, said: str) -> None:
    both = {"x": np.zeros(33, np.uint32), "y": np.zeros(16, np.uint32)}
    base = [*address(), op("MOV", rd=9, rb=3), op("IADD3", rd=8, ra=2, form=1, imm=offset & 0xFFFFFFFF, rc=255)]
    assert said in fault([*base, op("LDG", rd=6, ra=8, width=5, wbar=0), op("EXIT", wait=1)], buffers=both)


def test_a_launch_without_buffers_has_no_nearest_one() -> None:
    assert "no buffer" in fault([op("LDG", rd=6, ra=255, width=4, wbar=0), op("EXIT", wait=1)], buffers={})


def test_global_access_between_two_buffers_and_before_the_first() -> None:
    both = {"x": np.zeros(32, np.uint32), "y": np.zeros(32, np.uint32)}
    assert "out of bounds" in fault([*address(), op("LDG", rd=6, ra=4, width=4, moff=512), op("EXIT")], buffers=both)
    assert "out of bounds" in fault([*address(), op("LDG", rd=6, ra=4, width=4, moff=-4), op("EXIT")], buffers=both)
    assert "out of bounds" in fault([*address(), op("LDG", rd=6, ra=255, width=4), op("EXIT")])


def test_inactive_lanes_may_point_anywhere() -> None:
    code = [*address(), op("ISETP", pd0=0, ra=0, form=1, imm=31, icmp=1),
            op("LDG", guard=(0, False), rd=6, ra=4, width=4, moff=4, wbar=0), op("EXIT", wait=1)]  # fmt: skip
    go(module(code, params={"x": 8}), buffers=X)


@pytest.mark.parametrize("dynamic", [0, 64])
def test_shared_access_behind_the_users_part(dynamic: int) -> None:
    ok = op("LDS", rd=6, ra=255, width=4, moff=124 + dynamic, wbar=0)
    bad = ok.replace(moff=128 + dynamic)
    go(module([ok, op("EXIT", wait=1)], shared_bytes=128), dynamic=dynamic)
    text = fault([bad, op("EXIT", wait=1)], shared_bytes=128, dynamic=dynamic, slot_bytes=128)
    assert f"{128 + dynamic:#x}" in text


def test_misaligned_accesses() -> None:
    assert "misaligned" in fault([op("LDS", rd=6, ra=255, width=5, moff=4), op("EXIT")], shared_bytes=64)
    assert "multiple of 4" in fault([*address(), op("STG", ra=4, rb=0, width=4, moff=2), op("EXIT")])


def test_local_and_constant_bounds() -> None:
    assert "local memory" in fault([op("LDL", rd=6, ra=255, width=4, moff=8), op("EXIT")], local_bytes=8, spill_local=8)
    assert "local memory" in fault([op("STL", ra=255, rb=0, width=4, moff=-4), op("EXIT")], local_bytes=8)
    assert "bank 3" in fault([op("MOV", rd=9, form=2, cbank=3, coff=0), op("EXIT")])
    assert "bank 0" in fault([op("LDC", rd=6, ra=255, width=4, cbank=0, coff=8), op("EXIT")])


def test_ranges_in_messages_end_with_their_last_byte() -> None:
    load = op("LDL", rd=6, ra=255, width=4, moff=8)
    assert "found address 0x8; expected 0x0 to 0x7, the thread's local frames" in fault(
        [load, op("EXIT")], local_bytes=8, spill_local=8
    )
    spilled = load.replace(spill=1, moff=16)
    assert "expected 0x8 to 0xf, of which the thread's own" in fault(
        [spilled, op("EXIT")], local_bytes=8, spill_local=8
    )
    buffers = {"x": X["x"], "y": np.zeros(4, np.uint32)}
    for code in (op("MOV", rd=9, form=2, cbank=0, coff=16), op("LDC", rd=6, ra=255, width=4, cbank=0, coff=16)):
        assert "offset 0x10 of bank 0, 4 bytes; expected 0x0 to 0xf, what" in fault([code, op("EXIT")], buffers=buffers)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_constant_operand_outside_of_its_bank_names_the_first_thread_that_wants_it(engine: str) -> None:
    high = op("ISETP", pd0=0, pd1=7, ra=0, form=1, imm=37, icmp=6, ps0=7, wait=1, stall=13)
    wants = op("MOV", rd=9, form=2, cbank=3, coff=0, guard=(0, False))
    text = fault([op("S2R", rd=0, sreg=0, wbar=0), high, wants, op("EXIT")], block=64, engine=engine)
    assert "k+2 `@P0 MOV R9, c[3][0x0]`, SM 0, block 0, warp 1, lane 5, thread 37:" in text


def test_where_there_are_no_bytes_at_all_the_message_says_so() -> None:
    load = op("LDL", rd=6, ra=255, width=4, moff=8)
    constant = op("MOV", rd=9, form=2, cbank=3, coff=0)
    for code, bytes_ in ((load, 0), (load.replace(spill=1), 8), (constant, 0)):
        assert "expected no such access, as there are no bytes for it" in fault([code, op("EXIT")], local_bytes=bytes_)


SLOT = op("S2R", rd=10, sreg=26, wbar=0)


@pytest.mark.parametrize(("offset", "ok"), [(0, True), (128, True), (256, False), (4, False), (-128, False)])
def test_spill_accesses_hit_the_threads_own_slots_only(offset: int, ok: bool) -> None:
    code = [SLOT, op("STS", ra=10, rb=255, width=4, moff=offset, spill=1, wait=1), op("EXIT")]
    if ok:
        go(module(code, slot_bytes=256, shared_bytes=100), block=64)
    else:
        text = fault(code, slot_bytes=256, shared_bytes=100, block=64)
        assert "own slots" in text


def test_user_code_may_not_touch_slots_and_wide_spills_do_not_exist() -> None:
    assert "out of bounds" in fault([SLOT, op("STS", ra=10, rb=255, width=4, wait=1), op("EXIT")], slot_bytes=128)
    assert "misaligned" in fault([SLOT, op("STS", ra=10, rb=255, width=5, spill=1, wait=1), op("EXIT")], slot_bytes=256)


def test_local_spill_area_is_for_spills_only() -> None:
    good = op("STL", ra=255, rb=255, width=4, moff=8, spill=1)
    go(module([good, op("EXIT")], local_bytes=8, spill_local=8))
    assert "spill" in fault([good.replace(moff=4), op("EXIT")], local_bytes=8, spill_local=8)
    assert "spill" in fault([good.replace(moff=16), op("EXIT")], local_bytes=8, spill_local=8)
    assert "local memory" in fault([good.replace(spill=0), op("EXIT")], local_bytes=8, spill_local=8)


def test_divergent_branch_without_a_reconvergence_point() -> None:
    code = [
        *address(),
        op("ISETP", pd0=0, ra=0, form=1, imm=5, icmp=1),
        op("BRA", guard=(0, False), target=0),
        op("EXIT"),
    ]
    code[-2] = op("BRA", guard=(0, False), target=1)
    assert "without a reconvergence point" in fault([*code, op("EXIT")])


def test_return_outside_a_call_endless_recursion_and_running_off_the_code() -> None:
    assert "RET outside" in fault([op("RET"), op("EXIT")])
    forever = {"f": [op("CALL", target=-1), op("RET")]}
    assert "stack overflow" in fault([op("CALL", target=7), op("EXIT")], functions=forever)
    assert "left the code" in fault([op("NOP")])
    assert "no function" in fault([op("MOV", rd=1, form=1, imm=1), op("CALL.IND", ra=1), op("EXIT")])


def test_an_atomic_that_is_not_legal_is_no_gap_of_the_emulator() -> None:
    text = fault([*address(), op("RED", ra=2, rb=0, aop=1, atyp=4), op("EXIT")])
    assert "no such atomic operation on that type" in text
    assert "found MIN on F32; expected MIN on U32 or S32 or U64 or S64" in text


def test_a_barrier_that_not_all_warps_reach_is_an_explained_deadlock() -> None:
    code = [
        *address(),
        op("ISETP", pd0=0, ra=0, form=1, imm=32, icmp=1),
        op("BRA", guard=(0, False), target=1, diverges=1, reconv=1),
        op("BAR", barid=3, form=1, imm=64),
        op("EXIT"),
    ]
    text = fault(code, block=64)
    assert "deadlock" in text
    assert "warp 0 of block 0 ended without coming to barrier 3, which takes 2 warps" in text
    assert "warp 1 at barrier 3 (1 of 2 warps came) in k+6" in text


def test_barrier_in_divergent_code_and_wrong_counts() -> None:
    half = [*address(), op("ISETP", pd0=0, ra=0, form=1, imm=7, icmp=1)]
    assert "divergent" in fault([*half, op("BAR", guard=(0, False), form=1, imm=0), op("EXIT")])
    assert "thread count" in fault([op("BAR", form=1, imm=33), op("EXIT")])
    assert "thread count" in fault([op("BAR", form=1, imm=64), op("EXIT")])


def test_warpsync_of_lanes_that_are_elsewhere() -> None:
    code = [*address(), op("ISETP", pd0=0, ra=0, form=1, imm=7, icmp=1),
            op("BRA", guard=(0, False), target=1, diverges=1, reconv=1),
            op("WARPSYNC", form=1, imm=0xFFFFFFFF), op("EXIT")]  # fmt: skip
    assert "not converged" in fault(code)
    go(module([op("WARPSYNC", form=1, imm=0xFFFFFFFF), op("EXIT")]))


def test_limits_and_refusals_before_the_run() -> None:
    endless = module([op("BRA", target=-1), op("EXIT")])
    with pytest.raises(LimitHit, match="cycle limit"):
        go(endless, max_cycles=1000)
    with pytest.raises(Refused, match="schedule with machine"):
        go(module([op("EXIT")], machine=""))
    with pytest.raises(Refused, match="c2075"):
        go(module([op("EXIT")], machine="c2075"))
    assert go(module([op("EXIT")], machine=""), hazards=False).cycles > 0
    with pytest.raises(Refused, match="no block fits"):
        go(module([op("EXIT")], shared_bytes=60000))
    with pytest.raises(Refused, match="no block fits") as dynamic:
        go(module([op("EXIT")]), dynamic=60000)
    with pytest.raises(Refused, match="no block fits") as wide:
        go(module([op("EXIT")], registers=40, machine="c2075"), block=1024, machine="c2075")
    assert (dynamic.value.place, wide.value.place) == ("dynamic_shared", "block")
    assert "Rewrite the kernel for 32 registers" in str(wide.value), "the most that 1,024 threads can have there"
    assert "less shared memory or smaller blocks" in str(dynamic.value)
    with pytest.raises(UsageError, match="blocks_per_sm"):
        go(module([op("EXIT")]), blocks_per_sm=99)
    with pytest.raises(UsageError, match="engine"):
        go(module([op("EXIT")]), engine="fortran")
    with pytest.raises(MalformedInput, match="claims"):
        go(module([op("MOV", rd=9, rb=255), op("EXIT")], registers=8))


# -- hazards -----------------------------------------------------------------------------------------------------------

ADD = op("IADD3", stall=9, rd=6, ra=255, rb=255, rc=255)
USE = op("IADD3", rd=7, ra=6, rb=255, rc=255)


def test_a_fixed_latency_is_reached_by_the_sum_of_stall_counts_and_not_before() -> None:
    go(module([ADD, USE, op("EXIT")]))
    text = fault([ADD.replace(ctrl=ADD.ctrl._replace(stall=8)), USE, op("EXIT")])
    assert "read before the result is there" in text
    assert "R6" in text
    assert "k+0" in text
    assert "k+1" in text
    between = op("NOP", stall=4)
    go(module([ADD.replace(ctrl=ADD.ctrl._replace(stall=5)), between, USE, op("EXIT")]))
    assert "1 more cycles" in fault([ADD.replace(ctrl=ADD.ctrl._replace(stall=4)), between, USE, op("EXIT")])


def test_other_warps_cannot_hide_a_short_stall_count() -> None:
    short = ADD.replace(ctrl=ADD.ctrl._replace(stall=1))
    assert "hazard" in fault([short, USE, op("EXIT")], block=1024)


def test_predicates_and_guards_are_operands() -> None:
    setp = op("ISETP", stall=8, pd0=1, ra=255, rb=255, icmp=2)
    assert "P1" in fault([setp, op("MOV", guard=(1, False), rd=6, rb=255), op("EXIT")])
    assert "P1" in fault([setp, op("SEL", rd=6, ra=255, rb=255, ps0=1), op("EXIT")])
    assert "P1" in fault([setp, op("EXIT", guard=(1, True)), op("EXIT")])


def test_pairs_are_guarded_as_a_whole() -> None:
    wide = op("IMAD.WIDE", stall=8, rd=6, ra=255, rb=255, rc=255)
    assert "R7" in fault([wide, op("MOV", rd=9, rb=7), op("EXIT")])
    assert "R7" in fault([op("MOV", stall=8, rd=7, rb=255), op("DADD", rd=8, ra=6, rb=6, wbar=0), op("EXIT")])


def test_a_variable_result_needs_its_scoreboard_waited_for() -> None:
    load = op("LDS", rd=6, ra=255, width=4, wbar=2)
    go(module([load, op("NOP", wait=4), USE, op("EXIT")], shared_bytes=4))
    assert "scoreboard 2" in fault([load, op("NOP", wait=2), USE, op("EXIT")], shared_bytes=4)
    text = fault([load.replace(ctrl=load.ctrl._replace(wbar=7)), USE, op("EXIT")], shared_bytes=4)
    assert "a write scoreboard on it" in text


def test_slow_units_need_scoreboards_too() -> None:
    slow = op("MUFU", rd=6, rb=255, func=0, wbar=0)  # 18 cycles on this machine
    go(module([slow, USE.replace(ctrl=USE.ctrl._replace(wait=1)), op("EXIT")]))
    assert "hazard" in fault([slow, op("NOP"), op("NOP"), USE, op("EXIT")])


def test_writes_may_not_overtake_one_another() -> None:
    load = op("LDS", rd=6, ra=255, width=4, wbar=2)
    assert "overwritten before the earlier result" in fault([load, ADD, op("EXIT")], shared_bytes=4)
    slow = op("DADD", stall=2, rd=6, ra=255, rb=255)  # 12 cycles against 9
    assert "overwritten" in fault([slow, ADD, op("EXIT")])
    go(module([slow.replace(ctrl=slow.ctrl._replace(stall=4)), ADD, op("EXIT")]))


def test_sources_that_are_read_late_may_not_be_overwritten() -> None:
    store = op("STS", stall=2, ra=255, rb=6, width=4, rbar=3)
    assert "earlier reader" in fault([store, ADD, op("EXIT")], shared_bytes=4)
    go(module([store, op("NOP", wait=8), ADD, op("EXIT")], shared_bytes=4))
    go(module([store, ADD.replace(rd=7), op("EXIT")], shared_bytes=4))
    load = op("LDS", stall=2, rd=7, ra=6, width=4, rbar=3, wbar=4)
    go(module([load, op("NOP", wait=16), ADD, op("EXIT")], shared_bytes=4))
    assert "earlier reader" in fault([store.replace(ctrl=store.ctrl._replace(rbar=7)), ADD, op("EXIT")], shared_bytes=4)


@pytest.mark.parametrize("name", ["ISETP", "IADD3", "PLOP3"])
def test_an_instruction_may_write_a_predicate_twice(name: str) -> None:
    twice = op(name, pd0=3, pd1=3)
    assert go(module([twice, twice, op("EXIT")])).stats["warp_instructions"] == 3


def test_hazards_cross_branches_and_calls() -> None:
    short = ADD.replace(ctrl=ADD.ctrl._replace(stall=1))
    assert "hazard" in fault([short, op("BRA", stall=1, target=1), op("EXIT"), USE, op("EXIT")])
    callee = {"f": [USE, op("RET")]}
    m = module([short, op("CALL", stall=1, target=5), op("EXIT")], functions=callee)
    m.functions[0].instrs[1] = op("CALL", stall=1, target=m.functions[1].address - 2)
    with pytest.raises(KernelFault) as caught:
        go(m)
    assert "f+0" in str(caught.value)
    assert "k+0" in str(caught.value)


def test_the_two_sides_of_a_branch_do_not_disturb_one_another() -> None:
    code = [
        *address(),
        op("ISETP", pd0=0, ra=0, form=1, imm=5, icmp=1),
        op("MOV", rd=6, form=1, imm=1),
        op("BRA", stall=1, guard=(0, False), target=2, diverges=1, reconv=3),
        op("MOV", stall=1, rd=6, form=1, imm=2),
        op("BRA", stall=1, target=1),
        op("IADD3", stall=1, rd=7, ra=6, rb=6, rc=255),  # other lanes: R6 is theirs since long
        op("NOP", stall=9),
        op("EXIT"),
    ]
    go(module(code, params={"x": 8}), buffers=X)


def test_a_guarded_write_that_no_lane_executes_leaves_nothing_in_flight() -> None:
    never = op("IADD3", stall=1, guard=(0, False), rd=6, ra=255, rb=255, rc=255)
    go(module([never, USE, op("EXIT")]))
