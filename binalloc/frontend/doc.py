"""Writes the table of what is not supported into PTX.md: `python -m binalloc.frontend.doc`."""

from __future__ import annotations

import sys
from pathlib import Path

from binalloc.frontend.unsupported import table

PATH = Path(__file__).with_name("PTX.md")
_BEGIN, _END = "<!-- table:unsupported:begin -->", "<!-- table:unsupported:end -->"


def render(text: str) -> str:
    """`text` with the table in its current form. Raises ValueError where a marker is missing."""
    if text.count(_BEGIN) != 1 or text.count(_END) != 1:
        raise ValueError("PTX.md needs the markers of its table exactly once")
    before, rest = text.split(_BEGIN)
    return f"{before}{_BEGIN}\n{table()}\n{_END}{rest.split(_END)[1]}"


def main() -> int:
    PATH.write_text(render(PATH.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
