"""`rewrite --block-order`, as text, with --json, from Python, and what `verify` says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from binalloc import Request, load, load_launch, rewrite_kernel
from binalloc.errors import Refused, UsageError
from binalloc.isa.sets.files import save
from binalloc.launch.types import Argument, Launch
from binalloc.models.batches.order import BlockOrder
from binalloc.models.batches.suggested import Suggestion
from binalloc.pipeline.block_order import choice
from binalloc.pipeline.block_order.choice import TriedOrder, is_fast, winner
from binalloc.pipeline.block_order.record import OrderRecord, was_ordered
from binalloc.report.rewrite import render_outcome
from binalloc.report.views.block_order import block_order_json
from tests.support.kits.block_order import PLACES
from tests.support.kits.cli import call, launch, loom, refused
from tests.support.paths import sample_file
from tests.support.programs.builder import program

COMMAND = ["rewrite", loom("matmul"), *launch("matmul"), "--machine", "gtx680", "--registers", "45"]


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A binary of which two columns of two blocks are dealt one after the other."""
    path = tmp_path_factory.mktemp("ordered") / "matmul.loom"
    answer = call(*COMMAND, "--block-order", "mod:2", "-o", str(path))
    assert answer.code == 0, answer.err
    return path


def test_the_first_line_says_what_was_chosen() -> None:
    text = call(*COMMAND, "--block-order", "mod:2").out
    first, *rest = text.splitlines()
    assert first.startswith("matmul: on a grid of 2 x 2 x 1 its blocks work in order mod:2 on gtx680, ")
    assert " times as fast as in the order as it is, with 0% fewer bytes of DRAM, emulated on 1 SM." in first
    assert "What orders of blocks give (mod:2, 1 SM)" in rest
    assert "Chosen: blocks in order mod:2, as asked. Symbolic check: passed. Emulated results: same." in rest
    assert " x block_order " in text


def suggesting(monkeypatch: pytest.MonkeyPatch, *orders: str) -> None:
    """Let a profile suggest these orders."""
    found = [BlockOrder.parse(order, 1 << 20, "") for order in orders]
    monkeypatch.setattr(choice, "asked_lines", lambda version, request: Suggestion(found, 0.5, 2.0, 1.0))


def test_json_has_the_figures_of_each_order(monkeypatch: pytest.MonkeyPatch) -> None:
    suggesting(monkeypatch, "mod:2")
    found = call(*COMMAND, "--block-order", "auto", "--sms", "2", "--json").json
    orders = found["block_order"]
    assert (orders["asked"], orders["grid"], orders["sms"], orders["emulated_sms"]) == ("auto", [2, 2, 1], 8, 2)
    assert [one["order"] for one in orders["tried"]] == ["mod:2"]
    assert (orders["shared"], orders["estimated_fetches"], orders["estimated_best"]) == (0.5, 2.0, 1.0)
    for one in (orders["without"], *orders["tried"]):
        assert one["cycles"] > 0
        assert one["dram_bytes"] > 0
        assert 0 <= one["l2_hit_rate"] <= 1
        assert one["dram_activations"] >= 0
    assert orders["tried"][0]["speedup"] == round(orders["without"]["cycles"] / orders["tried"][0]["cycles"], 4)
    if orders["chosen"] is None:
        assert "an order wins from 1.02 on, or with 10% fewer bytes of DRAM if it takes at most 1%" in orders["reason"]
        assert "block_order" not in found["speedup_parts"]
    else:
        assert found["speedup_parts"]["block_order"] == orders["speedup"]


def test_it_is_left_out_where_nobody_asks() -> None:
    assert "block_order" not in call(*COMMAND, "--json").json


def test_verify_proves_it_by_its_record(ordered: Path) -> None:
    answer = call("verify", loom("matmul"), str(ordered), *launch("matmul"))
    assert answer.code == 0
    assert "matmul: blocks work in order mod:2 on a grid of 2 x 2 x 1: proven\n" in answer.out
    found = call("verify", loom("matmul"), str(ordered), "--json").json
    assert (found["turns"][0]["order"], found["turns"][0]["grid"]) == ("mod:2", [2, 2, 1])
    assert found["turns"][0]["proven"]


@pytest.mark.parametrize("said", [
    {"order": "tile:1x2", "grid": [4, 2, 1], "sms": 8}, {"order": "mod:3", "grid": [2, 2, 1], "sms": 8},
    {"order": "mod:2", "grid": [2, 3, 1], "sms": 8},
])  # fmt: skip
def test_a_record_of_another_order_is_not_trusted(ordered: Path, tmp_path: Path, said: dict[str, object]) -> None:
    module = load(ordered)
    module.provenance = [record | {"block_order": said} for record in module.provenance]
    save(module, tmp_path / "other.loom")
    answer = call("verify", loom("matmul"), str(tmp_path / "other.loom"))
    assert answer.code == 1
    assert "symbolic check FAILED" in answer.out


def test_without_its_record_it_is_another_kernel(ordered: Path, tmp_path: Path) -> None:
    module = load(ordered)
    module.provenance = [{k: v for k, v in record.items() if k != "block_order"} for record in module.provenance]
    save(module, tmp_path / "other.loom")
    assert call("verify", loom("matmul"), str(tmp_path / "other.loom")).code == 1


@pytest.mark.parametrize("said", [
    "mod:2", {}, {"order": "mod:2", "grid": [2, 2, 1]}, {"order": "mod:9", "grid": [2, 2, 1], "sms": 8},
    {"order": 2, "grid": [2, 2, 1], "sms": 8}, {"order": "mod:2", "grid": [2, 2], "sms": 8},
    {"order": "mod:2", "grid": [2, 2, 0], "sms": 8}, {"order": "mod:2", "grid": [2, 2, 1], "sms": True},
    {"order": "mod:2", "grid": [2, 2, 1], "sms": 0}, {"order": "mod:2", "grid": [2, "2", 1], "sms": 8},
])  # fmt: skip
def test_records_that_make_no_sense_are_refused(ordered: Path, tmp_path: Path, said: object) -> None:
    module = load(ordered)
    module.provenance = [record | {"block_order": said} for record in module.provenance]
    save(module, tmp_path / "other.loom")
    assert "a record of the order of blocks makes no sense" in refused(
        3, "verify", loom("matmul"), str(tmp_path / "other.loom")
    )


@pytest.mark.parametrize("order", ["tile:0x1", "stride:0", "stride:5", "mod:5", "rows", "tile:2"])
def test_what_is_no_order_is_refused(order: str) -> None:
    line = refused(2, *COMMAND, "--block-order", order)
    assert "--block-order" in line
    assert order in line


@pytest.mark.parametrize("more", [
    ["--multiplex", "today"], ["--sharing", "auto"], ["--explain"], ["--profile", "nothing.json"],
])  # fmt: skip
def test_options_that_make_other_code_are_refused(more: list[str]) -> None:
    command = [word for word in COMMAND if word not in ("--registers", "45")]
    assert more[0] in refused(2, *command, "--block-order", "mod:2", *more)


def test_a_launch_is_needed() -> None:
    alone = ["rewrite", loom("matmul"), "--registers", "45"]
    assert "expected a launch file" in refused(2, *alone, "--block-order", "mod:2")
    assert "expected a launch file" in refused(2, *COMMAND, "--no-emulate", "--block-order", "auto")


def test_an_order_may_be_taken_without_a_run() -> None:
    text = call(*COMMAND, "--no-emulate", "--block-order", "mod:2").out
    assert text.startswith("matmul: on a grid of 2 x 2 x 1 its blocks work in order mod:2 on gtx680, not emulated.\n")
    assert "Symbolic check: passed. Not emulated." in text


def test_an_order_that_moves_nothing_is_said_to() -> None:
    text = call(*COMMAND, "--block-order", "tile:2x1").out
    assert text.startswith(
        "matmul: its blocks keep their order on gtx680: on a grid of 2 x 2 x 1 blocks tile:2x1 is the order as it is.\n"
    )


def test_python_takes_an_order() -> None:
    given = load_launch(str(sample_file("matmul.toml")), "test")
    request = Request(machine="gtx680", launch=given, registers=45, block_order="mod:2")
    outcome = rewrite_kernel(load(loom("matmul")), request)
    assert outcome.verified
    assert outcome.orders is not None
    assert outcome.orders.best is not None
    assert str(outcome.orders.best.order) == "mod:2"
    with pytest.raises(UsageError, match="no order of 4 blocks"):
        rewrite_kernel(load(loom("matmul")), replace(request, block_order="mod:7"))
    with pytest.raises(Refused, match="the launch is cooperative"):
        rewrite_kernel(load(loom("matmul")), replace(request, launch=replace(given, cooperative=True)))


@pytest.mark.parametrize(("runs", "taken"), [
    ([(1000, 100)], None), ([(981, 100)], None), ([(980, 100)], 0), ([(970, 100), (960, 900)], 1),
    ([(1005, 90)], 0), ([(1005, 91)], None), ([(1011, 10)], None), ([(1005, 90), (1010, 20), (990, 95)], 1),
    ([(990, 20), (985, 20)], 1), ([(970, 200), (1000, 10)], 0),
])  # fmt: skip
def test_an_order_wins_by_time_or_by_traffic(runs: list[tuple[int, int]], taken: int | None) -> None:
    """The order as it is takes 1000 cycles and moves 100 bytes."""
    outcome = rewrite_kernel(load(loom("matmul")), Request(machine="gtx680", registers=45, block=(16, 16, 1)))
    version = outcome.rewritten

    def ran(cycles: int, dram: int) -> TriedOrder:
        return TriedOrder(BlockOrder("mod", 2), replace(version, cycles=cycles, stats={"dram_bytes": dram}))

    tried = [ran(*run) for run in runs]
    without = replace(version, cycles=1000, stats={"dram_bytes": 100})
    found = winner(tried, without)
    assert found is (None if taken is None else tried[taken])
    assert winner([replace(one, refused="other results") for one in tried], without) is None
    if taken is not None and runs[taken][0] < 981 and len(runs) == 1:
        assert winner(tried, without, in_place=runs[taken][0] + 5) is None  # other code gives as much without any order
        assert winner(tried, without, in_place=1100) is tried[taken]


def test_an_order_may_take_a_hundredth_more_time() -> None:
    """For fewer bytes of DRAM, and no more: 1 % of what the order as it is takes."""
    outcome = rewrite_kernel(load(loom("matmul")), Request(machine="gtx680", registers=45, block=(16, 16, 1)))
    without = replace(outcome.rewritten, cycles=100_000, stats={"dram_bytes": 100})

    def ran(cycles: int) -> TriedOrder:
        return TriedOrder(BlockOrder("mod", 2), replace(without, cycles=cycles, stats={"dram_bytes": 50}))

    assert winner([ran(101_001)], without) is None
    assert winner([found := ran(101_000)], without) is found


def test_records_are_read_as_they_are_written() -> None:
    module = load(loom("matmul"))
    record = OrderRecord(BlockOrder("tile", 2, 2), (4, 4, 1), 8)
    module.provenance = [{"kernel": "matmul"} | record.fields()]
    assert was_ordered(module, "matmul") == record
    assert was_ordered(module, "other") is None


def test_many_orders_of_a_large_grid_run_on_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    suggesting(monkeypatch, "tile:2x2", "tile:4x4", "tile:4x8", "mod:6")
    grid = Launch("k", (6, 64, 1), (32, 1, 1), 0, (Argument("out", "buffer", "u32", (6 * 64,)),))
    request = Request(machine="gtx680", launch=grid, registers=20, block_order="auto")
    outcome = rewrite_kernel(program(PLACES), request)
    orders = outcome.orders
    assert orders is not None
    assert orders.part == 16 * 6
    assert list(map(str, (one.order for one in orders.tried))) == ["tile:2x2", "tile:4x4", "tile:4x8", "mod:6"]
    parts = [one.part for one in orders.tried]
    ran = [one for one in orders.tried if one.cycles is not None]
    assert len(ran) == 2
    fast = orders.without.cycles or 0
    assert (orders.in_place is not None) == any(is_fast(one, fast) for one in ran)
    assert min(parts) in [one.part for one in ran]  # type: ignore[type-var]
    assert all(one.refused.startswith("neither the fastest nor the leanest") for one in orders.tried if one not in ran)
    text = render_outcome(outcome, orders=block_order_json(orders, 1))
    assert "the first 96 blocks with all, all blocks with the fastest and the leanest of the others" in text
