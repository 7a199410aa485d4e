"""`rewrite --explain`, as text and with --json."""

from __future__ import annotations

import pytest

from tests.support.kits.cli import call, loom


@pytest.mark.rotates
@pytest.mark.parametrize("allocator", ["local", "unified", "best", "cpsat"])
def test_what_left_the_registers_is_explained(allocator: str) -> None:
    command = ["rewrite", loom("nbody"), "--registers", "40", "--slots", "4", "--allocator", allocator, "--explain"]
    found = call(*command, "--json").json
    told = found["explanation"]
    words = {v["local_word"] for v in told if v["local_word"] is not None}
    assert 4 * (max(words, default=-1) + 1) == found["rewritten"]["local_bytes"]
    slots = {v["slot"] for v in told if v["slot"] is not None}
    assert max(slots, default=-1) + 1 == found["rewritten"]["slots"]
    text = call(*command).out
    assert all(f"  {v['value']}, defined at " in text for v in told)
    assert f"In all: {sum(v['loads'] for v in told)} (" in text


def test_nothing_is_explained_where_nobody_asks() -> None:
    assert "explanation" not in call("rewrite", loom("callchain"), "--registers", "6", "--json").json


def test_nothing_left_is_said() -> None:
    assert "No value had to be spilled." in call("rewrite", loom("nbody"), "--registers", "60", "--explain").out
