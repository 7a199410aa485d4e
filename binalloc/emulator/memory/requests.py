"""Requests to the shared part of the memory system are rows: made, handed from stage to stage, and given back."""

from __future__ import annotations

from binalloc.emulator.state.device import device
from binalloc.emulator.state.modes import CHECKING
from binalloc.emulator.state.parts.shares import Cause
from binalloc.emulator.state.records import Gpu


@device
def make_request(g: Gpu, kind: int, source: int, line: int, words: int, link: int) -> int:
    """Return a new request for `words` (a bit each) of a line. source: the SM or slice to be notified of its end. link:
    the number by which the source identifies it."""
    r = g.free_request - 1
    if r >= 0:
        g.free_request = g.following[r]
    else:
        r = g.requests
        g.requests += 1
    g.stamp += 1
    g.kind[r] = kind
    g.source[r] = source
    g.line[r] = line
    g.home[r] = line
    g.words[r] = words
    g.link[r] = link
    g.writes[r] = 0
    g.age[r] = g.stamp
    if CHECKING and g.profile:
        g.cause[r] = Cause.OTHER
    return r


@device
def drop_request(g: Gpu, r: int) -> None:
    """Free the request, which has ended."""
    g.following[r] = g.free_request
    g.free_request = r + 1
