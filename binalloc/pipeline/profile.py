"""A profile has the executions of each stretch of code in an emulated run. `run` writes it, `rewrite` reads it.

A profile belongs to the code that ran. It identifies the code by a hash of its instructions without control codes, so
that the binary scheduled for another machine is the same code. The file is a JSON object; its fields are in
`report/JSON.md`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.errors import Hint, MalformedInput, UsageError
from binalloc.files import read_bytes, text_of
from binalloc.isa.instruction import Function, Module
from binalloc.isa.sets.table import set_of
from binalloc.printable import count
from binalloc.records import parse_record

if TYPE_CHECKING:
    from binalloc.emulator.runs.run import Result

VERSION = 1
"""Version of the file format; a file of another version is refused."""
MOST = (1 << 63) - 1
"""The most executions of a stretch; the emulator's counters are signed integers of 64 bits."""
_FIELDS: dict[str, type] = {
    "profile_version": int, "kernel": str, "machine": str, "partial": bool, "code_sha256": str, "functions": dict,
}  # fmt: skip
"""Fields of the file, with their types."""


@dataclass(frozen=True)
class Profile:
    """A profile has the execution counts of one run of a kernel."""

    kernel: str  #: name of the kernel that ran
    machine: str  #: machine on which it ran
    partial: bool  #: whether the run was stopped before its end
    code: str  #: hash of all functions that the kernel reaches (`code_hash`)
    #: for each function the stretches of words executed equally often, ascending, as (first word, executions by warps);
    #: a stretch ends where the next one begins
    stretches: dict[str, list[tuple[int, int]]]
    path: str = ""  #: path of the file, "" for none

    @property
    def entered(self) -> int:
        """Return how many warps began the kernel."""
        return self.stretches[self.kernel][0][1]

    def executions(self, module: Module, kernel: str) -> dict[str, list[int]]:
        """Return the executions of each instruction, for each function that the kernel reaches.

        Raises UsageError if that is other code than the profile's.
        """
        fn = module.function(kernel)
        if kernel != self.kernel:
            raise UsageError(
                "the profile is another kernel's", file=self.path or None, found=self.kernel, expected=kernel,
                remedy=Hint("Run this one with {profile}."),
            )  # fmt: skip
        found = code_hash(module, fn)
        if found != self.code or any(fn.name not in self.stretches for fn in module.reached(fn)):
            raise UsageError(
                "the profile is another binary's", file=self.path or None, place="code_sha256",
                found=self.code, expected=found, remedy=Hint("Run this one with {profile}."),
            )  # fmt: skip
        return {fn.name: self._spread(fn) for fn in module.reached(fn)}

    def _spread(self, fn: Function) -> list[int]:
        """Return the executions of each instruction of a function. Raises MalformedInput if the profile has words that
        the function has not."""
        rows = self.stretches[fn.name]
        ends = [*(start for start, _ in rows[1:]), len(fn.instrs)]
        if rows[-1][0] >= len(fn.instrs):
            raise MalformedInput(
                "the profile counts words behind its function's end", file=self.path or None,
                place=f"functions.{fn.name}", found=f"word {rows[-1][0]}",
                expected=f"one of {count(len(fn.instrs), 'word')}",
            )  # fmt: skip
        return [executed for (start, executed), end in zip(rows, ends, strict=True) for _ in range(start, end)]


def code_hash(module: Module, kernel: Function) -> str:
    """Return a hash of the instructions that the kernel reaches, function by function, without control codes."""
    digest = hashlib.sha256(f"{module.isa} {kernel.name}\n".encode())
    for fn in sorted(module.reached(kernel), key=lambda fn: fn.name):
        digest.update(f"{fn.name} {len(fn.instrs)}\n".encode())
        for instr in fn.instrs:
            digest.update(f"{set_of(instr).text(instr)}\n".encode())
    return digest.hexdigest()


def profile_of(module: Module, kernel: Function, result: Result) -> Profile:
    """Return the profile of a run of the kernel; the run may have been stopped."""
    reached = sorted(module.reached(kernel), key=lambda fn: fn.name)
    stretches = {fn.name: _stretches(result.counts[fn.name].tolist()) for fn in reached}
    return Profile(kernel.name, result.machine, result.partial, code_hash(module, kernel), stretches)


def carried(profile: Profile, module: Module, made: Module, kernel: str) -> Profile:
    """Return the profile of a kernel as the profile of one that was made of it by instruction maps.

    A word that was inserted counts as often as the next old one. Raises UsageError if the profile is another kernel's.
    """
    counts, fn = profile.executions(module, kernel), made.function(kernel)
    stretches = {}
    for each in made.reached(fn):
        index = range(len(each.instrs)) if each.origin is None else each.origin.index
        found, ahead = [], 0
        for old in reversed(index):
            ahead = counts[each.name][old] if old >= 0 else ahead
            found.append(ahead)
        stretches[each.name] = _stretches(found[::-1])
    return Profile(kernel, profile.machine, profile.partial, code_hash(made, fn), stretches, profile.path)


def _stretches(counts: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first word, executions) for each stretch of equal counts."""
    return [(i, n) for i, n in enumerate(counts) if i == 0 or n != counts[i - 1]]


def profile_bytes(profile: Profile) -> bytes:
    """Return the profile as the bytes of a file."""
    head: dict[str, Any] = {
        "profile_version": VERSION, "kernel": profile.kernel, "machine": profile.machine, "partial": profile.partial,
        "code_sha256": profile.code,
    }  # fmt: skip
    return (json.dumps({**head, "functions": profile.stretches}) + "\n").encode()


def load_profile(path: str | Path) -> Profile:
    """Read a profile from a file. Raises UsageError if the file cannot be opened, and what `read_profile` raises."""
    return read_profile(read_bytes(path), str(path))


def read_profile(data: bytes, path: str = "") -> Profile:
    """Return the profile in a file's bytes. path: for messages. Raises MalformedInput for any bytes that are none."""
    try:
        record = parse_record(text_of(data))
    except ValueError as error:
        raise MalformedInput("not a profile", file=path or None, found=str(error), remedy=_REMEDY) from None
    version = record.get("profile_version")
    if type(version) is int and version != VERSION:
        raise MalformedInput(
            "a profile of another version", file=path or None, place="profile_version", found=version, expected=VERSION,
            remedy=_REMEDY,
        )  # fmt: skip
    for name, kind in _FIELDS.items():
        if type(record.get(name)) is not kind:
            raise _wrong(path, name, record.get(name, "nothing"), _KINDS[kind])
    functions = {name: _rows(path, f"functions.{name}", rows) for name, rows in record["functions"].items()}
    if record["kernel"] not in functions:
        raise _wrong(path, "functions", "none of the kernel", f"rows of {record['kernel']}")
    return Profile(
        record["kernel"], record["machine"], record["partial"], record["code_sha256"], functions, path
    )  # fmt: skip


_REMEDY = Hint("Write one with {profile} of a run.")
_KINDS = {int: "a whole number", str: "text", bool: "true or false", dict: "an object"}


def _wrong(path: str, place: str, found: object, expected: str) -> MalformedInput:
    return MalformedInput("not a profile", file=path or None, place=place, found=found, expected=expected)


def _rows(path: str, place: str, rows: object) -> list[tuple[int, int]]:
    """Return the rows of a function, checked: [first word, executions], the first one at word 0, ascending."""
    if not isinstance(rows, list) or not rows:
        raise _wrong(path, place, rows, "a list of [first word, executions]")
    out: list[tuple[int, int]] = []
    for k, row in enumerate(rows):
        if not (isinstance(row, list) and len(row) == 2 and all(type(x) is int for x in row)):
            raise _wrong(path, f"{place}[{k}]", row, "[first word, executions]")
        start, executed = row
        if start != 0 if not out else start <= out[-1][0]:
            raise _wrong(path, f"{place}[{k}][0]", start, "0 for the first" if not out else "a later word")
        if not 0 <= executed <= MOST:
            raise _wrong(path, f"{place}[{k}][1]", executed, f"0 to {MOST} executions")
        out.append((start, executed))
    return out
