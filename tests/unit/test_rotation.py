"""What takes turns in `make test`: every test in its quarter, and no test left out of all four."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.support.kits.suite import rotation
from tests.support.kits.suite.rotation import PARTS, Turn, left_out

CASES = [(f"tests/a.py::test_cases[{n}-{kind}]", Turn()) for n in range(10) for kind in "xy"]
SAME = [(f"tests/a.py::test_same_cases[{n}-{kind}]", Turn()) for n in range(10) for kind in "xy"]
WHOLE = [(f"tests/b.py::test_{n}", Turn()) for n in range(6)]
LONG = [(f"tests/{n}.py::test_long", Turn("long")) for n in range(9)]
MIXED = [(f"tests/c.py::test_long[{n}]", Turn("long")) for n in range(3)]
TOGETHER = [(f"tests/d.py::test_{n}", Turn("long", "d")) for n in range(5)]
TESTS = [*CASES, *SAME, *WHOLE, *LONG, *MIXED, *TOGETHER]


@pytest.fixture
def quarters(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The ids that run in each quarter."""
    return [running(TESTS, commit, monkeypatch) for commit in commits(monkeypatch)]


def commits(patch: pytest.MonkeyPatch) -> list[str]:
    """A text for each quarter."""
    found: dict[int | None, str] = {}
    for n in range(100):
        patch.setenv(rotation.COMMIT, str(n))
        found.setdefault(rotation.part(), str(n))
    return [found[part] for part in range(PARTS)]


def running(tests: Iterable[tuple[str, Turn]], commit: str, patch: pytest.MonkeyPatch) -> list[str]:
    patch.setenv(rotation.COMMIT, commit)
    left = left_out(tests)
    return [one for one, _ in tests if one not in left]


def test_every_test_runs_in_one_quarter_of_four(quarters: list[list[str]]) -> None:
    assert Counter(one for quarter in quarters for one in quarter) == dict.fromkeys((one for one, _ in TESTS), 1)


def test_quarters_are_of_one_size(quarters: list[list[str]]) -> None:
    for group in (CASES, SAME, WHOLE):
        counts = [len({one for one, _ in group} & {*quarter}) for quarter in quarters]
        assert max(counts) - min(counts) <= 1
    units = {one: turn.together or one for one, turn in (*LONG, *MIXED, *TOGETHER)}
    counts = [len({units[one] for one in quarter if one in units}) for quarter in quarters]
    assert sorted(counts) == [3, 3, 3, 4]


def test_tests_of_one_module_take_the_same_cases(quarters: list[list[str]]) -> None:
    for quarter in quarters:
        first, second = ({one.partition("[")[2] for one, _ in group if one in quarter} for group in (CASES, SAME))
        assert first == second


def test_what_belongs_together_runs_together(quarters: list[list[str]]) -> None:
    assert sorted(sum(one in quarter for one, _ in TOGETHER) for quarter in quarters) == [0, 0, 0, 5]


def test_eight_parts_are_halves_of_quarters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a commit's eighth, two commits of one quarter have two."""
    eighths = [(one, Turn(parts=rotation.EIGHTH)) for one, _ in CASES]
    ran: dict[int, set[str]] = {}
    for n in range(100):
        monkeypatch.setenv(rotation.COMMIT, str(n))
        now = rotation.part(rotation.EIGHTH)
        assert now is not None
        ran[now] = {*running(eighths, str(n), monkeypatch)}
    assert Counter(one for found in ran.values() for one in found) == dict.fromkeys((one for one, _ in CASES), 1)
    assert {len(found) for found in ran.values()} == {2, 3}


def test_of_many_cases_an_eighth_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [(f"tests/a.py::test_many[{n}]", Turn()) for n in range(rotation.MANY)]
    ran: dict[int | None, set[str]] = {}
    for n in range(100):
        found = {*running(many, str(n), monkeypatch)}
        ran[rotation.part(rotation.EIGHTH)] = found
        assert len(found) == rotation.MANY // rotation.EIGHTH
    assert set.union(*ran.values()) == {one for one, _ in many}


def test_a_quarter_of_the_examples_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.COMMIT, "")
    assert rotation.examples(10) == 10
    monkeypatch.setenv(rotation.COMMIT, "any")
    assert rotation.examples(10) == 3


def test_without_a_commit_all_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert running(TESTS, "", monkeypatch) == [one for one, _ in TESTS]


def test_of_few_in_a_test_or_a_module_one_runs_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for commit in commits(monkeypatch):
        assert len(running(WHOLE[:2], commit, monkeypatch)) == len(running(CASES[:3], commit, monkeypatch)) == 1


def test_of_few_in_a_group_each_runs_in_one_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = [one for commit in commits(monkeypatch) for one in running(LONG[:2], commit, monkeypatch)]
    assert sorted(ran) == [one for one, _ in LONG[:2]]


def test_what_has_failed_is_never_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = CASES[3][0], LONG[2][0]
    monkeypatch.setattr(rotation, "always", lambda: frozenset(failed))
    for commit in commits(monkeypatch):
        assert {*failed} <= {*running(TESTS, commit, monkeypatch)}


def test_what_belongs_together_names_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=r"tests/e.py::test_one: together, but in no group"):
        left_out([("tests/e.py::test_one", Turn(together="e"))])


class Item:
    """A collected test."""

    def __init__(self, nodeid: str, **marks: Any) -> None:
        self.nodeid, self.marks = nodeid, marks

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)


def collected(items: list[Item]) -> set[str]:
    """The ids of those that are left after collection."""
    config: Any = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    chosen: Any = [*items]
    conftest.pytest_collection_modifyitems(config, chosen)
    return {item.nodeid for item in chosen}


def test_marked_and_random_tests_take_turns_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rotation.COMMIT, "any")
    rotates = SimpleNamespace(args=("long",), kwargs={"together": "f"})
    of_module = SimpleNamespace(args=(), kwargs={})
    marked = [Item(f"tests/f.py::test_{n}", rotates=rotates) for n in range(3)]
    others = [Item(f"tests/g.py::test_{n}", rotates=rotates.__class__(args=("long",), kwargs={})) for n in range(3)]
    singles = [Item(f"tests/h.py::test_{n}", rotates=of_module) for n in range(4)]
    random = [Item(f"tests/property/k.py::test_one[{n}]") for n in range(4)]
    sampled = [Item(f"tests/property/k.py::test_two[{n}]", sampled=of_module) for n in range(4)]
    plain = [*(Item(f"tests/l.py::test_one[{n}]") for n in range(4)), Item("tests/property/k.py::test_three"), *sampled]
    left = collected([*marked, *others, *singles, *random, *plain])
    assert len(left & {item.nodeid for item in (*marked, *others)}) in (1, 3)
    assert [len(left & {item.nodeid for item in some}) for some in (singles, random)] == [1, 1]
    assert {item.nodeid for item in plain} <= left
