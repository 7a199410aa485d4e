"""`run --batches`: found where nothing is given and something depends on them, else not looked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

import binalloc
from tests.support.kits.cli import call

ROWS = ("run", "samples/batching/rows.loom", "--launch", "samples/batching/rows.toml", "--size", "test")
PYTHON = ("--engine", "python", "--machine", "gtx680")


def ran(sample: str, *options: str) -> tuple[Any, str]:
    line = [each.replace("rows", sample) for each in ROWS]
    found = call(*line, *PYTHON, "--json", *options)
    assert found.code == 0, found
    return json.loads(found.out), found.err


@pytest.mark.parametrize(
    ("sample", "formula"),
    [("rows", "stride:1"), ("tiles", "stride:2"), ("columns", "mod:4"), ("scattered", "stride:1")],
)
def test_batches_are_found_where_something_depends_on_them(sample: str, formula: str) -> None:
    for options in (["--dispatch", "serial"], ["--scheduler", "tbas"]):
        found, said = ran(sample, *options)
        assert found["batches"] == formula
        assert ("no formula fits" in said) == (sample == "scattered")
        assert "pages of 4,096 bytes" in said


def test_larger_pages_have_other_batches() -> None:
    found, _ = ran("rows", "--dispatch", "serial", "--pages", "interleaved:bytes=8192")
    assert found["batches"] == "stride:2"


def test_nothing_is_looked_for_where_nothing_depends_on_them() -> None:
    found, said = ran("tiles")
    assert found["batches"] == "auto"
    assert "batches" not in said


def test_in_the_library_each_block_is_a_batch_unless_it_is_said() -> None:
    launch, module = binalloc.load_launch(ROWS[3], "test"), binalloc.load(ROWS[1])
    for options, formula in (({}, "auto"), ({"dispatcher": "serial"}, "stride:1"), ({"scheduler": "tbas"}, "stride:1")):
        result = binalloc.run(module, launch.kernel, launch, "gtx680", engine="python", **options)
        assert result.policies["batches"] == formula
