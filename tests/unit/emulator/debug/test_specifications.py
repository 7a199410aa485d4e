"""What users write for --watch and --break: what it means, and what is said where it means nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.debug.breaks import words_of
from binalloc.emulator.debug.watches import span_of
from binalloc.emulator.runs.issue_log import IssueLog, Listener
from binalloc.emulator.runs.watch import ByteSpan
from binalloc.errors import UsageError
from binalloc.isa.instruction import Function, FunctionInfo, GlobalVar, Module
from tests.support.kits.emulator.small import go, module, op

BASE = 0x10000000
VARIABLE = 0x08000000


def device() -> Any:
    """A device with buffers `x` of ten words and `x+1` of six halves, and a variable `total` of eight bytes."""
    found: list[Any] = []
    made = module([op("EXIT")], params={"x": 8, "x+1": 8})
    made.globals.append(GlobalVar("total", 0, 8))
    arrays = {"x": np.zeros(10, np.uint32), "x+1": np.zeros(6, np.int16)}
    go(made, buffers=arrays, log=IssueLog([Listener(lambda _: None, begin=found.append)]))
    return found[0]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("x", ByteSpan("x", BASE, 0, 40)),
        ("x+4", ByteSpan("x", BASE + 4, 4, 4)),
        ("x+0x10:24", ByteSpan("x", BASE + 16, 16, 24)),
        ("x:3", ByteSpan("x", BASE, 0, 3)),
        ("x+39:1", ByteSpan("x", BASE + 39, 39, 1)),
        ("x+1+2", ByteSpan("x+1", 0, 2, 2)),
        ("total", ByteSpan("total", VARIABLE, 0, 8)),
        ("total+4", ByteSpan("total", VARIABLE + 4, 4, 4)),
        ("0x10000008", ByteSpan("x", BASE + 8, 8, 4)),
        ("0X10000008:2", ByteSpan("x", BASE + 8, 8, 2)),
        ("0x08000001:7", ByteSpan("total", VARIABLE + 1, 1, 7)),
    ],
)
def test_bytes_that_are_meant(text: str, span: ByteSpan) -> None:
    d = device()
    if span.name == "x+1":
        span = ByteSpan(span.name, d.memory.addresses["x+1"] + 2, 2, 2)
    assert span_of(d, text) == span


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ("", "no such buffer", "total (8 bytes), x (40 bytes), x+1 (12 bytes)"),
        ("y", "no such buffer", "x (40 bytes)"),
        ("x-4", "no such buffer", "x (40 bytes)"),
        ("x+", "no such buffer", "x (40 bytes)"),
        ("x+4:", "no such buffer", "x (40 bytes)"),
        ("x+-4", "no such buffer", "x (40 bytes)"),
        ("x+4:0", "not in the buffer", "bytes 0 to 39 of x"),
        ("x+40", "not in the buffer", "bytes 0 to 39 of x"),
        ("x+38", "not in the buffer", "bytes 0 to 39 of x"),
        ("x+999999999999999999", "not in the buffer", "bytes 0 to 39 of x"),
        ("0x10000028", "no buffer is at that address", "x 0x10000000 to 0x10000027"),
        ("0xffffffffffffffff", "no buffer is at that address", "x 0x10000000 to 0x10000027"),
        ("0x10000024:5", "not in one buffer", "bytes up to 0x10000027 of x"),
    ],
)
def test_bytes_that_are_not_there(text: str, message: str, expected: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        span_of(device(), text)
    assert expected in str(caught.value.expected)
    assert caught.value.found == text


def program() -> Module:
    """Functions `k` and `k+1`, of which `k` has lines: a.cu 10 from word 1 on, a.cu 12 at word 3, b/a.cu 10 at 4."""
    nops = [op("NOP") for _ in range(5)]
    lines = {1: ("src/a.cu", 10), 3: ("src/a.cu", 12), 4: ("b/a.cu", 10)}
    functions = [Function("k", [*nops, op("EXIT")], FunctionInfo(), lines=lines)]
    functions.append(Function("k+1", [op("RET"), op("RET")], FunctionInfo(kind="function")))
    made = Module(functions)
    made.layout()
    return made


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k", [0]), ("k+5", [5]), ("k+1", [8]), ("k+1+1", [9]), ("0x3", [3]), ("0X9", [9]), ("src/a.cu:10", [1, 2]),
        ("a.cu:12", [3]), ("b/a.cu:10", [4, 5]), ("a.cu:10", [1, 2, 4, 5]),
    ],
)  # fmt: skip
def test_instructions_that_are_meant(text: str, words: list[int]) -> None:
    assert words_of(program(), text) == words


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ("", "no such place", "functions: k, k+1"),
        ("f+1", "no such place", "functions: k, k+1"),
        ("k+6", "no such instruction", "k+0 to k+5"),
        ("k+1+2", "no such instruction", "k+1+0 to k+1+1"),
        ("0x6", "no instruction", "k 0x0 to 0x5, k+1 0x8 to 0x9"),
        ("a.cu:11", "no instruction is of that line", "lines 10, 12"),
        ("z.cu:11", "no such source file", "files: b/a.cu, src/a.cu"),
        ("u.cu:10", "no such source file", "files"),
        ("k+-1", "no such place", "functions"),
    ],
)
def test_instructions_that_are_not_there(text: str, message: str, expected: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        words_of(program(), text)
    assert expected in str(caught.value.expected)


def test_a_binary_without_lines_says_so() -> None:
    with pytest.raises(UsageError, match="says nothing of source lines"):
        words_of(module([op("EXIT")]), "a.cu:1")
