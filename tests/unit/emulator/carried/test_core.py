"""A compiled core that is not just what these sources need is never run: it is left alone, and the reason is told."""

from __future__ import annotations

import _struct
import json
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from binalloc.emulator.carried import core
from binalloc.emulator.carried.core import NEEDS, Core, CoreLabel, find_core
from binalloc.emulator.host.engines import engine

GARBAGE = b"\x7fELF and what follows is none"
GOOD = CoreLabel.here("plain", "x86-64-v3", [])


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[CoreLabel, bytes], Path]:
    """Puts a library and its label where the package would carry them, on a CPU that has everything."""
    monkeypatch.setattr(core, "FOLDER", tmp_path)
    monkeypatch.setattr(core, "cpu_flags", lambda: frozenset(NEEDS["x86-64-v3"]))
    monkeypatch.delenv("BINALLOC_COMPILE", raising=False)
    monkeypatch.delenv("BINALLOC_BOUNDSCHECK", raising=False)

    def put(label: CoreLabel, library: bytes) -> Path:
        (tmp_path / "plain.so").write_bytes(library)
        (tmp_path / "plain.json").write_text(label.file(library))
        return tmp_path

    return put


def test_a_package_without_cores_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "FOLDER", tmp_path)
    assert find_core("plain") == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sources": "0" * 64}, "made from other sources"),
        ({"build": "checking"}, "made from other sources"),
        ({"system": "darwin"}, "made for darwin on"),
        ({"machine": "aarch64"}, "made for .* on aarch64"),
        ({"cpu": "x86-64-v9"}, "made for a kind of CPU that is not known here"),
        ({}, "cannot be loaded"),
    ],
)
def test_what_was_made_from_or_for_something_else_is_left_alone(
    carried: Callable[[CoreLabel, bytes], Path], change: dict[str, str], reason: str
) -> None:
    carried(replace(GOOD, **change), GARBAGE)
    found = find_core("plain")
    assert isinstance(found, str)
    assert re.match(reason, found), found


def test_a_cpu_that_lacks_something(
    carried: Callable[[CoreLabel, bytes], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    carried(GOOD, GARBAGE)
    monkeypatch.setattr(core, "cpu_flags", lambda: frozenset(NEEDS["x86-64-v3"]) - {"fma", "bmi2"})
    assert find_core("plain") == "made for x86-64-v3, and this CPU lacks bmi2, fma"


@pytest.mark.parametrize("harm", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b"\0" + data[1:]])
def test_a_library_that_is_not_as_it_was(
    carried: Callable[[CoreLabel, bytes], Path], harm: Callable[[bytes], bytes]
) -> None:
    library = carried(GOOD, GARBAGE) / "plain.so"
    library.write_bytes(harm(GARBAGE))
    assert find_core("plain") == "the file is not as it was made"


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 60_000, "[]", "3", '{"label": 3, "sha256": ""}', '{"label": ""}', "\0\xff"]
)
def test_a_label_that_is_none(carried: Callable[[CoreLabel, bytes], Path], text: str) -> None:
    (carried(GOOD, GARBAGE) / "plain.json").write_text(text, encoding="latin-1")
    assert find_core("plain") == "its label is damaged"


@pytest.mark.parametrize(
    "inside",
    [
        "{", "[" * 60_000, "[]", {"format": 2}, {"arrays": [1]}, {"arrays": "x"}, {"sources": None}, {"another": "x"},
    ],
)  # fmt: skip
def test_a_label_of_another_kind(carried: Callable[[CoreLabel, bytes], Path], inside: str | dict[str, object]) -> None:
    text = inside if isinstance(inside, str) else json.dumps(json.loads(GOOD.text()) | inside)
    (carried(GOOD, GARBAGE) / "plain.json").write_text(json.dumps({"label": text, "sha256": ""}))
    assert find_core("plain") == "its label is of another kind"


def test_a_library_of_somebody_elses(carried: Callable[[CoreLabel, bytes], Path]) -> None:
    """It loads, and has neither label nor entry."""
    if getattr(_struct, "__file__", None) is None:
        pytest.skip("this Python has no extension module to try")
    carried(GOOD, Path(_struct.__file__).read_bytes())
    found = find_core("plain")
    assert isinstance(found, str)
    assert found.startswith("cannot be loaded")


def test_the_engine_compiles_then_and_says_why(
    carried: Callable[[CoreLabel, bytes], Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    carried(replace(GOOD, sources="0" * 64), GARBAGE)
    assert engine.described().endswith("; the package's own is not used: made from other sources")
    monkeypatch.setattr(engine, "_in_cache", lambda folder: False)
    monkeypatch.setattr(engine, "build", lambda **options: None)
    monkeypatch.setattr(logging.getLogger("binalloc"), "propagate", True)
    with caplog.at_level("INFO", logger="binalloc"):
        engine._compiled.__wrapped__(False, False)
    assert "the compiled emulator that the package carries is not used: made from other sources" in caplog.messages
    assert any(line.startswith("compiling the emulator") for line in caplog.messages)


@pytest.mark.parametrize("variable", ["BINALLOC_COMPILE", "BINALLOC_BOUNDSCHECK"])
def test_who_asks_for_compiling_gets_it(
    carried: Callable[[CoreLabel, bytes], Path], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    carried(GOOD, GARBAGE)
    monkeypatch.setattr(engine, "find_core", lambda build: Core.__new__(Core))
    assert isinstance(engine._carried(False, engine.bounds_checked()), Core)
    monkeypatch.setenv(variable, "1")
    assert engine._carried(False, engine.bounds_checked()) == ""
