"""Signals wait until the cycle is over, and all listeners of a run have heard of it: an interrupted device must be
between two cycles.

Compiled device code is never interrupted: Python delivers no signal before it returns. In the `python` engine a signal
would raise its KeyboardInterrupt in the middle of an instruction.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # the ones with which users and systems end a run
_kept: list[bool] = []
"""Not empty while signals are kept. It makes nested calls free: changing handlers takes longer than a compiled
cycle."""


@contextmanager
def whole_cycles() -> Iterator[None]:
    """Keep signals that have handlers while it lasts, and handle them at its end. The second of a kind is handled at
    once. Inside of another `whole_cycles` it does nothing, as the outer one lasts longer."""
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
