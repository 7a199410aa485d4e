"""Programs beside the tests, which no run of the suite begins, import what there is."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.paths import ROOT

OURS = ("binalloc", "tests")
FOLDERS = ("docs", "samples", "tests/benchmarks", "tests/foreign", "tests/fuzz")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Module and name of all that a file takes from us, at its top or where it is used."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            yield from ((str(node.module), alias.name) for alias in node.names)


def is_there(module: str, name: str) -> bool:
    """Whether the module has the name; so it is taken to be where it needs a package that is not installed."""
    if find_spec(module) is None:
        return False
    try:
        return hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError as error:
        return (error.name or "").split(".")[0] not in OURS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_tool_imports_is_there(path: Path) -> None:
    assert [f"{module}.{name}" for module, name in imported(path) if not is_there(module, name)] == []
