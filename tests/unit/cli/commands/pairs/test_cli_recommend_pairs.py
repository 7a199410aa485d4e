"""`recommend --sharing`: what each technique gives, for the whole GPU, and the best in the first line."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from binalloc.errors import KernelFault, LimitHit
from binalloc.pipeline.request import Request
from binalloc.pipeline.sharing import choice
from binalloc.pipeline.sharing.choice import WORTH
from binalloc.pipeline.steps.version import Version
from tests.support.kits.cli import call
from tests.support.paths import sample_file
from tests.unit.cli.commands.pairs.conftest import Shareable, shareable


@pytest.fixture(scope="module")
def alone(one_sm: str, tmp_path_factory: pytest.TempPathFactory) -> Shareable:
    return shareable("SRAD2", one_sm, tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def advice(alone: Shareable) -> tuple[Any, str]:
    """What is recommended on one SM, as JSON and as text."""
    line = ["recommend", alone.binary, *alone.launch, "--sharing", "auto", "--schedulers", "lrr,oldest,owf"]
    return call(*line, "--json").json["recommendations"][0], call(*line).out


def test_the_answer_is_in_the_first_line(advice: tuple[Any, str]) -> None:
    found, out = advice
    taken, chosen = found["pairs"]["chosen"], found["recommended"]
    assert out.startswith(
        f"Run 2 blocks per SM instead of 1, 2 of them in pairs that share all but {taken['private_bytes']:,} bytes of "
        f"each, as no GPU lets them, under {taken['scheduler']}, with {chosen['registers']} registers per thread, "
        f"{found['speedup']:.2f} times as fast (emulated)"
    )
    assert "Beware: no GPU lets blocks share memory two by two: the gain is a what-if.\n" in out
    assert found["spread"]["auto"]["speedup"] == found["spread"]["best"]["speedup"] == found["speedup"]
    held = found["occupancy"]["recommended"]
    assert (held["blocks_per_sm"], held["active_warps"], held["limiters"]) == (2, 36, ["shared"])
    assert (chosen["blocks_per_sm"], chosen["occupancy"]) == (2, held["occupancy"])


def test_every_technique_under_every_scheduler(advice: tuple[Any, str]) -> None:
    ways = advice[0]["pairs"]["ways"]
    keys = {(way["technique"], way["scheduler"]) for way in ways}
    assert keys == {
        (what, name)
        for what in ("original", "level", "overlay", "pairs", "both") for name in ("lrr", "oldest", "owf")
    }
    assert len(keys) == len(ways)
    best = min(way["cycles"] for way in ways if way["technique"] != "overlay")
    assert {way["cycles"] for way in ways if way["technique"] == "overlay"} == {None}  # SRAD2's variables all meet
    assert advice[0]["recommended"]["cycles"] == best


def test_variables_over_one_another_are_a_technique_of_their_own() -> None:
    """contrast has three arrays of which two may lie over one another, on the machine for which that was measured."""
    sample = [str(sample_file("contrast.ptx")), "--launch", str(sample_file("contrast.toml")), "--size", "test"]
    line = ["recommend", *sample, "--machine", "v100", "--sharing", "auto", "--schedulers", "lrr"]
    (found,) = call(*line, "--json").json["recommendations"]
    (way,) = [way for way in found["pairs"]["ways"] if way["technique"] == "overlay"]
    (plain,) = [way for way in found["pairs"]["ways"] if way["technique"] == "original"]
    assert (plain["blocks_per_sm"], way["blocks_per_sm"]) == (6, 10)
    assert way["cycles"] > 0
    others = [one["cycles"] for one in found["pairs"]["ways"] if one["technique"] in ("original", "level")]
    faster = way["cycles"] * WORTH <= min(others)
    assert ("with variables over one another the kernel is" in found["pairs"]["reason"]) == faster


@pytest.mark.parametrize("error", [KernelFault("it faults"), LimitHit("it did not end")], ids=["fault", "limit"])
def test_an_overlay_that_does_not_end_well_is_a_row_with_a_reason(
    error: KernelFault | LimitHit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other techniques have their figures as before."""
    given = choice.measure

    def run(version: Version, request: Request) -> Version:
        if version.name == "the overlay":
            raise error
        return given(version, request)

    sample = [str(sample_file("contrast.ptx")), "--launch", str(sample_file("contrast.toml")), "--size", "test"]
    line = ["recommend", *sample, "--machine", "v100", "--sharing", "auto", "--schedulers", "lrr"]
    before = ways_of(line)
    monkeypatch.setattr(choice, "measure", run)
    after = ways_of(line)
    assert before.keys() == after.keys()
    (row,) = [way for (technique, _), way in after.items() if technique == "overlay"]
    assert (row["cycles"], row["blocks_per_sm"], row["refused"]) == (None, None, error.message)
    assert all(after[key] == way for key, way in before.items() if key[0] != "overlay")
    assert f"None by variables over one another: {error.message}\n" in call(*line).out


def ways_of(line: list[str]) -> dict[tuple[str, str], Any]:
    """What each technique gives under each scheduler."""
    (found,) = call(*line, "--json").json["recommendations"]
    return {(way["technique"], way["scheduler"]): way for way in found["pairs"]["ways"]}


def test_the_next_step_writes_it(advice: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, out = advice
    command = shlex.split(found["next"]["rewrite"])
    assert f"Next: {found['next']['rewrite']}\n" in out
    assert found["next"]["launch_bounds"] is None
    monkeypatch.chdir(tmp_path)
    made = call(*command[1:], "--json").json
    assert made["rewritten"]["cycles"] == found["recommended"]["cycles"]
    assert (tmp_path / "SRAD2.out.loom").exists()


def test_pairs_that_the_grid_does_not_fill(srad: Shareable) -> None:
    """Two blocks on fourteen SMs: none of these gets two."""
    (found,) = call("recommend", srad.binary, *srad.launch, "--sharing", "auto", "--json").json["recommendations"]
    assert found["pairs"]["chosen"] is None
    assert "the grid gives an SM 1 block at most, which it holds without pairs" in found["pairs"]["reason"]
    assert found["recommended"] == found["pairs"]["without"]


def test_off_is_what_it_was(alone: Shareable) -> None:
    line = ["recommend", alone.binary, *alone.launch]
    assert call(*line, "--sharing", "off").out == call(*line).out
    assert call(*line, "--sharing", "off", "--json").json == call(*line, "--json").json


def test_a_page(alone: Shareable, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call("recommend", alone.binary, *alone.launch, "--sharing", "auto", "--html", str(page)).code == 0
    text = page.read_text()
    assert "Shared memory two by two" in text
    assert "What each technique gives" in text


def test_pairs_alone_are_written_by_share(one_sm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a threshold that leaves little private, other registers may not pay; then the next step is `share`."""
    ptx, launch = str(sample_file("backprop.ptx")), str(sample_file("backprop.toml"))
    line = ["recommend", ptx, "--launch", launch, "--size", "test", "--machine", one_sm, "--sharing", "auto"]
    (found,) = call(*line, "--json").json["recommendations"]
    command = shlex.split(found["next"]["rewrite"])
    assert command[1] == {"pairs": "share", "both": "rewrite"}[found["pairs"]["chosen"]["technique"]]
    monkeypatch.chdir(tmp_path)
    assert call(*command[1:]).code == 0
    assert (tmp_path / "backprop.out.loom").exists()


def test_machines_that_have_no_such_pairs() -> None:
    """Each is refused in a row, with the options spelled as the command has them."""
    line = ["recommend", *srad_sample(), "--machine", "gpgpusim-sharing,a100", "--sharing", "1:4864"]
    answer = call(*line)
    assert answer.code == 0
    refusal = (
        "--sharing: no block is gained where blocks share memory; found 3 blocks on an SM of a100 without that, "
        "limited by warps; expected a kernel whose blocks shared memory alone limits. Leave out --sharing."
    )
    assert f"a100: refused: {refusal}\n" in answer.out
    first, second = call(*line, "--json").json["recommendations"]
    assert (first["refused"], second["refused"]) == (None, refusal)


def srad_sample() -> list[str]:
    return [str(sample_file("SRAD2.ptx")), "--launch", str(sample_file("SRAD2.toml")), "--size", "test"]


def test_an_empty_sharing_is_refused(alone: Shareable) -> None:
    answer = call("recommend", alone.binary, *alone.launch, "--sharing", "")
    assert (answer.code, answer.out) == (2, "")
    assert "PAIRS:BYTES" in answer.err
