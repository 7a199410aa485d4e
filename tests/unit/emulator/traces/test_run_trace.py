"""Traces against the log and the counters of the runs that they are of."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.traces.trace import TraceOptions
from binalloc.emulator.traces.windows import Windows
from binalloc.models.machines.reader import load_machine
from tests.support.generator.emulator.waits import WORDS, waiting_program
from tests.support.kits.emulator.small import address, module, op
from tests.support.kits.emulator.traces import Slice, Traced, traced

WORDS_OF_X = {"x": np.arange(WORDS, dtype=np.uint32)}


def waiting(seed: int, options: TraceOptions | None = None, **more: Any) -> Traced:
    """A run of a random kernel that waits for all there is."""
    shape: dict[str, Any] = {"grid": 5, "block": 96, "sms": 2, **more}
    return traced(waiting_program(seed, "gtx680"), options, buffers=WORDS_OF_X, hazards=False, **shape)


def warps(trace: Traced) -> dict[tuple[str, str], list[Slice]]:
    return {key: slices for key, slices in trace.tracks().items() if key[1].startswith("warp")}


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(5))
def test_every_issue_is_drawn_where_it_happens(seed: int) -> None:
    trace = waiting(seed)
    issues = [row for row in trace.rows if row.kind == "issue"]
    assert trace.found["instructions"] == len(issues) == trace.result.stats["warp_instructions"]
    assert (trace.found["left_out"], trace.found["full_at_cycle"]) == (0, None)
    expected = Counter(
        (f"SM {r.sm}", f"warp slot {r.warp}", r.cycle, f"k+{r.pc}", f"{r.mask:08x}", r.block) for r in issues
    )
    drawn = Counter(
        (*key, math.floor(start), args["pc"], args["mask"], args["block"])
        for key, slices in warps(trace).items() for start, _, _, args in slices if "mask" in args
    )  # fmt: skip
    assert drawn == expected


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(5))
def test_a_warps_track_has_no_gap_while_its_block_is_there(seed: int) -> None:
    trace = waiting(seed)
    came = {(row.sm, row.warp // 3): [] for row in trace.rows if row.kind == "block"}  # type: ignore[var-annotated]
    for row in trace.rows:
        if row.kind in ("block", "block_end"):
            came[row.sm, row.warp // 3].append(row.cycle)
    for (sm, slot), cycles in came.items():
        for w in range(3 * slot, 3 * slot + 3):
            track = warps(trace)[f"SM {sm}", f"warp slot {w}"]
            for first, last in zip(cycles[::2], cycles[1::2], strict=True):
                mine = [s for s in track if first <= s[0] < max(last, first + 1)]
                assert mine[0][0] == first
                assert [a[1] for a in mine[:-1]] == [b[0] for b in mine[1:]]
                assert last <= mine[-1][1] <= last + 1


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(5))
def test_waits_last_as_long_as_the_log_says(seed: int) -> None:
    trace = waiting(seed)
    since: dict[tuple[int, int], int] = {}
    waits: Counter[str] = Counter()
    for row in trace.rows:
        key = row.sm, row.warp
        if row.kind == "scoreboard":
            since[key] = row.cycle
        elif row.kind == "barrier":
            since[key] = row.cycle + 1
        elif row.kind == "resume":
            waits["scoreboard"] += row.cycle - since[key]
        elif row.kind == "open":
            waits["barrier"] += row.detail - since[key]
    drawn: Counter[str] = Counter()
    for slices in warps(trace).values():
        for start, end, name, args in slices:
            if name.startswith("wait: "):
                drawn["barrier" if "barrier" in args else "scoreboard"] += int(end - start)
    assert drawn == +waits


def test_a_wait_is_called_after_what_it_waits_for() -> None:
    code = [
        *address(),
        op("LDG", rd=6, ra=4, width=4, wbar=2, stall=1),
        op("MUFU", rd=7, rb=7, func=0, wbar=3, stall=2),
    ]
    made = module(
        [*code, op("IADD3", rd=8, ra=7, rb=7, rc=7, wait=8), op("MOV", rd=9, rb=6, wait=4), op("EXIT")], params={"x": 8}
    )
    trace = traced(made, buffers=WORDS_OF_X)
    (track,) = warps(trace).values()
    waits = [
        (name, args["in front of"], args["last set by"].split()[0])
        for _, _, name, args in track
        if "in front of" in args
    ]
    assert waits[-2:] == [("wait: MUFU.RCP", "k+6", "k+5"), ("wait: LDG.32", "k+7", "k+4")]
    first = {args["pc"]: (start, end) for start, end, _, args in track if "pc" in args}
    assert first["k+4"][1] - first["k+4"][0] == 1
    assert first["k+5"][1] - first["k+5"][0] == 2


def test_a_pair_shares_its_cycle() -> None:
    pair = [op("IADD3", rd=8, ra=8, rb=8, rc=255, stall=0), op("FADD", rd=9, ra=9, rb=9, stall=3), op("EXIT")]
    trace = traced(module(pair))
    (track,) = warps(trace).values()
    assert trace.result.stats["dual_issues"] == 1
    assert [(end - start, name) for start, end, name, _ in track[:2]] == [(0.5, "IADD3"), (2.5, "FADD")]


def test_blocks_have_tracks_of_their_own() -> None:
    trace = waiting(2)
    blocks = {s[2]: (key, s) for key, slices in trace.tracks().items() if key[1].startswith("block") for s in slices}
    assert set(blocks) == {f"block {i}" for i in range(5)}
    for row in trace.rows:
        key, (start, end, *_) = blocks.get(f"block {row.block}", (("", ""), (0, 0, "", {})))
        if row.kind == "block":
            assert (key, start) == ((f"SM {row.sm}", f"block slot {row.detail}"), row.cycle)
        if row.kind == "block_end":
            assert row.cycle <= end <= row.cycle + 1


def integral(samples: list[tuple[float, dict[str, float]]], name: str, end: int) -> float:
    """Of a rate over the time that it holds."""
    ends = [at for at, _ in samples[1:]] + [end]
    return sum(values[name] * (to - at) for (at, values), to in zip(samples, ends, strict=True))


@pytest.mark.rotates
@pytest.mark.parametrize("interval", [1, 100, 333, 10**6])
def test_rates_add_up_to_what_was_counted(interval: int) -> None:
    trace = waiting(1, TraceOptions(interval=interval))
    stats, cycles = trace.result.stats, trace.result.cycles
    off = cycles / 1000  # values are rounded
    both = sum(integral(trace.counter(sm, "warp instructions per cycle"), "issued", cycles) for sm in (1, 2))
    assert both == pytest.approx(stats["warp_instructions"], abs=2 * off)
    burst = load_machine("gtx680").dram.burst_bytes
    dram = trace.counter(3, "DRAM bytes per cycle")
    assert integral(dram, "read", cycles) == pytest.approx(stats["dram_reads"] * burst, abs=off)
    assert integral(dram, "written", cycles) == pytest.approx(stats["dram_writes"] * burst, abs=off)
    links = trace.counter(3, "L2 bytes per cycle")
    assert integral(links, "to L2", cycles) == pytest.approx(stats["request_bytes"], abs=off)
    assert integral(links, "from L2", cycles) == pytest.approx(stats["response_bytes"], abs=off)
    resident = sum(integral(trace.counter(sm, "warps"), kind, cycles) for sm in (1, 2) for kind in ("active", "ended"))
    assert interval > 1 or stats["warp_cycles"] - 3 * 5 <= resident <= stats["warp_cycles"]


def test_mshrs_in_use_never_pass_what_there_is() -> None:
    trace = waiting(4, TraceOptions(interval=1))
    loads = [values["loads"] for sm in (1, 2) for _, values in trace.counter(sm, "MSHRs in use")]
    assert 0 < max(loads) <= load_machine("gtx680").l1.mshrs
    assert loads[-1] == 0


def test_windows_show_their_cycles_and_no_others() -> None:
    whole = warps(waiting(1))
    for windows in (Windows(200, 900), Windows(0, None, 300, 40), Windows(150, 2000, 500, 100), Windows(10**6, None)):
        part = waiting(1, TraceOptions(windows))
        cycles = np.array([r.cycle for r in part.rows if r.kind == "issue"])
        shown = int((windows.numbers(cycles) >= 0).sum())
        assert part.found["instructions"] == shown
        assert part.found["left_out"] == len(cycles) - shown
        for key, slices in warps(part).items():
            for s in slices:
                assert windows.touch(math.floor(s[0]), math.ceil(s[1]))
                if s[2] != "ready":
                    assert (s[0], s[1], s[2]) in [(a, b, c) for a, b, c, _ in whole[key]] or s[2].startswith(
                        "wait"
                    )


@pytest.mark.parametrize("limit", [1, 50, 700])
def test_a_full_trace_says_so_and_is_valid(limit: int) -> None:
    trace = waiting(1, TraceOptions(limit=limit))
    found = trace.found
    assert found["full_at_cycle"] is not None
    assert limit <= found["events"] <= limit + 2 * len(trace.tracks())
    assert found["instructions"] + found["left_out"] == trace.result.stats["warp_instructions"]
    about = trace.json["otherData"]
    assert (about["left_out"], about["full_at_cycle"]) == (found["left_out"], found["full_at_cycle"])
    assert all(end <= found["full_at_cycle"] + 20 for slices in warps(trace).values() for _, end, *_ in slices)


def test_the_same_run_makes_the_same_bytes() -> None:
    plain = waiting(3, engine="python")
    assert plain.data == waiting(3, engine="python", reference=True).data


def test_metadata_says_whose_trace_it_is() -> None:
    about = waiting(0, how="stopped: for a test").json["otherData"]
    assert (about["kernel"], about["machine"], about["sms"]) == ("k", "gtx680", 2)
    assert about["ended"] == "stopped: for a test"
    assert about["cycles"] > 0
    assert "1 us is one core cycle" in about["reading"]["time"]
