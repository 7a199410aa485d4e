"""This module makes aligned text tables, without colour, so that they can be read from a pipe too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from binalloc.printable import one_line


class TextTable(NamedTuple):
    """A text table has a heading for each column, and rows of values that are not text yet."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]


def table(header: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1, widths: Sequence[int] = ()) -> str:
    """Return a table as text: a line of headings, a line of dashes, and a line for each row.

    left: number of columns from the first that are aligned left; the others are aligned right. widths: least widths of
    the columns, in characters. Cells are printed as `cell` does.
    """
    text = [[cell(v) for v in row] for row in rows]
    header = [one_line(h) for h in header]
    least = widths or [0] * len(header)
    widths = [max([len(h), least[k], *(len(r[k]) for r in text)]) for k, h in enumerate(header)]
    lines = []
    for row in [list(header), *text]:
        cells = [c.ljust(w) if k < left else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines) + "\n"


def cell(value: object) -> str:
    """Return a value as one cell prints it: None as -, flags as yes or no, floats with three decimals, integers with
    separators, and other values as text that is safe for a terminal."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}" if value.bit_length() <= 128 else one_line(value)
    return one_line(value)
