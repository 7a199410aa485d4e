"""`multiplex --scheme auto`: all schemes are tried, and the fastest proven version, or the original, is chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import call, refused
from tests.support.paths import sample_file

pytestmark = pytest.mark.usefixtures("shared_versions")


def arguments(name: str) -> list[str]:
    launch = str(sample_file(f"{name}.toml"))
    return [
        "multiplex", str(sample_file(f"{name}.ptx")), "--launch", launch, "--size", "test", "--machine", "gtx285",
        "--scheme", "auto",
    ]  # fmt: skip


def best(found: dict[str, Any]) -> float:
    """The largest speedup of a version that is proven and has the same results; the original's is 1."""
    every = (found["shorter"], found["own"], *found["schemes"])
    ran = [v for v in every if "speedup" in v and v["proven"] and v["same_results"]]
    return max(1.0, *(v["speedup"] for v in ran))


@pytest.mark.rotates("long commands")
def test_the_best_of_all_is_chosen_and_written(tmp_path: Path) -> None:
    made = str(tmp_path / "fft.loom")
    found = call(*arguments("fourierTransform"), "--merge", "2", "-o", made, "--json").json
    assert {v["scheme"] for v in found["schemes"]} == {"vtb", "vtb-pipe", "hw", "co-vtb", "co-hw"}
    chosen = found["chosen"]
    assert (chosen["scheme"], chosen["shorter_regions"], chosen["merge"]) == ("hw", True, None)
    assert chosen["speedup"] == best(found)
    assert found["output"] == made
    launch = str(sample_file("fourierTransform.toml"))
    run = call("run", made, "--launch", launch, "--size", "test", "--check", "--race", "--json").json
    (version,) = (v for v in found["schemes"] if (v["scheme"], v["shorter_regions"]) == ("hw", True))
    assert run["cycles"] == version["cycles"]


@pytest.mark.rotates("long commands")
def test_today_leaves_out_what_no_gpu_has() -> None:
    found = call(*arguments("matrixVector"), "--today", "--merge", "2", "--json").json
    assert {v["scheme"] for v in found["schemes"]} == {"vtb", "vtb-pipe", "co-vtb"}
    assert found["chosen"]["scheme"] == "shorter", "it gains more than merged blocks with shorter regions"
    assert found["chosen"]["speedup"] == best(found) == found["shorter"]["speedup"] > 1


@pytest.mark.rotates("long commands")
def test_the_original_is_chosen_where_nothing_gains(tmp_path: Path) -> None:
    made = tmp_path / "rd.loom"
    answer = call(*arguments("reduction"), "-o", str(made))
    assert answer.code == 1
    assert answer.out.startswith("RD: chosen is the original; no proven version of it is faster on gtx285, emulated\n")
    assert "no version is faster than the original: nothing is written" in answer.err
    assert not made.exists()


@pytest.mark.parametrize("scheme", ["vtb", "hw"])
def test_today_is_for_auto(scheme: str) -> None:
    line = [*arguments("fourierTransform"), "--scheme", scheme, "--today"]
    assert "--today belongs to another scheme" in refused(2, *line)
