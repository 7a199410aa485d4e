"""`rewrite --multiplex`: versions whose blocks use shared memory in turns are tried beside the policy's version."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kits.cli import call, refused
from tests.support.paths import sample_file

LAUNCH = ("--launch", str(sample_file("fourierTransform.toml")), "--size", "test")
FFT = ["rewrite", str(sample_file("fourierTransform.ptx")), "--machine", "gtx285"]


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, str]:
    """A written binary whose blocks are merged, and what the command printed as JSON and as text."""
    made = str(tmp_path_factory.mktemp("turns") / "fft.loom")
    command = [*FFT, *LAUNCH, "--multiplex", "today"]
    return made, call(*command, "-o", made, "--json").json, call(*command).out


def test_the_fastest_proven_version_is_taken(taken: tuple[str, Any, str]) -> None:
    _, found, _ = taken
    turns = found["turns"]
    ran = [one for one in (turns["shorter"], *turns["schemes"]) if "speedup" in one]
    best = max((one for one in ran if one["proven"] and one["same_results"]), key=lambda one: one["speedup"])
    chosen = turns["chosen"]
    assert {one["scheme"] for one in turns["schemes"]} == {"vtb", "co-vtb"}, "what no GPU has is left out"
    assert (chosen["scheme"], chosen["merge"], chosen["speedup"]) == (best["scheme"], best["merge"], best["speedup"])
    assert (best["scheme"], best["merge"]) == ("vtb", 4)
    assert (found["rewritten"]["cycles"], found["speedup"]) == (best["cycles"], best["speedup"])
    assert found["speedup_parts"] == {"allocation": 1.0, "turns": best["speedup"]}
    assert (found["verified"], found["same_results"], found["kept_original"]) == (True, True, False)
    assert turns["without"]["cycles"] == found["ordered"]["cycles"] > best["cycles"]
    assert turns["launch"] == {"grid": [1, 1, 1], "block": [64, 1, 4], "original_grid": 3}
    assert turns["free"] is None


def test_the_text_begins_with_the_answer(taken: tuple[str, Any, str]) -> None:
    _, found, out = taken
    answer, launch, *_ = out.splitlines()
    speedup = f"{found['speedup']:.3f}"
    assert answer == f"FFT: taken is vtb of 4, {speedup} times as fast as the original on gtx285, emulated."
    assert launch == (
        "The original's launch file runs it, adapted: grid 1 x 1 x 1, block 64 x 1 x 4, original_grid = 3."
    )
    assert f"Speedup {speedup} (emulated) = allocation 1.000 x turns {speedup}\n" in out
    assert "Versions whose blocks use shared memory in turns (today)\n" in out
    assert "No proof of co-vtb of 2: " in out


def test_the_written_binary_runs_with_the_originals_launch(taken: tuple[str, Any, str]) -> None:
    made, found, _ = taken
    run = call("run", made, *LAUNCH, "--check", "--race", "--reference", "--json").json
    assert (run["cycles"], run["reference"]) == (found["rewritten"]["cycles"], "same")
    rows = call("sweep", made, *LAUNCH, "--levels", "1", "--allocators", "local", "--json").json["rows"]
    assert [row["status"] for row in rows] == ["ok", "ok"]
    assert rows[0]["cycles"] == found["rewritten"]["cycles"]


def test_the_record_says_how_it_was_made(taken: tuple[str, Any, str]) -> None:
    from binalloc.isa.sets.files import load

    made, found, _ = taken
    record = load(made).provenance[-1]
    assert record["multiplexed"] == "vtb"
    assert record["merged"] == {"count": 4, "block": [64, 1, 1], "axis": 0}
    assert (record["policy"], record["registers"]) == ("measured", found["rewritten"]["registers"])


def test_without_the_option_nothing_changes() -> None:
    found = call(*FFT, *LAUNCH, "--json").json
    assert "turns" not in found
    assert call(*FFT, *LAUNCH, "--multiplex", "off", "--json").json == found
    assert call(*FFT, *LAUNCH).out.startswith("FFT on gtx285, allocator best\n")


@pytest.mark.parametrize(("options", "message"), [
    (("--registers", "20"), "--multiplex chooses registers, slots and blocks itself. Leave out --registers, --slots"),
    (("--blocks", "2"), "--multiplex chooses registers, slots and blocks itself"),
    (("--no-emulate",), "--multiplex measures versions in the emulator; expected --launch FILE, without --no"),
    (("--explain",), "whose values --explain does not know. Leave out one of them."),
])  # fmt: skip
def test_conflicts(options: tuple[str, ...], message: str) -> None:
    assert message in refused(2, *FFT, *LAUNCH, "--multiplex", "any", *options)


def test_a_launch_is_needed() -> None:
    assert "expected --launch FILE" in refused(2, *FFT, "--block", "64", "--multiplex", "today")


def test_a_sequence_of_launches_is_not_multiplexed() -> None:
    launch = str(sample_file("lu.toml"))
    line = ["rewrite", str(sample_file("lu.ptx")), "--launch", launch, "--size", "test", "--multiplex"]
    assert "--multiplex applies to one launch only" in refused(2, *line, "today")
