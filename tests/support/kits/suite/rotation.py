"""A quarter of the random cases each time, where there are many an eighth. Which one follows from the commit, so that
four in a row see most.

`make test` names the commit. Without one all cases run, as in `make test-full`. A case that has ever failed is in
`tests/always.txt`, a line each, and is never left out.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from tests.support.paths import ROOT

PARTS = 4
EIGHTH = 2 * PARTS
"""For what is long, and for many cases."""
MANY = 24
"""So many cases of a test are many: at least three of an eighth, which see all values of most axes in turn."""
COMMIT = "BINALLOC_ROTATE"
"""The variable of the environment that names the commit, or any other text; unset or empty: all cases run."""
T = TypeVar("T")


def part(parts: int = PARTS) -> int | None:
    """Which quarter, or other part, runs, from 0 on; None: all."""
    commit = os.environ.get(COMMIT, "")
    return _number(commit) % parts if commit else None


@cache
def always() -> frozenset[str]:
    """The ids of cases that are never left out."""
    lines = (ROOT / "tests" / "always.txt").read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def sample(items: Sequence[T], name: str, parts: int = PARTS) -> list[T]:
    """Return a quarter of the items in their order, at least one; all of them where all cases run.

    name: what is sampled. It says where the quarter begins, so that not all groups begin at their first item.
    parts: into how many parts the items are divided.
    """
    now = part(parts)
    if now is None or not items:
        return [*items]
    return _part(items, name, now, min(parts, len(items)))


def examples(count: int) -> int:
    """Return how many examples Hypothesis tries: all, or a quarter, which the commit draws anew."""
    return count if part() is None else -(-count // PARTS)


def _part(items: Sequence[T], name: str, now: int, parts: int) -> list[T]:
    return [item for place, item in enumerate(items) if (place + now + _number(name)) % parts == 0]


@dataclass(frozen=True)
class Turn:
    """A test takes its turn as its mark `rotates` says; where it has no mark, as `Turn()`."""

    group: str = ""  #: whose members take turns: cases and whole tests of any modules
    together: str = ""  #: tests of a group with the same text here run in the same quarter
    parts: int = 0  #: into how many parts the members are divided; 0: four, and eight for many cases of a test


def left_out(tests: Iterable[tuple[str, Turn]]) -> frozenset[str]:
    """Return the ids of those tests that do not run this time.

    tests: ids of all that take turns. Without a group, cases take turns with the other cases of their test, and tests
    without cases with the others of their module: of fewer than four, one runs each time. In a group that has a name
    each runs in one quarter of four, however few there are.
    """
    groups: dict[tuple[str, str, int], dict[str, list[str]]] = {}
    for one, turn in tests:
        assert turn.group or not turn.together, f"{one}: together, but in no group"
        group, case, _ = one.partition("[")
        whose = ("named", turn.group) if turn.group else ("", group if case else one.split("::")[0])
        groups.setdefault((*whose, turn.parts), {}).setdefault(turn.together or one, []).append(one)
    left = set[str]()
    for (named, name, parts), members in groups.items():
        parts = parts or (EIGHTH if not named and len(members) >= MANY else PARTS)
        now = part(parts)
        if now is None:
            return frozenset()
        running = _part(sorted(members), name, now, parts) if named else chosen([*members], parts)
        left.update(one for member, ids in members.items() if member not in running for one in ids)
    return frozenset(left - always())


def chosen(ids: Sequence[str], parts: int = PARTS) -> frozenset[str]:
    """Return those cases of one test that run this time.

    The cases of a matrix are shuffled before a quarter is taken, so that each value of each axis has its turn. The
    order follows from the parameters alone: tests of one module that share their cases, and what is made for these,
    take the same ones.
    """
    module = ids[0].split("::")[0]
    shuffled = sorted(ids, key=lambda one: (_number(f"{module}[{one.partition('[')[2]}"), one))
    return frozenset(sample(shuffled, module, parts))


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)
