"""This module writes and reads baselines, and compares with them. A baseline is a file beside its test with the figures
of a launch at its last review.

Needs a `LaunchResult`. Leaves true: the same result gives the same bytes. A file that is damaged, of another schema or
of another launch is refused with advice, and never compared.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from binalloc.device.launching import LaunchResult
from binalloc.errors import MalformedInput, UsageError
from binalloc.files import read_bytes
from binalloc.pipeline.limits import in_percent, most_cycles, parse_share, slower_by
from binalloc.printable import quoted
from binalloc.records import parse_record

SCHEMA_VERSION = 1  # a baseline of another schema is refused, and has to be written anew
FOLDER = "binalloc_baselines"
"""Name of the folder of baselines, beside the file of the test."""

UPDATE = "--binalloc-update"
REMEDY = f"Write it anew with pytest {UPDATE}, and look at the change before you commit it."
_DAMAGED = f"Take it from version control, or write it anew with pytest {UPDATE}."
_OCCUPANCY_DIGITS = 6  # digits of an occupancy in a file, so that rounding errors make no difference
_NAME_LIMIT = 150  # characters of a file's name before its hash: most file systems take names of 255 bytes
_UNFIT = re.compile(r"[^\w.,=\[\]+-]", re.ASCII)  # characters that a file's name should not have on some system

_LAUNCH = ("kernel", "machine", "scheduler", "grid", "block", "dynamic_shared", "sms")
"""Fields that must be the same for figures to be compared."""
_TEXTS = ("test", "kernel", "machine", "scheduler")
_LISTS = ("grid", "block")
_NUMBERS = ("dynamic_shared", "sms", "cycles", "registers", "local_bytes", "occupancy")


class Regression(AssertionError):
    """A regression is raised when a kernel took more than its test allows, left something else than expected, or has no
    baseline."""


@dataclass(frozen=True)
class Allowed:
    """An allowance says how much worse than its baseline a launch may be. A figure with None is not compared."""

    slowdown: Fraction | None  #: more cycles, as a share of the baseline's
    registers: int | None  #: more registers per thread
    local_bytes: int | None  #: more bytes of local memory per thread
    occupancy: float | None  #: less occupancy, which is at most 1


def allowed(
    slowdown: str | float | None, registers: int | None, local_bytes: int | None, occupancy: float | None
) -> Allowed:
    """Return the numbers after a check. Raises UsageError for a value that makes no sense."""
    for name, value in (("registers", registers), ("local_bytes", local_bytes), ("occupancy", occupancy)):
        if value is not None and not (isinstance(value, int | float) and value >= 0):
            raise UsageError(
                "not a difference", place=f"max_{name}", found=quoted(value), expected="0 or more, or None"
            )
    return Allowed(None if slowdown is None else parse_share(slowdown), registers, local_bytes, occupancy)


def baseline_file(test_file: Path, test: str, name: str | None) -> Path:
    """Return the path of a test's baseline.

    test: the part after the file in pytest's id of the test, `TestA::test_b[1]`. name: of one of several checks of the
    test. Characters that no file's name should have become `_`; a hash then makes the name unique.
    """
    function, bracket, parameters = test.partition("[")
    whole = test if name is None else f"{test}::{name}"
    plain = function.replace("::", ".") + bracket + parameters + ("" if name is None else f".{name}")
    fit = _UNFIT.sub("_", plain)
    if fit != plain or len(fit) > _NAME_LIMIT:
        fit = f"{fit[:_NAME_LIMIT]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
    return test_file.parent / FOLDER / f"{test_file.stem}.{fit}.json"


def baseline_text(result: LaunchResult, test: str) -> bytes:
    """Return the file of a result: a line for each field, in a fixed order."""
    fields = {"schema_version": SCHEMA_VERSION, "test": test} | _figures(result)
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in fields.items())
    return f"{{\n{lines}\n}}\n".encode()


@dataclass(frozen=True)
class KernelSpilling:
    """A kernel's spilling is its local memory, with the part that spills take of it."""

    local_bytes: int  #: bytes of local memory per thread
    spill_bytes: int  #: bytes of spills among them
    under: str = ""  #: the directives that they are found under, in words after a blank, or nothing


def spilling(result: LaunchResult) -> KernelSpilling:
    """Return what a kernel spills, under its own directives where it does not keep to them. Raises Refused where no
    code can."""
    own = result.own
    if own is None:
        return KernelSpilling(result.local_bytes, result.spill_bytes)
    under = f" under {' and '.join(own.binding)} ({own.registers} of {result.registers} registers)"
    return KernelSpilling(max(own.local_bytes, result.local_bytes), max(own.spill_bytes, result.spill_bytes), under)


def _figures(result: LaunchResult) -> dict[str, Any]:
    found = {key: getattr(result, key) for key in (*_LAUNCH, "cycles", "registers", "local_bytes")}
    found |= {key: list(found[key]) for key in ("grid", "block")}
    found["local_bytes"] = spilling(result).local_bytes
    return found | {"occupancy": round(result.occupancy, _OCCUPANCY_DIGITS)}


def read_baseline(path: Path, result: LaunchResult) -> dict[str, Any]:
    """Return the fields of a baseline for this result.

    Raises Regression where there is no file, MalformedInput where it is damaged or of another schema, UsageError where
    it is of another launch than the result's.
    """
    __tracebackhide__ = True
    if not path.exists():
        missing = f"{result.kernel} on {result.machine}: no baseline, {shown(path)} is missing"
        raise Regression(f"{missing}. Write it with pytest {UPDATE}, look at it, and commit it.")
    try:
        found = parse_record(read_bytes(path))
    except ValueError as error:
        raise MalformedInput(f"the baseline is {error}", file=shown(path), remedy=_DAMAGED) from None
    if found.get("schema_version") != SCHEMA_VERSION:
        raise MalformedInput(
            "the baseline has another schema", file=shown(path), place="schema_version",
            found=quoted(found.get("schema_version")), expected=SCHEMA_VERSION, remedy=_DAMAGED,
        )  # fmt: skip
    for key in (*_TEXTS, *_LISTS, *_NUMBERS):
        expected = "text" if key in _TEXTS else "a list" if key in _LISTS else "a number, 0 or more"
        if not _is(found.get(key), expected):
            raise MalformedInput(
                "the baseline is damaged", file=shown(path), place=key, found=quoted(found.get(key)),
                expected=expected, remedy=_DAMAGED,
            )  # fmt: skip
    figures = _figures(result)
    for key in _LAUNCH:
        if found[key] != figures[key]:
            raise UsageError(
                "the baseline is of another launch", file=shown(path), place=key, found=quoted(found[key]),
                expected=f"{quoted(figures[key])}, as launched", remedy=_other_launch(key, found[key]),
            )  # fmt: skip
    return found


def _other_launch(key: str, kept: object) -> str:
    """Return the advice for a baseline with another value of `key`. PTX runs on the machine of its `.target` unless one
    is named."""
    return f"Launch it with machine={quoted(kept)}, or w{REMEDY[1:]}" if key == "machine" else REMEDY


def _is(value: object, expected: str) -> bool:
    if expected == "text":
        return isinstance(value, str)
    if expected == "a list":
        return isinstance(value, list)
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def shown(path: Path) -> str:
    """Return a path for a message: relative to the current folder where it is below that."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def worse(result: LaunchResult, baseline: dict[str, Any], allow: Allowed) -> list[str]:
    """Return a sentence for each figure that is worse than the baseline by more than is allowed, with kernel, machine,
    counter, value, baseline and limit."""
    found, out = _figures(result), []

    def hold(key: str, limit: float, notes: tuple[str, str] = ("", ""), *, least: bool = False) -> None:
        value, before = found[key], baseline[key]
        if value < limit if least else value > limit:
            bound = f"at {'least' if least else 'most'} {_number(limit)}"
            figures = f"{key} {_number(value)}, baseline {_number(before)}{notes[0]}"
            out.append(f"{result.kernel} on {result.machine}: {figures}; {bound}{notes[1]} allowed")

    if allow.slowdown is not None:
        more = slower_by(found["cycles"], baseline["cycles"]), in_percent(allow.slowdown)
        limit = most_cycles(baseline["cycles"], allow.slowdown)
        hold("cycles", limit, (f" ({more[0]} more)", f" ({more[1]} more)"))
    if allow.registers is not None:
        hold("registers", baseline["registers"] + allow.registers)
    if allow.local_bytes is not None:
        hold("local_bytes", baseline["local_bytes"] + allow.local_bytes)
    if allow.occupancy is not None:
        hold("occupancy", round(baseline["occupancy"] - allow.occupancy, _OCCUPANCY_DIGITS), least=True)
    return out


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def faster(result: LaunchResult, baseline: dict[str, Any], allow: Allowed) -> str | None:
    """Return a sentence where the launch takes fewer cycles by more than it may take more: the baseline is out of date.
    Return None otherwise."""
    share = allow.slowdown
    if share is None or most_cycles(result.cycles, share) >= baseline["cycles"]:
        return None
    return f"{result.kernel} on {result.machine}: cycles {result.cycles:,}, baseline {baseline['cycles']:,}"
