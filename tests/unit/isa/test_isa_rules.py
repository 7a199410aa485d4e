"""Rules of ISA.md that only a run shows, in both engines: conflicting stores, barriers, WARPSYNC, scoreboards,
constants outside their bank, where buffers lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.errors import KernelFault
from binalloc.isa.text.assembler import assemble
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine

THREADS = 64
MACHINE = load_machine("gtx680")
START = """
.machine gtx680
.kernel k
    .param x 8
    .shared_bytes 1024
    .local_bytes 64
    S2R R0, SR_TID.X {wr:0}
    S2R R1, SR_LANEID {wr:1}
    MOV R2, c[0][x] {stall:15}
    MOV R3, c[0][x+4] {stall:15}
    IMAD.WIDE R4, R0, 4, R2 {stall:15 wait:01}
"""
END = """
    STG [R4], R6 {wait:012345}
    EXIT
.end
"""


@pytest.fixture(params=["python", "numba"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def launched(engine: str, text: str, kernel: str = "k", threads: int = THREADS, **buffers: Any) -> Result:
    arrays = {k: np.asarray(v) for k, v in (buffers or {"x": np.zeros(threads, np.uint32)}).items()}
    arguments = tuple(Argument(k, "buffer", "u32", v.shape) for k, v in arrays.items())
    launch = Launch(kernel, (1, 1, 1), (threads, 1, 1), 0, arguments)
    return run(assemble(text), kernel, launch, MACHINE, engine=engine, buffers=arrays)


def outcome(engine: str, body: str, threads: int = THREADS) -> Any:
    """R6 of every thread behind `body`; every instruction of it waits long enough for the one before."""
    return launched(engine, START + stalled(body) + END, threads=threads).buffers["x"]


def stalled(body: str) -> str:
    """`body` with a stall of 15 on every instruction that names none."""
    lines = []
    for line in body.strip().splitlines():
        text, _, control = line.strip().partition("{")
        stall = "" if "stall" in control else "stall:15 "
        lines.append(text if text.endswith(":") else f"{text} {{{stall}{control or '}'}")
    return "\n".join(lines)


def fault(engine: str, body: str, threads: int = THREADS) -> str:
    with pytest.raises(KernelFault) as caught:
        outcome(engine, body, threads)
    return str(caught.value)


# -- stores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("store", "load"),
    [
        ("STS [8], R10", "LDS R6, [8]"),
        ("STS.U8 [9], R10", "LDS.U8 R6, [9]"),
        ("STS.64 [8], R10", "LDS R6, [8]"),
        ("ST [R12+8], R10", "LDS R6, [8]"),
        ("STG [R2], R10", "LDG R6, [R2]"),
    ],
)
def test_the_highest_lane_that_executes_a_store_wins(engine: str, store: str, load: str) -> None:
    body = f"""
        MOV R10, R1
        MOV R11, 7
        MOV R12, 0x01000000
        MOV R13, 0
        ISETP.LT.U32.AND P0, PT, R1, 20, PT
        @P0 {store} {{rd:2}}
        NOP {{stall:15 wait:2}}
        {load} {{wr:3}}
    """
    assert (outcome(engine, body, 32) == 19).all()


def test_atomics_of_one_warp_go_by_ascending_lane(engine: str) -> None:
    body = """
        STS [RZ], RZ {rd:2}
        IADD3 R8, R1, 1, RZ {wait:2}
        ATOMS.EXCH R6, [RZ], R8 {wr:3}
    """
    assert (outcome(engine, body, 32) == np.arange(32)).all()


# -- barriers ----------------------------------------------------------------------------------------------------------


def test_the_lanes_of_a_warp_agree_on_a_barriers_count(engine: str) -> None:
    text = fault(engine, "LOP3 R6, R1, 32, RZ, 0xfc \n BAR.SYNC 1, R6")
    assert "wrong thread count" in text
    assert "one count for all lanes" in text
    assert (outcome(engine, "MOV R6, 64 \n BAR.SYNC 1, R6") == 64).all()


@pytest.mark.rotates
@pytest.mark.parametrize("count", [33, 96, 0xFFFFFFE0])
def test_a_barriers_count_is_a_multiple_of_32_that_the_block_has(engine: str, count: int) -> None:
    assert "wrong thread count" in fault(engine, f"BAR.SYNC 1, {count:#x}")
    assert "wrong thread count" in fault(engine, f"MOV R6, {count:#x} \n BAR.SYNC 1, R6")


def test_an_arrival_names_its_count(engine: str) -> None:
    assert "arrival without a count" in fault(engine, "BAR.ARV 1")


def by_warp(first: str, second: str) -> str:
    """`first` in warp 0, `second` in warp 1."""
    return f"""
        ISETP.LT.U32.AND P0, PT, R0, 32, PT
        @!P0 BRA .Lother, uniform
        {first}
        BRA .Ljoin
        .Lother:
        {second}
        .Ljoin:
        MOV R6, 5 {{stall:15 wait:5}}
    """


@pytest.mark.parametrize("pair", [("BAR.SYNC 1", "BAR.SYNC 1, 64"), ("BAR.SYNC 1, 64", "BAR.SYNC 1"),
                                  ("BAR.ARV 1, 64", "BAR.SYNC 1")])  # fmt: skip
def test_no_count_means_that_of_all_threads(engine: str, pair: tuple[str, str]) -> None:
    assert (outcome(engine, by_warp(*pair)) == 5).all()


def test_a_count_that_one_arrival_names_waits_for_warps_that_have_ended(engine: str) -> None:
    leave = "ISETP.GE.U32.AND P1, PT, R0, 64, PT \n @P1 EXIT"
    assert "deadlock" in fault(engine, leave + by_warp("BAR.SYNC 1", "BAR.SYNC 1, 96"), threads=96)
    assert (outcome(engine, leave + by_warp("BAR.SYNC 1", "BAR.SYNC 1"), threads=96)[:64] == 5).all()


def test_a_warp_in_which_no_guard_holds_does_not_arrive(engine: str) -> None:
    assert (outcome(engine, by_warp("BAR.SYNC 1, 32", "@!PT BAR.SYNC 1, 7")) == 5).all()


def test_arrivals_with_different_counts(engine: str) -> None:
    assert "wrong thread count" in fault(engine, by_warp("BAR.SYNC 1, 64", "BAR.SYNC 1, 32"))


@pytest.mark.rotates
@pytest.mark.parametrize(
    "pair",
    [
        ("BAR.RED.AND P1, 1, P0 {wr:5}", "BAR.RED.OR P1, 1, P0 {wr:5}"),
        ("BAR.RED.POPC R7, 1, P0 {wr:5}", "BAR.SYNC 1"),
        ("BAR.ARV 1, 64", "BAR.RED.OR P1, 1, 64, P0 {wr:5}"),
    ],
)
def test_reductions_meet_only_their_like(engine: str, pair: tuple[str, str]) -> None:
    assert "do not go together" in fault(engine, by_warp(*pair))
    alike = next(text for text in pair if "RED" in text)
    assert (outcome(engine, by_warp(alike, alike)) == 5).all()


# -- WARPSYNC ----------------------------------------------------------------------------------------------------------

HALVES = """
    ISETP.LT.U32.AND P0, PT, R1, 16, PT
    MOV R7, 0xffff
    @!P0 MOV R7, 0xffff0000
"""


def test_two_groups_may_meet_at_one_warpsync(engine: str) -> None:
    outcome(engine, HALVES + "WARPSYNC R7")
    assert "name others" in fault(engine, HALVES + "@P0 MOV R7, 0x1ffff \n WARPSYNC R7")


def test_a_lane_that_is_named_executes_the_warpsync(engine: str) -> None:
    outcome(engine, HALVES + "@P0 WARPSYNC 0xffff")
    outcome(engine, HALVES + "@!P0 EXIT \n WARPSYNC -1")
    text = fault(engine, HALVES + "@P0 WARPSYNC 0x1ffff")
    assert "not converged" in text
    assert "lane 16" in text


# -- scoreboards and guards --------------------------------------------------------------------------------------------


def test_the_guard_is_read_at_issue_and_predicate_sources_are_not(engine: str) -> None:
    body = """
        ISETP.LT.U32.AND P0, PT, R1, 16, PT
        @P0 LDG R6, [R4] {stall:15 wr:2}
        ISETP.LT.U32.AND P0, PT, R1, 8, PT
    """
    outcome(engine, body)
    body = """
        ISETP.LT.U32.AND P0, PT, R1, 16, PT
        BAR.RED.OR P1, 0, P0 {stall:15 wr:2}
        ISETP.LT.U32.AND P0, PT, R1, 8, PT
    """
    assert "has read it" in fault(engine, body)
    outcome(engine, body.replace("R1, 8, PT", "R1, 8, PT {stall:15 wait:2}"))


def test_a_read_counts_in_all_active_lanes_and_a_late_reader_for_the_whole_warp(engine: str) -> None:
    assert "read before" in fault(engine, "MOV R7, 1 {stall:1} \n @!PT MOV R6, R7")
    body = """
        ISETP.LT.U32.AND P0, PT, R1, 16, PT
        @P0 BRA .Lother, .Ljoin
        STG [R4], R6 {stall:15 rd:2}
        BRA .Ljoin
        .Lother:
        MOV R6, 5 {stall:15 wait:}
        .Ljoin:
        NOP
    """
    assert "has read it" in fault(engine, body.replace(" wait:", ""))
    outcome(engine, body.replace("wait:", "wait:2"))


def test_results_of_different_lanes_in_one_register_are_joined(engine: str) -> None:
    body = """
        ISETP.LT.U32.AND P0, PT, R1, 16, PT
        @P0 LDG R6, [R4] {stall:15 wr:2}
        @!P0 LDG R6, [R4] {stall:15 wr:3}
        MOV R7, R6 {stall:15 wait:BOARDS}
    """
    assert "read before" in fault(engine, body.replace("BOARDS", "2"))
    outcome(engine, body.replace("BOARDS", "23"))


def test_a_scoreboard_rises_and_falls_though_no_lane_executes(engine: str) -> None:
    cycles = {}
    for wait in ("", "wait:3"):
        text = START + f"@!PT LDG R8, [R4] {{stall:1 wr:3}} \n MOV R6, 5 {{stall:15 {wait}}}" + END
        result = launched(engine, text)
        assert (result.buffers["x"] == 5).all()
        cycles[wait] = result.cycles
    assert 0 < cycles["wait:3"] - cycles[""] <= MACHINE.units["lsu"].latency


# -- constants ---------------------------------------------------------------------------------------------------------

OUTSIDE = """
    MOV R6, c[0][8]
    MOV R6, c[7][0]
    DADD R6, R6, c[0][8]
    BAR.SYNC 1, c[5][0]
    WARPSYNC c[5][0]
    LDC R6, c[0][8] {wr:5}
    LDC R6, c[7][RZ] {wr:5}
    LDC.64 R6, c[0][R2+0] {wr:5}
"""


@pytest.mark.parametrize("statement", OUTSIDE.strip().splitlines())
def test_a_constant_outside_its_bank_is_a_fault_of_the_lane_that_reads_it(engine: str, statement: str) -> None:
    text = fault(engine, statement)
    assert "constant access out of bounds" in text or "misaligned" in text
    outcome(engine, "MOV R6, 1 \n @!PT " + statement.strip())


def test_bank_0_ends_with_the_last_parameter_and_is_zero_between_them(engine: str) -> None:
    text = START.replace(".param x 8", ".param x 8 \n .param y 8 16") + "MOV R6, c[0][12] {stall:15}" + END
    result = launched(engine, text, x=np.full(64, 9, np.uint32), y=np.zeros(1, np.uint32))
    assert (result.buffers["x"] == 0).all()


def test_another_kernels_parameters_do_not_matter(engine: str) -> None:
    other = ".kernel other \n .param x 8 \n .param y 8 \n MOV R0, c[0][y] {stall:15} \n EXIT \n .end"
    assert (launched(engine, START + "MOV R6, 3 {stall:15}" + END + other).buffers["x"] == 3).all()


# -- buffers -----------------------------------------------------------------------------------------------------------


def test_buffers_lie_in_the_launchs_order_with_4096_bytes_or_more_between(engine: str) -> None:
    params = "\n".join(f".param {name} 8" for name in ("y", "z", "w"))
    stores = "".join(f"MOV R6, c[0][{name}] {{stall:15 wait:5}} \n STG [R2+{4 * i}], R6 {{rd:5}} \n"
                     for i, name in enumerate(("x", "y", "z", "w")))  # fmt: skip
    text = START.replace(".param x 8", ".param x 8\n" + params) + stores + "EXIT {stall:1} \n .end"
    sizes = {"x": 64, "y": 1, "z": 1025, "w": 3}
    result = launched(engine, text, **{k: np.zeros(n, np.uint32) for k, n in sizes.items()})
    at, want = 0x10000000, []
    for words in sizes.values():
        want.append(at)
        at += -(-(4 * words + 4096) // 256) * 256
    assert result.buffers["x"][:4].tolist() == want
