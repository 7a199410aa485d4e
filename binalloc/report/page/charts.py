"""This module makes charts as dictionaries in the language of Vega-Lite. Their colours are the page's (`style.css`).

A chart fills the width of its place, and has a description in words. Its rows should be few, as the page carries them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Chart = dict[str, Any]
"""A chart, or a part of one, in the language of Vega-Lite."""
Row = dict[str, Any]
"""A row of data: values by field, with the names that the chart shows."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_FONT = "system-ui, sans-serif"


def _colour(name: str) -> str:
    """Return a colour of the page. name: as in the style sheet."""
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
"""Usual height of a chart in pixels; this and the other sizes here are chosen by hand."""
_CURVE_HEIGHT = 150
"""Height in pixels of a curve with a slider: less than usual, as a page has several of them one after another."""
_LEVEL_HEIGHT = 20
"""Height in pixels of a horizontal bar with a name of its own."""
_BAR_HEIGHT = 13
"""Height in pixels of a horizontal bar in a pair with one name."""
_ROOM = 70
"""Height in pixels of axis and legend in a chart of horizontal bars."""
_HOLLOW = 0.12
"""Opacity of the inside of a bar that was not measured: light enough to tell it from the others."""


def chart(description: str, rows: Sequence[Row], body: Chart, height: int = _HEIGHT) -> Chart:
    """Return a chart of `rows`.

    Args:
        description: the chart in words, for readers who do not see it.
        rows: its data.
        body: its marks and encodings, or layers of them.
        height: in pixels.
    """
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
    """Return a channel of an encoding. kind: quantitative, ordinal or nominal. more: further properties."""
    return {"field": field, "type": kind, "title": title, **more}


def tooltips(rows: Sequence[Row]) -> list[Chart]:
    """Return a tooltip with all fields of the rows, in their order, under their own names."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{"field": name.replace(".", "\\."), "type": "nominal", "title": name} for name in names]


def levels(
    description: str, rows: Sequence[Row], along: str, value: str, predicted: tuple[str, str], marked: str
) -> Chart:
    """Return a chart with a horizontal bar and its number for each row, and a line at 1.

    Args:
        description: the chart in words.
        rows: its data.
        along: field with the name of a bar.
        value: field with its length.
        predicted: a field, and its value for bars that were not measured. These are hollow, with a broken edge.
        marked: field that is true for bars that stand out.
    """
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
    """Return a chart with a horizontal bar for each row. along: field with its name. percent: field with its length."""
    length = axis(percent, "quantitative", percent, scale={"domain": [0, 100]})
    return chart(description, rows, {
        "mark": {"type": "bar", "color": ACCENT},
        "encoding": {"y": axis(along, "nominal", None, sort=None), "x": length, "tooltip": tooltips(rows)},
    }, _ROOM + _LEVEL_HEIGHT * len(rows))  # fmt: skip


def grouped(description: str, rows: Sequence[Row], across: str, up: str, by: str) -> Chart:
    """Return a chart with an upright bar for each row, and a line at 1.

    across: field by which bars are grouped. up: field with the height. by: field that tells the bars of a group apart.
    """
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
    """Return a chart with a point for each row, joined by lines. Its height need not begin at 0.

    across, up: fields with the coordinates. marked: value of `across` at which an upright line stands; None for none.
    """
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
    """Return a chart with horizontal bars in pairs.

    along: field with the name of a pair. value: field with a bar's length. side: field that tells the bars of a pair
    apart.
    """
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
    """Return a chart with a curve that steps at each row, and a slider that asks for its value at a point.

    across, up: fields with the coordinates. now: value of `across` at which the slider begins.
    """
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
    }, _CURVE_HEIGHT)  # fmt: skip


def area(
    description: str, rows: Sequence[Row], across: str, up: str, by: str, lines: Sequence[tuple[str, float]]
) -> Chart:
    """Return a chart with a filled curve over the rows in their order, and lines across it.

    across, up: fields with the coordinates. by: field that gives the colour. lines: name and height of each line.
    """
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
