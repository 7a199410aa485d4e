"""Charts as Vega-Lite has them: plain dictionaries, whose colours are the page's own (`style.css`).

Every chart fills the width that it is given and says in words what it shows. None needs many points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Chart = dict[str, Any]
Row = dict[str, Any]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_FONT = "system-ui, sans-serif"


def _colour(name: str) -> str:
    """A colour of the page's, by its name in the sheet."""
    return f"var(--{name})"


TEXT, MUTED, GRID, ACCENT, BAR = map(_colour, ("text", "muted", "grid", "accent", "bar"))
SERIES = [_colour(f"series-{n}") for n in range(1, 7)]
_AXIS = {"labelColor": TEXT, "titleColor": TEXT, "domainColor": MUTED, "tickColor": MUTED, "gridColor": GRID,
         "titleFontWeight": "normal"}  # fmt: skip
_CONFIG = {
    "background": "transparent",
    "font": _FONT,
    "axis": _AXIS,
    "legend": {"labelColor": TEXT, "titleColor": TEXT, "orient": "top"},
    "view": {"stroke": None},
    "text": {"color": TEXT},
    "rule": {"color": TEXT},
    "range": {"category": SERIES},
}
_HEIGHT = 220
_LEVEL_HEIGHT = 20
"""Of a bar that has a name of its own."""
_HOLLOW = 0.12
"""Opacity of the inside of bars that were not measured."""
_BAR_HEIGHT, _ROOM = 13, 70
"""Of a bar that lies down, and of all else in a chart of such bars."""


def chart(description: str, rows: Sequence[Row], body: Chart, height: int = _HEIGHT) -> Chart:
    """A chart of `rows`. body: its marks and encodings, or layers of those."""
    return {
        "$schema": _SCHEMA,
        "description": description,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"values": list(rows)},
        "config": _CONFIG,
        **body,
    }


def axis(field: str, kind: str, title: str | None, **more: Any) -> Chart:
    """A channel of an encoding. kind: quantitative, ordinal or nominal."""
    return {"field": field, "type": kind, "title": title, **more}


def tooltips(rows: Sequence[Row]) -> list[Chart]:
    """All fields of the rows under their own names, in their order."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{"field": name.replace(".", "\\."), "type": "nominal", "title": name} for name in names]


def levels(
    description: str, rows: Sequence[Row], along: str, value: str, predicted: tuple[str, str], marked: str
) -> Chart:
    """A bar lying down for each row, so that many stay readable on a narrow screen, with its number behind it.
    predicted: a field, and its value where the bar was not measured: those are hollow, with a broken edge. Rows whose
    field `marked` is true stand out. A line is at 1."""
    field, unsure = predicted
    position = axis(along, "nominal", along, sort=None)
    length = axis(value, "quantitative", value, scale={"zero": True}, axis={"tickCount": 5})
    guessed = f"datum['{field}'] == '{unsure}'"
    colour = {"condition": {"test": f"datum['{marked}']", "value": ACCENT}, "value": BAR}
    shown = [t for t in tooltips(rows) if t["field"] != marked]
    return chart(description, rows, {"layer": [
        {"mark": {"type": "bar", "strokeWidth": 1.5}, "encoding": {
            "y": position, "x": length, "fill": colour, "stroke": colour, "tooltip": shown,
            "fillOpacity": {"condition": {"test": guessed, "value": _HOLLOW}, "value": 1},
            "strokeDash": {"condition": {"test": guessed, "value": [4, 2]}, "value": [1, 0]}}},
        {"mark": {"type": "text", "align": "left", "dx": 4}, "encoding": {
            "y": position, "x": length, "text": {"field": value, "format": ".3f"}}},
        {"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"x": {"datum": 1}}},
    ]}, _ROOM + _LEVEL_HEIGHT * len(rows))  # fmt: skip


def lying(description: str, rows: Sequence[Row], along: str, percent: str) -> Chart:
    """A bar lying down for each row, its length a percentage."""
    length = axis(percent, "quantitative", percent, scale={"domain": [0, 100]})
    return chart(description, rows, {
        "mark": {"type": "bar", "color": ACCENT},
        "encoding": {"y": axis(along, "nominal", None, sort=None), "x": length, "tooltip": tooltips(rows)},
    }, _ROOM + _LEVEL_HEIGHT * len(rows))  # fmt: skip


def grouped(description: str, rows: Sequence[Row], across: str, up: str, by: str) -> Chart:
    """Bars in groups: one for each row, grouped by field `across`, side by side by field `by`. A line is at 1."""
    sides = list(dict.fromkeys(row[by] for row in rows))
    return chart(description, rows, {"layer": [
        {"mark": "bar", "encoding": {
            "x": axis(across, "nominal", None, sort=None, axis={"labelAngle": -30}),
            "y": axis(up, "quantitative", up),
            "xOffset": {"field": by, "sort": sides},
            "color": axis(by, "nominal", None, scale={"domain": sides, "range": SERIES[: len(sides)]}),
            "tooltip": tooltips(rows),
        }},
        {"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"y": {"datum": 1}}},
    ]})  # fmt: skip


def line(description: str, rows: Sequence[Row], across: str, up: str, marked: int | None) -> Chart:
    """A point for each row, joined; a line across at `marked`. The height need not begin at 0."""
    encoding = {
        "x": axis(across, "quantitative", across, scale={"nice": False, "zero": False}),
        "y": axis(up, "quantitative", up, scale={"zero": False}),
        "tooltip": tooltips(rows),
    }
    layers: list[Chart] = [{"mark": {"type": "line", "point": {"filled": True, "color": ACCENT}, "color": ACCENT},
                            "encoding": encoding}]  # fmt: skip
    if marked is not None:
        layers.append({"mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"x": {"datum": marked}}})
    return chart(description, rows, {"layer": layers})


def paired(description: str, rows: Sequence[Row], along: str, value: str, side: str) -> Chart:
    """Bars lying down, two and two: `rows` have a name (`along`), a number and the side that it belongs to."""
    sides = list(dict.fromkeys(row[side] for row in rows))
    return chart(description, rows, {
        "mark": "bar",
        "encoding": {
            "y": axis(along, "nominal", None, sort=None),
            "x": axis(value, "quantitative", value),
            "yOffset": {"field": side, "sort": sides},
            "color": axis(side, "nominal", None, scale={"domain": sides, "range": [BAR, ACCENT]}),
            "tooltip": tooltips(rows),
        },
    }, _ROOM + _BAR_HEIGHT * len(rows))  # fmt: skip


def steps(description: str, rows: Sequence[Row], across: str, up: str, now: int) -> Chart:
    """A curve that steps at each row, up to the last; a slider asks it for its value. now: where the slider begins."""
    least, most = rows[0][across], rows[-1][across]
    at = axis(across, "quantitative", across, scale={"domain": [least, most], "nice": False})
    height = axis(up, "quantitative", up, axis={"tickMinStep": 1})
    asked = [
        {"filter": f"datum['{across}'] <= asked"},
        {"joinaggregate": [{"op": "max", "field": across, "as": "last"}]},
        {"filter": f"datum['{across}'] == datum.last"},
        {"calculate": "asked", "as": "asked"},
    ]
    slider = {"input": "range", "min": least, "max": most, "step": 1, "name": f"{across} "}
    return chart(description, rows, {
        "params": [{"name": "asked", "value": min(max(now, least), most), "bind": slider}],
        "layer": [
            {"mark": {"type": "line", "interpolate": "step-after", "color": ACCENT, "strokeWidth": 2},
             "encoding": {"x": at, "y": height}},
            {"mark": {"type": "rule", "strokeDash": [4, 3]}, "transform": asked,
             "encoding": {"x": axis("asked", "quantitative", across)}},
            {"mark": {"type": "point", "filled": True, "size": 80, "color": ACCENT}, "transform": asked,
             "encoding": {"x": axis("asked", "quantitative", across), "y": height}},
        ],
    }, 150)  # fmt: skip


def area(
    description: str, rows: Sequence[Row], across: str, up: str, by: str, lines: Sequence[tuple[str, float]]
) -> Chart:
    """A filled curve over the rows in order, its colour by field `by`. lines: names of levels to draw across it."""
    at = axis(across, "quantitative", across, scale={"nice": False})
    height = axis(up, "quantitative", up)
    legend = {} if len({row[by] for row in rows}) > 1 else {"legend": None}
    colour = axis(by, "nominal", None, sort=None, **legend)
    levels: list[Chart] = []
    one: Chart = {"values": [{}]}
    for name, value in lines:
        levels += [
            {"data": one, "mark": {"type": "rule", "strokeDash": [4, 3]}, "encoding": {"y": {"datum": value}}},
            {"data": one, "mark": {"type": "text", "align": "left", "dx": 4, "dy": -6},
             "encoding": {"y": {"datum": value}, "x": {"value": 0}, "text": {"value": f"{name}: {value:g}"}}},
        ]  # fmt: skip
    return chart(description, rows, {"layer": [
        {"mark": {"type": "area", "interpolate": "step-after", "opacity": 0.75, "tooltip": True},
         "encoding": {"x": at, "y": height, "color": colour}},
        {"mark": {"type": "rule", "opacity": 0, "strokeWidth": 3},
         "encoding": {"x": at, "tooltip": tooltips(rows)}},
        *levels,
    ]})  # fmt: skip
