"""This module decides which memory variables may go to slots, so that Max-live fits: unified paper, section 3.2.2,
Steps 1 to 4.

Needs a call graph of `Procedure`s. Leaves for each procedure the bitset of variables that stay candidates.

Where this differs from the paper:
- The paper enumerates composition instructions (call paths down to an instruction). Here their number per live count is
  carried along the call graph as histograms, with the same result in polynomial time.
- Priority "cost" is ours: it drops the cheapest variable per over-limit composition instruction, counted anew each
  time, and gives back variables that later drops made needless to drop.

Counting anew does not begin from the start. A drop changes the live counts of the lines in which the variable was live.
Counts of other variables change only if that changes a line's number of over-limit compositions (`_Compositions`).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from binalloc.bitset import bits
from binalloc.models.allocation.stack.procedures import Procedure, Variable, all_variables, call_order

PRIORITIES = ("frequency", "cost")
"""Orders in which `prune` drops variables: the paper's, and ours."""

Histogram = Counter[int]
"""Live count -> number of composition instructions (or call paths) with that count."""


def prune(
    procedures: Mapping[str, Procedure],
    kernel: str,
    slots: int,
    priority: str = "frequency",
    candidates: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return, for each reachable procedure, the bitset of variables that may go to slots, such that Max-live <=
    `slots`.

    candidates: only these variables may be kept (none where a procedure is not named; default: all).

    Priority "frequency": the paper's Steps 1 to 4. Step 1: find composition instructions with more than `slots` live.
    Step 2: the priority of a variable is the number of them in which it is live. Step 3, repeated: drop the variable
    with the lowest priority, until Max-live fits. Ties: the cheaper variable, then callers before callees, then the
    lower number.

    Priority "cost": drop the variable with the lowest cost per over-limit composition instruction, counted anew each
    time (same ties). Then take back, most expensive first, every dropped variable that still fits.
    """
    if priority not in PRIORITIES:
        raise ValueError(f"priority {priority!r}: expected one of {', '.join(PRIORITIES)}")
    lives = _Lives(procedures, kernel, candidates)
    compositions = _Compositions(lives, slots)
    rank = {name: number for number, name in enumerate(lives.order)}

    def tie(item: Variable) -> tuple[float, int, int]:
        return procedures[item[0]].cost_of(item[1]), rank[item[0]], item[1]

    if priority == "frequency":
        frequency = compositions.frequency
        for item in sorted(frequency, key=lambda item: (frequency[item], *tie(item))):
            if lives.max_live() <= slots:
                break
            lives.drop(item)
        return lives.kept
    dropped = _drop_cheapest(compositions, tie)
    for item in sorted(dropped, key=lambda item: (-tie(item)[0], *tie(item)[1:])):
        lives.take_back(item)
        if lives.max_live() > slots:
            lives.drop(item)
    return lives.kept


def _drop_cheapest(compositions: _Compositions, tie: Callable[[Variable], tuple[float, int, int]]) -> list[Variable]:
    """Drop the cheapest variable per over-limit composition instruction until there is no such instruction."""
    frequency = compositions.frequency

    def key(item: Variable) -> tuple[float, float, int, int]:
        cost, rank, number = tie(item)
        return cost / frequency[item], cost, rank, number

    dropped: list[Variable] = []
    queue = [(key(item), item) for item in frequency]  # frequencies only fall, so a stale key is put back when it is up
    heapq.heapify(queue)
    while queue:
        stored, item = heapq.heappop(queue)
        if item not in frequency:
            continue
        if stored != key(item):
            heapq.heappush(queue, (key(item), item))
            continue
        compositions.drop(item)
        dropped.append(item)
    return dropped


@dataclass(eq=False, slots=True)
class _Line:
    """A line is the instructions of one procedure that have one live set, or one of its calls."""

    procedure: str  #: name of the procedure
    live: int  #: bitset of live variables
    times: int  #: number of instructions (1 for a call)
    callee: str = ""  #: callee of a call, else ""
    count: int = 0  #: how many of `live` are kept
    over: int = 0  #: over-limit composition instructions in which each member of `live` is live because of this line


class _Lives:
    """Live counts say how many variables are live in each line of the procedures reachable from `kernel`.

    Only the variables in `kept` are counted.
    """

    def __init__(
        self, procedures: Mapping[str, Procedure], kernel: str, candidates: Mapping[str, int] | None
    ) -> None:
        self.kernel = kernel
        self.order = call_order(procedures, kernel)
        wanted = all_variables(procedures) if candidates is None else candidates
        self.kept = {name: wanted.get(name, 0) for name in self.order}
        self.lines: dict[str, list[_Line]] = {}
        self.calls: dict[str, list[_Line]] = {}
        self.holding: dict[Variable, list[_Line]] = {}
        self.own: dict[str, Histogram] = {}
        for name in self.order:
            procedure, mask = procedures[name], self.kept[name]
            live: Counter[int] = Counter()
            for m, times in procedure.live_sets().items():
                live[m & mask] += times
            self.lines[name] = [_Line(name, m, times, "", m.bit_count()) for m, times in live.items()]
            across = [(site.callee, site.live_across & mask) for site in procedure.calls]
            self.calls[name] = [_Line(name, m, 1, callee, m.bit_count()) for callee, m in across]
            self.own[name] = Counter()
            for line in self.lines[name]:
                self.own[name][line.count] += line.times
            for line in (*self.lines[name], *self.calls[name]):
                for v in bits(line.live):
                    self.holding.setdefault((name, v), []).append(line)

    def drop(self, item: Variable) -> None:
        self.kept[item[0]] &= ~(1 << item[1])
        self._change(item, -1)

    def take_back(self, item: Variable) -> None:
        self.kept[item[0]] |= 1 << item[1]
        self._change(item, 1)

    def _change(self, item: Variable, by: int) -> None:
        """Change the counts of all lines in which a variable is live."""
        own = self.own[item[0]]
        for line in self.holding.get(item, ()):
            if not line.callee:
                own[line.count] -= line.times
                own[line.count + by] += line.times
            line.count += by

    def max_live(self) -> int:
        """Return the most kept variables live at once in the kernel, callees included."""
        most: dict[str, int] = {}
        for name in reversed(self.order):
            counts = [count for count, times in self.own[name].items() if times]
            most[name] = max([0, *counts, *(call.count + most[call.callee] for call in self.calls[name])])
        return most[self.kernel]


class _Compositions:
    """Over-limit composition instructions are counted for each variable, anew whenever a variable is dropped.

    frequency: for each variable the number of composition instructions with more than `limit` live in which it is live;
    variables in none are left out. above[p]: call paths down to the entry of p, by the number of variables live on
    them. below[p]: composition instructions from the entry of p on.
    """

    def __init__(self, lives: _Lives, limit: int) -> None:
        self.lives = lives
        self.limit = limit
        self.frequency: dict[Variable, int] = {}
        self.below: dict[str, Histogram] = {}
        self.above: dict[str, Histogram] = {}
        self._reach: dict[tuple[str, int], int] = {}
        self._count_below()
        self._count_above()
        for name in lives.order:
            for line in (*lives.lines[name], *lives.calls[name]):
                self._weigh(line)

    def drop(self, item: Variable) -> None:
        """Drop a variable and update `frequency`."""
        self.lives.drop(item)
        self.frequency.pop(item, None)
        lines = list(self.lives.holding[item])
        called = self._count_below() if len(self.lives.order) > 1 else set()
        entered = self._count_above() if any(line.callee for line in lines) else set()
        for name in self.lives.order:
            if name in entered:
                lines += self.lives.lines[name]
            lines += [call for call in self.lives.calls[name] if name in entered or call.callee in called]
        for line in lines:
            self._weigh(line)

    def _weigh(self, line: _Line) -> None:
        """Count the over-limit compositions of a line anew, for all its members."""
        over = self._paths_over(line) if line.callee else line.times * self._paths_above(line.procedure, line.count)
        change = over - line.over
        if not change:
            return
        line.over = over
        frequency = self.frequency
        for v in bits(line.live & self.lives.kept[line.procedure]):
            item = line.procedure, v
            count = frequency.get(item, 0) + change
            if count:
                frequency[item] = count
            else:
                del frequency[item]

    def _paths_above(self, name: str, count: int) -> int:
        """Return the number of call paths to procedure `name` on which `count` more variables exceed the limit."""
        if (name, count) not in self._reach:
            self._reach[name, count] = _exceeding(self.above[name], self.limit - count)
        return self._reach[name, count]

    def _paths_over(self, call: _Line) -> int:
        """Return the number of over-limit composition instructions through a call."""
        below, limit = self.below[call.callee], self.limit - call.count
        return sum(n * _exceeding(below, limit - d) for d, n in self.above[call.procedure].items())

    def _count_below(self) -> set[str]:
        """Set `below`, callees first, and return the procedures for which it changed."""
        changed = set()
        for name in reversed(self.lives.order):
            counts = +self.lives.own[name]
            for call in self.lives.calls[name]:
                _add_shifted(counts, self.below[call.callee], call.count)
            if counts != self.below.get(name):
                self.below[name] = counts
                changed.add(name)
        return changed

    def _count_above(self) -> set[str]:
        """Set `above`, callers first, and return the procedures for which it changed."""
        above: dict[str, Histogram] = {name: Counter() for name in self.lives.order}
        above[self.lives.kernel][0] = 1
        for name in self.lives.order:
            for call in self.lives.calls[name]:
                _add_shifted(above[call.callee], above[name], call.count)
        changed = {name for name, counts in above.items() if counts != self.above.get(name)}
        self.above = above
        if changed:
            self._reach.clear()
        return changed


def _add_shifted(target: Histogram, source: Histogram, shift: int) -> None:
    for count, times in source.items():
        target[count + shift] += times


def _exceeding(histogram: Histogram, limit: int) -> int:
    return sum(times for count, times in histogram.items() if count > limit)
