"""Long runs of wide programs: `python -m tests.fuzz.programs --count 10000` (`make fuzz`).

Each seed's program is rewritten by every allocator (by the exact one on a part of them), checked and emulated; see
`wide_cases`. One program of eight is without some of its words, so that it reads what nobody wrote. Progress goes to
stderr, failures and the summary to stdout. A run is resumed by `--seed`, a failure repeated by `--seed N --count 1`;
`--shrink` looks for a smaller program that fails in the same way. Exit status 1 if anything failed.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from tests.fuzz.campaign import campaign, timed
from tests.support.generator.presets import wide
from tests.support.kits.transform.rewrite_judge import EXACT, HEURISTICS
from tests.support.kits.transform.wide_cases import HOLES, Report, report_on

EXACT_EVERY = 20
HOLES_EVERY = 8
CHAINS_EVERY = 4
"""Of the programs with long chains of calls one in so many has one: they take half of the time otherwise."""
SIMPLER: tuple[dict[str, object], ...] = (
    {"kernels": 1, "addresses": False}, {"chain": 0}, {"callees": 0}, {"callees": 1}, {"depth": 0}, {"depth": 1},
    {"size": 4}, {"size": 8}, {"size": 15}, {"registers": 8}, {"registers": 12}, {"registers": 16}, {"block": 32},
    {"grid": 1}, {"shared": False}, {"local": False}, {"wide": False}, {"floats": False}, {"atomics": False},
    {"guards": 0.1}, {"aliases": False}, {"hops": False}, {"odd_points": 0.0}, {"uniform": 0.0}, {"arrays": False},
    {"generic": False}, {"dynamic": 0}, {"barriers": False}, {"leaving": False}, {"ends": False}, {"stack": ""},
    {"flags": False}, {"addresses": False}, {"holes": 0.0}, {"neighbours": ""},
)  # fmt: skip


def allocators(seed: int) -> tuple[str, ...]:
    """All heuristic ones; the exact one for one small program in so many."""
    small = wide(seed)[0].registers <= 24
    return (*HEURISTICS, EXACT) if seed % EXACT_EVERY == 0 and small else HEURISTICS


def options(seed: int) -> dict[str, object]:
    """Those that are not drawn with the program: some of its words are missing in one program of so many."""
    given: dict[str, object] = {} if seed % CHAINS_EVERY == 0 else {"chain": 0}
    return {**given, "holes": HOLES} if seed % HOLES_EVERY == HOLES_EVERY - 1 else given


def one(seed: int) -> Report:
    """The report of one seed."""
    return timed(lambda s: report_on(s, allocators(s), options(s)), seed)


def warm() -> None:
    """Compile the emulator."""
    report_on(0, ())


def shrink(seed: int, kind: str) -> dict[str, object]:
    """Options that leave out what a failure of that kind does not need."""
    found = options(seed)
    for simpler in SIMPLER:
        given = {**found, **simpler}
        drawn, _ = wide(seed)
        if replace(drawn, **given) == replace(drawn, **found):  # type: ignore[arg-type]
            continue
        try:
            report = report_on(seed, allocators(seed), given)
        except Exception:
            continue
        if any(k == kind for k, _ in report.failures):
            found = given
    return found


if __name__ == "__main__":
    sys.exit(campaign(__doc__, one, warm, shrink))
