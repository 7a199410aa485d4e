"""Plain aligned text tables; no colour, so that they survive a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from binalloc.printable import one_line


class TextTable(NamedTuple):
    """A table before it is text."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]


def table(header: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1, widths: Sequence[int] = ()) -> str:
    """Columns aligned right, the first `left` ones left, at least `widths` wide. None prints as -, floats with three
    decimals, foreign text as `printable` has it."""
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
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int):
        return f"{value:,}" if value.bit_length() <= 128 else one_line(value)
    return one_line(value)
