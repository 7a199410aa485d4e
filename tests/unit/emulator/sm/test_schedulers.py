"""The table of warp schedulers, and that a row more is all the compiled choice needs (command line: test_extending).
What each policy does is in `test_policies`."""

from __future__ import annotations

import pytest

from binalloc.emulator.host.engine import source_hash
from binalloc.emulator.schedulers.loose_round_robin import LRR
from binalloc.emulator.schedulers.oldest import OLDEST
from binalloc.emulator.schedulers.scheduler import EVENTS, WarpScheduler
from binalloc.emulator.schedulers.table import (
    DEFAULT,
    SCHEDULERS,
    event_text,
    listeners,
    pick,
    pick_text,
    policy_number,
)
from binalloc.emulator.schedulers.two_level import TWO_LEVEL
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.errors import UsageError
from tests.support.kits.extended import Extended

YOUNGEST = '''
"""The youngest warp first."""

from binalloc.emulator.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.device import device
from binalloc.emulator.state.records import Gpu, Sm


@device
def youngest(g: Gpu, s: Sm, sch: int, eligible: int) -> int:
    i = 0
    while eligible >> (i + 1):
        i += 1
    return i


YOUNGEST = WarpScheduler("youngest", "the warp in the highest slot", youngest)
'''
COMPILED = """
import numpy as np
from binalloc.emulator.host.engine import build, source_hash
from binalloc.emulator.schedulers.table import SCHEDULERS
from binalloc.emulator.state.records import Gpu, Sm, dtype_of
pick = build("binalloc.emulator.schedulers.table.pick", cache=False)
g, s = np.zeros(1, dtype_of(Gpu)), np.zeros(1, dtype_of(Sm))
s["last"][:] = -1
for g["policy"][0] in (0, len(SCHEDULERS) - 1):
    print(pick(g[0], s[0], 0, 0b101100))
print(source_hash())
"""


def test_the_table_names_what_exists() -> None:
    assert DEFAULT == "lrr"
    assert [policy_number(name) for name in SCHEDULERS] == list(range(len(SCHEDULERS)))
    assert all(name == scheduler.name for name, scheduler in SCHEDULERS.items())
    with pytest.raises(UsageError, match=r"no such warp scheduler.*'nosuch'.*expected lrr, gto, two_level or oldest"):
        policy_number("nosuch")


def test_the_choice_follows_from_the_rows() -> None:
    assert pick_text([LRR]).splitlines()[1:] == ["    return _pick0(g, s, sch, eligible)"]
    assert pick_text([LRR, LRR, LRR]).splitlines()[3:] == [
        "    if g.policy == 1:", "        return _pick1(g, s, sch, eligible)", "    return _pick2(g, s, sch, eligible)",
    ]  # fmt: skip


def test_who_listens_is_told_and_nobody_else() -> None:
    """An event that no row hears of costs nothing: its function does nothing and is compiled into its callers."""
    rows = [LRR, TWO_LEVEL, OLDEST, TWO_LEVEL]
    assert event_text("waits", rows).splitlines() == [
        "def waits(g, s, w, boards):",
        "    if g.policy == 1:", "        _waits1(g, s, w, boards)",
        "    if g.policy == 3:", "        _waits3(g, s, w, boards)",
        "    return",
    ]  # fmt: skip
    assert listeners("waits", rows) == {"_waits1": TWO_LEVEL.hears["waits"], "_waits3": TWO_LEVEL.hears["waits"]}
    for event in EVENTS:
        assert event_text(event, [LRR, OLDEST]).splitlines()[1:] == ["    return"]
        assert listeners(event, [LRR, OLDEST]) == {}
    with pytest.raises(AssertionError, match="hears of what nobody tells"):
        WarpScheduler("odd", "", LRR.pick, {"nosuch": TWO_LEVEL.hears["ended"]})


def test_round_robin_goes_on_behind_the_last_and_begins_again() -> None:
    g, s = Gpu(), Sm()
    for last, chosen in ((-1, 2), (1, 2), (2, 3), (3, 5), (5, 2)):
        s.last[0] = last
        assert pick(g, s, 0, 0b101100) == chosen


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    """A copy of the package with one more scheduler: a file and a row."""
    copy = Extended(tmp_path_factory.mktemp("extended"))
    room = "binalloc/emulator/schedulers"
    copy.add_file(f"{room}/youngest.py", YOUNGEST)
    imported = "from binalloc.emulator.schedulers.youngest import YOUNGEST"
    copy.add_named(f"{room}/table.py", "YOUNGEST", imported)
    return copy


def test_the_compiled_choice_has_it_too_and_is_kept_apart(extended: Extended) -> None:
    first, second, key = extended.python(COMPILED).split()
    assert (first, second) == ("2", "5")
    assert key != source_hash()
