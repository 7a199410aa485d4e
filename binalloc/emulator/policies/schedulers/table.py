"""This module has the table of warp schedulers. A new one is a file in this folder and a row here; `pick` is written
from the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from binalloc.emulator.policies.schedulers.batch_aware import TBAS
from binalloc.emulator.policies.schedulers.block_groups import OWL
from binalloc.emulator.policies.schedulers.cache_conscious import CCWS
from binalloc.emulator.policies.schedulers.greedy_then_oldest import GTO
from binalloc.emulator.policies.schedulers.loose_round_robin import LRR
from binalloc.emulator.policies.schedulers.oldest import OLDEST
from binalloc.emulator.policies.schedulers.owner_first import OWF
from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.policies.schedulers.two_level import TWO_LEVEL
from binalloc.emulator.state.policy import define_choice
from binalloc.errors import Hint
from binalloc.rows import Chosen, by_name, chosen

if TYPE_CHECKING:
    from binalloc.emulator.state.records import Gpu, Sm

SCHEDULERS: dict[str, WarpScheduler] = by_name((LRR, GTO, TWO_LEVEL, OLDEST, OWF, CCWS, TBAS, OWL))
DEFAULT = LRR.name


def chosen_scheduler(text: str) -> Chosen:
    """Return the scheduler that a user has chosen. Its number is the value of `g.policy`. Raises UsageError with what
    could be chosen."""
    return chosen(SCHEDULERS, text, "warp scheduler", Hint("{scheduler}"))


pick: Callable[[Gpu, Sm, int, int], int]
define_choice(globals(), "pick", "g, s, sch, eligible", "policy", [row.pick for row in SCHEDULERS.values()])
