"""Sets of points as runs of consecutive ones: live ranges have few runs, however long the code is.

Needs nothing; leaves `Runs`. Asking whether two sets meet, and joining one to another, takes time in the runs of the
smaller one, not in the points of the code.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator


class Runs:
    """A set of points. starts, ends: of its runs, ascending; an end is one past its last point. Runs do not touch."""

    __slots__ = ("ends", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []

    def __bool__(self) -> bool:
        return bool(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(first point, one past the last) of each run, ascending."""
        return zip(self.starts, self.ends, strict=True)

    def __contains__(self, point: int) -> bool:
        at = bisect_right(self.starts, point)
        return at > 0 and point < self.ends[at - 1]

    def __len__(self) -> int:
        """How many points are in the set."""
        return sum(self.ends) - sum(self.starts)

    @property
    def start(self) -> int:
        """The first point, 0 of an empty set."""
        return self.starts[0] if self.starts else 0

    def copy(self) -> Runs:
        twin = Runs()
        twin.starts, twin.ends = self.starts.copy(), self.ends.copy()
        return twin

    def add(self, first: int, end: int) -> None:
        """Add the points first .. end - 1. Fast where they lie behind or at the last run."""
        starts, ends = self.starts, self.ends
        if not starts or first > ends[-1]:
            starts.append(first)
            ends.append(end)
        elif first >= starts[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            low = bisect_left(ends, first)
            high = bisect_right(starts, end)
            if low < high:
                first, end = min(first, starts[low]), max(end, ends[high - 1])
            starts[low:high] = [first]
            ends[low:high] = [end]

    def meets(self, other: Runs) -> bool:
        """Whether the two have a point in common."""
        small, large = (self, other) if len(self.starts) < len(other.starts) else (other, self)
        starts, ends = large.starts, large.ends
        for first, end in small:
            at = bisect_right(ends, first)
            if at < len(starts) and starts[at] < end:
                return True
        return False

    def join(self, other: Runs) -> None:
        """Add all points of `other`, which stays as it is."""
        for first, end in other:
            self.add(first, end)
