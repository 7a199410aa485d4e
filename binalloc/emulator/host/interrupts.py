"""Signals wait until the cycle is over, and all who listen to a run have heard of it: a device that is interrupted must
stand between two cycles.

Compiled device code is never interrupted, Python tells signals to nobody before it returns. In the `python` engine a
signal would raise its KeyboardInterrupt in the middle of an instruction."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_kept: list[bool] = []
"""Not empty while signals are kept. Changing handlers takes longer than a compiled cycle."""


@contextmanager
def whole_cycles() -> Iterator[None]:
    """While it lasts, signals that have handlers are kept; at its end they are handled. The second of a kind is
    handled at once. Inside of another one it does nothing: that lasts longer."""
    if threading.current_thread() is not threading.main_thread() or _kept:
        yield
        return
    usual = {number: signal.getsignal(number) for number in SIGNALS}
    usual = {number: handler for number, handler in usual.items() if callable(handler)}
    came: list[int] = []

    def keep(number: int, frame: FrameType | None) -> None:
        handler = usual[signal.Signals(number)]
        if number in came and callable(handler):
            handler(number, frame)
        came.append(number)

    for number in usual:
        signal.signal(number, keep)
    _kept.append(True)
    try:
        yield
    finally:
        _kept.clear()
        for number, handler in usual.items():
            signal.signal(number, handler)
    for first in came[:1]:
        handler = usual[signal.Signals(first)]
        assert callable(handler)
        handler(first, None)
