"""Rates of the PTX front end: lines per second of parsing, at three sizes, which shows whether time grows linearly.

Run: python -m tests.benchmarks.bench_import [lines...]
"""

from __future__ import annotations

import gc
import resource
import sys
import time

from binalloc.frontend.ptx.parser import parse
from tests.ptx_generator import large_module

SIZES = (3000, 9000, 27000)


def parse_rate(lines: int, rounds: int = 3) -> tuple[int, float]:
    """Lines of a generated module, and the best of the rounds in seconds."""
    text = large_module(lines)
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        begin = time.perf_counter()
        module = parse(text)
        best = min(best, time.perf_counter() - begin)
    return module.lines, best


def main() -> None:
    """Print one row for each size."""
    parse(large_module(300))
    for size in [int(a) for a in sys.argv[1:]] or SIZES:
        lines, seconds = parse_rate(size)
        print(f"parse {lines:>8,} lines  {seconds:7.3f} s  {lines / seconds:>10,.0f} lines/s")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
