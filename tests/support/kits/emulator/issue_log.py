"""What an SM's schedulers did and heard, cycle by cycle: runs of the `python` engine, watched from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from binalloc.emulator.sm import barriers, device_loop, dispatch, events, issue, reference
from binalloc.emulator.state.policy import EVENTS

IDLE = -1


class Issue(NamedTuple):
    """A scheduler's turn that was used; `bit` is the warp's index among the scheduler's."""

    sm: int
    scheduler: int
    cycle: int
    bit: int


class Heard(NamedTuple):
    """An event as told to the policies; `detail` holds what it says beside the warp slot."""

    sm: int
    cycle: int
    event: str
    warp: int
    detail: tuple[int, ...]


@contextmanager
def logged_issues() -> Iterator[list[Issue]]:
    """Filled by the runs within."""
    log: list[Issue] = []
    plain = device_loop.select

    def select(g: Any, s: Any, program: Any, sch: int) -> int:
        w = plain(g, s, program, sch)
        if w >= 0:
            log.append(Issue(s.id, sch, g.cycle, w // g.schedulers))
        return w

    with patch.object(device_loop, "select", select):
        yield log


def order(log: list[Issue]) -> list[int]:
    """Which of its warps the only scheduler issued from in cycle 0, 1, and so on up to the last; IDLE where from
    none."""
    bits = {issue.cycle: issue.bit for issue in log}
    assert len(bits) == len(log), "more than one scheduler"
    return [bits.get(cycle, IDLE) for cycle in range(max(bits) + 1)]


@contextmanager
def logged_events() -> Iterator[list[Heard]]:
    """Filled by the runs within. No policy hears anything meanwhile."""
    log: list[Heard] = []

    def listener(event: str) -> Callable[..., None]:
        def listen(g: Any, s: Any, w: int, *detail: int) -> None:
            log.append(Heard(s.id, g.cycle, event, w, detail))

        return listen

    with ExitStack() as stack:
        for module in (barriers, dispatch, events, issue, reference):
            for event in EVENTS.keys() & vars(module).keys():
                stack.enter_context(patch.object(module, event, listener(event)))
        yield log
