"""This module writes the tables of unsupported and of ignored PTX into PTX.md: `python -m binalloc.frontend.doc`."""

from __future__ import annotations

import sys
from pathlib import Path

from binalloc.frontend import ignored, unsupported

PATH = Path(__file__).with_name("PTX.md")
_TABLES = {"unsupported": unsupported.table, "ignored": ignored.table}


def render(text: str) -> str:
    """Return `text` with the tables in their current form. Raises ValueError where a marker is missing."""
    for name, table in _TABLES.items():
        begin, end = f"<!-- table:{name}:begin -->", f"<!-- table:{name}:end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"PTX.md needs the markers of the table {name} exactly once")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table()}\n{end}{rest.split(end)[1]}"
    return text


def main() -> int:
    PATH.write_text(render(PATH.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
