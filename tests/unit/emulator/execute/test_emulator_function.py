"""Functional behaviour: control flow, memory spaces, barriers, lane exchange, special registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.errors import KernelFault
from binalloc.isa.instruction import Instr
from tests.support.kits.emulator.small import address, go, module, op, outcome, store

T = np.arange(32, dtype=np.uint32)


def setp(pd: int, imm: int, compare: int = 1) -> Instr:
    """P<pd> = thread compared with imm (1 less, 2 equal, 5 not equal)."""
    return op("ISETP", pd0=pd, ra=0, form=1, imm=imm, icmp=compare)


def add(rd: int, imm: int, ra: int | None = None, **k: Any) -> Instr:
    return op("IADD3", rd=rd, ra=rd if ra is None else ra, form=1, imm=imm & 0xFFFFFFFF, rc=255, **k)


def test_if_and_else_join_behind_both() -> None:
    body = [
        setp(0, 10),
        op("BRA", guard=(0, False), target=2, diverges=1, reconv=3),
        add(6, 100),
        op("BRA", target=1),
        add(6, 7),
        add(6, 1000),
    ]
    assert (outcome(body) == np.where(T < 10, 7, 100) + 1000).all()


def test_nested_divergence_joins_inside_out() -> None:
    body = [
        setp(0, 16), setp(1, 8), setp(2, 24),
        op("BRA", guard=(0, True), target=5, diverges=1, reconv=7),
        op("BRA", guard=(1, True), target=1, diverges=1, reconv=2),
        add(6, 1), op("NOP"), add(6, 10),
        op("BRA", target=2),
        op("BRA", guard=(2, False), target=1, diverges=1, reconv=1),
        add(6, 100),
        add(6, 1000),
    ]  # fmt: skip
    # lanes below 8: 1 then 10; 8..15: 10; 16..23 skip 100; above take it
    body[4] = op("BRA", guard=(1, True), target=2, diverges=1, reconv=2)
    body[3] = op("BRA", guard=(0, True), target=5, diverges=1, reconv=7)
    want = np.where(T < 8, 11, np.where(T < 16, 10, np.where(T < 24, 0, 100))) + 1000
    assert (outcome(body) == want).all()


def test_lanes_leave_a_loop_at_different_rounds_and_the_stack_stays_flat() -> None:
    body = [
        op("MOV", rd=7, rb=255),
        add(6, 3), add(7, 1),
        op("ISETP", pd0=0, ra=7, rb=0, icmp=3),
        op("BRA", guard=(0, False), target=-4, diverges=1, reconv=0),
    ]  # fmt: skip
    assert (outcome(body) == (T + 1) * 3).all()
    many = [*body[:3], op("ISETP", pd0=0, ra=7, rb=8, icmp=3), body[4]]
    assert (outcome([op("IMAD", rd=8, ra=0, form=1, imm=50, rc=255), *many]) == (T * 50 + 1) * 3).all()


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("between", [0, 1, 2])
def test_a_branch_diverges_wherever_its_target_lies(between: int, engine: str) -> None:
    body = [
        setp(0, 16),
        op("BRA", guard=(0, False), target=between, diverges=1, reconv=between + 2),
        *[op("NOP")] * between,
        op("VOTE", rd=7, pd0=7, ps0=7, vote=0),
        add(6, 1),
        op("MOV", rd=6, rb=7),
    ]
    assert (outcome(body, engine=engine) == np.where(T < 16, 0xFFFF, 0xFFFF0000)).all()


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("between", [0, 1])
def test_lanes_that_disagree_fault_without_a_reconvergence_point_wherever_the_target_lies(
    between: int, engine: str
) -> None:
    body = [setp(0, 16), op("BRA", guard=(0, False), target=between), *[op("NOP")] * between, add(6, 1)]
    with pytest.raises(KernelFault, match="reconvergence"):
        outcome(body, engine=engine)
    assert (outcome([setp(0, 40), *body[1:]], engine=engine) == 1).all()


def test_a_branch_whose_ways_all_lead_to_the_reconvergence_point_leaves_the_stack_as_it_was() -> None:
    branch = op("BRA", guard=(0, False), target=0, diverges=1, reconv=0)
    body = [setp(0, 16), *[branch] * 200, op("VOTE", rd=6, pd0=7, ps0=7, vote=0)]
    assert (outcome(body) == 0xFFFFFFFF).all()


def test_guarded_exit_ends_lanes_and_the_others_go_on() -> None:
    body = [
        add(6, 5),
        op("STG", ra=4, rb=6, width=4, rbar=4),
        setp(0, 20),
        op("EXIT", guard=(0, False), wait=16),
        add(6, 1),
    ]
    assert (outcome(body) == np.where(T < 20, 5, 6)).all()


def calls(guard: Any, callee: list[Instr], extra: dict[str, list[Instr]] | None = None) -> Any:
    code = [*address(), setp(0, 12), setp(1, 4), op("CALL", guard=guard, target=0), add(6, 1000), *store(6)]
    m = module(code, params={"x": 8}, functions={"f": callee, **(extra or {})})
    for fn in m.functions:
        for i, instr in enumerate(fn.instrs):
            if instr.name == "CALL":
                to = "g" if fn.name == "f" else "f"
                fn.instrs[i] = instr.replace(target=m.function(to).address - fn.address - i - 1)
    return go(m, buffers={"x": np.zeros(32, np.uint32)}).buffers["x"]


def test_calls_guarded_or_not_with_guarded_returns() -> None:
    assert (calls((7, False), [add(6, 5), op("RET")]) == 1005).all()
    assert (calls((0, False), [add(6, 5), op("RET")]) == np.where(T < 12, 1005, 1000)).all()
    early = [add(6, 5), op("RET", guard=(1, False)), add(6, 50), op("RET")]
    assert (calls((0, False), early) == np.where(T < 4, 1005, np.where(T < 12, 1055, 1000))).all()


def test_a_return_inside_a_divergent_region_and_a_call_inside_a_call() -> None:
    region = [
        op("BRA", guard=(1, False), target=2, diverges=1, reconv=3),
        add(6, 7),
        op("RET"),
        add(6, 9),
        add(6, 100),
        op("RET"),
    ]
    assert (calls((7, False), region) == np.where(T < 4, 1109, 1007)).all()
    nested = [op("CALL", guard=(1, True), target=0), add(6, 1), op("RET")]
    assert (calls((7, False), nested, {"g": [add(6, 20), op("RET")]}) == np.where(T < 4, 1001, 1021)).all()


def test_exit_inside_a_callee_ends_the_lane_everywhere() -> None:
    callee = [op("STG", ra=4, rb=0, width=4, rbar=3), op("EXIT", guard=(1, False), wait=8), add(6, 5), op("RET")]
    assert (calls((7, False), callee) == np.where(T < 4, T, 1005)).all()


def test_indirect_calls_to_different_functions() -> None:
    body = [
        *address(),
        setp(0, 12),
        op("SEL", rd=9, ra=10, rb=11, ps0=0),
        op("CALL.IND", ra=9),
        add(6, 1000),
        *store(6),
    ]
    body[4:4] = [op("MOV", rd=10, form=1, imm=0), op("MOV", rd=11, form=1, imm=0)]
    m = module(body, params={"x": 8}, functions={"f": [add(6, 1), op("RET")], "g": [add(6, 2), op("RET")]})
    for i, name in ((4, "f"), (5, "g")):
        m.functions[0].instrs[i] = m.functions[0].instrs[i].replace(imm=m.function(name).address)
    got = go(m, buffers={"x": np.zeros(32, np.uint32)}).buffers["x"]
    assert (got == np.where(T < 12, 1001, 1002)).all()


@pytest.mark.parametrize("space", ["shared", "local", "generic"])
def test_bytes_halves_words_and_quads_survive_a_round_trip(space: str) -> None:
    size = 16
    base = [op("IMAD", rd=7, ra=0, form=1, imm=size if space == "shared" else 0, rc=255)]
    names = {"shared": ("STS", "LDS"), "local": ("STL", "LDL"), "generic": ("ST", "LD")}[space]
    ra = 7
    if space == "generic":
        base = [op("IMAD", rd=8, ra=0, form=1, imm=size, rc=255), op("S2R", rd=9, sreg=28, wbar=0),
                op("IADD3", rd=8, ra=8, rb=9, rc=255, wait=1), op("MOV", rd=9, rb=255)]  # fmt: skip
        ra = 8
    body = [
        *base,
        op("MOV", rd=12, form=1, imm=0x80FF7F01),
        add(13, 1, 0),
        op("MOV", rd=14, form=1, imm=3),
        op("MOV", rd=15, form=1, imm=4),
        op(names[0], ra=ra, rb=12, width=6, rbar=1),
        op(names[0], ra=ra, rb=15, width=0, moff=9, rbar=1, wait=2),
        op(names[1], rd=16, ra=ra, width=3, moff=2, wbar=2, wait=2),  # S16: 0x80ff
        op(names[1], rd=17, ra=ra, width=0, moff=1, wbar=2),  # U8: 0x7f
        op(names[1], rd=20, ra=ra, width=5, moff=8, wbar=2),
        op("IADD3", rd=6, ra=16, rb=17, rc=20, wait=4),
        op("IADD3", rd=6, ra=6, rb=13, rc=21),
    ]
    want = (0xFFFF80FF + 0x7F + (3 | 4 << 8) + T + 1 + 4) & 0xFFFFFFFF
    assert (outcome(body, info={"shared_bytes": 512, "local_bytes": 16}) == want).all()


def test_barriers_order_shared_memory_between_warps() -> None:
    body = [
        op("IMAD", rd=7, ra=0, form=1, imm=4, rc=255),
        op("STS", ra=7, rb=0, width=4, rbar=0),
        op("BAR", form=1, imm=0, wait=1),
        op("LOP3", rd=7, ra=7, form=1, imm=0xFC, rc=255, lut=0x3C),
        op("LDS", rd=6, ra=7, width=4, wbar=0),
        op("NOP", wait=1),
    ]
    assert (outcome(body, threads=64, info={"shared_bytes": 256}) == (np.arange(64) ^ 63)).all()


def test_barrier_reductions() -> None:
    for mode, imm, want in ((2, 40, 40), (3, 64, 0xFFFF), (3, 63, 7), (4, 1, 0xFFFF), (4, 0, 7)):
        body = [setp(0, imm), op("BAR", bar=mode, rd=6 if mode == 2 else 255, pd0=1 if mode > 2 else 7, ps0=0, ps0n=0,
                                 form=1, imm=0, wbar=0)]  # fmt: skip
        if mode > 2:
            body.append(op("SEL", rd=6, form=1, ra=8, imm=7, ps0=1, wait=1))
            body.insert(0, op("MOV", rd=8, form=1, imm=0xFFFF))
        else:
            body.append(op("NOP", wait=1))
        assert (outcome(body, threads=64) == want).all(), (mode, imm)


def test_arrivals_do_not_wait_and_named_barriers_count_threads() -> None:
    body = [
        setp(0, 32),
        op("BRA", guard=(0, True), target=3, diverges=1, reconv=4),
        op("STS", ra=255, rb=255, width=4, moff=4, rbar=0),  # the first warp produces
        op("BAR", bar=1, barid=5, form=1, imm=64, wait=1),
        op("BRA", target=1),
        op("BAR", bar=0, barid=5, form=1, imm=64),
        add(6, 3),
    ]
    assert (outcome(body, threads=64, info={"shared_bytes": 8}) == 3).all()


def test_a_warp_that_has_ended_is_not_waited_for() -> None:
    body = [setp(0, 32), op("EXIT", guard=(0, True)), op("BAR", form=1, imm=0), add(6, 4)]
    assert (outcome(body, threads=64) == np.where(np.arange(64) < 32, 4, 0)).all()


def test_shuffles_and_votes() -> None:
    down = op("SHFL", rd=6, pd0=1, ra=0, limm=1, laneimm=4, cimm=1, clampimm=31, shfl=2, wbar=0)
    assert (outcome([down, op("NOP", wait=1)]) == np.where(T < 28, T + 4, T)).all()
    xor = op("SHFL", rd=6, ra=0, limm=1, laneimm=1, cimm=1, clampimm=31, shfl=3, wbar=0)
    assert (outcome([xor, op("NOP", wait=1)]) == (T ^ 1)).all()
    assert (outcome([setp(0, 5), op("VOTE", rd=6, ps0=0, vote=1)]) == 0b11111).all()


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("m64", [0, 1])
@pytest.mark.parametrize("everybody", [0, 1])
def test_match_finds_the_lanes_with_the_same_value(everybody: int, m64: int, engine: str) -> None:
    """Against a direct count over the lanes that take part, for values that agree, differ, and differ only high up."""
    for low_mask, high_mask, guarded in ((0, 0, 0), (3, 0, 0), (0, 1, 0), (2, 1, 20), (0, 16, 16), (31, 0, 1)):
        low, high = T & low_mask, T & high_mask
        body = [
            op("LOP3", rd=8, ra=0, form=1, imm=low_mask, rc=255, lut=0xC0),
            op("LOP3", rd=9, ra=0, form=1, imm=high_mask, rc=255, lut=0xC0),
            setp(0, guarded or 32),
            op("MOV", rd=6, form=1, imm=77),
            op("MATCH", guard=(0, False), rd=6, pd0=1, ra=8, match=everybody, m64=m64, wbar=0),
            op("LOP3", guard=(1, False), rd=6, ra=6, form=1, imm=0x80000000, rc=255, lut=0x3C, wait=1),
        ]
        value = low.astype(np.uint64) + ((high.astype(np.uint64) << np.uint64(32)) if m64 else np.uint64(0))
        lanes = [t for t in range(32) if t < (guarded or 32)]
        masks = [sum(1 << k for k in lanes if value[k] == value[t]) for t in lanes]
        if everybody:
            agree = len({int(value[t]) for t in lanes}) == 1
            want = [masks[0] ^ 0x80000000 if agree else 0] * len(lanes)
        else:
            want = [m ^ 0x80000000 for m in masks]
        got = outcome(body, engine=engine)
        assert list(got[lanes]) == want, (low_mask, high_mask, guarded)
        assert set(got[len(lanes):] & 0x7FFFFFFF) <= {77}


def test_global_atomics_of_all_lanes() -> None:
    code = [
        *address(),
        op("MOV", rd=7, form=1, imm=2),
        op("ATOMG", rd=6, ra=2, rb=7, aop=0, wbar=0),
        op("EXIT", wait=1),
    ]
    result = go(module(code, params={"x": 8}), buffers={"x": np.zeros(2, np.uint32)}, block=64, grid=3)
    assert result.buffers["x"].tolist() == [384, 0]


def test_special_registers_of_a_three_dimensional_launch() -> None:
    from binalloc.emulator.runs.run import run
    from binalloc.launch.types import Argument, Launch
    from binalloc.models.machines.reader import load_machine

    read = [op("S2R", rd=10 + i, sreg=i, wbar=0) for i in range(15)]
    mix = [op("NOP", wait=1), op("MOV", rd=6, rb=255)]
    for i in range(12):
        mix.append(op("IMAD", rd=6, ra=6, form=1, imm=7, rc=10 + i))
    index = [
        op("IMAD", rd=7, ra=18, rb=20, rc=17),  # (z * ny) + y ... of the grid
        op("IMAD", rd=7, ra=7, rb=19, rc=16),
        op("IMAD", rd=8, ra=12, rb=14, rc=11),
        op("IMAD", rd=8, ra=8, rb=13, rc=10),
        op("IMAD", rd=7, ra=7, form=1, imm=2 * 3 * 4, rc=8),
        op("IMAD.WIDE", rd=4, ra=7, form=1, imm=4, rc=2),
    ]
    index[0] = op("IMAD", rd=7, ra=18, rb=20, rc=17)
    code = [*address(), *read, *mix, *index, *store(6)]
    n = 2 * 3 * 4 * 2 * 2 * 2
    launch = Launch("k", (2, 2, 2), (2, 3, 4), 0, (Argument("x", "buffer", "u32", (n,)),))
    got = run(module(code, params={"x": 8}), "k", launch, load_machine("gtx680"), engine="python").buffers["x"]
    want = []
    for cz, cy, cx, tz, ty, tx in np.ndindex(2, 2, 2, 4, 3, 2):
        value = 0
        for v in (tx, ty, tz, 2, 3, 4, cx, cy, cz, 2, 2, 2):
            value = (value * 7 + v) & 0xFFFFFFFF
        want.append(value)
    assert got.tolist() == want


def test_zero_register_discards_and_pairs_of_it_read_zero() -> None:
    body = [op("MOV", rd=255, form=1, imm=9), op("IMAD.WIDE", rd=6, ra=0, form=1, imm=1, rc=255), add(6, 1)]
    assert (outcome(body) == T + 1).all()


def test_results_do_not_depend_on_the_number_of_sms_or_resident_blocks() -> None:
    code = [*address(), op("S2R", rd=9, sreg=6, wbar=0), op("IMAD", rd=6, ra=9, form=1, imm=32, rc=0, wait=1),
            op("IMAD.WIDE", rd=4, ra=6, form=1, imm=4, rc=2), *store(6)]  # fmt: skip
    m = module(code, params={"x": 8})
    for options in ({}, {"sms": 4}, {"blocks_per_sm": 1}, {"sms": 3, "blocks_per_sm": 2}):
        got = go(m, grid=20, buffers={"x": np.zeros(640, np.uint32)}, **options).buffers["x"]
        assert (got == np.arange(640)).all(), options
