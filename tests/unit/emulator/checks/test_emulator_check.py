"""`check` (uninitialised values), `race` (shared memory between barriers) and endless spins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.engines.engine import build
from binalloc.errors import KernelFault
from binalloc.isa.instruction import Instr
from tests.support.kits.emulator.small import address, go, module, op, store

ADD = {"rc": 255}


def run(code: list[Instr], *, bad: str = "", threads: int = 32, engine: str = "python", check: bool = False,
        race: bool = False, **info: Any) -> str:  # fmt: skip
    m = module([*address(), *code], params={"x": 8}, **info)
    buffers = {"x": np.zeros(threads, np.uint32)}
    if not bad:
        go(m, block=threads, buffers=buffers, engine=engine, check=check, race=race)
        return ""
    with pytest.raises(KernelFault, match=bad) as caught:
        go(m, block=threads, buffers=buffers, engine=engine, check=check, race=race)
    return str(caught.value)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_register_nobody_wrote_may_be_moved_but_not_stored(engine: str) -> None:
    move = [op("MOV", rd=8, rb=9), op("IADD3", rd=6, ra=8, rb=0, **ADD)]
    run([*move, op("EXIT")], check=True, engine=engine)
    text = run([*move, *store(6)], bad="uninitialised", check=True, engine=engine)
    assert "stores to global memory" in text
    run([*move, *store(6)], engine=engine)
    run(store(0), check=True, engine=engine)


def test_poison_reaches_addresses_branches_and_guards() -> None:
    assert "address" in run(
        [op("LDS", rd=6, ra=9, width=4, wbar=0), op("EXIT")], bad="uninit", check=True, shared_bytes=64
    )
    setp = op("ISETP", pd0=0, ra=9, rb=255, icmp=2)
    assert "guard" in run([setp, op("EXIT", guard=(0, False)), op("EXIT")], bad="uninit", check=True)
    assert "guard" in run([op("STG", guard=(3, False), ra=4, rb=0, width=4), op("EXIT")], bad="uninit", check=True)
    run([setp, op("MOV", guard=(0, False), rd=6, rb=0), op("EXIT")], check=True)
    run([setp, op("MOV", guard=(0, False), rd=6, rb=0), *store(6)], bad="uninit", check=True)


def test_a_guarded_write_cleans_only_its_lanes() -> None:
    half = op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1)
    text = run([half, op("MOV", guard=(0, False), rd=6, rb=0), *store(6)], bad="uninit", check=True)
    assert "0xffff0000" in text
    run(
        [half, op("MOV", guard=(0, False), rd=6, rb=0), op("MOV", guard=(0, True), rd=6, rb=255), *store(6)], check=True
    )
    run([half, op("SEL", rd=6, ra=0, rb=255, ps0=0), *store(6)], check=True)


def test_a_choice_takes_poison_from_the_side_it_takes_only() -> None:
    half = op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1)
    text = run([half, op("SEL", rd=6, ra=9, rb=255, ps0=0), *store(6)], bad="uninit", check=True)
    assert "0xffff)" in text
    never = op("ISETP", pd0=0, ra=0, form=1, imm=0, icmp=0)
    run([never, op("SEL", rd=6, ra=9, rb=255, ps0=0), *store(6)], check=True)


def test_poison_passes_through_shared_and_local_memory_and_shuffles() -> None:
    index = op("IMAD", rd=7, ra=0, form=1, imm=4, rc=255)
    read = [op("LDS", rd=6, ra=7, width=4, wbar=0), op("NOP", wait=1), *store(6)]
    run([index, *read], bad="uninit", check=True, shared_bytes=128)
    run([index, op("STS", ra=7, rb=0, width=4, rbar=1), op("NOP", wait=2), *read], check=True, shared_bytes=128)
    run(
        [index, op("STS", ra=7, rb=9, width=4, rbar=1), op("NOP", wait=2), *read],
        bad="uninit",
        check=True,
        shared_bytes=128,
    )
    local = [op("LDL", rd=6, ra=255, width=4, wbar=0), op("NOP", wait=1), *store(6)]
    run(local, bad="uninit", check=True, local_bytes=4)
    run([op("STL", ra=255, rb=0, width=4, rbar=1), op("NOP", wait=2), *local], check=True, local_bytes=4)
    half = op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1)
    write = op("MOV", guard=(0, False), rd=8, rb=0)
    take = op("SHFL", rd=6, ra=8, limm=1, laneimm=3, cimm=1, clampimm=31, shfl=0, wbar=0)
    run([half, write, take, op("NOP", wait=1), *store(6)], check=True)
    run([half, write, take.replace(laneimm=20), op("NOP", wait=1), *store(6)], bad="uninit", check=True)


def test_a_shuffle_takes_no_poison_from_a_lane_that_is_not_active() -> None:
    half = op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1)
    write = op("MOV", guard=(0, False), rd=8, rb=0)
    take = op("SHFL", guard=(0, False), pd0=1, rd=6, ra=8, limm=1, laneimm=20, cimm=1, clampimm=31, shfl=0, wbar=0)
    ended = op("EXIT", guard=(0, True))
    run([half, write, ended, take, op("NOP", wait=1), *store(6)], check=True)
    # whether the lane is in range does not depend on what it holds
    one = [op("SEL", rd=6, ra=0, rb=255, ps0=1), *store(6)]
    run([take.replace(guard=(7, False)), op("NOP", wait=1), *one], check=True)
    run([take.replace(guard=(7, False), limm=0, rb=9), op("NOP", wait=1), *one], bad="uninit", check=True)


def test_poison_of_one_lane_spoils_match_for_all() -> None:
    half = op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1)
    write = op("MOV", guard=(0, False), rd=8, rb=0)
    find = op("MATCH", rd=6, ra=8, match=0, wbar=0)
    ended = op("EXIT", guard=(0, True))
    run([half, write, find, op("NOP", wait=1), *store(6)], bad="uninit", check=True)
    run([half, write, ended, find, op("NOP", wait=1), *store(6)], check=True)


def test_poison_passes_through_generic_addresses_of_shared_and_local_memory() -> None:
    for window, info in ((28, {"shared_bytes": 128}), (29, {"local_bytes": 128})):
        base = [op("S2R", rd=10, sreg=window, wbar=0), op("LEA", rd=8, ra=0, rb=10, shift=2, wait=1),
                op("MOV", rd=9, rb=255)]  # fmt: skip
        read = [op("LD", rd=6, ra=8, width=4, wbar=0), op("NOP", wait=1), *store(6)]
        write = [op("ST", ra=8, rb=0, width=4, rbar=1), op("NOP", wait=2)]
        run([*base, *read], bad="uninit", check=True, **info)
        run([*base, *write, *read], check=True, **info)


BARRIER = op("BAR", form=1, imm=0, wait=2)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_missing_barrier_is_a_race_that_names_both_accesses(engine: str) -> None:
    write = [op("IMAD", rd=7, ra=0, form=1, imm=4, rc=255), op("STS", ra=7, rb=0, width=4, rbar=1)]
    read = [op("LOP3", rd=8, ra=7, form=1, imm=0x80, rc=255, lut=0x3C), op("LDS", rd=6, ra=8, width=4, wbar=0),
            op("EXIT", wait=1)]  # fmt: skip
    run([*write, BARRIER, *read], race=True, threads=64, shared_bytes=256, engine=engine)
    text = run([*write, op("NOP", wait=2), *read], bad="race", race=True, threads=64, shared_bytes=256, engine=engine)
    assert "k+5" in text
    assert "STS" in text or "LDS" in text
    again = [*write, BARRIER, *read[:-1], op("STS", ra=7, rb=0, width=4, wait=1, rbar=1), op("EXIT")]
    assert "was read" in run(again, bad="race", race=True, threads=64, shared_bytes=256, engine=engine)


def test_bytes_of_one_word_and_atomics_do_not_race_but_equal_places_of_one_store_do() -> None:
    run([op("STS", ra=0, rb=0, width=0, rbar=1), op("EXIT")], race=True, threads=64, shared_bytes=64)
    run([op("ATOMS", rd=6, ra=255, rb=0, aop=0, wbar=0), op("EXIT")], race=True, threads=64, shared_bytes=64)
    assert "another lane" in run([op("STS", ra=255, rb=0, width=4), op("EXIT")], bad="race", race=True, shared_bytes=4)
    run([op("STS", ra=255, rb=255, width=4), op("EXIT")], race=True, shared_bytes=4)


def test_a_race_through_generic_addresses_is_seen_whatever_other_lanes_access() -> None:
    shared, local = [op("MOV", rd=8, form=1, imm=0x01000000)], [op("MOV", rd=8, form=1, imm=0x02000000)]
    lane = [op("S2R", rd=10, sreg=12, wbar=0), op("ISETP", pd0=0, ra=10, form=1, imm=31, icmp=2, wait=1)]
    local = [*lane, local[0].replace(guard=(0, False))]
    write = [op("MOV", rd=9, rb=255), op("ST", ra=8, rb=255, width=4, rbar=1), op("EXIT", wait=2)]
    for code in ([*shared, *write], [*shared, *local, *write]):
        run(code, bad="race", race=True, threads=64, shared_bytes=4, local_bytes=4)


LANE = [op("SHF", rd=7, ra=0, form=1, imm=2, rc=255)]
NEXT = [op("LOP3", rd=8, ra=7, form=1, imm=4, rc=255, lut=0x3C)]
"""R7 = 4 * thread; R8 = that of the thread beside."""
WRITE, READ = op("STS", ra=7, rb=0, width=4, rbar=1), op("LDS", rd=6, ra=8, width=4, wait=2, wbar=0)
MEET = op("WARPSYNC", form=1, imm=0xFFFFFFFF, wait=2)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_lanes_of_a_warp_race_under_ptx_alone(engine: str) -> None:
    racing, meeting = [*LANE, *NEXT, WRITE, READ], [*LANE, *NEXT, WRITE, MEET, READ]
    how = {"race": True, "shared_bytes": 256, "engine": engine}
    run([*racing, op("EXIT", wait=1)], **how)
    run([*meeting, op("EXIT", wait=1)], memory_model="ptx", **how)
    text = run([*racing, op("EXIT", wait=1)], bad="race", memory_model="ptx", **how)
    assert "was written in k+6" in text
    assert "by another lane" in text
    assert "WARPSYNC" in text
    again = [*meeting, op("STS", ra=7, rb=0, width=4, wait=1, rbar=1), op("EXIT")]
    run(again, **how)
    assert "was read in k+8" in run(again, bad="race", memory_model="ptx", **how)
    run([*meeting, MEET.replace(ctrl=MEET.ctrl._replace(wait=1)), *again[-2:]], memory_model="ptx", **how)


def test_a_barrier_is_a_meeting_of_lanes_and_an_arrival_is_none() -> None:
    waits, arrives = BARRIER, op("BAR", bar=1, barid=5, form=1, imm=64)
    code = [*LANE, *NEXT, WRITE, waits, READ, op("EXIT", wait=1)]
    run(code, race=True, threads=64, shared_bytes=256, memory_model="ptx")
    code[3] = arrives
    run(code, bad="race", race=True, threads=64, shared_bytes=256, memory_model="ptx")


@pytest.mark.parametrize(("mask", "races"), [(0xFFFFFFFF, False), (0xFFFF, True)])
def test_only_lanes_that_meet_are_ordered(mask: int, races: bool) -> None:
    """Each half of the warp meets by itself, or all do; then a lane reads what one of the other half wrote."""
    far = op("LOP3", rd=8, ra=7, form=1, imm=64, rc=255, lut=0x3C)
    upper = [op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1), op("MOV", rd=9, form=1, imm=mask),
             op("MOV", guard=(0, True), rd=9, form=1, imm=mask if mask >> 16 else mask << 16)]  # fmt: skip
    code = [*LANE, far, *upper, WRITE, op("WARPSYNC", rb=9, wait=2), READ, op("EXIT", wait=1)]
    run(code, bad="race" if races else "", race=True, shared_bytes=256, memory_model="ptx")
    near = [*LANE, *NEXT, *code[2:]]
    run(near, race=True, shared_bytes=256, memory_model="ptx")


def test_what_one_lane_learnt_it_passes_on() -> None:
    """Lane 0 meets lane 1, then lane 1 meets lane 2, which may read what lane 0 wrote."""
    def meet(lanes: int) -> list[Instr]:
        number = [op("MOV", rd=9, form=1, imm=1), op("SHF", rd=9, ra=9, rb=0, rc=255)]
        test = [op("LOP3", rd=9, ra=9, form=1, imm=lanes, rc=255, lut=0xC0), op("ISETP", pd0=1, ra=9, rb=255, icmp=5)]
        return [*number, *test, op("WARPSYNC", guard=(1, False), form=1, imm=lanes, wait=2)]

    only = [op("ISETP", pd0=2, ra=0, form=1, imm=2, icmp=2), op("ISETP", pd0=3, ra=0, rb=255, icmp=2)]
    write = op("STS", guard=(3, False), ra=255, rb=0, width=4, rbar=1)
    read = op("LDS", guard=(2, False), rd=6, ra=255, width=4, wait=2, wbar=0)
    how = {"race": True, "shared_bytes": 4, "memory_model": "ptx"}
    run([*only, write, *meet(3), *meet(6), read, op("EXIT", wait=1)], **how)
    run([*only, write, *meet(6), *meet(3), read, op("EXIT", wait=1)], bad="race", **how)
    run([*only, write, *meet(5), read, op("EXIT", wait=1)], **how)


def test_ordered_accesses_do_not_race_with_one_another() -> None:
    marked = [WRITE.replace(cache=3), READ.replace(cache=3)]
    how = {"race": True, "shared_bytes": 256, "memory_model": "ptx"}
    run([*LANE, *NEXT, *marked, op("EXIT", wait=1)], **how)
    run([*LANE, *NEXT, marked[0], READ, op("EXIT", wait=1)], bad="race", **how)
    run([*LANE, *NEXT, WRITE, marked[1], op("EXIT", wait=1)], bad="race", **how)


def test_of_several_ordered_writes_the_last_alone_is_remembered() -> None:
    """ISA.md, "Races": all lanes' atomics act on one word, lane 31's last; then one lane writes plainly."""
    atomic = op("ATOMS", rd=6, ra=255, rb=0, aop=0, wbar=0)
    plain = op("STS", guard=(0, False), ra=255, rb=0, width=4, rbar=1)
    how = {"race": True, "shared_bytes": 4, "memory_model": "ptx"}
    for lane, found in ((0, "race"), (31, "")):
        only = op("ISETP", pd0=0, ra=0, form=1, imm=lane, icmp=2)
        run([only, atomic, plain, op("EXIT", wait=3)], bad=found, **how)


def test_fences_order_nothing_for_races() -> None:
    """ISA.md, "Races": what is handed on by a flag behind MEMBAR is ordered, and reported all the same."""
    split = [op("ISETP", pd0=0, ra=0, form=1, imm=32, icmp=1), op("MOV", rd=9, form=1, imm=1)]
    give = [op("STS", ra=255, rb=9, width=4, moff=4, rbar=0), op("MEMBAR", wait=1),
            op("STS", ra=255, rb=9, width=4, cache=3, rbar=0), op("BRA", target=5)]  # fmt: skip
    take = [op("LDS", rd=6, ra=255, width=4, cache=3, wbar=0), op("ISETP", pd0=1, ra=6, rb=255, icmp=2, wait=1),
            op("BRA", guard=(1, False), target=-3, diverges=1, reconv=0), op("MEMBAR"),
            op("LDS", rd=6, ra=255, width=4, moff=4, wbar=0)]  # fmt: skip
    split.append(op("BRA", guard=(0, True), target=len(give), diverges=1, reconv=len(give) + len(take)))
    code = [*split, *give, *take, op("EXIT", wait=1)]
    run(code, threads=64, shared_bytes=8)
    assert "was written in k+7" in run(code, bad="race", race=True, threads=64, shared_bytes=8)


def test_an_arrival_orders_what_came_before_it() -> None:
    split = [
        op("ISETP", pd0=0, ra=0, form=1, imm=32, icmp=1),
        op("BRA", guard=(0, True), target=3, diverges=1, reconv=5),
    ]
    first = [op("STS", ra=255, rb=255, width=4, moff=4, rbar=0), op("BAR", bar=1, barid=5, form=1, imm=64, wait=1),
             op("BRA", target=2)]  # fmt: skip
    second = [op("BAR", bar=0, barid=5, form=1, imm=64), op("LDS", rd=6, ra=255, width=4, moff=4, wbar=0)]
    run([*split, *first, *second, op("EXIT", wait=1)], race=True, threads=64, shared_bytes=8)
    second[0] = op("NOP")
    run([*split, *first, *second, op("EXIT", wait=1)], bad="race", race=True, threads=64, shared_bytes=8)


def test_a_spin_inside_a_warp_is_an_explained_deadlock() -> None:
    code = [
        *address(),
        op("ISETP", pd0=0, ra=0, rb=255, icmp=2),
        op("BRA", guard=(0, False), target=3, diverges=1, reconv=4),
        op("LDG", stall=2, rd=6, ra=2, width=4, wbar=0),  # every lane but the first waits for the flag
        op("ISETP", pd0=1, ra=6, rb=255, icmp=2, wait=1),
        op("BRA", guard=(1, False), target=-3, diverges=1, reconv=1),
        op("STG", ra=2, rb=4, width=4, rbar=1),
        op("EXIT", wait=2),
    ]
    m = module(code, params={"x": 8})
    with pytest.raises(KernelFault, match="deadlock") as caught:
        go(m, buffers={"x": np.zeros(32, np.uint32)}, engine="numba")
    assert "lanes of warp 0 of block 0 spin for what others of the same warp have yet to do" in str(caught.value)
    assert "spinning at" in str(caught.value)
    assert "while lanes 0x1 wait until these are done" in str(caught.value)


def test_a_long_loop_is_no_spin() -> None:
    code = [op("IADD3", rd=6, ra=6, form=1, imm=1, rc=255), op("ISETP", pd0=0, ra=6, form=1, imm=40000, icmp=1),
            op("BRA", guard=(0, False), target=-3, diverges=1, reconv=0), op("EXIT")]  # fmt: skip
    assert go(module(code), engine="numba").cycles > 1_000_000


def test_the_builds_of_the_compiled_engine_do_not_share_symbols() -> None:
    names = [(c, b) for c in (False, True) for b in (False, True)]
    entries: list[Any] = [build(checking=c, boundscheck=b) for c, b in names]
    assert len({entry.py_func.__qualname__ for entry in entries}) == len(entries)
    assert all(entry.py_func.__qualname__.endswith(".run_quantum") for entry in entries)


def test_checking_finds_what_it_should_in_a_process_that_ran_without_it() -> None:
    bad = [op("MOV", rd=6, rb=9), *store(6)]
    run(bad, engine="numba")
    run(bad, bad="uninit", check=True, engine="numba")
    run(bad, engine="numba")
