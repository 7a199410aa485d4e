"""All warp schedulers. A new one is a file beside this one and a row here: `pick`, and who hears of what, are written
from the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from binalloc.emulator.schedulers.greedy_then_oldest import GTO
from binalloc.emulator.schedulers.loose_round_robin import LRR
from binalloc.emulator.schedulers.oldest import OLDEST
from binalloc.emulator.schedulers.scheduler import EVENTS, WarpScheduler
from binalloc.emulator.schedulers.two_level import TWO_LEVEL
from binalloc.emulator.state.device import define
from binalloc.errors import Hint
from binalloc.rows import by_name, find

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

SCHEDULERS: dict[str, WarpScheduler] = by_name((LRR, GTO, TWO_LEVEL, OLDEST))
DEFAULT = LRR.name


def policy_number(name: str) -> int:
    """What `g.policy` says for the scheduler called `name`. Raises UsageError with the known names."""
    return list(SCHEDULERS.values()).index(find(SCHEDULERS, name, "warp scheduler", Hint("{scheduler}")))


def pick_text(rows: Sequence[WarpScheduler]) -> str:
    """The device function `pick`: the choice of scheduler `g.policy`, a row's number; the last row is not asked for."""
    lines = ["def pick(g, s, sch, eligible):"]
    for number in range(len(rows) - 1):
        lines += [f"    if g.policy == {number}:", f"        return _pick{number}(g, s, sch, eligible)"]
    return "\n".join([*lines, f"    return _pick{len(rows) - 1}(g, s, sch, eligible)", ""])


def event_text(event: str, rows: Sequence[WarpScheduler]) -> str:
    """The device function that tells scheduler `g.policy` of an event, if it listens; nothing at all if none does."""
    lines = [f"def {event}({EVENTS[event]}):"]
    for number, row in enumerate(rows):
        if event in row.hears:
            lines += [f"    if g.policy == {number}:", f"        _{event}{number}({EVENTS[event]})"]
    return "\n".join([*lines, "    return", ""])


def listeners(event: str, rows: Sequence[WarpScheduler]) -> dict[str, Callable[..., None]]:
    """The device functions that `event_text` calls, by the names by which it does."""
    return {f"_{event}{number}": row.hears[event] for number, row in enumerate(rows) if event in row.hears}


_ROWS = list(SCHEDULERS.values())
pick: Callable[[Gpu, Sm, int, int], int]
define(globals(), "pick", pick_text(_ROWS), {f"_pick{n}": row.pick for n, row in enumerate(_ROWS)}, inline=True)
started: Callable[[Gpu, Sm, int], None]
ended: Callable[[Gpu, Sm, int], None]
missed: Callable[[Gpu, Sm, int], None]
waits: Callable[[Gpu, Sm, int, int], None]
completed: Callable[[Gpu, Sm, int, int], None]
resumed: Callable[[Gpu, Sm, int], None]
arrived: Callable[[Gpu, Sm, int], None]
opened: Callable[[Gpu, Sm, int], None]
for _event in EVENTS:
    define(globals(), _event, event_text(_event, _ROWS), listeners(_event, _ROWS), inline=True)
