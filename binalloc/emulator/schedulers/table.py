"""All warp schedulers. A new one is a file beside this one and a row here: `pick` is written from the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from binalloc.emulator.schedulers.loose_round_robin import LRR
from binalloc.emulator.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.device import define
from binalloc.errors import Hint
from binalloc.rows import by_name, find

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

SCHEDULERS: dict[str, WarpScheduler] = by_name((LRR,))
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


pick: Callable[[Gpu, Sm, int, int], int]
_PICKS = {f"_pick{number}": row.pick for number, row in enumerate(SCHEDULERS.values())}
define(globals(), "pick", pick_text(list(SCHEDULERS.values())), _PICKS, inline=True)
