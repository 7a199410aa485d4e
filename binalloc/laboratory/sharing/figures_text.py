"""The sharing paper's figures and sentences are shown as text. Its input is what JSON prints (`rows`, `sayings`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from binalloc.laboratory.sharing.variations import FIGURES
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.sharing.paired_figures import FigureJson, SayingJson

_WIDE = 6  # series from which a table has a line for each, so that it fits a terminal
_LEGEND = """\
Bars of figures have no numbers: what stands beside ours is what the paper's text and tables print, or follows from
Tables VI and XIII (Figs. 14 to 16 and 18). about: within a twentieth, which is ours: the paper says "comparable".
"""


def figure_blocks(figures: Sequence[FigureJson], sayings: Sequence[SayingJson]) -> Iterator[str]:
    """Yield the figures, each with the sentences on it."""
    missing = []
    for figure in sorted(figures, key=lambda one: FIGURES.index(one["figure"])):
        if not figure["rows"]:
            missing.append(_name(figure["figure"]))
            continue
        yield f"{_name(figure['figure'])}: {figure['title']} ({figure['shows']})\n"
        yield _table(figure)
        notes = [f"  {row['row']}: {row['note']}" for row in figure["rows"] if row["note"]]
        here = [line for one in sayings if one["figure"] == figure["figure"] for line in _saying(one)]
        if notes or here:
            yield "\n".join([*notes, *here]) + "\n"
    if missing:
        yield f"not run: {', '.join(missing)}\n"
    if figures:
        yield _LEGEND


def _name(number: str) -> str:
    return f"Fig. {number}" if number.isdecimal() else f"Table {number}"


def _table(figure: FigureJson) -> str:
    """Return a figure as a table: kernels by series, with the paper's values behind ours, and a line of means; where
    there are many series, turned by a quarter."""
    series, rows = figure["series"], figure["rows"]
    means = {mean["series"]: mean for mean in figure["means"]}
    ours = [row["ours"] for row in rows]
    paper = [row["paper"] for row in rows]
    names = [row["row"] for row in rows]
    if means:
        names.append("geometric mean")
        ours.append([means[one]["ours"] if one in means else None for one in series])
        paper.append([means[one]["paper"] if one in means else None for one in series])
    printed = [k for k in range(len(series)) if any(line[k] is not None for line in paper)]
    head = ["", *series, *(f"paper: {series[k]}" for k in printed)]
    whole = all(one is None or one.is_integer() for line in ours for one in map(_float, line))
    lines = [
        [name, *(_number(one, whole) for one in own), *(_number(theirs[k]) for k in printed)]
        for name, own, theirs in zip(names, ours, paper, strict=True)
    ]
    if len(series) < _WIDE:
        return table(head, lines, left=1)
    turned = [[head[k], *(line[k] for line in lines)] for k in range(1, len(head))]
    return table(["", *names], turned, left=1)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _number(value: float | None, whole: bool | None = None) -> str:
    """Return a number with two decimals, or with none: as `whole` says, or as it is."""
    if value is None:
        return "-"
    whole = float(value).is_integer() if whole is None else whole
    return f"{value:,.0f}" if whole else f"{value:,.2f}"


def _saying(one: SayingJson) -> Iterator[str]:
    """Yield a sentence with the kernels for which it holds, and a line for each for which it does not."""
    said = f"{one['left']} {one['relation']} {one['right']}"
    many = len(one["holds"]), len(one["holds"]) + len(one["fails"])
    yield f"  \"{one['says']}\" ({said}): holds for {many[0]} of {many[1]}"
    for fail in one["fails"]:
        why = f"; {fail['why']}" if fail["why"] else ""
        yield f"    does NOT hold for {fail['row']}: {_number(fail['left'])}, {_number(fail['right'])}{why}"
