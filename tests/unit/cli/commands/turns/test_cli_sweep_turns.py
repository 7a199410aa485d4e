"""`sweep --multiplex`: a row for each version whose blocks use shared memory in turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.unit.cli.commands.turns.conftest import MACHINE, Taken

pytestmark = pytest.mark.usefixtures("shared_versions")


@pytest.mark.rotates("long commands")
def test_every_version_has_a_row(taken: Taken, tmp_path: Path) -> None:
    command = ["sweep", taken.binary, "--launch", taken.launch, *MACHINE, "--multiplex", "any", "--levels", "1",
               "--allocators", "local", "--jobs", "1", "--cache", str(tmp_path)]  # fmt: skip
    rows = call(*command, "--json").json["rows"]
    turns = [row for row in rows if row["scheme"] is not None]
    assert [(row["scheme"], row["merge"]) for row in turns[:3]] == [("shorter", None), ("own", None), ("vtb", 2)]
    assert {row["scheme"] for row in turns} == {"shorter", "own", "vtb", "vtb-pipe", "hw", "co-vtb", "co-hw"}
    original, *levels = (row for row in rows if row["scheme"] is None)
    assert [row["shorter_regions"] for row in (original, *levels)] == [None] * len([original, *levels])
    for row in turns:
        assert (row["blocks"], row["registers_allowed"], row["slots_allowed"]) == (None,) * 3
        if row["status"] == "ok":
            assert row["original_cycles"] == original["cycles"]
            assert row["speedup"] == round(original["cycles"] / row["cycles"], 4)
            assert row["same_results"]
            assert bool(row["reason"]) == (not row["proven"])
        else:
            assert row["status"] == "refused"
            assert row["reason"]
    names = ("scheme", "merge", "shorter_regions", "own_words")
    cycles = {tuple(row[name] for name in names): row["cycles"] for row in turns}
    made = {tuple(one[name] for name in names): one.get("cycles") for one in taken.found["turns"]["schemes"]}
    assert {key: cycles[key] for key in made} == made, "the same as `rewrite` finds"
    again = call(*command, "--json").json
    assert (again["rows"], again["done"]) == (rows, 0)
    out = call(*command).out
    assert out.startswith("chase on gtx285, lrr: hw")
    assert " by local is the fastest, " in out.splitlines()[0]
    assert "; without turns local at 1 block is, " in out.splitlines()[0]


def test_without_the_option_there_is_no_such_row(taken: Taken, tmp_path: Path) -> None:
    command = ["sweep", taken.binary, "--launch", taken.launch, *MACHINE, "--levels", "1", "--allocators", "local",
               "--jobs", "1", "--cache", str(tmp_path)]  # fmt: skip
    assert all(row["scheme"] is None for row in call(*command, "--json").json["rows"])
    assert "turns" not in call(*command).out
