"""A third of the random cases each time: which third follows from the commit, so that three commits in a row see most.

`make test` says which commit; without one all cases run, as in `make test-full`. A case that has ever failed is in
`tests/always.txt`, a line each, and is never left out.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache

from tests.support.paths import ROOT

PARTS = 3
COMMIT = "BINALLOC_ROTATE"
"""The variable of the environment that names the commit, or any other text; unset or empty: all cases run."""


def part() -> int | None:
    """Which third runs, from 0 on; None: all."""
    commit = os.environ.get(COMMIT, "")
    return int(hashlib.sha256(commit.encode()).hexdigest(), 16) % PARTS if commit else None


@cache
def always() -> frozenset[str]:
    """The ids of cases that are never left out."""
    lines = (ROOT / "tests" / "always.txt").read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def taken(group: str, place: int) -> bool:
    """Whether the case of that place in a group runs; of each group a third does, from a place that its name gives."""
    now = part()
    return now is None or (place + now + int(hashlib.sha256(group.encode()).hexdigest(), 16)) % PARTS == 0
