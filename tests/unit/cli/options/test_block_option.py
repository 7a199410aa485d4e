"""`--block`: threads of a block on the command line, where no launch file says them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.bounds import PTX
from tests.support.kits.cli import call, launch, loom, refused

ONE = [PTX, "--kernel", "fma_bound"]


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("block", "threads", "written"),
    [("128", 128, "128"), ("32x16", 512, "32x16"), ("8x8x4", 256, "8x8x4"), ("32,16", 512, "32x16"),
     ("32X4", 128, "32x4"), ("1", 1, "1"), ("64x1x2", 128, "64x1x2")],
)  # fmt: skip
def test_a_block_is_as_good_as_a_launch_file_says_it(block: str, threads: int, written: str) -> None:
    (told,) = call("recommend", *ONE, "--machine", "a100", "--block", block, "--json").json["recommendations"]
    assert told["occupancy"]["original"]["threads"] == threads
    functions = call("inspect", PTX, "--block", block, "--machine", "a100", "--json").json["sections"]["functions"]
    held = {f["function"]: f["occupancy"]["blocks_per_sm"] for f in functions if f["kind"] == "kernel"}
    assert held["fma_bound"] == told["original"]["blocks_per_sm"]
    rewritten = call("rewrite", *ONE, "--machine", "a100", "--registers", "10", "--block", block, "--json").json
    assert rewritten["original"]["blocks_per_sm"] == held["fma_bound"]
    if told["next"] is not None:
        assert f"--block {written}" in told["next"]["rewrite"]


@pytest.mark.parametrize(
    "block", ["0", "1025", "32x", "axb", "", "x", "1x2x3x4", "-1", "128x0", "33x32", "1x1x65", "1e2", "\u0663"]
)
@pytest.mark.parametrize("command", ["recommend", "rewrite", "inspect", "sweep"])
def test_what_is_no_block(command: str, block: str) -> None:
    assert "--block is no block size" in refused(2, command, *ONE, "--block", block)


def test_contradictions_are_named(tmp_path: Path) -> None:
    line = refused(2, "recommend", loom("nbody"), "--block", "32x16")
    assert ".reqntid; found 32x16; expected 256" in line
    assert refused(2, "inspect", loom("nbody"), "--block", "128").endswith("for that block size.\n")
    line = refused(2, "rewrite", loom("nbody"), *launch("nbody"), "--block", "64")
    assert "found 64; expected 256" in line
    bounded = tmp_path / "bounded.ptx"
    bounded.write_text(
        Path(PTX).read_text().replace(".visible .entry fma_bound(\n", ".visible .entry fma_bound(\n", 1).replace(
            "_param_1\n)\n{", "_param_1\n)\n.maxntid 64, 1, 1\n{", 1)
    )  # fmt: skip
    line = refused_after_notes("recommend", str(bounded), "--kernel", "fma_bound", "--block", "96")
    assert "found 96, 96 threads; expected at most 64 threads" in line
    launched = tmp_path / "k.toml"
    launched.write_text('kernel = "fma_bound"\ngrid = 1\nblock = 64\n')
    for command in ("recommend", "rewrite", "sweep"):
        line = refused_after_notes(command, *ONE, "--launch", str(launched), "--block", "32x4")
        assert "contradicts the launch file; found 32x4; expected 64" in line or "lacks a parameter" in line


def refused_after_notes(*args: str) -> str:
    answer = call(*args)
    assert answer.code == 2, answer.err
    return answer.err.splitlines()[-1]


def test_a_binary_without_any_block_says_how_to_give_one() -> None:
    line = refused_after_notes("recommend", *ONE)
    assert "Give --block or --launch" in line


def test_a_sweep_without_a_launch_file_runs_what_a_skeleton_says(tmp_path: Path) -> None:
    ptx = tmp_path / "alone.ptx"
    ptx.write_bytes(Path(PTX).read_bytes())
    asked = ["--kernel", "fma_bound", "--machine", "gtx680", "--levels", "2", "--allocators", "best",
             "--engine", "python", "--cache", str(tmp_path / "kept")]  # fmt: skip
    answer = call("sweep", str(ptx), *asked, "--block", "32", "--json")
    assert answer.code == 0, answer.err
    assert "launched as `binalloc launch-skeleton` suggests" in answer.err
    assert {row["status"] for row in answer.json["rows"]} == {"ok"}
    assert "--block X" in refused_after_notes("sweep", str(ptx), *asked)
