"""`recommend --multiplex`: versions whose blocks use shared memory in turns, judged for the whole GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import call, refused
from tests.support.paths import ROOT
from tests.unit.cli.commands.turns.conftest import MACHINE, Taken

pytestmark = pytest.mark.usefixtures("shared_versions")


@pytest.fixture(scope="module")
def one_sm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """GTX 285 with one SM, so that a small grid fills it."""
    given = (ROOT / "binalloc/models/machines/gtx285.toml").read_text()
    made = tmp_path_factory.mktemp("machine") / "one.toml"
    made.write_text(given.replace("sms = { value = 30,", "sms = { value = 1,"))
    return str(made)


@pytest.fixture(scope="module")
def advice(taken: Taken, one_sm: str) -> tuple[Any, str]:
    """What is recommended on one SM, as JSON and as text."""
    command = ["recommend", taken.binary, "--launch", taken.launch, "--machine", one_sm, "--multiplex", "today"]
    return call(*command, "--json").json["recommendations"][0], call(*command).out


@pytest.mark.rotates("long commands")
def test_merged_blocks_are_recommended(advice: tuple[Any, str]) -> None:
    found, out = advice
    assert found["turns"]["chosen"]["scheme"] == "vtb"
    merge = found["turns"]["chosen"]["merge"]
    assert found["speedup"] == found["turns"]["chosen"]["speedup"] > 1.02
    assert found["occupancy"]["recommended"]["threads"] == 64 * merge
    assert out.startswith(f"Take vtb of {merge}")
    assert f"1 merged block of {merge} per SM, with " in out
    assert f"Note: a merged block does the work of {merge} of the grid, and its kernel has one more parameter" in out
    assert found["spread"]["auto"]["speedup"] == found["spread"]["best"]["speedup"] == found["speedup"]
    following = found["next"]
    assert (following["launch_bounds"], following["maxrregcount"], following["unused_shared_bytes"]) == (None,) * 3


@pytest.mark.rotates("long commands")
def test_the_next_step_writes_what_is_recommended(
    advice: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex

    found, out = advice
    command = shlex.split(found["next"]["rewrite"])
    assert f"Next: {found['next']['rewrite']}\n" in out
    assert command[:2] == ["binalloc", "rewrite"]
    monkeypatch.chdir(tmp_path)
    made = call(*command[1:], "--json").json
    assert made["rewritten"] == found["recommended"]
    assert (tmp_path / "chase.out.loom").exists()


@pytest.mark.rotates("long commands")
def test_merged_blocks_that_leave_sms_idle_are_not_recommended(taken: Taken) -> None:
    """Seven blocks on thirty SMs run side by side; two merged ones take longer, though one SM alone is faster."""
    command = ["recommend", taken.binary, "--launch", taken.launch, *MACHINE, "--multiplex", "today"]
    (found,) = call(*command, "--json").json["recommendations"]
    assert max(one["speedup"] for one in found["turns"]["schemes"] if "speedup" in one) > 1.02
    assert found["turns"]["chosen"] is None
    assert found["recommended"] == found["turns"]["without"]
    assert "it has 7 blocks" in " ".join(found["warnings"])


def test_a_launch_is_needed(taken: Taken) -> None:
    assert "expected --launch FILE" in refused(2, "recommend", taken.binary, "--multiplex", "today", "--block", "64")
