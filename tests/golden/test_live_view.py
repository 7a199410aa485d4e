"""Live ranges beside the disassembly and the pressure curve of one program, byte for byte, and their dictionaries.

After an intended change: python -m tests.golden.test_live_view
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binalloc.analysis.program import analyse
from binalloc.report.views.excerpt import Excerpt
from binalloc.report.views.live import live_of
from binalloc.report.views.pressure import pressure_of
from tests.golden.test_analysis_dump import program

GOLDEN = Path(__file__).with_name("live_view.txt")


def shown() -> str:
    """A column for each value, for each place of a part of the same, and the curve; some words have source lines."""
    module = program().module
    module.function("main").lines.update(
        {0: ("main.cu", 3), 4: ("main.cu", 5), 6: ("inner.cuh", 12), 13: ("main.cu", 7)}
    )
    part = live_of(module, "main", Excerpt("main", ((3, 9),), None), "places")
    return "\n".join([live_of(module, "main")["text"], part["text"], pressure_of(module, "main")["text"]])


def test_text_is_byte_for_byte_the_golden_file() -> None:
    assert shown() == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", ["values", "places"])
def test_the_text_has_the_marks_of_the_dictionary(columns: str) -> None:
    """Each row's cells, read back from the text by the columns that the dictionary names."""
    module = program().module
    found = json.loads(json.dumps(live_of(module, "main", columns=columns)))
    for part, f in zip(found["text"].split("\n\n"), found["functions"], strict=False):
        column = {v["web"]: v["column"] for v in f["values"]}
        assert len(column) == len(analyse(module, "main", lift=True)[f["function"]].webs)
        lines = part.split("\n")
        head = next(k for k, line in enumerate(lines) if "instruction" in line)
        start = lines[head].index(" | ") + 3
        text = [line for line in lines[head + 1 :] if " | " in line or line.endswith(" |")]
        for row, line in zip(f["rows"], text, strict=True):
            cells = line[start:].replace(" | ", "").replace(" |", "")
            marked = {k for k, cell in enumerate(cells) if cell != " "}
            named = {column[w] for key in ("used", "defined", "merged", "live") for w in row[key]}
            assert len(marked) == len(named), (row, line)


if __name__ == "__main__":
    GOLDEN.write_text(shown(), encoding="utf-8")
