"""Timings of decoding, start-up and the static path. Prints figures; asserts nothing.

    python -m tests.benchmarks.bench_path [--large]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from binalloc.isa.encoding.bulk import decode_words, encode_words
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.generator.programs import random_program
from tests.support.kits.machines import roomy_machine
from tests.support.paths import ROOT


def process(label: str, *arguments: str) -> None:
    """Whole-process wall time, median of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "binalloc", *arguments], cwd=ROOT, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    print(f"{label:40s} {sorted(times)[2]:8.3f} s wall (process)")


def decoding() -> None:
    module, _ = random_program(1, size=2000, registers=64, callees=0)
    data = encode_words(module.functions[0].instrs)
    data = data * (10_000 * 16 // len(data) + 1)
    data = data[: 10_000 * 16]
    decode_words(data)
    start = time.process_time()
    decode_words(data)
    print(f"{'decode 10,000 instructions':40s} {time.process_time() - start:8.3f} s CPU")


def growth(sizes: list[int]) -> None:
    machine = roomy_machine("gtx680")
    for size in sizes:
        module, _ = random_program(5, size=size, registers=40, callees=0, depth=3)
        kernel = module.kernels()[0].name
        count = sum(len(fn) for fn in module)
        for registers in (63, 32):
            start = time.process_time()
            out = rewrite(module, kernel, registers, 6)
            middle = time.process_time()
            schedule(out, machine)
            scheduled = time.process_time()
            assert check(module, out, kernel).ok
            end = time.process_time()
            print(
                f"{count:7,d} instructions, {registers:2d} registers: rewrite {middle - start:7.2f}, "
                f"schedule {scheduled - middle:6.2f}, check {end - scheduled:6.2f} s CPU"
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true", help="also 10,000 instructions (minutes)")
    options = parser.parse_args()
    load_machine("gtx680")
    process("binalloc --help", "--help")
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "x.loom")
        sample = str(ROOT / "samples" / "nbody.loom")
        process("rewrite nbody, no emulation", "rewrite", sample, "--registers", "40", "--slots", "8", "-o", out)
    decoding()
    growth([1000, 2000, 5000, 10000] if options.large else [1000, 2000])


if __name__ == "__main__":
    main()
