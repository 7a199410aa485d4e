"""Folders and files stay small enough to be looked through: of package and tests, and of the package."""

from __future__ import annotations

from tests.support.paths import ROOT

MOST = 16
MOST_LINES = 449


def test_no_folder_has_more_files_than_can_be_looked_through() -> None:
    folders = {path.parent for top in ("binalloc", "tests") for path in (ROOT / top).rglob("*.py")}
    large = {folder.relative_to(ROOT).as_posix(): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: count for name, count in large.items() if count > MOST} == {}


def test_no_file_is_longer_than_can_be_read_at_once() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in (ROOT / "binalloc").rglob("*.py")}
    assert {path.relative_to(ROOT).as_posix(): n for path, n in lines.items() if n > MOST_LINES} == {}
