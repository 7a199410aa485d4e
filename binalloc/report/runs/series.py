"""This module makes the file of a run's intervals: CSV for spreadsheets or JSON for programs, with the same columns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.runs import ResultJson

FORMATS = (".csv", ".json")
_STANDING = ("queues", "places", "most")
"""Figures of a queue that are left out of intervals, as they are no sums over cycles."""
_FIRST = ("start", "cycles", "ipc", "resident_warps")
"""Names of the first columns; the counters follow in their own order."""


def require_format(path: str) -> None:
    """Raise UsageError if the name of a file ends in none of FORMATS."""
    if Path(path).suffix.lower() not in FORMATS:
        raise UsageError(
            "a series is written as CSV or JSON, by the file's name",
            file=path, found=Path(path).suffix or "no extension", expected=" or ".join(FORMATS),
        )  # fmt: skip


def rows(intervals: Sequence[dict[str, Any]], sms: int) -> list[dict[str, Any]]:
    """Return the intervals without nested objects: their names become `stalls.scoreboard`, `queues.l1_mshrs.average`.

    sms: number of SMs that were emulated, for the resident warps per SM.
    """
    out = []
    for interval in intervals:
        flat = dict(_flat(interval))
        flat["resident_warps"] = flat["warp_cycles"] / flat["cycles"] / sms
        out.append({name: flat[name] for name in _FIRST} | {k: v for k, v in flat.items() if k not in _FIRST})
    return out


def _flat(values: dict[str, Any], at: str = "") -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            out += _flat(value, f"{at}{name}.")
        elif not (at and name in _STANDING):
            out.append((at + name, value))
    return out


def series_bytes(path: str, found: ResultJson, intervals: Sequence[dict[str, Any]], about: Mapping[str, Any]) -> bytes:
    """Return the content of the file `path`, as CSV or JSON by its name.

    found: the run, as `run --json` prints it. about: further fields of a JSON file, on all intervals.
    """
    table = rows(intervals, found["sms"])
    if Path(path).suffix.lower() == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(table[0] if table else _FIRST), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
        return text.getvalue().encode()
    names = ("kernel", "machine", "engine", "scheduler", "sms", "partial", "cycles")
    run = {name: value for name, value in found.items() if name in names}
    content = {"schema_version": 1, **run, **about, "intervals": table}
    return (json.dumps(content, indent=1) + "\n").encode()
