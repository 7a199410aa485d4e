"""Nothing that compiled code follows from is left out of the hash that tells whether it is stale."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from binalloc.emulator.carried import sources
from binalloc.emulator.carried.sources import device_hash, source_files
from binalloc.emulator.state.device import GENERATED, REGISTRY
from tests.support.paths import ROOT

WITHOUT_CONSTANTS = {
    "binalloc.errors",  # texts of errors
    "binalloc.models.machines.model",  # what a gate asks of a machine on the host
    "binalloc.isa.interface.instruction_set",
}
"""What hashed modules import that compiled code takes nothing from."""

HOST = ("binalloc.emulator.host", "binalloc.emulator.packing", "binalloc.emulator.carried")


def imported(path: Path) -> set[str]:
    """The modules of ours that a file imports, be it a name from a module or a module from its package."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("binalloc."):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = set(filter(is_module, names))
            found |= modules if modules == names else modules | {str(node.module)}
    return found


def is_module(name: str) -> bool:
    """Whether the last part is a file or a folder of the package before it."""
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def test_every_module_of_device_code_is_hashed_and_what_it_imports() -> None:
    hashed = source_files()
    assert {function.__module__ for function in REGISTRY.values()} <= set(hashed)
    assert set(sources.REPLACED) | set(sources.REPLACED.values()) <= set(hashed)
    for name, path in hashed.items():
        if name.startswith("binalloc.emulator.") and not name.startswith(HOST):
            assert imported(path) <= set(hashed) | WITHOUT_CONSTANTS, name


def test_every_file_and_every_text_from_a_table_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = source_files()
    before = device_hash()
    assert device_hash() == before
    compiling = "binalloc.emulator.host.engines.compiling"
    for name in ("binalloc.emulator.state.parts.log", compiling, "binalloc.isa.timing"):
        changed = tmp_path / "changed.py"
        changed.write_bytes(files[name].read_bytes() + b"\n")
        monkeypatch.setattr(sources, "source_files", lambda: files | {name: changed})  # noqa: B023
        assert device_hash() != before, name
    monkeypatch.undo()
    key = min(GENERATED)
    monkeypatch.setitem(GENERATED, key, GENERATED[key] + " ")
    assert device_hash() != before
