"""These helpers write elements of SVG, for the figures of experiments."""

from __future__ import annotations

from xml.sax.saxutils import escape

FONT = 'font-family="sans-serif" font-size="12"'


def opened_svg(width: int, height: int) -> list[str]:
    """Return the beginning of a picture of so many pixels, white all over."""
    size = f'width="{width}" height="{height}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {FONT}>',
        f'<rect {size} fill="white"/>',
    ]


def line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    """Return a line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def label(x: float, y: float, text: str, anchor: str) -> str:
    """Return a text. anchor: `start`, `middle` or `end`, for the part of it that is at x."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def turned(x: float, y: float, degrees: int, text: str, anchor: str) -> str:
    """Return a text that is turned about its anchor."""
    return f'<g transform="rotate({degrees} {x:.1f} {y:.1f})">{label(x, y, text, anchor)}</g>'
