"""`rewrite --multiplex`: versions whose blocks use shared memory in turns are tried beside the policy's version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call, refused
from tests.support.programs.chase import KERNEL
from tests.unit.cli.commands.turns.conftest import MACHINE, Taken

pytestmark = pytest.mark.usefixtures("shared_versions")


def test_the_fastest_proven_version_is_taken(taken: Taken) -> None:
    found = taken.found
    turns = found["turns"]
    ran = [one for one in (turns["shorter"], *turns["schemes"]) if "speedup" in one]
    best = max((one for one in ran if one["proven"] and one["same_results"]), key=lambda one: one["speedup"])
    chosen = turns["chosen"]
    assert {one["scheme"] for one in turns["schemes"]} == {"vtb", "vtb-pipe", "co-vtb"}, "what no GPU has is left out"
    assert (chosen["scheme"], chosen["merge"], chosen["speedup"]) == ("vtb", 4, best["speedup"])
    assert (found["rewritten"]["cycles"], found["speedup"]) == (best["cycles"], best["speedup"])
    assert found["speedup_parts"] == {"allocation": 1.0, "turns": best["speedup"]}
    assert (found["verified"], found["same_results"], found["kept_original"]) == (True, True, False)
    assert turns["without"]["cycles"] == found["ordered"]["cycles"] > best["cycles"]
    assert turns["launch"] == {"grid": [2, 1, 1], "block": [64, 1, 4], "original_grid": 7}
    assert turns["free"] is None


def test_the_text_begins_with_the_answer(taken: Taken) -> None:
    answer, launch, *_ = taken.out.splitlines()
    speedup = f"{taken.found['speedup']:.3f}"
    assert answer == f"chase: taken is vtb of 4, {speedup} times as fast as the original on gtx285, emulated."
    assert launch == (
        "The original's launch file runs it, adapted: grid 2 x 1 x 1, block 64 x 1 x 4, original_grid = 7."
    )
    assert f"Speedup {speedup} (emulated) = allocation 1.000 x turns {speedup}\n" in taken.out
    assert "Versions whose blocks use shared memory in turns (today)\n" in taken.out


def test_the_written_binary_runs_with_the_originals_launch(taken: Taken) -> None:
    cycles = taken.found["rewritten"]["cycles"]
    options = ("--launch", taken.launch, "--engine", "python", "--json")
    assert call("run", taken.made, *options, "--check", "--race").json["cycles"] == cycles
    rows = call("sweep", taken.made, *options, "--levels", "1", "--allocators", "local", "--jobs", "1").json["rows"]
    assert [(row["status"], row["same_results"]) for row in rows] == [("ok", True)] * 2
    assert rows[0]["cycles"] == cycles


def test_the_record_says_how_it_was_made(taken: Taken) -> None:
    from binalloc.isa.sets.files import load

    (record,) = load(taken.made).provenance
    assert (record["multiplexed"], record["shorter_regions"]) == ("vtb", False)
    assert record["merged"] == {"count": 4, "block": [64, 1, 1], "axis": 0}
    assert (record["policy"], record["registers"]) == ("measured", taken.found["rewritten"]["registers"])
    assert len(str(record["input_sha256"])) == 64


@pytest.mark.rotates("long commands")
def test_a_gain_of_nothing_is_not_taken(taken: Taken, tmp_path: Path) -> None:
    """Where a block is alone on the grid, merged blocks bring nothing. The reason and the limit are said."""
    launch, made = tmp_path / "one.toml", tmp_path / "one.loom"
    launch.write_text(Path(taken.launch).read_text().replace("grid = 7", "grid = 1"))
    command = ["rewrite", taken.binary, "--launch", str(launch), *MACHINE, "--multiplex", "any", "-o", str(made)]
    found = call(*command, "--json").json
    turns = found["turns"]
    assert (turns["chosen"], turns["launch"], turns["among"]) == (None, None, "any")
    assert {one["scheme"] for one in turns["schemes"]} == {"vtb", "vtb-pipe", "hw", "co-vtb", "co-hw"}
    assert found["rewritten"] == turns["without"]
    assert "the fastest proven version, " in turns["reason"]
    assert f"blocks that needed none would be {turns['free']:.3f} times as fast" in turns["reason"]
    out = call("run", str(made), "--launch", str(launch), "--engine", "python", "--json").json
    assert out["cycles"] == turns["without"]["cycles"], "the policy's version is written"
    text = call(*command).out
    assert text.startswith("chase: no version whose blocks use shared memory in turns is taken on gtx285: ")
    assert f"{turns['reason']}.\n" in text


def test_a_kernel_without_shared_memory_is_rewritten_all_the_same(taken: Taken, tmp_path: Path) -> None:
    other = str(tmp_path / "other.loom")
    text = KERNEL.replace(".shared_bytes 12288\n", "").replace("STS.32 [R1], R6", "NOP")
    call("asm", "-", "-o", other, stdin=text.replace("LDS.32 R4, [R1]", "MOV R4, R6").encode())
    found = call("rewrite", other, "--launch", taken.launch, *MACHINE, "--multiplex", "today", "--json").json
    assert (found["turns"]["chosen"], found["verified"]) == (None, True)
    assert "none of 12 versions could be built and run: no block waits for shared memory" in found["turns"]["reason"]
    assert "shared memory does not limit the blocks of an SM, " in found["turns"]["reason"]


def test_without_the_option_nothing_is_said(taken: Taken) -> None:
    command = ["rewrite", taken.binary, "--launch", taken.launch, *MACHINE]
    found = call(*command, "--json").json
    assert "turns" not in found
    assert call(*command, "--multiplex", "off", "--json").json == found
    assert call(*command).out.startswith("chase on gtx285, allocator best\n")


@pytest.mark.parametrize(("options", "message"), [
    (("--registers", "20"), "--multiplex chooses registers, slots and blocks itself. Leave out --registers, --slots"),
    (("--blocks", "2"), "--multiplex chooses registers, slots and blocks itself"),
    (("--no-emulate",), "--multiplex measures versions in the emulator; expected --launch FILE, without --no-emulate"),
    (("--explain",), "whose values --explain does not know. Leave out one of them."),
])  # fmt: skip
def test_conflicts(taken: Taken, options: tuple[str, ...], message: str) -> None:
    line = ["rewrite", taken.binary, "--launch", taken.launch, *MACHINE, "--multiplex", "any"]
    assert message in refused(2, *line, *options)


def test_a_launch_is_needed(taken: Taken) -> None:
    line = ["rewrite", taken.binary, *MACHINE, "--block", "64", "--multiplex", "today"]
    assert "expected --launch FILE" in refused(2, *line)


def test_a_sequence_of_launches_is_not_multiplexed(taken: Taken) -> None:
    line = ["rewrite", taken.binary, "--launch", taken.program, *MACHINE, "--multiplex", "today"]
    assert "--multiplex applies to one launch only" in refused(2, *line)
