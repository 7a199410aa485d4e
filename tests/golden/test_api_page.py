"""The examples of docs/api.md run as they stand, one after the other, and give what they show."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT, SAMPLES

PAGE = (ROOT / "docs/api.md").read_text()
_BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples").symlink_to(SAMPLES)
    blocks = _BLOCK.findall(PAGE)
    assert len(blocks) >= 5
    examples = doctest.DocTestParser().get_doctest("".join(blocks), {}, "api", None, None)
    assert doctest.DocTestRunner().run(examples).failed == 0
