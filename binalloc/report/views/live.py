"""This module makes the view `inspect --live`: live ranges beside the instructions, a column per value, as nvdisasm
draws them.

If there are too many values for a column each, the values of one place share a column. A place is a register, a
predicate or a word of local memory. Two values of one place are never live at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis, analyse
from binalloc.analysis.views.live_rows import LiveRow, Mark, live_rows
from binalloc.analysis.views.max_live import MaxLive, build_max_live
from binalloc.analysis.web import Web
from binalloc.isa.instruction import Module
from binalloc.isa.interface.places import LOCAL, PRED, REG, WORD
from binalloc.isa.kinds import File
from binalloc.isa.sets.table import set_of
from binalloc.printable import count, one_line
from binalloc.report.views.excerpt import EVERYTHING, Excerpt, SourceFiles

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.inspect import FunctionLife, LiveRowJson, LiveView

COLUMNS = ("auto", "values", "places")
"""Choices of columns. values: a column for each value. places: one for each register, predicate and local word. auto:
`values` if that makes at most MOST_COLUMNS columns, else `places`."""
MOST_COLUMNS = 64
"""Most columns that `auto` draws for values: the view is then as wide as a full screen; chosen by hand."""
_MOST_TEXT = 56
"""Characters of an instruction that are shown. Most instructions are shorter; chosen by hand."""
_FILES: tuple[File, ...] = (REG, PRED, LOCAL)
_LEGEND = (
    "^ defined, v used, x used and defined, : live.\n"
    "+ defined in part, under a guard or by a callee that need not; * used and defined in part.\n"
)


def live_of(module: Module, kernel: str, excerpt: Excerpt = EVERYTHING, columns: str = "auto") -> LiveView:
    """Return the live ranges of a kernel and its callees, or of an excerpt of them. columns: one of COLUMNS.

    Raise Refused on recursion and indirect calls, and UsageError if the excerpt contains no instruction.
    """
    program = analyse(module, kernel, lift=True)
    pressure = {file: build_max_live(program, file) for file in _FILES}
    functions: list[FunctionLife] = []
    texts = []
    for f in excerpt.functions(program):
        rows = [row for row in live_rows(f) if excerpt.shows(row.index, row.block)]
        if rows:
            shown = _Shown(program, f, rows, pressure, columns)
            functions.append(shown.to_dict())
            texts.append(shown.text())
    if not texts and excerpt != EVERYTHING:
        raise excerpt.empty(program)
    return {"functions": functions, "text": "\n".join([*texts, _LEGEND])}


class _Shown:
    """The view of one function has a row for each instruction, and a column for each value or place."""

    def __init__(
        self,
        program: ProgramAnalysis,
        f: FunctionAnalysis,
        rows: Sequence[LiveRow],
        pressure: dict[File, MaxLive],
        columns: str,
    ) -> None:
        self.program, self.function, self.rows = program, f, rows
        self.pressure = {file: found.pressure[f.name] for file, found in pressure.items()}
        lines = f.fn.source_lines()
        self.places = [lines[row.index] if row.index >= 0 else None for row in rows]
        seen = sorted({web for row in rows for web in row.marks})
        self.webs = sorted((f.webs[w] for w in seen), key=lambda web: (_FILES.index(web.file), web.id))
        self.by_value = columns == "values" or (columns == "auto" and len(self.webs) <= MOST_COLUMNS)

    def _key(self, web: Web) -> tuple[int, int]:
        """Return the key of a value's column. Values with equal keys share a column."""
        return (_FILES.index(web.file), web.id if self.by_value else web.arch)

    def _text(self, row: LiveRow) -> str:
        if row.index < 0:
            return "(entry)"
        return set_of(self.program.module).text(
            self.function.fn.instrs[row.index], self.function.fn, row.index, self.program.module
        )

    def _count(self, row: LiveRow, file: File) -> int:
        """Return how many registers, predicates or local words are taken at an instruction. file: which of these."""
        if row.index < 0:
            return sum(self.function.webs[w].file == file for w in row.marks)
        return self.pressure[file][row.index]

    def to_dict(self) -> FunctionLife:
        """Return the function as JSON."""
        columns = {key: k for k, key in enumerate(sorted({self._key(web) for web in self.webs}))}
        return {
            "function": self.function.name,
            "values": [{"web": w.id, "place": w.name, "column": columns[self._key(w)]} for w in self.webs],
            "rows": [self._row(row, place) for row, place in zip(self.rows, self.places, strict=True)],
        }

    def _row(self, row: LiveRow, place: tuple[str, int] | None) -> LiveRowJson:
        def having(*marks: Mark) -> list[int]:
            return [web for web, mark in row.marks.items() if mark in marks]

        return {
            "index": row.index,
            "block": row.block,
            "file": place and place[0],
            "line": place and place[1],
            "registers": self._count(row, REG),
            "predicates": self._count(row, PRED),
            "local_words": self._count(row, LOCAL),
            "used": having(Mark.USED, Mark.BOTH, Mark.USED_AND_MERGED),
            "defined": having(Mark.DEFINED, Mark.BOTH),
            "merged": having(Mark.MERGED, Mark.USED_AND_MERGED),
            "live": having(Mark.LIVE),
        }

    # -- text

    def text(self) -> str:
        """Return a heading, the names of the columns, written downwards, and a line for each row."""
        files = [file for file in _FILES if any(web.file == file for web in self.webs)]
        sources = SourceFiles(self.places)
        left = self._left(files, sources)
        groups = [self._columns(file) for file in files]
        right = [" | ".join(parts) for parts in zip(*groups, strict=True)] if groups else [""] * len(left)
        height = len(right) - len(self.rows)
        out = [
            one_line(
                f"live ranges of {self.function.name}: {count(len(self.webs), 'value')}, {self._meaning(len(files))}"
            )
        ]
        head = [""] * (height - 1) + [left[0]]
        width = max(len(text) for text in left)
        block = -1
        for k, (text, marks) in enumerate(zip([*head, *left[1:]], right, strict=True)):
            row = self.rows[k - height] if k >= height else None
            if row is not None and row.block != block and row.index >= 0:
                block = row.block
                out.append(self._block(block))
            out.append(f"{text:<{width}} | {marks}".rstrip())
        return "\n".join(out) + "\n" + sources.legend()

    def _meaning(self, files: int) -> str:
        shown = sum(len({self._key(web) for web in self.webs if web.file == file}) for file in _FILES)
        what = "one each" if self.by_value else "one for each register, predicate and local word"
        return f"{count(shown, 'column')}, {what}" if files else "no columns"

    def _block(self, block: int) -> str:
        depth = self.function.loops.depth[block]
        return f"B{block}" + (f" in {count(depth, 'loop')}" if depth else "")

    def _left(self, files: Sequence[File], sources: SourceFiles) -> list[str]:
        """Return the text left of the columns: a heading, and a line for each row."""
        cells = [["word", *(["line"] if sources.names else []), *files, "instruction"]]
        for row, place in zip(self.rows, self.places, strict=True):
            counts = [str(self._count(row, file)) for file in files]
            line = [sources.short(place)] if sources.names else []
            text = one_line(self._text(row))
            text = text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."
            cells.append([str(row.index) if row.index >= 0 else "", *line, *counts, text])
        widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]) - 1)]
        return ["  ".join([*(c.rjust(w) for c, w in zip(row, widths, strict=False)), row[-1]]) for row in cells]

    def _columns(self, file: File) -> list[str]:
        """Return the columns of one register file: lines with their names, written downwards, and a line for each
        row."""
        mine = [web for web in self.webs if web.file == file]
        keys = sorted({self._key(web) for web in mine})
        number = {web.id: keys.index(self._key(web)) for web in mine}
        names = [""] * len(keys)
        for web in mine:
            names[number[web.id]] = self._name(web)
        height = max((len(self._name(web)) for web in self.webs), default=1)
        out = ["".join(name.rjust(height)[k] for name in names) for k in range(height)]
        for row in self.rows:
            cells = [" "] * len(keys)
            for w, mark in row.marks.items():
                if w in number:
                    cells[number[w]] = _together(cells[number[w]], mark)
            out.append("".join(cells))
        return out

    def _name(self, web: Web) -> str:
        """Return the name of a value's column: its place and its number, or the place alone if values share it."""
        place = f"L{WORD * web.arch:x}" if web.file == LOCAL else web.name
        return f"{place}.{web.id}" if self.by_value else place


def _together(one: str, other: Mark) -> str:
    """Return the mark for two values in one column. One of them may end at the instruction that begins the other."""
    marks = {one, other} - {" ", Mark.LIVE}
    if marks == {Mark.USED, Mark.DEFINED}:
        return Mark.BOTH
    return max(marks, default=Mark.LIVE)
