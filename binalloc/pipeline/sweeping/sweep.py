"""A sweep makes rows for configurations, from tasks that an executor does once each.

Needs configurations, an executor, and a cache. Leaves a row for each configuration, in their order; rows do not depend
on which task ends first. An outcome is in the cache before a row uses it, so that a killed sweep can be resumed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from binalloc.pipeline.multiplex.build import Wanted
from binalloc.pipeline.request import Progress
from binalloc.pipeline.steps.row import OK, Row
from binalloc.pipeline.sweeping.cache import Cache, Outcome
from binalloc.pipeline.sweeping.configuration import ORIGINAL, Configuration
from binalloc.pipeline.sweeping.executors import Executor
from binalloc.pipeline.sweeping.pairs import BuildPairs
from binalloc.pipeline.sweeping.rows import Found, row_of
from binalloc.pipeline.sweeping.tasks import Build, Judge, Run, Task, same_outputs
from binalloc.pipeline.sweeping.turns import TakeTurns, version_of
from binalloc.printable import count


@dataclass
class Tally:
    """A tally counts the progress of a sweep."""

    done: int = 0  #: tasks done by this sweep
    cached: int = 0  #: tasks whose outcomes were in the cache
    rows: int = 0  #: rows made


def sweep(
    asked: Sequence[Configuration],
    executor: Executor,
    cache: Cache,
    progress: Progress = lambda _: None,
    tally: Tally | None = None,
) -> Iterator[Row]:
    """Yield the rows of the configurations, in their order.

    tally: is kept up to date. Raises errors that concern all rows: invalid files of a launch, an unwritable cache,
    KeyboardInterrupt.
    """
    going = _Sweep(asked, executor, cache, Tally() if tally is None else tally, progress)
    for index in range(len(asked)):
        going.look(index)
    for index in range(len(asked)):
        while index not in going.rows:
            going.wait()
        yield going.rows[index]


class _Sweep:
    """This object is one sweep while it runs."""

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
        """Wait for a task to end, keep its outcome, and advance the rows that need it."""
        if self._begun is None:
            self._begun, self._at_hand = time.monotonic(), len(self.rows)
        self.progress(self._status())
        task, outcome = self.executor.finished()
        if not outcome.get("passing"):
            self.cache.put(task.key, outcome)
        self.tally.done += 1
        self._known[task.key] = outcome
        for index in self._waiting.pop(task.key):
            self.look(index)

    def look(self, index: int) -> None:
        """Make a row, or submit the tasks that it needs next."""
        asked = self.asked[index]
        if index in self.rows:
            return
        try:
            self.rows[index] = row_of(asked, self._found(index, asked) if asked.fits else None)
        except _Later:
            return
        self.tally.rows += 1

    def _found(self, index: int, asked: Configuration) -> Found:
        """Return the outcomes behind a row. Raises _Later if a task is still to be done."""
        if asked.wanted is not None:
            return self._turned(index, asked, asked.wanted)
        plain = Build(asked.subject)
        original, built = self._need(index, plain, _build(asked))
        if original["status"] != OK:
            return Found(original, None, original, None, None)
        one = _run(asked, original, None)
        if built["status"] != OK:
            return Found(original, self._need(index, one)[0], built, None, None)
        other = _run(asked, built, asked.blocks if asked.held else None)
        if asked.sharing is not None:
            other = replace(other, options=replace(other.options, sharing=built["sharing"]))
        first, ran = self._need(index, one, other)
        if first["status"] != OK or ran["status"] != OK:
            return Found(original, first, built, ran, None)
        same = same_outputs(asked.subject.launch, first["outputs"], ran["outputs"])
        if same is None:
            same = self._need(index, Judge(one, other))[0].get("same")
        return Found(original, first, built, ran, same)

    def _turned(self, index: int, asked: Configuration, wanted: Wanted) -> Found:
        """Return the outcomes behind the row of a version whose blocks use shared memory in turns."""
        original, made = self._need(
            index, Build(asked.subject), TakeTurns(asked.subject, asked.options, asked.allocator, asked.among)
        )  # fmt: skip
        if original["status"] != OK:
            return Found(original, None, original, None, None)
        first = self._need(index, _run(asked, original, None))[0]
        if made["status"] != OK:
            return Found(original, first, made, None, None)
        found = version_of(made, wanted)
        return Found(original, first, found["built"], found["ran"], found["same"])

    def _need(self, index: int, *tasks: Task) -> list[Outcome]:
        """Return the outcomes of tasks that a row needs. Raises _Later if some are unknown; these have been submitted
        then."""
        found = [self._outcome(index, task) for task in tasks]
        known = [outcome for outcome in found if outcome is not None]
        if len(known) < len(found):
            raise _Later
        return known

    def _outcome(self, index: int, task: Task) -> Outcome | None:
        """Return the outcome of a task, from this sweep or the cache; if there is none, submit it and return None."""
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

    def _status(self) -> str:
        """Return how far the sweep is, and how long it may still take, in words."""
        assert self._begun is not None
        rows, total = len(self.rows), len(self.asked)
        made, spent = rows - self._at_hand, time.monotonic() - self._begun
        left = f", about {_span(spent / made * (total - rows))} left" if made else ""
        return f"{rows:,} of {count(total, 'row')}{left}"


class _Later(Exception):
    """This exception means that a row needs a task which is still to be done."""


def _build(asked: Configuration) -> Task:
    """Return the task that builds a row's program."""
    subject, budget = asked.subject, (asked.allocator, asked.registers or 0, asked.slots or 0)
    if asked.sharing is not None:
        return BuildPairs(subject, asked.sharing, asked.blocks, *budget)
    ours = asked.allocator == ORIGINAL or asked.held
    return Build(subject) if ours else Build(subject, *budget)


def _run(asked: Configuration, built: Outcome, blocks: int | None) -> Run:
    """Return the run of a built program. blocks: the most resident blocks; None for as many as fit."""
    return Run(asked.subject, built["program"], replace(asked.options, blocks_per_sm=blocks))


def _span(seconds: float) -> str:
    """Return a time in words, in hours, minutes or seconds."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
