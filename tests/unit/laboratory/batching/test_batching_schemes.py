"""The batching paper's schemes and kernels: what is run, and what of a run's counters is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from binalloc.emulator.pages.table import chosen_pages
from binalloc.emulator.policies.schedulers.table import SCHEDULERS, chosen_scheduler
from binalloc.laboratory.batching.kernels import BENCHMARKS, FEW_BLOCKS, MACHINES, NO_FORMULA, PROFILED_ON
from binalloc.laboratory.batching.plot import batching_svg
from binalloc.laboratory.batching.schemes import BASE, SCHEME, SCHEMES, Scheme
from binalloc.laboratory.batching.task import SchemeRun, batches_option, run_figures
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.sweeping.configuration import Subject
from tests.support.paths import sample_file


def subject(machine: str = MACHINES[0]) -> Subject:
    return Subject("mapper.ptx", b"", "mapper", load_launch(sample_file("mapper.toml"), "test"), load_machine(machine))


def test_what_a_scheme_names_exists_or_is_missed() -> None:
    for scheme in SCHEMES:
        if not scheme.missing:
            assert chosen_scheduler(scheme.scheduler).name == scheme.scheduler
            assert chosen_pages(scheme.pages).name == scheme.pages.split(":")[0]
    assert [scheme.name for scheme in SCHEMES if scheme.missing] == ([] if "owl" in SCHEDULERS else ["owl"])
    assert Scheme("x", "x", "quick", "sideways", "nowhere:bytes=1").missing == (
        "no warp scheduler quick, no page policy nowhere, no dispatcher sideways"
    )


def test_the_halves_of_temp_are_its_halves() -> None:
    base, temp, dispatch, colours = (SCHEME[name] for name in (BASE, "temp", "dispatch_only", "colours_only"))
    assert (dispatch.dispatcher, dispatch.pages, dispatch.batches) == (temp.dispatcher, base.pages, temp.batches)
    assert (colours.dispatcher, colours.pages, colours.batches) == (base.dispatcher, temp.pages, base.batches)
    assert {base.scheduler, temp.scheduler, dispatch.scheduler, colours.scheduler} == {"ccws"}


def test_a_run_has_all_sms_and_batches_only_where_its_scheme_knows_them() -> None:
    temp, base = (SchemeRun(subject(), SCHEME[name], "stride:4") for name in ("temp", BASE))
    assert (temp.asked.sms, temp.asked.batches, temp.asked.dispatcher) == (8, "stride:4", "serial")
    assert (base.asked.sms, base.asked.batches, base.asked.dispatcher) == (8, "auto", "interleaved")
    keys = {
        SchemeRun(subject(machine), scheme, batches).key
        for machine in MACHINES for scheme in SCHEMES for batches in ("stride:4", "mod:2")
    }  # fmt: skip
    known = sum(scheme.batches for scheme in SCHEMES)
    assert len(keys) == len(MACHINES) * (len(SCHEMES) + known)


def test_without_a_formula_each_block_is_a_batch() -> None:
    assert batches_option({"kind": "none", "value": 0}) == "stride:1"
    assert batches_option({"kind": "stride", "value": 3}) == "stride:3"
    assert batches_option({"kind": "modulus", "value": 16}) == "mod:16"


def test_the_machines_have_rows_of_one_page_and_of_two() -> None:
    rows = [load_machine(name).dram.row_bytes for name in MACHINES]
    pages = [load_machine(name).pages.bytes for name in MACHINES]
    assert (rows, pages) == ([4096, 8192], [4096, 4096])
    assert PROFILED_ON in MACHINES
    one, other = (load_machine(name) for name in MACHINES)
    assert replace(other.dram, row_bytes=4096) == one.dram, "nothing else differs"


def test_there_are_enough_kernels_and_each_is_a_sample() -> None:
    names = [b.kernel for b in BENCHMARKS]
    assert len(set(names)) == len(names) >= 12
    assert {*NO_FORMULA, FEW_BLOCKS} <= set(names)
    machine = load_machine(PROFILED_ON)
    assert all(sample_file(f"{name}.ptx").is_file() for name in names)
    assert load_launch(sample_file(f"{FEW_BLOCKS}.toml")).blocks < machine.dram.channels * machine.dram.banks


def counters(**more: Any) -> dict[str, Any]:
    parts = {"activation_nj": 10.0, "open_nj": 50.0, "closed_nj": 30.0, "total_nj": 100.0}
    low, high = parts | {"total_nj": 40.0}, parts | {"total_nj": 120.0}
    names = ("dram_requests", "dram_write_requests", "dram_row_hits", "dram_bank_ticks", "dram_busy_ticks",
             "dram_read_delay", "dram_activations", "dram_bytes")  # fmt: skip
    dram = dict(zip(names, (100, 20, 60, 900, 300, 16_000, 40, 6400), strict=True))
    return dram | {
        "dram_banks_busy_in_all": 6.5, "dram_energy": parts | {"least": low, "most": high}, "dram_utilisation": 0.25,
        **{f"l1_{what}_{how}": count for what, count in (("global", 30), ("local", 10), ("spill", 0), ("texture", 99))
           for how in ("hits", "misses")},
        "local_requests": 45, "owned_requests": 50, "response_wait_cycles": 77, "l2_misses": 80,
        "warp_instructions": 1000, "batches_resident": 1.5, "idle_sm_cycles": 2000, "l2_prefetches": 9,
        "l2_prefetches_used": 7,
    } | more  # fmt: skip


def test_figures_of_a_run_follow_from_its_counters() -> None:
    found = run_figures(1000, counters(l1_global_hits=50), 8)
    assert found == {
        "cycles": 1000, "local_ratio": 0.9, "l1_hits": 0.6, "row_hits": 0.6, "bank_parallelism": 3.0,
        "banks_busy": 6.5, "dram_delay": 200.0, "reply_stalls": 77, "activations": 40, "dram_bytes": 6400,
        "dram_utilisation": 0.25, "l1_misses": 40, "l2_misses": 80, "instructions": 1000, "batches_resident": 1.5,
        "idle_share": 0.25, "prefetches": 9, "prefetches_used": 7,
        "energy": {"total_nj": 100.0, "least_nj": 40.0, "most_nj": 120.0, "activation_nj": 10.0, "background_nj": 80.0,
                   "far_nj": None},
    }  # fmt: skip


def test_both_memories_count_together() -> None:
    far = {"dram_requests": 50, "dram_write_requests": 10, "dram_row_hits": 10, "dram_bank_ticks": 100,
           "dram_busy_ticks": 100, "dram_read_delay": 12_000, "dram_activations": 5, "dram_bytes": 3200,
           "dram_banks_busy_in_all": 1.5}  # fmt: skip
    parts = {"activation_nj": 1.0, "open_nj": 5.0, "closed_nj": 3.0, "total_nj": 10.0, "least": None, "most": None}
    found = run_figures(1000, counters(far_dram=far | {"dram_energy": parts}), 8)
    assert (found["row_hits"], found["bank_parallelism"], found["banks_busy"]) == (0.4667, 2.5, 8.0)
    assert (found["dram_delay"], found["activations"], found["dram_bytes"]) == (233.3333, 45, 9600)
    assert found["energy"] == {
        "total_nj": 110.0, "least_nj": 50.0, "most_nj": 130.0, "activation_nj": 11.0, "background_nj": 88.0,
        "far_nj": 10.0,
    }  # fmt: skip


def test_nothing_is_divided_by_nothing() -> None:
    none = {name: 0 for name, value in counters().items() if isinstance(value, int)}
    found = run_figures(0, counters(**none), 8)
    for name in ("local_ratio", "l1_hits", "row_hits", "bank_parallelism", "dram_delay"):
        assert found[name] is None


def kernels_of(cycles: dict[str, int | None]) -> Any:
    runs = {name: None if count is None else {"cycles": count} for name, count in cycles.items()}
    return {"kernels": [{"kernel": "a<b", "row_bytes": 4096, "schemes": runs}], "means": []}


@pytest.mark.parametrize(("cycles", "shown"), [(400, "+150"), (500, "+100"), (5000, "-80")])
def test_bars_that_are_cut_have_their_number(cycles: int, shown: str) -> None:
    svg = batching_svg(kernels_of({BASE: 1000, "temp": cycles, "owl": None}))
    assert f">{shown}</text>" in svg
    assert svg.count('fill="#3366cc"') == 2, "the legend, and the bar"
    assert svg.count('fill="#777777"') == 1, "owl has no bar"
    assert "a&lt;b" in svg


def test_a_figure_of_nothing_is_one() -> None:
    assert batching_svg({"kernels": [], "means": []}).startswith("<svg ")  # type: ignore[typeddict-item]
