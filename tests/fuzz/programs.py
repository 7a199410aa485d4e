"""Long runs of wide programs: `python -m tests.fuzz.programs --count 10000` (`make fuzz`).

Each seed's program is rewritten by every allocator (by the exact one on a part of them), checked and emulated; see
`wide_cases`. One program of eight is without some of its words, so that it reads what nobody wrote. Progress goes to
stderr, failures and the summary to stdout. A run is resumed by `--seed`, a failure repeated by `--seed N --count 1`;
`--shrink` looks for a smaller program that fails in the same way. Exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tests.support.generator.presets import wide
from tests.support.kits.transform.rewrite_judge import EXACT, HEURISTICS
from tests.support.kits.transform.wide_cases import HOLES, Report, report_on

EXACT_EVERY = 20
HOLES_EVERY = 8
CHAINS_EVERY = 4
"""Of the programs with long chains of calls one in so many has one: they take half of the time otherwise."""
CASE_SECONDS = 300
PROGRESS_SECONDS = 10.0
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
    """The report of one seed; a case that takes too long is a failure."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(CASE_SECONDS)
    try:
        return report_on(seed, allocators(seed), options(seed))
    except TimeoutError:
        return Report(seed, [("too long", f"more than {CASE_SECONDS} seconds")])
    finally:
        signal.alarm(0)


def warm() -> None:
    """Compile the emulator, which may take minutes, before any case is timed."""
    report_on(0, ())


def _too_long(*_: object) -> None:
    raise TimeoutError


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


def reports(seeds: range, jobs: int) -> Iterator[Report]:
    """Of all seeds, in their order."""
    if jobs == 1:
        yield from map(one, seeds)
        return
    with multiprocessing.Pool(jobs, maxtasksperchild=200) as pool:
        yield from pool.imap(one, seeds, chunksize=4)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further program after these")
    parser.add_argument("--shrink", action="store_true", help="look for smaller programs that fail in the same way")
    a = parser.parse_args()
    warm()
    total: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    started = told = time.monotonic()
    following = a.seed
    for report in reports(range(a.seed, a.seed + a.count), a.jobs):
        following = report.seed + 1
        total.update(report.counts)
        for kind, text in report.failures:
            failed[kind] += 1
            print(f"seed {report.seed}: {kind}: {text}", flush=True)
            if a.shrink:
                print(f"    fails too with {shrink(report.seed, kind)}", flush=True)
        now = time.monotonic()
        if now - told > PROGRESS_SECONDS:
            told = now
            print(f"{following - a.seed} of {a.count} programs, {failed.total()} failures", file=sys.stderr, flush=True)
        if now - started > a.seconds:
            break
    print(f"{following - a.seed} programs of seeds {a.seed} to {following - 1} in {time.monotonic() - started:.0f} s:")
    for name, n in sorted(total.items()):
        print(f"  {n:8} {name}")
    for kind, n in sorted(failed.items()):
        print(f"  {n:8} FAILED: {kind}")
    print(f"go on with --seed {following}" if following < a.seed + a.count else "all done")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
