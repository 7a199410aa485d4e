"""`sweep --sharing`: rows of versions whose blocks share memory two by two, at every number of blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call, refused
from tests.unit.cli.commands.laboratory.test_cli_share_slots import KERNEL, LAUNCH
from tests.unit.cli.commands.pairs.conftest import Shareable


def test_every_way_has_its_rows(srad: Shareable, tmp_path: Path) -> None:
    command = ["sweep", srad.binary, *srad.launch, "--sharing", "off,auto,0.1,1:4864", "--allocators", "local",
               "--schedulers", "lrr,owf", "--jobs", "1", "--cache", str(tmp_path)]  # fmt: skip
    rows = call(*command, "--json").json["rows"]
    keys = [(row["scheduler"], row["allocator"], row["blocks"], row["sharing"]) for row in rows]
    assert keys == [
        (name, *rest) for name in ("lrr", "owf")
        for rest in (
            ("original", None, None), ("local", 1, None), ("original", 2, "auto"), ("local", 2, "auto"),
            ("original", 2, "0.1"), ("local", 2, "0.1"), ("original", 2, "1:4864"), ("local", 2, "1:4864"),
        )
    ]  # fmt: skip
    for row in rows:
        assert (row["status"], row["same_results"]) == ("ok", True)
        pairs = (row["pairs"], row["private_bytes"])
        assert pairs == {None: (None, None), "0.1": (1, 1152)}.get(row["sharing"], (1, 4864))
        assert (row["blocks_per_sm"], row["occupancy"]) == ((2, 0.375) if row["sharing"] else (1, 0.1875))
        assert row["proven"] or row["sharing"] is None
    at = dict(zip(keys, rows, strict=True))
    for name in ("lrr", "owf"):
        first = at[name, "original", None, None]["cycles"]
        assert all(row["original_cycles"] == first for row in rows if row["scheduler"] == name)
        assert at[name, "local", 2, "1:4864"]["cycles"] == at[name, "local", 2, "auto"]["cycles"] < first
    shared = call("share", srad.binary, *srad.launch, "--json").json
    assert at["owf", "original", 2, "auto"]["cycles"] == shared["versions"][0]["cycles"]
    assert at["owf", "original", None, None]["cycles"] == shared["original"]["oldest_cycles"]
    again = call(*command, "--json").json
    assert (again["rows"], again["done"]) == (rows, 0)
    out = call(*command).out
    assert out.startswith("SRAD2 on gpgpusim-sharing, lrr: local at 2 blocks with sharing auto, 1:4864 is the fastest")
    assert "; without pairs original is, 1.000 times\n" in out


def test_slots_are_those_that_leave_pairs(queens: Shareable, tmp_path: Path) -> None:
    """A level has the most slots with which an SM still holds its number of blocks."""
    command = ["sweep", queens.binary, *queens.launch, "--sharing", "auto", "--levels", "2", "--allocators", "local",
               "--jobs", "1", "--cache", str(tmp_path), "--json"]  # fmt: skip
    rows = [row for row in call(*command).json["rows"] if row["sharing"] and row["allocator"] == "local"]
    (row,) = rows
    assert row["blocks"] == 2
    line = ["rewrite", queens.binary, *queens.launch, "--registers", "6", "--sharing", "auto", "--slots"]
    assert row["slots_allowed"] > 8
    assert "16384" not in str(row["private_bytes"])
    assert "--slots" in refused(1, *line, str(row["slots_allowed"] + 30))


def test_why_there_are_no_pairs(tmp_path: Path) -> None:
    from tests.support.paths import sample_file

    ptx, launch = str(sample_file("DCT5.ptx")), ["--launch", str(sample_file("DCT5.toml")), "--size", "test"]
    command = ["sweep", ptx, *launch, "--machine", "gpgpusim-sharing", "--sharing", "auto", "--allocators", "local",
               "--levels", "upwards", "--jobs", "1", "--cache", str(tmp_path), "--json"]  # fmt: skip
    (row,) = [row for row in call(*command).json["rows"] if row["sharing"] is not None]
    assert (row["status"], row["pairs"], row["program"]) == ("refused", None, None)
    assert row["reason"] == (
        "no block is gained where blocks share memory: 16 blocks on an SM of gpgpusim-sharing without that, limited by "
        "blocks; expected a kernel whose blocks shared memory alone limits"
    )
    command[command.index("auto")] = "9:4"
    (row,) = [row for row in call(*command).json["rows"] if row["sharing"] is not None]
    assert "limited by blocks" in row["reason"]


def test_numbers_that_are_out_of_range(srad: Shareable, tmp_path: Path) -> None:
    command = ["sweep", srad.binary, *srad.launch, "--sharing", "1:2", "--allocators", "local", "--jobs", "1",
               "--cache", str(tmp_path), "--json"]  # fmt: skip
    (row,) = [row for row in call(*command).json["rows"] if row["sharing"] is not None]
    assert row["reason"] == "private bytes out of range: 2; expected 0 to 4,864: a multiple of 4"


@pytest.mark.parametrize("asked", ["0.1,2", "auto,1:", "", "auto;0.1"])
def test_what_is_no_way_to_share(srad: Shareable, asked: str) -> None:
    refused(2, "sweep", srad.binary, *srad.launch, "--sharing", asked)


def test_off_is_what_it_was(srad: Shareable, tmp_path: Path) -> None:
    command = ["sweep", srad.binary, *srad.launch, "--allocators", "local", "--jobs", "1", "--cache", str(tmp_path)]
    plain, off = call(*command), call(*command, "--sharing", "off")
    assert plain.out == off.out
    assert " sharing " not in plain.out


def test_slots_of_an_original_that_has_some(tmp_path: Path) -> None:
    """They may lie in the shared part; those of levels are allocated anew, and private."""
    (tmp_path / "k.lasm").write_text(KERNEL)
    (tmp_path / "k.toml").write_text(LAUNCH)
    file, scheduled = str(tmp_path / "k.loom"), str(tmp_path / "scheduled.loom")
    assert call("asm", str(tmp_path / "k.lasm"), "-o", file).code == 0
    assert call("schedule", file, "--machine", "gpgpusim-sharing", "-o", scheduled).code == 0
    command = ["sweep", scheduled, "--launch", str(tmp_path / "k.toml"), "--machine", "gpgpusim-sharing", "--sharing",
               "1:6272:1", "--allocators", "local", "--jobs", "1", "--cache", str(tmp_path)]  # fmt: skip
    (row,) = [row for row in call(*command, "--json").json["rows"] if row["sharing"] and row["allocator"] == "original"]
    assert (row["status"], row["pairs"], row["private_bytes"]) == ("ok", 1, 6272)
    assert " 1:6272:1 " in call(*command).out
    assert "1:6272:1," not in call(*command).out


def test_slots_of_levels_are_private(queens: Shareable, tmp_path: Path) -> None:
    command = ["sweep", queens.binary, *queens.launch, "--sharing", "1:4864:2", "--levels", "2", "--allocators",
               "local", "--jobs", "1", "--cache", str(tmp_path), "--json"]  # fmt: skip
    rows = [row for row in call(*command).json["rows"] if row["sharing"] and row["allocator"] == "local"]
    assert [row["status"] for row in rows] == ["refused"]
    assert "slots that are allocated anew are private to their blocks" in rows[0]["reason"]
