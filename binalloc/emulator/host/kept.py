"""A device keeps L2, the staged code, and the host's memory for its record from one launch to the next.

Needs launches of one module on one machine. Leaves true: the second launch finds in L2 the lines that the first has
left there, and the words of them that DRAM lacks. All else of a device, L1 as well, begins every launch empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.host.engines.engine import Engine, Records, Value
from binalloc.emulator.host.staging import Constants, StagedProgram
from binalloc.emulator.memory.replacement import BUSY
from binalloc.emulator.pages.tables import CODE_PAGES
from binalloc.emulator.state.memories import Array
from binalloc.emulator.state.memory_layout import (
    BANK_SHIFT,
    FIRST_CODE_LINE,
    FIRST_CONSTANT_LINE,
    LINE_SHIFT,
    MAX_L2_LINES,
    MAX_PAGES,
    MAX_REQUESTS,
)
from binalloc.emulator.state.records import Gpu, dtype_of, shapes
from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine

_LOGS = ("log", "log_lane", "cause_share")  # Fields of the record that only runs with a log or a profile write to.
PARAMETER_LINES = (1 << BANK_SHIFT) >> LINE_SHIFT  # Lines of constant bank 0, which each launch has for itself.
STAGED = 16
"""Programs that are kept, each for other constants. More serve sequences with more sets of constants, at the cost of a
table each; chosen by hand."""
_PAGES = ("page_key", "page_line", "page_owner")  # fields of the record that make up the table of pages
_LINES = ("l2_line", "l2_valid", "l2_dirty", "l2_age", "l2_coming")  # fields of the record that make up L2's contents
_PAGED = ("l2_asked",)  # further ones where pages are on


class Spare(NamedTuple):
    """A Spare is a record that a launch has ended with. Of the large fields the launch wrote only to the rows of its
    requests and of its lines of L2."""

    record: NDArray[np.void]  #: the record
    requests: int  #: rows of requests that the launch used
    lines: int  #: lines of L2
    pages: int  #: entries of the table of pages

    def wiped(self) -> NDArray[np.void]:
        """Return the same memory, all of it zero."""
        raw = self.record.view(np.uint8)
        for start, end in _small_fields():
            raw[start:end] = 0
        used = {MAX_REQUESTS: self.requests, MAX_L2_LINES: self.lines, MAX_PAGES: MAX_PAGES if self.pages else 0}
        for name, rows in _large_fields().items():
            self.record[name][0, : used[rows]] = 0
        return self.record


@cache
def _large_fields() -> dict[str, int]:
    """Return the rows of the fields that have one for each request, each line of L2, or each page."""
    large = (MAX_REQUESTS, MAX_L2_LINES, MAX_PAGES)
    return {name: shape[0] for name, shape in shapes(Gpu).items() if shape and shape[0] in large}


@cache
def _small_fields() -> list[tuple[int, int]]:
    """Return the spans of bytes of all fields that are wiped as a whole. Neighbours make one span with the gaps between
    them."""
    spans: list[tuple[int, int]] = []
    fields = dtype_of(Gpu).fields
    assert fields is not None
    places = sorted((fields[name][1], fields[name][1] + fields[name][0].itemsize, name) for name in fields)
    after_span = False
    for start, end, name in places:
        if name in _large_fields() or name in _LOGS:
            after_span = False
            continue
        spans.append((spans.pop()[0] if after_span else start, end))
        after_span = True
    return spans


@dataclass
class KeptPages:
    """Kept pages are the table of pages that a launch has left: pages keep their places from launch to launch."""

    places: Array = field(default_factory=lambda: np.zeros(0, np.int64))  #: where the table has entries
    entries: dict[str, Array] = field(default_factory=dict)  #: the entries, by field of the record
    frames: Array = field(default_factory=lambda: np.zeros(0, np.int64))  #: pages handed out, by SM
    shift: int = 0  #: log2 of the lines of a page

    @staticmethod
    def of(engine: Engine, g: Records) -> KeptPages:
        """Return the pages of a launch that has ended. Without pages there is nothing to keep."""
        if not engine.get(g, 0, "pages_used"):
            return KeptPages()
        table = {name: np.asarray(engine.view(g, 0, name)) for name in _PAGES}
        places = np.flatnonzero(table["page_key"])
        entries = {name: values[places].copy() for name, values in table.items()}
        return KeptPages(places, entries, np.array(engine.get(g, 0, "frames")), engine.get(g, 0, "page_shift"))

    def hand_over(self, engine: Engine, g: Records) -> None:
        """Give the pages to a launch that begins."""
        if not len(self.places):
            return
        for name, values in self.entries.items():
            table = g[name][0] if isinstance(g, np.ndarray) else getattr(g[0], name)
            for place, value in zip(self.places.tolist(), values.tolist(), strict=True):
                table[place] = value
        engine.put(g, 0, "frames", self.frames.tolist())
        engine.put(g, 0, "pages_used", len(self.places))

    def parameters(self, lines: Array) -> Array:
        """Return which of the physical lines hold parameters, which each launch has for itself."""
        if not len(self.places):
            return np.asarray((lines >= FIRST_CONSTANT_LINE) & (lines < FIRST_CONSTANT_LINE + PARAMETER_LINES))
        first = CODE_PAGES + (FIRST_CONSTANT_LINE - FIRST_CODE_LINE >> self.shift)
        pages = max(1, PARAMETER_LINES >> self.shift)
        keys = self.entries["page_key"] - 1
        held = self.entries["page_line"][(keys >= first) & (keys < first + pages)]
        within = np.arange(min(1 << self.shift, PARAMETER_LINES))
        return np.isin(lines, (held[:, None] + within).ravel())


class KeptDevice:
    """Kept outlives launches.

    parameters: of the next launch. fields: of the device record, all that follow from machine and module. shapes: the
    pairs (warps of a block, resident blocks) known to fit the record.
    """

    def __init__(self) -> None:
        self.parameters = b""
        self._first: StagedProgram | None = None
        self._staged: dict[tuple[object, ...], StagedProgram] = {}
        self.lines: dict[str, Array] = {}
        self.pages = KeptPages()
        self.stamp = 0
        self.fields: dict[str, Value] = {}
        self.shapes: set[tuple[int, int]] = set()
        self._spare: Spare | None = None

    def record(self, engine: Engine) -> Records:
        """Return a zeroed device record: the one of the launch before, wiped where it was written to. Fresh memory for
        all of it takes longer than a small launch does."""
        spare, self._spare = self._spare, None
        return engine.records(Gpu, 1) if spare is None else spare.wiped()

    def staged(self, module: Module, machine: Machine, constants: Constants) -> StagedProgram:
        """Return the module's code. What does not depend on constants is staged once, and the rest for the constants of
        the last few launches."""
        key = constants.words.tobytes(), tuple(constants.start), tuple(constants.size)
        found = self._staged.pop(key, None)
        if found is None:
            first = self._first
            found = StagedProgram(module, machine, constants) if first is None else first.with_constants(constants)
            self._first = first or found
        self._staged[key] = found  # the last one again
        if len(self._staged) > STAGED:
            del self._staged[next(iter(self._staged))]
        return found

    def hand_over(self, engine: Engine, g: Records) -> None:
        """Give the kept contents of L2, and the kept pages, to a launch that begins."""
        self.pages.hand_over(engine, g)
        for name, values in self.lines.items():
            if isinstance(g, np.ndarray):
                g[name][0, : len(values)] = values
                continue
            field = getattr(g[0], name)
            for i in np.flatnonzero(values).tolist():
                field[i] = int(values[i])
        engine.put(g, 0, "stamp", self.stamp)

    def take(self, engine: Engine, g: Records) -> None:
        """Keep L2 of a launch that has ended. Words that are still on their way have come when the next one begins."""
        slices = engine.get(g, 0, "all_channels") * engine.get(g, 0, "slices_per_channel")
        lines = slices * engine.get(g, 0, "l2_sets") * engine.get(g, 0, "l2_ways")
        names = (*_LINES, *_PAGED) if engine.get(g, 0, "paged") else _LINES
        self.lines = {name: engine.view(g, 0, name)[:lines].copy() for name in names}
        if isinstance(g, np.ndarray) and not (engine.get(g, 0, "logging") or engine.get(g, 0, "profile")):
            self._spare = Spare(g, engine.get(g, 0, "requests"), lines, engine.get(g, 0, "pages_used"))
        coming = self.lines.pop("l2_coming")
        self.lines["l2_valid"] |= coming
        self.lines["l2_age"] &= BUSY - 1
        self.pages = KeptPages.of(engine, g)
        parameters = self.pages.parameters(self.lines["l2_line"] - 1)
        for values in self.lines.values():
            values[parameters] = 0
        self.stamp = engine.get(g, 0, "stamp")
