"""The table of warp schedulers, and that a row more is all the compiled choice needs (command line: test_extending).
What each policy does is in `test_policies`."""

from __future__ import annotations

import pytest

from binalloc.emulator.host.engines.engine import source_hash
from binalloc.emulator.policies.events import PolicyKind, event_text
from binalloc.emulator.policies.schedulers.loose_round_robin import LRR
from binalloc.emulator.policies.schedulers.oldest import OLDEST
from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.policies.schedulers.table import DEFAULT, SCHEDULERS, chosen_scheduler, pick
from binalloc.emulator.policies.schedulers.two_level import TWO_LEVEL
from binalloc.emulator.state.policy import EVENTS, SmPolicy, choice_text
from binalloc.emulator.state.records import Gpu, Sm
from binalloc.errors import UsageError
from tests.support.kits.extended import Extended

YOUNGEST = '''
"""The youngest warp first."""

from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
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
from binalloc.emulator.host.engines.engine import build, source_hash
from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.state.records import Gpu, Sm, dtype_of
pick = build("binalloc.emulator.policies.schedulers.table.pick", cache=False)
g, s = np.zeros(1, dtype_of(Gpu)), np.zeros(1, dtype_of(Sm))
s["last"][:] = -1
for g["policy"][0] in (0, len(SCHEDULERS) - 1):
    print(pick(g[0], s[0], 0, 0b101100))
print(source_hash())
"""


def test_the_table_names_what_exists() -> None:
    assert DEFAULT == "lrr"
    assert [chosen_scheduler(name).number for name in SCHEDULERS] == list(range(len(SCHEDULERS)))
    assert all(name == scheduler.name for name, scheduler in SCHEDULERS.items())
    expected = ", ".join([*SCHEDULERS][:-1])
    last = [*SCHEDULERS][-1]
    with pytest.raises(UsageError, match=rf"no such warp scheduler.*'nosuch'.*expected {expected} or {last}"):
        chosen_scheduler("nosuch")


def test_the_choice_follows_from_the_rows() -> None:
    asked = "pick", "g, s, sch, eligible", "policy"
    assert choice_text(*asked, 1).splitlines()[1:] == ["    return _pick0(g, s, sch, eligible)"]
    assert choice_text(*asked, 3).splitlines()[3:] == [
        "    if g.policy == 1:", "        return _pick1(g, s, sch, eligible)", "    return _pick2(g, s, sch, eligible)",
    ]  # fmt: skip


def test_who_listens_is_told_and_nobody_else() -> None:
    """An event that no row hears of costs nothing: its function does nothing and is compiled into its callers."""
    one = PolicyKind({"a": LRR, "b": TWO_LEVEL, "c": OLDEST, "d": TWO_LEVEL}, "policy")
    others = PolicyKind({"a": TWO_LEVEL, "b": LRR, "c": TWO_LEVEL}, "listening", bits=True)
    text, uses = event_text("waits", (one, others))
    assert text.splitlines() == [
        "def waits(g, s, w, boards):",
        "    if g.policy == 1:", "        _waits0_1(g, s, w, boards)",
        "    if g.policy == 3:", "        _waits0_3(g, s, w, boards)",
        "    if (g.listening >> 0) & 1:", "        _waits1_0(g, s, w, boards)",
        "    if (g.listening >> 2) & 1:", "        _waits1_2(g, s, w, boards)",
        "    return",
    ]  # fmt: skip
    assert set(uses) == {"_waits0_1", "_waits0_3", "_waits1_0", "_waits1_2"}
    assert set(uses.values()) == {TWO_LEVEL.hears["waits"]}
    for event in EVENTS:
        text, uses = event_text(event, (PolicyKind({"a": LRR, "b": OLDEST}, "policy"),))
        assert text.splitlines()[1:] == ["    return"]
        assert uses == {}
    with pytest.raises(AssertionError, match="handles an event that there is not"):
        WarpScheduler("odd", "", LRR.pick, hears={"nosuch": TWO_LEVEL.hears["ended"]})


def test_the_events_of_the_rows_in_force_are_wanted() -> None:
    gone = TWO_LEVEL.hears["ended"]
    keeps = SmPolicy("keeps", "", hears={"evicted": gone})
    one, bits = PolicyKind({"a": LRR, "b": keeps}, "policy"), PolicyKind({"a": LRR, "b": keeps}, "listening", bits=True)
    assert [row.name for row in one.in_force(1)] == ["keeps"]
    assert [row.name for row in bits.in_force(0b11)] == ["lrr", "keeps"]
    assert bits.in_force(0) == []


def test_round_robin_goes_on_behind_the_last_and_begins_again() -> None:
    g, s = Gpu(), Sm()
    for last, chosen in ((-1, 2), (1, 2), (2, 3), (3, 5), (5, 2)):
        s.last[0] = last
        assert pick(g, s, 0, 0b101100) == chosen


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    """A copy of the package with one more scheduler: a file and a row."""
    copy = Extended(tmp_path_factory.mktemp("extended"))
    room = "binalloc/emulator/policies/schedulers"
    copy.add_file(f"{room}/youngest.py", YOUNGEST)
    imported = "from binalloc.emulator.policies.schedulers.youngest import YOUNGEST"
    copy.add_named(f"{room}/table.py", "YOUNGEST", imported)
    return copy


def test_the_compiled_choice_has_it_too_and_is_kept_apart(extended: Extended) -> None:
    first, second, key = extended.python(COMPILED).split()
    assert (first, second) == ("2", "5")
    assert key != source_hash()
