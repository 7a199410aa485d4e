"""`multiplex --regions own`: histogram's threads count in local memory, so that its blocks wait less for each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.support.paths import sample_file

pytestmark = pytest.mark.usefixtures("shared_versions")


def arguments(name: str, *more: str) -> list[str]:
    launch = str(sample_file(f"{name}.toml"))
    return [
        "multiplex", str(sample_file(f"{name}.ptx")), "--launch", launch, "--size", "test", "--machine", "gtx480-16k",
        "--scheme", "vtb", "--merge", "2", *more,
    ]  # fmt: skip


@pytest.mark.rotates("long commands")
def test_own_words_are_proven_and_written(tmp_path: Path) -> None:
    made = str(tmp_path / "hg.loom")
    found = call(*arguments("histogram", "--regions", "own", "-o", made, "--json")).json
    (one,) = found["schemes"]
    assert (one["own_words"], one["shorter_regions"], one["proven"], one["same_results"]) == (True, False, True, True)
    assert one["regions"] == 2, "the zeros and the sums; counting is in none"
    assert one["speedup"] > 1.3 > found["own"]["speedup"]
    launch = str(sample_file("histogram.toml"))
    run = call("run", made, "--launch", launch, "--size", "test", "--check", "--race", "--json").json
    assert run["cycles"] == one["cycles"]
    answer = call("verify", str(sample_file("histogram.ptx")), made, "--machine", "gtx480-16k")
    assert answer.code == 0
    assert "HG: blocks use shared memory in turns, vtb of 2, own words: proven for blocks of 64 x 1 x 1" in answer.out


@pytest.mark.rotates("long commands")
def test_where_no_thread_has_words_to_itself_the_reason_is_said_once() -> None:
    """In slidingMD5 all threads of a block read what others have staged."""
    out = call(*arguments("slidingMD5")).out
    assert out.count("no thread has words of shared memory to itself") == 1
    assert "No own words alone: STO: no thread has words of shared memory to itself" in out
