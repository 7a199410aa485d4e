"""A launch file that is adapted to merged blocks gives the launch that the original's file is adapted to."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from binalloc.errors import UsageError
from binalloc.launch.file import load_launch, read_table
from binalloc.launch.merged import Merge
from binalloc.launch.schema import MAX_THREADS_PER_BLOCK
from binalloc.launch.types import Argument, Launch
from binalloc.pipeline.multiplex.adapted import adapted_table
from binalloc.report.skeleton.launch_text import launch_file_text
from tests.support.paths import ROOT

TABLES = {p: read_table(p) for p in ROOT.glob("samples/**/*.toml")}
FILES = sorted(p for p, table in TABLES.items() if "kernel" in table and "step" not in table)


def written(path: Path, merge: Merge | None, folder: Path) -> Path:
    made = folder / "adapted.toml"
    made.write_text(launch_file_text(adapted_table(str(path), merge, str(folder))))
    return made


def same(one: Launch, other: Launch) -> bool:
    """Whether two launches are the same, but for the file that they are from and how it names others."""
    return _plain(one) == _plain(other)


def _plain(launch: Launch) -> Launch:
    arguments = tuple(_named(a) for a in launch.arguments)
    reference = launch.reference and replace(launch.reference, file=os.path.realpath(launch.reference.file))
    return replace(launch, path="", arguments=arguments, reference=reference)


def _named(argument: Argument) -> Argument:
    init = argument.init
    return replace(argument, init=replace(init, file=os.path.realpath(init.file))) if init.file else argument


@pytest.mark.rotates
@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.stem}" for p in FILES])
def test_every_samples_launch_is_adapted_in_all_sizes(path: Path, tmp_path: Path) -> None:
    base = load_launch(path)
    sizes = [None, *read_table(path).get("sizes", {})]
    three = Merge(3, base.block, max(range(3), key=lambda k: base.grid[k]))
    for merge in (None, three) if math.prod(three.merged_block) <= MAX_THREADS_PER_BLOCK else (None,):
        made = written(path, merge, tmp_path)
        for size in sizes:
            given = load_launch(path, size)
            assert merge is None or given.block == base.block
            assert same(load_launch(made, size), given if merge is None else merge.launch(given))


LAUNCH = """kernel = "k"
grid = [7, 2]
block = [10, 10]
[[argument]]
name = "x"
kind = "buffer"
dtype = "f32"
shape = 4
init = { kind = "values", values = [0.1, 1e-3, nan, -inf] }
[[argument]]
name = "y"
kind = "buffer"
dtype = "f32"
shape = 4
init = { file = "y.bin", format = "raw" }
[sizes.small]
grid = 5
[sizes.small.argument]
y = { init = { file = "small.bin", format = "raw" } }
[sizes.flat]
block = 64
"""


def test_names_of_files_sizes_and_digits(tmp_path: Path) -> None:
    path, folder = tmp_path / "launch.toml", tmp_path / "there"
    folder.mkdir()
    path.write_text(LAUNCH)
    made = written(path, Merge(4, (10, 10, 1), 0), folder)
    text, table = made.read_text(), read_table(made)
    assert (table["grid"], table["block"]) == ([2, 2, 1], [512, 1, 1])
    assert "values = [0.1, 1e-3, nan, -inf]" in text
    assert table["argument"][1]["init"]["file"] == "../y.bin"
    assert table["argument"][-1] == {"name": "original_grid", "kind": "scalar", "dtype": "u32", "value": 7}
    small = table["sizes"]["small"]
    assert (small["grid"], small["argument"]["original_grid"]) == ([2, 1, 1], {"value": 5})
    assert small["argument"]["y"]["init"]["file"] == "../small.bin"
    assert set(table["sizes"]) == {"small"}  # the other one's blocks were not merged
    assert load_launch(made, "small").block == (512, 1, 1)


def test_a_file_whose_own_numbers_are_for_other_blocks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "launch.toml"
    path.write_text('kernel = "k"\ngrid = 7\nblock = 32\n[sizes.wide]\nblock = 64\n')
    with pytest.raises(UsageError) as error:
        adapted_table(str(path), Merge(2, (64, 1, 1), 0), str(tmp_path))
    assert (error.value.place, error.value.found, error.value.expected) == ("block", [32, 1, 1], [64, 1, 1])
    assert error.value.remedy is not None
