"""The figure of `binalloc smem-cost` is an SVG: cycles over w * l * k, and the fitted line (the paper's fig. 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.laboratory.svg import label, line, opened_svg, turned
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.laboratory import SmemCostFields

WIDTH, HEIGHT = 720, 480  # pixels, chosen by eye
LEFT, RIGHT, TOP, BOTTOM = 80, 20, 40, 60  # pixels around the axes: room for their numbers and the title
_TICKS = 4  # on each axis, besides zero; chosen by eye


def smem_cost_svg(found: SmemCostFields) -> str:
    """Return the figure as the text of an SVG file. found: the object of `smem_cost_to_dict`."""
    points = [(row["w"] * row["l"] * row["k"], row["cycles"]) for row in found["rows"]]
    right, top = _round_up(max(x for x, _ in points)), _round_up(max(y for _, y in points))

    def x_of(value: float) -> float:
        return LEFT + value / right * (WIDTH - LEFT - RIGHT)

    def y_of(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    out = [
        *opened_svg(WIDTH, HEIGHT),
        label(WIDTH / 2, TOP / 2, _title(found), "middle"),
        label(WIDTH / 2, HEIGHT - 15, "w * l * k", "middle"),
        turned(18, HEIGHT / 2, -90, "cycles", "middle"),
    ]
    for n in range(_TICKS + 1):
        x, y = right * n / _TICKS, top * n / _TICKS
        colour = "#ddd" if n else "black"
        out += [
            line(x_of(x), y_of(0), x_of(x), y_of(top), colour),
            line(x_of(0), y_of(y), x_of(right), y_of(y), colour),
            label(x_of(x), HEIGHT - BOTTOM + 18, f"{x:,.0f}", "middle"),
            label(LEFT - 8, y_of(y) + 4, f"{y:,.0f}", "end"),
        ]
    if found["c1"] is not None and found["c2"] is not None:
        last = max(x for x, _ in points)
        out.append(line(x_of(0), y_of(found["c2"]), x_of(last), y_of(found["c1"] * last + found["c2"]), "#c33"))
    out += [f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="#36c" fill-opacity="0.6"/>' for x, y in points]
    return "\n".join([*out, "</svg>\n"])


def _title(found: SmemCostFields) -> str:
    text = f"{found['machine']}, {count(len(found['rows']), 'run')}"
    if found["c1"] is None or found["c2"] is None:
        return text
    return f"{text}: E = w * l * k * {found['c1']:.4f} + {found['c2']:.1f}"


def _round_up(value: int) -> int:
    """Return the next higher number with which an axis may end."""
    unit = 10 ** (len(str(value)) - 1)
    return next(int(unit * m) for m in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 8, 10) if unit * m >= value or m == 10)
