"""Timings of decoding, start-up and the static path. Prints figures; asserts nothing.

    python -m tests.benchmarks.speed.bench_path [--large]
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from binalloc.isa.encoding.bulk import decode_words, encode_words
from binalloc.isa.sets.files import read_module, write_module
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from binalloc.verify.hazards.check import find_hazards
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


def stages(size: int, registers: int, slots: int) -> dict[str, float]:
    """CPU seconds of each stage for a random program of about `size` instructions, its number of instructions and the
    process's largest memory in MB. To be run in a process of its own."""
    module, _ = random_program(5, size=size, registers=40, callees=0, depth=3)
    machine, data = roomy_machine("gtx680"), write_module(module)
    out: dict[str, float] = {"instructions": sum(len(fn) for fn in module)}
    del module
    start = time.process_time()

    def lap(stage: str) -> None:
        nonlocal start
        now = time.process_time()
        out[stage] = now - start
        start = time.process_time()

    original = read_module(data)
    kernel = original.kernels()[0].name
    lap("decode")
    prepared = prepare(original, kernel)
    lap("prepare")
    rewritten = rewrite_to_budget(prepared, registers, slots).module
    lap("allocate")
    scheduled = schedule(rewritten, machine)
    lap("schedule")
    encoded = write_module(scheduled)
    lap("encode")
    read = read_module(encoded)
    lap("decode again")
    assert check(original, read, kernel).ok
    lap("check")
    assert not find_hazards(read, machine.unit_latencies)
    lap("hazards")
    out["all"] = sum(seconds for stage, seconds in out.items() if stage != "instructions")
    out["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return out


def growth(sizes: list[int], registers: int, slots: int) -> None:
    """Each stage at each size, and the exponent from the first size to the last: 1 is linear."""
    found = []
    for size in sizes:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found.append(pool.apply(stages, (size, registers, slots)))
    counts = [here["instructions"] for here in found]
    print(f"whole path without emulation at {registers} registers and {slots} slots, CPU seconds")
    print(f"{'instructions':14s}" + "".join(f"{count:10,.0f}" for count in counts) + "  exponent")
    for stage in found[0]:
        if stage == "instructions":
            continue
        first, last = max(found[0][stage], 1e-4), max(found[-1][stage], 1e-4)
        exponent = math.log(last / first) / math.log(counts[-1] / counts[0]) if len(found) > 1 else 0.0
        figures = "".join(f"{here[stage]:10,.{0 if stage == 'MB' else 2}f}" for here in found)
        print(f"{stage:14s}{figures}" + (f"{exponent:10.2f}" if stage != "MB" else ""))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true", help="also 100,000 instructions (minutes)")
    options = parser.parse_args()
    load_machine("gtx680")
    process("binalloc --help", "--help")
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "x.loom")
        sample = str(ROOT / "samples" / "loom" / "nbody.loom")
        process("rewrite nbody, no emulation", "rewrite", sample, "--registers", "40", "--slots", "8", "-o", out)
    decoding()
    for registers in (32, 24):
        growth([1_000, 10_000, 100_000] if options.large else [1_000, 10_000], registers, 6)


if __name__ == "__main__":
    main()
