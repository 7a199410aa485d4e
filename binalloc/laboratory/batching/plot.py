"""The figure of `reproduce batching` is an SVG: the speed of each scheme over CCWS, kernel by kernel (Fig. 10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING

from binalloc.laboratory.batching.measures import PERCENT
from binalloc.laboratory.batching.published import ALL
from binalloc.laboratory.batching.schemes import BASE, SCHEMES
from binalloc.laboratory.svg import label, line, opened_svg, turned

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.batching import BatchingReproductionJson

_GROUP, _HEIGHT = 64, 280  # pixels of a kernel, and of a panel without its margins; chosen by eye
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 60, 90  # pixels around a panel: room for numbers, legend and names
_STEP = 10  # per cent from line to line
_MOST = 60.0  # per cent at which bars end, so that one kernel does not make all others flat; their numbers are printed
_COLOURS = dict(
    zip(
        (scheme.name for scheme in SCHEMES if scheme.name != BASE),
        ("#777777", "#3366cc", "#0a7d3c", "#cc9900", "#cc3333", "#99bbee", "#bbddaa"), strict=True,
    )
)  # fmt: skip


def batching_svg(found: BatchingReproductionJson) -> str:
    """Return the figure as the text of an SVG file, a panel for each row size. found: the object that JSON prints."""
    panels = [(size, _groups(found, size)) for size in dict.fromkeys(one["row_bytes"] for one in found["kernels"])]
    width = _LEFT + _RIGHT + _GROUP * max((len(groups) for _, groups in panels), default=1)
    whole = _TOP + _HEIGHT + _BOTTOM
    out = opened_svg(width, max(len(panels), 1) * whole)
    for k, (size, groups) in enumerate(panels):
        title = f"Speed over CCWS in per cent, rows of {size:,} bytes"
        out += _panel(title, groups, width, k * whole)
    return "\n".join([*out, "</svg>\n"])


def _groups(found: BatchingReproductionJson, size: int) -> list[tuple[str, dict[str, float]]]:
    """Return the bars of each kernel, by scheme, and the means of all."""
    groups = []
    for kernel in found["kernels"]:
        base = kernel["schemes"][BASE]
        if kernel["row_bytes"] == size and base is not None:
            runs = {name: run for name, run in kernel["schemes"].items() if run is not None and name != BASE}
            bars = {name: PERCENT * (base["cycles"] / run["cycles"] - 1) for name, run in runs.items()}
            groups.append((kernel["kernel"], bars))
    means = {m["scheme"]: m["changes"]["speed"] for m in found["means"] if (m["row_bytes"], m["of"]) == (size, ALL)}
    return [*groups, ("mean", means)]


def _panel(title: str, groups: Sequence[tuple[str, Mapping[str, float]]], width: int, top: int) -> list[str]:
    values = [max(-_MOST, min(_MOST, bar)) for _, bars in groups for bar in bars.values()]
    low = min(-_STEP, _STEP * floor(min(values, default=0.0) / _STEP))
    high = max(_STEP, _STEP * ceil(max(values, default=0.0) / _STEP))

    def y_of(value: float) -> float:
        return top + _TOP + _HEIGHT * (high - value) / (high - low)

    out = [label(width / 2, top + 18, title, "middle")]
    for k, (name, colour) in enumerate(_COLOURS.items()):
        x = _LEFT + k * (width - _LEFT - _RIGHT) / len(_COLOURS)
        out.append(f'<rect x="{x:.1f}" y="{top + 30}" width="10" height="10" fill="{colour}"/>')
        out.append(label(x + 14, top + 39, name, "start"))
    for value in range(low, high + 1, _STEP):
        out.append(line(_LEFT, y_of(value), width - _RIGHT, y_of(value), "#dddddd" if value else "black"))
        out.append(label(_LEFT - 8, y_of(value) + 4, f"{value:+d}" if value else "0", "end"))
    for k, (name, bars) in enumerate(groups):
        out += _bars(bars, _LEFT + k * _GROUP, y_of)
        out.append(turned(_LEFT + (k + 0.5) * _GROUP, top + _TOP + _HEIGHT + 14, -35, name, "end"))
    return out


def _bars(bars: Mapping[str, float], left: float, y_of: Callable[[float], float]) -> list[str]:
    """Return the bars of a group, with the number beside those that are cut."""
    wide, out = (_GROUP - 8) / len(_COLOURS), []
    for k, (name, colour) in enumerate(_COLOURS.items()):
        if name not in bars:
            continue
        x, end = left + 4 + k * wide, max(-_MOST, min(_MOST, bars[name]))
        upper, lower = sorted((y_of(0), y_of(end)))
        out.append(
            f'<rect x="{x:.1f}" y="{upper:.1f}" width="{wide - 1:.1f}" height="{lower - upper:.1f}" fill="{colour}"/>'
        )
        if abs(bars[name]) > _MOST:
            degrees, beside = (-90, -4) if end > 0 else (90, 4)
            out.append(turned(x + wide / 2, y_of(end) + beside, degrees, f"{bars[name]:+.0f}", "start"))
    return out
