"""Device functions are compiled as one program: each once, and machine code is made of the entry alone."""

from __future__ import annotations

import logging
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.host.engines import compiling
from binalloc.emulator.host.engines.compiling import REPLACED, device_function, one_program, strange

TEXT = """
def leaf(words, i, by):
    words[i] += by
    return i + 1

def left(words, i):
    return leaf(words, leaf(words, i, 1), 2)

def right(words, i):
    return leaf(words, leaf(words, i, 30) - 1, left(words, 2))

def entry(words, n):
    i = left(words, 0)
    for _ in range(n):
        i = right(words, i)
    return i + left(words, 3)
"""


def program(**options: bool) -> dict[str, Any]:
    """The functions of TEXT, each compiled when it is reached."""
    space: dict[str, Any] = {}
    exec(TEXT, space)
    names = [name for name, value in space.items() if isinstance(value, FunctionType)]
    chosen = {"inline": False, "apart": False, "boundscheck": False, "cache": False} | options
    space |= {name: device_function(space[name], entry=name == "entry", **chosen) for name in names}
    return {name: space[name] for name in names}


@pytest.fixture(autouse=True)
def known() -> None:
    """These tests are about a Numba that is as expected. With another all functions are compiled as it does that."""
    if odd := strange():
        pytest.skip(f"this version of Numba has another {odd}")


def plain() -> tuple[int, list[int]]:
    space: dict[str, Any] = {}
    exec(TEXT, space)
    words = np.zeros(8, np.int64)
    return int(space["entry"](words, 2)), words.tolist()


def test_each_function_is_compiled_once_whatever_it_is_called_with() -> None:
    made = program()
    words = np.zeros(8, np.int64)
    with one_program("entry"):
        assert (made["entry"](words, 2), words.tolist()) == plain()
    for name, function in made.items():
        assert len(function.overloads) == 1, name
    (entry,) = made["entry"].overloads.values()
    text = entry.library.get_llvm_str()
    for name in ("leaf", "left", "right"):
        assert sum(line.startswith("define") and name in line for line in text.splitlines()) <= 1, name
        (one,) = made[name].overloads.values()
        assert "cpython" not in one.library.get_llvm_str(), "nothing that Python could call"


def test_one_that_stays_apart_stands_there_once() -> None:
    made = program(apart=True)
    with one_program("entry"):
        made["entry"](np.zeros(8, np.int64), 2)
    (entry,) = made["entry"].overloads.values()
    lines = [line for line in entry.library.get_llvm_str().splitlines() if line.startswith("define")]
    for name in ("leaf", "left", "right"):
        assert sum(name in line for line in lines) == 1, name


def test_numba_is_as_it_was_afterwards() -> None:
    before = [_found(module, name) for module, name in REPLACED]
    with pytest.raises(ZeroDivisionError), one_program("entry"):
        raise ZeroDivisionError
    assert [_found(module, name) for module, name in REPLACED] == before


def _found(module: str, name: str) -> Any:
    value = compiling.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (("numba.core.codegen", "JITCodeLibrary.nosuch"), ("self", frozenset())),
        (("numba.core.codegen", "NoSuch.finalize"), ("self", frozenset())),
        (("numba.core.codegen", "JITCodeLibrary.finalize"), ("self, more", frozenset())),
        (("numba.core.codegen", "JITCodeLibrary.finalize"), ("self", frozenset({"nosuch"}))),
    ],
)
def test_a_numba_of_another_shape_is_left_alone(
    name: tuple[str, str], shape: tuple[str, frozenset[str]], monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """The functions are compiled as Numba does it, to the same result."""
    monkeypatch.setitem(REPLACED, name, shape)
    monkeypatch.setattr(logging.getLogger("binalloc"), "propagate", True)
    assert strange() == ".".join(name)
    made, words = program(), np.zeros(8, np.int64)
    there = [key for key in REPLACED if "osuch" not in key[1].lower()]
    before = [_found(*key) for key in there]
    with caplog.at_level("INFO", logger="binalloc"), one_program("entry"):
        assert [_found(*key) for key in there] == before
        assert (made["entry"](words, 2), words.tolist()) == plain()
    assert f"another {'.'.join(name)}: compiling takes" in caplog.text
    with pytest.raises(RuntimeError, match="this version of Numba has another"), one_program("entry", required=True):
        pass
