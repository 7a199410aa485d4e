"""This module shows when blocks of an SM use shared memory, for versions side by side (multiplex paper, Fig. 4).

Needs versions that were run, and a request with the original's launch; runs each of them once more. The first blocks of
the first SM are followed, of merged blocks the virtual ones. Time is cut into columns of equally many cycles, the same
for all versions. An access counts if its instruction names shared memory; one with a generic address does not, nor does
one to a slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.isa.interface.places import LANES
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import set_of
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.version import Version

if TYPE_CHECKING:
    from binalloc.emulator.runs.issue_log import Batch, Ints
    from binalloc.launch.merged import Merge
    from binalloc.launch.types import Launch

COLUMNS = 72
"""Columns of a timeline at most; a terminal of 80 shows them with the block's number."""
BLOCKS = 8
"""Blocks of the original that are followed at most; a merged one that has more virtual blocks is followed whole."""


class Mark(StrEnum):
    """A Mark says what the warps of a block did in the cycles of a column; the first one that holds counts."""

    SHARED = "#"  #: one accessed shared memory
    OTHER = "="  #: one issued another instruction
    WAITS = "."  #: none issued
    ABSENT = " "  #: the block was not there


@dataclass(frozen=True)
class Shown:
    """A Shown is a version whose blocks are to be followed."""

    version: Version
    launch: Launch
    merge: Merge | None = None  #: how its blocks were merged
    over: int | None = None  #: of HW and CO-HW: most blocks beyond those of static memory


@dataclass(frozen=True)
class Life:
    """A Life is what one block did."""

    block: int  #: number of the block in the original's grid
    marks: str  #: a `Mark` for each column, without absence at the end


@dataclass(frozen=True)
class Timelines:
    """These are the lives of the first blocks of an SM, version by version."""

    column: int  #: cycles of a column
    lives: tuple[tuple[Life, ...], ...]  #: of each version, in the order in which blocks came


def timelines(versions: Sequence[Shown], request: Request) -> Timelines:
    """Return what the first blocks of the first SM do in each version. Raises as the versions' runs did."""
    from binalloc.emulator.runs.issue_log import IssueLog, Listener
    from binalloc.emulator.runs.run import run_launch

    assert request.launch is not None
    followed = []
    for shown in versions:
        request.progress(f"{request.kernel}: timeline of {shown.version.name}")
        one = _Followed(shown, request.launch.grid)
        options = replace(request.options, over=shown.over, log=IssueLog([Listener(one.receive)]))
        run_launch(shown.version.module, request.kernel, shown.launch, options)
        followed.append(one)
    column = -(-max((one.end for one in followed), default=0) // COLUMNS) or 1
    return Timelines(column, tuple(one.lives(column) for one in followed))


@dataclass
class _Acts:
    """These are the issues of one block, or virtual block."""

    begin: int  #: cycle in which it came
    end: int = 0  #: cycle in which its last warp ended, so far
    issues: list[Ints] = field(default_factory=list)  #: cycles in which its warps issued
    accesses: list[Ints] = field(default_factory=list)  #: those in which they accessed shared memory


class _Followed:
    """This listener collects the acts of the first blocks of SM 0."""

    def __init__(self, shown: Shown, grid: tuple[int, int, int]) -> None:
        self.shown, self.grid = shown, grid  # grid: the original's
        self.count = 1 if shown.merge is None else shown.merge.count
        threads = int(np.prod(shown.launch.block))
        self.warps = -(-threads // LANES) // self.count  # of a virtual block
        self.most = -(-BLOCKS // self.count)
        self.words = _words(shown.version)
        self.found: dict[tuple[int, int], _Acts] = {}  # by block and virtual block

    def receive(self, batch: Batch) -> None:
        """Take rows of the log."""
        rows = batch.rows[batch.column(LogColumn.SM) == 0]
        for row in rows[rows[:, LogColumn.KIND] == LogKind.BLOCK]:
            if len(self.found) < self.most * self.count:
                for v in range(self.count):
                    self.found[int(row[LogColumn.BLOCK]), v] = _Acts(int(row[LogColumn.CYCLE]))
        virtual = rows[:, LogColumn.IN_BLOCK] // self.warps
        for (block, v), acts in self.found.items():
            own = rows[(rows[:, LogColumn.BLOCK] == block) & (virtual == v)]
            kinds, cycles = own[:, LogColumn.KIND], own[:, LogColumn.CYCLE]
            issue = kinds == LogKind.ISSUE
            acts.issues.append(cycles[issue])
            acts.accesses.append(cycles[issue & np.isin(own[:, LogColumn.PC], self.words)])
            acts.end = max(acts.end, int(cycles[kinds == LogKind.WARP_END].max(initial=0)))

    @property
    def end(self) -> int:
        """Return the cycle in which the last followed block ended."""
        return max((acts.end for acts in self.found.values()), default=0)

    def lives(self, column: int) -> tuple[Life, ...]:
        """Return what the blocks did, without virtual blocks that the grid does not have."""
        found = [(self._number(*key), acts) for key, acts in self.found.items()]
        return tuple(Life(number, _marks(acts, column)) for number, acts in found if number is not None)

    def _number(self, block: int, virtual: int) -> int | None:
        """Return a block's number in the original's grid; None if that has none there."""
        merge = self.shown.merge
        if merge is None:
            return block
        x, y, _ = self.shown.launch.grid
        place = [block % x, block // x % y, block // (x * y)]
        place[merge.axis] = place[merge.axis] * self.count + virtual
        if place[merge.axis] >= self.grid[merge.axis]:
            return None
        return place[0] + self.grid[0] * (place[1] + self.grid[1] * place[2])


def _words(version: Version) -> Ints:
    """Return the code words that access shared memory, other than slots."""
    isa = set_of(version.module)
    found = []
    for fn in version.module.functions:
        for k, instr in enumerate(fn.instrs):
            memory = isa.view(instr).memory
            if memory is not None and memory.space == Space.SHARED and not memory.spill:
                found.append(fn.address + k)
    return np.array(found, dtype=np.int64)


def _marks(acts: _Acts, column: int) -> str:
    """Return a mark for each column up to the one in which the block ended."""
    marks = np.full(acts.end // column + 1, str(Mark.WAITS))
    marks[: acts.begin // column] = str(Mark.ABSENT)
    for cycles, mark in ((acts.issues, Mark.OTHER), (acts.accesses, Mark.SHARED)):
        marks[np.concatenate([np.empty(0, np.int64), *cycles]) // column] = str(mark)
    return "".join(marks)
