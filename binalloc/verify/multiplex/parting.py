"""Threads that part must meet again before a barrier, and lanes of a warp at its reconvergence point: checked here.

Needs a walk whose assumptions hold; leaves findings.
"""

from __future__ import annotations

from binalloc.verify.multiplex.graph import Graph, Meetings
from binalloc.verify.multiplex.kernels.pairing import Pairs
from binalloc.verify.multiplex.together import region
from binalloc.verify.multiplex.walk import Walk


def check_parting(pairing: Pairs, graph: Graph, points: dict[int, int], walk: Walk, meetings: Meetings) -> None:
    """Check where threads part. points: by the block of a branch, the block of its reconvergence point."""
    for b, warps in sorted(walk.parted.items()):
        n = graph.words[b][-1]
        m, meeting, point = pairing.label[n], meetings.meeting(b), pairing.new.fn.reconvergence(n)
        if warps and pairing.deeper(n):
            pairing.fail("stack", "takes more entries of the reconvergence stack than the original", n, m)
        if meeting is None:
            continue
        if meeting == meetings.sink:
            reached = region(meetings, b) & meetings.barriers
            found = [graph.words[x][0] for x in range(len(graph.words)) if reached >> x & 1]
            pairing.fail("together", "threads that part here may come to different barriers", n, m,
                         found=f"barriers at words {found}")  # fmt: skip
        elif warps and not _meet(points, walk, meetings, b):
            pairing.fail("together", "lanes that part here may not have met again at a barrier", n, m,
                         f"reconvergence at word {graph.words[meeting][0]}, say", str(point))  # fmt: skip


def _meet(points: dict[int, int], walk: Walk, meetings: Meetings, b: int) -> bool:
    """Return whether lanes that part behind block `b` meet at its reconvergence point before every barrier: all ways
    pass it, and lanes that part once more before it have met again by then."""
    point = points.get(b)
    if point is None or meetings.region(b, point) & meetings.barriers:
        return False
    for other, warps in walk.parted.items():
        if warps and other != b and meetings.region(b, point) >> other & 1:
            at = points.get(other)
            if at is None or (at != point and meetings.region(other, at) >> point & 1):
                return False
    return True
