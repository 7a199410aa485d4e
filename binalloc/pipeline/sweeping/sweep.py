"""A sweep: rows for configurations, from tasks that are done once each, wherever and whenever.

Needs configurations, somebody to do their tasks, and a cache. Leaves a row for each, in their order and the same
whatever ends first; an outcome is in the cache before a row tells of it, so that a sweep which is killed goes on from
there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from binalloc.pipeline.request import Progress
from binalloc.pipeline.steps.row import OK, Row
from binalloc.pipeline.sweeping.cache import Cache, Outcome
from binalloc.pipeline.sweeping.configuration import ORIGINAL, Configuration
from binalloc.pipeline.sweeping.executors import Executor
from binalloc.pipeline.sweeping.rows import Found, row_of
from binalloc.pipeline.sweeping.tasks import Build, Judge, Run, Task, same_outputs
from binalloc.printable import count


@dataclass
class Tally:
    """Of a sweep so far: tasks done now, tasks whose outcomes were in the cache, rows that are known."""

    done: int = 0
    cached: int = 0
    rows: int = 0


def sweep(
    asked: Sequence[Configuration],
    executor: Executor,
    cache: Cache,
    progress: Progress = lambda _: None,
    tally: Tally | None = None,
) -> Iterator[Row]:
    """The rows of the configurations, in their order. tally: kept up to date. Raises what concerns all of them: files
    that are not what they should be, a cache that cannot be written, KeyboardInterrupt."""
    going = _Sweep(asked, executor, cache, Tally() if tally is None else tally, progress)
    for index in range(len(asked)):
        going.look(index)
    for index in range(len(asked)):
        while index not in going.rows:
            going.wait()
        yield going.rows[index]


class _Sweep:
    def __init__(
        self, asked: Sequence[Configuration], executor: Executor, cache: Cache, tally: Tally, progress: Progress
    ) -> None:
        self.asked, self.executor, self.cache, self.tally, self.progress = asked, executor, cache, tally, progress
        self.rows: dict[int, Row] = {}
        self._known: dict[str, Outcome] = {}
        self._waiting: dict[str, dict[int, None]] = {}  # by key of a task, the rows that need it
        self._begun: float | None = None
        self._at_hand = 0

    def wait(self) -> None:
        """Until a task ends, then see what can be said now."""
        if self._begun is None:
            self._begun, self._at_hand = time.monotonic(), len(self.rows)
        self.progress(self._told())
        task, outcome = self.executor.finished()
        if not outcome.get("passing"):
            self.cache.put(task.key, outcome)
        self.tally.done += 1
        self._known[task.key] = outcome
        for index in self._waiting.pop(task.key):
            self.look(index)

    def look(self, index: int) -> None:
        """Make the row, or have done what it needs next."""
        asked = self.asked[index]
        if index in self.rows:
            return
        try:
            self.rows[index] = row_of(asked, self._found(index, asked) if asked.fits else None)
        except _Later:
            return
        self.tally.rows += 1

    def _found(self, index: int, asked: Configuration) -> Found:
        ours = asked.allocator == ORIGINAL or asked.held
        plain = Build(asked.subject)
        budget = Build(asked.subject, asked.allocator, asked.registers or 0, asked.slots or 0)
        original, built = self._need(index, plain, plain if ours else budget)
        if original["status"] != OK:
            return Found(original, None, original, None, None)
        one = _run(asked, original, None)
        if built["status"] != OK:
            return Found(original, self._need(index, one)[0], built, None, None)
        other = _run(asked, built, asked.blocks if asked.held else None)
        first, ran = self._need(index, one, other)
        if first["status"] != OK or ran["status"] != OK:
            return Found(original, first, built, ran, None)
        same = same_outputs(asked.subject.launch, first["outputs"], ran["outputs"])
        if same is None:
            same = self._need(index, Judge(one, other))[0].get("same")
        return Found(original, first, built, ran, same)

    def _need(self, index: int, *tasks: Task) -> list[Outcome]:
        """Their outcomes. Raises _Later where not all are known: those are under way then."""
        found = [self._outcome(index, task) for task in tasks]
        known = [outcome for outcome in found if outcome is not None]
        if len(known) < len(found):
            raise _Later
        return known

    def _outcome(self, index: int, task: Task) -> Outcome | None:
        key = task.key
        if key not in self._known and key not in self._waiting:
            kept = self.cache.get(key)
            if kept is None:
                self._waiting[key] = {}
                self.executor.submit(index, task)
            else:
                self._known[key] = kept
                self.tally.cached += 1
        if key in self._waiting:
            self._waiting[key][index] = None
        return self._known.get(key)

    def _told(self) -> str:
        """How far it is, and how long it may still take."""
        assert self._begun is not None
        rows, total = len(self.rows), len(self.asked)
        made, spent = rows - self._at_hand, time.monotonic() - self._begun
        left = f", about {_span(spent / made * (total - rows))} left" if made else ""
        return f"{rows:,} of {count(total, 'row')}{left}"


class _Later(Exception):
    """Something that a row needs is still to be done."""


def _run(asked: Configuration, built: Outcome, blocks: int | None) -> Run:
    return Run(asked.subject, built["program"], replace(asked.options, blocks_per_sm=blocks))


def _span(seconds: float) -> str:
    """So much time, in the unit that suits it."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
