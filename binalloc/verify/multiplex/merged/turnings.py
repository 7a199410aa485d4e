"""Branches at which it is decided which barriers a virtual block comes to are found here: turnings.

Needs an outline that was walked, and the virtual blocks with their barriers; leaves nodes of the outline.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.isa.kinds import Flow
from binalloc.verify.multiplex.graph import Graph, Meetings
from binalloc.verify.multiplex.merged.roles import Role
from binalloc.verify.multiplex.merged.virtual import VirtualBlock
from binalloc.verify.multiplex.merged.walked import Walked
from binalloc.verify.multiplex.walk import Assumed, Walk


def turnings(walked: Walked, walk: Walk, assumed: Assumed, meetings: Meetings) -> set[int]:
    """Return the nodes of branches from which different barriers may come next. meetings: at which barriers."""
    found: set[int] = set()
    for b, out in enumerate(walk.edges):
        coming = sum(meetings.coming >> to & 1 for to in out)  # ways to another barrier
        as_one = b not in walk.parted and not assumed.apart >> b & 1
        if coming and (meetings.meeting(b) == meetings.sink or (coming < len(out) and as_one)) and len(out) > 1:
            found.add(walked.graph.words[b][-1])
    return found


def without_inner(meetings: Meetings, graph: Graph, virtuals: Iterable[VirtualBlock]) -> Meetings:
    """Return the meetings at other barriers than those of a virtual block that has its turn: there it waits for its own
    threads alone, or others wait for it, however often it comes there."""
    inner: dict[int, bool] = {}
    for place in (place for virtual in virtuals for place in virtual.inserted):
        alone = place.gives is True or place.role in (Role.OWN, Role.GIVE)
        inner[place.node] = inner.get(place.node, True) and alone
    mask = sum(1 << graph.number[n] for n, alone in inner.items() if alone and n in graph.number)
    return Meetings(meetings.edges, meetings.barriers & ~mask)


def leaving(walked: Walked, walk: Walk, meetings: Meetings) -> set[int]:
    """Return the nodes of branches from which threads may come to the end of the kernel, and not to where all ways from
    the branch meet."""
    return {
        walked.graph.words[b][-1]
        for b, out in enumerate(walk.edges)
        if len(out) > 1 and _may_leave(walked, walk, b, meetings.meeting(b))
    }


def _may_leave(walked: Walked, walk: Walk, block: int, meeting: int | None) -> bool:
    seen, work = {block, meeting}, sorted(walk.edges[block] - {meeting})
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        word = walked.words[walked.graph.words[at][-1]]
        if not walk.edges[at] or (word is not None and word.view.control == Flow.EXIT):
            return True
        work += sorted(walk.edges[at] - seen)
    return False
