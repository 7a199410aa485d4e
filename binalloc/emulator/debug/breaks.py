"""Users write places to stop as `FUNCTION[+INDEX]`, `0xWORD`, `FILE:LINE`, or `watch`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.issue_log import Batch, Listener
from binalloc.emulator.state import layout as L
from binalloc.errors import Hint, UsageError
from binalloc.isa.instruction import Function, Module

WATCH = "watch"  # the word that stops the run at each access to watched bytes
# 0xWORD of 64 bits, FUNCTION[+INDEX] and FILE:LINE; an index or line has at most 9 digits, as no code is longer
_WORD = re.compile(r"0[xX]([0-9a-fA-F]{1,16})\Z")
_INDEX = re.compile(r"(.+?)(?:\+([0-9]{1,9}))?\Z", re.DOTALL)
_LINE = re.compile(r"(.+):([0-9]{1,9})\Z", re.DOTALL)
_MOST = 8  # names in a message: a line of a terminal has room for about as many


def breaking(texts: Sequence[str]) -> Listener:
    """Return a listener for an `IssueLog`. With it the run stops in front of the first instruction that some lane is to
    execute at one of the places. Before the first cycle it raises UsageError for a text that means no place."""

    def begin(device: LaunchedDevice) -> None:
        for text in texts:
            for word in words_of(device.module, text):
                device.memories.program[word, L.Column.BREAK] = 1

    return Listener(_ignore, addresses=True, begin=begin)


def _ignore(batch: Batch) -> None:
    """Ignore the batch: nothing is asked of the log itself."""


def words_of(module: Module, text: str) -> list[int]:
    """Return the code words that `text` means."""
    if found := _WORD.match(text):
        word = int(found[1], 16)
        for fn in module.functions:
            if fn.address <= word < fn.address + len(fn.instrs):
                return [word]
        expected = (f"{fn.name} {fn.address:#x} to {fn.address + len(fn.instrs) - 1:#x}" for fn in module.functions)
        raise _refused("no instruction is at that code word", text, _some(expected))
    by_name = {fn.name: fn for fn in module.functions}
    index = _INDEX.match(text)
    assert index is not None or not text
    if text in by_name or (index is not None and index[1] in by_name):
        return [_by_index(by_name, text, index)]
    if line := _LINE.match(text):
        return _by_line(module, text, line[1], int(line[2]))
    raise _refused("no such place to break", text, "functions: " + _some(by_name))


def _by_index(by_name: dict[str, Function], text: str, found: re.Match[str] | None) -> int:
    """Return the code word of FUNCTION or FUNCTION+INDEX. A function's name may contain a plus itself."""
    fn, index = by_name.get(text), 0
    if fn is None:
        assert found is not None
        fn, index = by_name[found[1]], int(found[2] or 0)
    if index >= len(fn.instrs):
        raise _refused("the function has no such instruction", text, f"{fn.name}+0 to {fn.name}+{len(fn.instrs) - 1}")
    return fn.address + index


def _by_line(module: Module, text: str, file: str, line: int) -> list[int]:
    """Return the code words of FILE:LINE, where the file is given by its path or the end of it."""
    lines: dict[str, set[int]] = {}
    words = []
    for fn in module.functions:
        for index in range(len(fn.instrs)):
            source = fn.source_line(index)
            if source is not None:
                lines.setdefault(source[0], set()).add(source[1])
                if source[1] == line and f"/{source[0]}".endswith(f"/{file}"):
                    words.append(fn.address + index)
    if words:
        return words
    if not lines:
        raise _refused("the binary says nothing of source lines", text, "FUNCTION+INDEX or 0xWORD")
    for name, known in lines.items():
        if f"/{name}".endswith(f"/{file}"):
            near = sorted(sorted(known, key=lambda n: (abs(n - line), n))[:_MOST])
            more = f", the nearest of {len(known)}" if len(known) > _MOST else ""
            raise _refused("no instruction is of that line", text, f"{name}, lines {', '.join(map(str, near))}{more}")
    raise _refused("no such source file", text, "files: " + _some(sorted(lines)))


def _some(names: Iterator[str] | Sequence[str] | dict[str, Function]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _MOST} more" if len(listed) > _MOST else ""
    return ", ".join(listed[:_MOST]) + more


def _refused(message: str, found: str, expected: str) -> UsageError:
    remedy = "Write FUNCTION+INDEX, 0xWORD, FILE:LINE or watch."
    return UsageError(message, place=Hint("{break}"), found=found, expected=expected, remedy=remedy)
