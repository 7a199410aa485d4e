"""The folders of the package and of its tests stay small enough to be looked through."""

from __future__ import annotations

from tests.support.paths import ROOT

MOST = 16


def test_no_folder_has_more_files_than_can_be_looked_through() -> None:
    folders = {path.parent for top in ("binalloc", "tests") for path in (ROOT / top).rglob("*.py")}
    large = {folder.relative_to(ROOT).as_posix(): len(list(folder.glob("*.py"))) for folder in folders}
    assert {name: count for name, count in large.items() if count > MOST} == {}
