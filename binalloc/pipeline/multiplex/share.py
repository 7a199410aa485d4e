"""This module measures for which part of its life a block uses its shared memory (multiplex paper, section 3, Fig. 1).

Needs a laid-out module and a request with a launch. As in the paper, barriers are put at the bounds of access regions;
the time from the opening of one to that of the next is a region's. The share is the sum of a block's regions over its
life, averaged over the blocks. A region in which a block ends lasts until then.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.isa.instruction import Module
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.version import Version

if TYPE_CHECKING:
    from binalloc.emulator.runs.issue_log import Batch


def region_share(module: Module, request: Request) -> float:
    """Return the share, from 0 to 1. Raises Refused if the kernel has no access region."""
    from binalloc.emulator.runs.issue_log import IssueLog, Listener
    from binalloc.emulator.runs.run import run_launch
    from binalloc.transform.multiplex.bounds import bound_regions

    assert request.launch is not None
    bounded = bound_regions(module, request.kernel, request.launch.block)
    version = baseline(bounded.module, request)
    clock = _Clock(_places(version, bounded.begins), _places(version, bounded.ends))
    log = IssueLog([Listener(clock.receive)])
    run_launch(version.module, request.kernel, request.launch, replace(request.options, log=log))
    return sum(clock.shares) / len(clock.shares)


def _places(version: Version, words: frozenset[int]) -> frozenset[int]:
    """Return where words of a kernel are in the code of its version."""
    fn = version.module.function(version.kernel)
    if not version.allocated:
        return frozenset(fn.address + word for word in words)
    assert fn.origin is not None
    return frozenset(fn.address + k for k, old in enumerate(fn.origin.index) if old in words)


@dataclass
class _Clock:
    """The clock adds up the time that blocks spend in regions."""

    begins: frozenset[int]  #: code words of the barriers at begins
    ends: frozenset[int]
    shares: list[float] = field(default_factory=list)  #: of the blocks that have ended
    since: dict[int, int] = field(default_factory=dict)  #: by block the cycle in which it came
    inside: dict[int, int] = field(default_factory=dict)  #: by block the cycle in which its region began
    used: dict[int, int] = field(default_factory=dict)  #: by block the cycles in regions that have ended

    def receive(self, batch: Batch) -> None:
        """Take rows of the log."""
        wanted = np.isin(batch.column(LogColumn.KIND), (LogKind.BLOCK, LogKind.OPEN, LogKind.BLOCK_END))
        for row in batch.rows[wanted]:
            kind, block, cycle = (int(row[c]) for c in (LogColumn.KIND, LogColumn.BLOCK, LogColumn.CYCLE))
            if kind == LogKind.BLOCK:
                self.since[block] = cycle
            elif kind == LogKind.OPEN:
                self._open(block, int(row[LogColumn.PC]), int(row[LogColumn.DETAIL]))
            elif kind == LogKind.BLOCK_END:
                self._end(block, cycle)
                life = cycle - self.since.pop(block)
                self.shares.append(self.used.pop(block, 0) / life if life else 0.0)

    def _open(self, block: int, pc: int, cycle: int) -> None:
        if pc in self.ends:
            self._end(block, cycle)
        if pc in self.begins:
            self.inside.setdefault(block, cycle)

    def _end(self, block: int, cycle: int) -> None:
        begun = self.inside.pop(block, None)
        if begun is not None:
            self.used[block] = self.used.get(block, 0) + cycle - begun
