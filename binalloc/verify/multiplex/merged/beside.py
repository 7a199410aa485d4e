"""Two virtual blocks of a merged block are put side by side here: which segments may run at the same time?

Needs their segments; leaves the pairs of segments. Both come to each barrier of the merged block, or have ended. They
go the same way at each turning whose condition is the same in both. One may come to a turning earlier than the other,
in its turn: what it has decided is remembered until the other comes there. Where a condition differs, or the turnings
are not known, nothing is assumed any more.

At a vote both are told the same answer. It is "true" if one of them has given that. It is "false" where one of them
takes that for granted: then no other one may have given "true", which is looked at for each pair. Else both answers
are possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from binalloc.verify.multiplex.merged.places import Place
from binalloc.verify.multiplex.merged.virtual import Segment, Turnings, VirtualBlock

MOST_AHEAD = 30  # turnings by which one may be ahead of the other; chosen by hand, it bounds the time
MOST_PAIRS = 100_000  # likewise


class TooMany(Exception):
    """`TooMany` is raised where virtual blocks meet in too many ways."""


@dataclass(frozen=True)
class Moment:
    """A moment of two virtual blocks. first, second: the places at which their segments began."""

    first: Place
    second: Place
    #: whether each has ended in that segment, or threads of it: their accesses may be at any time since
    ended: tuple[bool, bool] = (False, False)
    #: turnings that the first one, and the second one, has taken and the other has not; None where nothing is assumed
    ahead: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]] | None = ((), ())
    fault: str = ""  #: what is wrong with the barriers that lead to it; it leads nowhere then

    @property
    def where(self) -> tuple[Place, Place, tuple[bool, bool], str]:
        """Return all but what is assumed."""
        return self.first, self.second, self.ended, self.fault


Segments = Mapping[Place, Segment]


def moments(
    one: VirtualBlock, other: VirtualBlock, differing: set[int], mine: Segments | None = None,
    theirs: Segments | None = None,
) -> Iterator[Moment]:  # fmt: skip
    """Yield all moments. differing: nodes of turnings whose condition may differ. mine, theirs: other segments than
    those between barriers of the whole merged block."""
    both = one.segments if mine is None else mine, other.segments if theirs is None else theirs
    begin = Moment(one.entry, other.entry)
    seen, work = {begin}, [begin]
    unknown = set()  # ways in which they meet without any assumption: with assumptions they go nowhere else
    while work:
        moment = work.pop()
        if moment.where in unknown:
            continue
        if moment.ahead is None:
            unknown.add(moment.where)
        yield moment
        for new in sorted(_next(moment, both, differing), key=_assumes_nothing) if not moment.fault else ():
            if new not in seen:
                seen.add(new)
                work.append(new)
        if len(seen) > MOST_PAIRS:
            raise TooMany


def _assumes_nothing(moment: Moment) -> bool:
    """Return whether nothing is assumed: such moments are looked at first, as they stand for others."""
    return moment.ahead is None


def _next(moment: Moment, both: tuple[Segments, Segments], differing: set[int]) -> Iterator[Moment]:
    sides = (moment.first, moment.second)
    ways = [{((), None)} if moment.ended[k] else segments[sides[k]].after for k, segments in enumerate(both)]
    for turned, to in ways[0]:
        for turned2, to2 in ways[1]:
            if to is None and to2 is None:
                continue
            ended = to is None, to2 is None
            first, second = moment.first if to is None else to, moment.second if to2 is None else to2
            ahead = _joined(moment, turned, turned2, differing)
            if isinstance(ahead, str):
                continue
            if ahead is not None and any(ended) and not ahead[0 if to is None else 1]:
                ahead = (), ()  # one has ended, and the other has taken all of its turnings
            fault = _fault(to, to2)
            if fault:
                yield Moment(first, second, ended, None, fault)
                continue
            for answer in _answers(to, to2):
                told = [place if end else place.told(answer) for place, end in zip((first, second), ended, strict=True)]
                yield Moment(told[0], told[1], ended, ahead)


def _fault(one: Place | None, other: Place | None) -> str:
    """Return what is wrong if two virtual blocks come to these barriers; None where one has ended."""
    if one is None or other is None:
        return ""
    if (one.gives is None) != (other.gives is None):
        return "virtual blocks may come to barriers of different kinds"
    if (one.gives and other.closes) or (one.closes and other.gives):
        return "a virtual block may give \"true\" where another one counts on \"false\""
    return ""


def _answers(one: Place | None, other: Place | None) -> list[bool]:
    """Return the answers that are possible at a barrier; a plain one has "false"."""
    places = [place for place in (one, other) if place is not None]
    if any(place.gives for place in places):
        return [True]
    return [False] if any(place.gives is None or place.closes for place in places) else [False, True]


def _joined(
    moment: Moment, turned: Turnings, turned2: Turnings, differing: set[int]
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]] | str | None:
    """Return by what each is ahead when both have gone on: "no" where they cannot go so, None where nothing is known.
    """
    if moment.ahead is None or turned is None or turned2 is None:
        return None
    mine, theirs = (*moment.ahead[0], *turned), (*moment.ahead[1], *turned2)
    for a, b in zip(mine, theirs, strict=False):
        if a[0] != b[0] or (a != b and a[0] in differing):
            return None
        if a != b:
            return "no"
    count = min(len(mine), len(theirs))
    if max(len(mine), len(theirs)) - count > MOST_AHEAD:
        return None
    return mine[count:], theirs[count:]
