"""A quarter of the random cases each time. Which quarter follows from the commit, so that four in a row see most.

`make test` names the commit. Without one all cases run, as in `make test-full`. A case that has ever failed is in
`tests/always.txt`, a line each, and is never left out.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from tests.support.paths import ROOT

PARTS = 4
COMMIT = "BINALLOC_ROTATE"
"""The variable of the environment that names the commit, or any other text; unset or empty: all cases run."""
T = TypeVar("T")


def part() -> int | None:
    """Which quarter runs, from 0 on; None: all."""
    commit = os.environ.get(COMMIT, "")
    return _number(commit) % PARTS if commit else None


@cache
def always() -> frozenset[str]:
    """The ids of cases that are never left out."""
    lines = (ROOT / "tests" / "always.txt").read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def sample(items: Sequence[T], name: str) -> list[T]:
    """Return a quarter of the items in their order, at least one; all of them where all cases run.

    name: what is sampled. It says where the quarter begins, so that not all groups begin at their first item.
    """
    now = part()
    if now is None or not items:
        return [*items]
    parts = min(PARTS, len(items))
    return [item for place, item in enumerate(items) if (place + now + _number(name)) % parts == 0]


def chosen(ids: Sequence[str]) -> frozenset[str]:
    """Return those cases of one test that run this time.

    The cases of a matrix are shuffled before a quarter is taken, so that each value of each axis has its turn. The
    order follows from the parameters alone: tests of one module that share their cases, and what is made for these,
    take the same ones.
    """
    module = ids[0].split("::")[0]
    shuffled = sorted(ids, key=lambda one: (_number(f"{module}[{one.partition('[')[2]}"), one))
    return frozenset(sample(shuffled, module)) | (always() & frozenset(ids))


def _number(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)
