"""This module reports the rows of a sweep as a file, as JSON and as text."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from binalloc.errors import UsageError
from binalloc.pipeline.multiplex.build import BLOCK, Wanted
from binalloc.pipeline.steps.row import OK, STATUSES, Row
from binalloc.pipeline.sweeping.rows import COLUMNS, FLAG, INTEGER, NUMBER, SCHEMA_VERSION, TEXT, Value, columns_of
from binalloc.pipeline.sweeping.sweep import Tally
from binalloc.printable import count, one_line
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.sweep import SweepFields, SweepRowJson

PARQUET = ".parquet"
_SHOWN = {
    "kernel": "kernel", "machine": "machine", "scheduler": "scheduler", "allocator": "allocator", "blocks": "blocks",
    "registers": "registers", "slots": "slots", "blocks_per_sm": "resident", "local_bytes": "local B",
    "cycles": "cycles", "speedup": "speedup", "status": "status",
}  # fmt: skip
"""Columns of a row that the text shows, and their headings."""
_TURNS_AT = 4  # place of the column with versions whose blocks use or share memory otherwise: behind their allocators


def csv_bytes(rows: Sequence[Row]) -> bytes:
    """Return the rows as CSV: a line of names, and a line for each row. None is an empty cell; flags are true or
    false."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in COLUMNS])
    writer.writerows([[_cell(value) for value in columns_of(row).values()] for row in rows])
    return out.getvalue().encode(errors="backslashreplace")


def _cell(value: Value) -> object:
    return ("false", "true")[value] if isinstance(value, bool) else value


def parquet_bytes(rows: Sequence[Row]) -> bytes:
    """Return the rows as a Parquet file. Precondition: `require_parquet` has not raised an error."""
    import pyarrow
    from pyarrow import parquet

    kinds = {TEXT: pyarrow.string(), INTEGER: pyarrow.int64(), NUMBER: pyarrow.float64(), FLAG: pyarrow.bool_()}
    schema = pyarrow.schema(
        [(column.name, kinds[column.kind]) for column in COLUMNS], {"schema_version": str(SCHEMA_VERSION)}
    )
    table_rows = [columns_of(row) for row in rows]
    columns = [[_plain(row[column.name]) for row in table_rows] for column in COLUMNS]
    arrays = [pyarrow.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), out)
    return out.getvalue()


def _plain(value: Value) -> Value:
    """Return a value with its characters that UTF-8 cannot encode as escapes. Names of files may have such ones."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def require_parquet() -> None:
    """Raise UsageError if PyArrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "PyArrow is not installed, which writes Parquet", expected="a name that ends in .csv",
            remedy="Install binalloc[parquet].",
        ) from error  # fmt: skip


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """Return the number of rows of each status."""
    found = Counter(row.status for row in rows)
    return {status: found[status] for status in STATUSES}


def sweep_json(rows: Sequence[Row], tally: Tally, partial: bool, cache: str, output: str | None) -> SweepFields:
    """Return what `sweep --json` prints, without the version and the machines.

    partial: whether the sweep was interrupted. cache: folder of finished runs. output: written file, None for none.
    """
    return {
        "partial": partial,
        "cache": cache,
        "output": output,
        "done": tally.done,
        "cached": tally.cached,
        "counts": counts(rows),
        # columns are made from a table of names, which a test compares with the shape
        "rows": [cast("SweepRowJson", columns_of(row)) for row in rows],
    }


def render_rows(rows: Sequence[Row]) -> str:
    """Return a table of the most important columns, and the reasons of rows that lack figures or an allocator."""
    turns, pairs = any(row.scheme is not None for row in rows), any(row.sharing is not None for row in rows)
    head = list(_SHOWN.values())
    cells: list[list[object]] = [[getattr(row, name) for name in _SHOWN] for row in rows]
    if turns:
        head.insert(_TURNS_AT, "turns")
        for row, shown in zip(rows, cells, strict=True):
            shown.insert(_TURNS_AT, _version(row))
    if pairs:
        head.insert(_TURNS_AT + turns, "sharing")
        for row, shown in zip(rows, cells, strict=True):
            shown.insert(_TURNS_AT + turns, _sharing(row))
    text = table(head, cells, left=4 + turns + pairs)
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.reason:
            # a reason beside OK is the original's, or says what is not proven
            whose = " ".join([row.allocator, *_named(row), *_shared(row)])
            by = "" if row.status == OK and row.scheme is None else whose
            at = f"{by} at {row.blocks}".strip() if row.blocks is not None else by
            reasons.setdefault((row.kernel, row.machine, row.reason), []).append(at)
    lines = [
        f"{one_line(kernel)} on {machine}, {', '.join(dict.fromkeys(places))}: {reason}\n"
        for (kernel, machine, reason), places in reasons.items()
    ]
    return text + ("\n" if lines else "") + "".join(lines)


def render_answers(rows: Sequence[Row]) -> str:
    """Return for each kernel, machine and scheduler which version is the fastest, and whether its blocks use shared
    memory in turns, or share it, a line each; "" if no row is about that."""
    if all(_plain_blocks(row) for row in rows):
        return ""
    kinds = (("turns", _named), ("pairs", _shared))
    what = " and ".join(word for word, named in kinds if any(map(named, rows)))
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.kernel, row.machine, row.scheduler), []).append(row)
    return "".join(_answer(place, group, what) for place, group in groups.items())


def _plain_blocks(row: Row) -> bool:
    """Return whether blocks neither use shared memory in turns nor share it."""
    return row.scheme is None and row.sharing is None


def _answer(place: tuple[str, str, str], rows: Sequence[Row], what: str) -> str:
    """Return which of some rows is the fastest. what: how blocks of other rows use shared memory."""
    kernel, machine, scheduler = place
    ran = [row for row in rows if row.speedup is not None and row.same_results is not False and row.proven is not False]
    where = f"{one_line(kernel)} on {machine}, {scheduler}"
    if not ran:
        return f"{where}: no version was run\n"
    best = max(ran, key=lambda row: row.speedup or 0)
    others = [row for row in ran if _plain_blocks(row) != _plain_blocks(best)]
    words = f"{where}: {_words(best)} is the fastest, {best.speedup:.3f} times as fast as the original, emulated"
    if not others:
        return f"{words}; of the versions in {what} none was run and proven\n"
    next_best = max(others, key=lambda row: row.speedup or 0)
    which = "with" if _plain_blocks(best) else "without"
    return f"{words}; {which} {what.replace(' and ', ' or ')} {_words(next_best)} is, {next_best.speedup:.3f} times\n"


def _words(row: Row) -> str:
    """Return the version of a row in words."""
    if row.scheme is not None:
        return f"{_version(row)} by {row.allocator}"
    if row.sharing is not None:
        at = "" if row.blocks is None else f" at {count(row.blocks, 'block')}"
        return f"{row.allocator}{at} with sharing {_sharing(row)}"
    return row.allocator if row.blocks is None else f"{row.allocator} at {count(row.blocks, 'block')}"


def _version(row: Row) -> str | None:
    """Return the name of a version whose blocks use shared memory in turns; None for others."""
    return next(iter(_named(row)), None)


def _named(row: Row) -> list[str]:
    if row.scheme is None:
        return []
    short, own = bool(row.shorter_regions), bool(row.own_words)
    return [Wanted(row.scheme, row.merge, row.barriers or BLOCK, shorter=short, own=own).name]


def _sharing(row: Row) -> str | None:
    """Return how blocks of a row share memory: what was asked for, and the pairs and private bytes; None for none."""
    return next(iter(_shared(row)), None)


def _shared(row: Row) -> list[str]:
    if row.sharing is None:
        return []
    numbers = ":" in row.sharing or row.pairs is None
    return [row.sharing if numbers else f"{row.sharing}, {row.pairs}:{row.private_bytes}"]


def render_counts(rows: Sequence[Row]) -> str:
    """Return a line with the number of rows by status."""
    ended = ", ".join(f"{number:,} {status}" for status, number in counts(rows).items() if number)
    return f"{count(len(rows), 'row')}: {ended}.\n"
