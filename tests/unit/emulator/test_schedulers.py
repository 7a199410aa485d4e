"""Warp schedulers: the table, and that a new one is a file and a row, for both engines and for the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from binalloc.emulator.host.engine import source_hash
from binalloc.emulator.schedulers.loose_round_robin import LRR
from binalloc.emulator.schedulers.table import DEFAULT, SCHEDULERS, pick, pick_text, policy_number
from binalloc.emulator.state.state import GLOBAL_DTYPE, SM_DTYPE, Plain
from binalloc.errors import UsageError
from tests.support.paths import ROOT, SAMPLES

YOUNGEST = '''
"""The youngest warp first."""

from typing import Any

from binalloc.emulator.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.device import device


@device
def youngest(g: Any, s: Any, sch: int, eligible: int) -> int:
    i = 0
    while eligible >> (i + 1):
        i += 1
    return i


YOUNGEST = WarpScheduler("youngest", "the warp in the highest slot", youngest)
'''
COMPILED = """
import numpy as np
from binalloc.emulator.host.engine import build, source_hash
from binalloc.emulator.state.state import GLOBAL_DTYPE, SM_DTYPE
pick = build("binalloc.emulator.schedulers.table.pick", cache=False)
g, s = np.zeros(1, GLOBAL_DTYPE), np.zeros(1, SM_DTYPE)
s["last"][:] = -1
for g["policy"][0] in (0, 1):
    print(pick(g[0], s[0], 0, 0b101100))
print(source_hash())
"""


def test_the_table_names_what_exists() -> None:
    assert list(SCHEDULERS) == ["lrr"]
    assert DEFAULT == "lrr"
    assert policy_number("lrr") == 0
    with pytest.raises(UsageError, match=r"no such warp scheduler.*expected lrr"):
        policy_number("gto")


def test_the_choice_follows_from_the_rows() -> None:
    assert pick_text([LRR]).splitlines()[1:] == ["    return _pick0(g, s, sch, eligible)"]
    assert pick_text([LRR, LRR, LRR]).splitlines()[3:] == [
        "    if g.policy == 1:", "        return _pick1(g, s, sch, eligible)", "    return _pick2(g, s, sch, eligible)",
    ]  # fmt: skip


def test_round_robin_goes_on_behind_the_last_and_begins_again() -> None:
    g, s = Plain(GLOBAL_DTYPE), Plain(SM_DTYPE)
    for last, chosen in ((-1, 2), (1, 2), (2, 3), (3, 5), (5, 2)):
        s.last = [last]  # type: ignore[attr-defined]
        assert pick(g, s, 0, 0b101100) == chosen


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one more scheduler: a file and a row."""
    root = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "binalloc", root / "binalloc", ignore=shutil.ignore_patterns("__pycache__"))
    folder = root / "binalloc" / "emulator" / "schedulers"
    (folder / "youngest.py").write_text(YOUNGEST)
    table = (folder / "table.py").read_text()
    row = table.replace("for s in (LRR,)", "for s in (LRR, YOUNGEST)")
    assert row != table
    last = "from binalloc.errors import Hint, UsageError\n"
    imported = "from binalloc.emulator.schedulers.youngest import YOUNGEST\n"
    (folder / "table.py").write_text(row.replace(last, imported + last))
    return root


def output(root: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def run(root: Path, *arguments: str) -> str:
    """`binalloc run` of that copy, in the plain engine."""
    script = "from binalloc.cli.main import main; main()"
    return output(root, "-c", script, "run", *arguments)


def test_a_file_and_a_row_make_a_scheduler_of_the_command_line(extended: Path) -> None:
    assert "[lrr|youngest]" in run(extended, "--help")
    assert "youngest: the warp in the highest slot" in " ".join(run(extended, "--help").split())
    stem = str(next(SAMPLES.rglob("callchain.loom")).with_suffix(""))
    options = [stem + ".loom", "--launch", stem + ".toml", "--size", "test", "--engine", "python", "--json"]
    options += ["--reference"]
    found = {name: json.loads(run(extended, *options, "--scheduler", name)) for name in ("lrr", "youngest")}
    assert {name: row["scheduler"] for name, row in found.items()} == {"lrr": "lrr", "youngest": "youngest"}
    assert {row["reference"] for row in found.values()} == {"same"}
    assert found["lrr"]["cycles"] != found["youngest"]["cycles"]
    assert found["lrr"]["stats"]["warp_instructions"] == found["youngest"]["stats"]["warp_instructions"]


def test_the_compiled_choice_has_it_too_and_is_kept_apart(extended: Path) -> None:
    first, second, key = output(extended, "-c", COMPILED).split()
    assert (first, second) == ("2", "5")
    assert key != source_hash()
