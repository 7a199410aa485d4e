"""A campaign tries seeds one after another, on several cores, and reports what failed: `programs` and `turns` are such.

Progress goes to stderr, failures and the summary to stdout. A run is resumed by `--seed`, a failure repeated by
`--seed N --count 1`. Exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator

from tests.support.kits.transform.wide_cases import Report

CASE_SECONDS = 300
PROGRESS_SECONDS = 10.0
Case = Callable[[int], Report]


def timed(case: Case, seed: int) -> Report:
    """The report of one seed; a case that takes too long is a failure."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(CASE_SECONDS)
    try:
        return case(seed)
    except TimeoutError:
        return Report(seed, [("too long", f"more than {CASE_SECONDS} seconds")])
    finally:
        signal.alarm(0)


def _too_long(*_: object) -> None:
    raise TimeoutError


def reports(case: Case, seeds: range, jobs: int) -> Iterator[Report]:
    """Of all seeds, in their order. case: a function of a module."""
    if jobs == 1:
        yield from map(case, seeds)
        return
    with multiprocessing.Pool(jobs, maxtasksperchild=200) as pool:
        yield from pool.imap(case, seeds, chunksize=4)


def campaign(
    document: str | None, case: Case, warm: Callable[[], object],
    shrink: Callable[[int, str], dict[str, object]] | None = None,
) -> int:
    """Try the seeds that the command line names. warm: compiles the emulator, which may take minutes, before any case
    is timed. shrink: options with which a seed fails in the same way. Returns the exit status."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further program after these")
    if shrink is not None:
        parser.add_argument("--shrink", action="store_true", help="look for smaller programs that fail in the same way")
    a = parser.parse_args()
    warm()
    total: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    started = told = time.monotonic()
    following = a.seed
    for report in reports(case, range(a.seed, a.seed + a.count), a.jobs):
        following = report.seed + 1
        total.update(report.counts)
        for kind, text in report.failures:
            failed[kind] += 1
            print(f"seed {report.seed}: {kind}: {text}", flush=True)
            if shrink is not None and a.shrink:
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
