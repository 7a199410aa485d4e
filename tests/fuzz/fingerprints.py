"""Fingerprints of what the product makes: two revisions with equal ones make the same bytes and the same cycles.

    python -m tests.fuzz.fingerprints --count 500 > after.txt; diff before.txt after.txt

One line for each sample, machine and command, and one for each random program and allocator: what it is, the cycles,
and hashes of the binary and of all else that is reported. Only the command line and the oldest functions of the library
are used, so that this file runs in revisions on both sides of a change of structure.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

from binalloc.cli.main import main as command_line
from binalloc.emulator.policies.schedulers.table import SCHEDULERS
from binalloc.emulator.runs.run import Result, run
from binalloc.errors import BinallocError
from binalloc.isa.container.files import write_module
from binalloc.transform.schedule.schedule import schedule
from tests.fuzz.programs import allocators, options
from tests.support.kits.transform.rewrite_judge import EXACT, MACHINE, MAX_CYCLES
from tests.support.kits.transform.wide_cases import SLOTS, WideProgram
from tests.support.paths import ROOT, sample_files

MACHINES = ("gtx680", "a100")
POLICIES = ("unified", "measured")


def digest(data: bytes) -> str:
    """Enough of a hash to tell one from another."""
    return hashlib.sha256(data).hexdigest()[:16]


def told(*args: str) -> str:
    """A command's exit code and the digest of its JSON, with the cycles in it."""
    answer = CliRunner().invoke(command_line, [*args, "--json"])
    try:
        found: Any = json.loads(answer.stdout)
    except ValueError:
        found = {}
    cycles = found.get("cycles") if not isinstance(found.get("rewritten"), dict) else found["rewritten"].get("cycles")
    return f"exit {answer.exit_code} cycles {cycles} report {digest(json.dumps(found, sort_keys=True).encode())}"


def of_sample(launch: Path) -> list[str]:
    """Its lines. launch: a launch file that stands beside its binary or PTX."""
    name = launch.relative_to(ROOT)
    sources = [path for path in (launch.with_suffix(".loom"), launch.with_suffix(".ptx")) if path.exists()]
    if not sources:
        return []
    lines, source = [], str(sources[0].relative_to(ROOT))
    common = ["--launch", str(name), "--size", "test"]
    with tempfile.TemporaryDirectory() as folder:
        for machine in MACHINES:
            for policy in POLICIES:
                out = Path(folder) / "out.loom"
                out.unlink(missing_ok=True)
                said = told("rewrite", source, *common, "--machine", machine, "--policy", policy, "-o", str(out))
                binary = digest(out.read_bytes()) if out.exists() else "none"
                lines.append(f"{name} {machine} rewrite {policy}: {said} binary {binary}")
            for sms, scheduler in enumerate(SCHEDULERS, 1):
                ran = ["--machine", machine, "--scheduler", scheduler, "--sms", str(1 + sms % 2)]
                lines.append(f"{name} {machine} run {scheduler}: {told('run', source, *common, *ran)}")
    return lines


def of_result(result: Result) -> str:
    """Cycles, and the digest of counters and buffers."""
    parts = [json.dumps(result.stats, sort_keys=True, default=str).encode()]
    parts += [name.encode() + np.ascontiguousarray(data).tobytes() for name, data in sorted(result.buffers.items())]
    return f"{result.cycles}:{digest(b''.join(parts))}"


def of_program(seed: int) -> list[str]:
    """The lines of a random program: each allocator at a budget, and its runs by a scheduler drawn."""
    lines = []
    try:
        program = WideProgram(seed, options(seed))
    except BinallocError as error:
        return [f"seed {seed}: {error}"]
    rng = random.Random(f"fingerprints {seed}")
    for allocator in allocators(seed):
        if allocator == EXACT:
            continue  # takes a minute
        slots = 0 if allocator == "local" else rng.choice(SLOTS)
        registers = rng.randrange(4, max(5, program.demand + 1))
        scheduler, sms = rng.choice(list(SCHEDULERS)), rng.randrange(1, 3)
        where = f"seed {seed} {allocator} {registers}+{slots} {scheduler}"
        try:
            module = program.rewritten(program.module, "kernel", registers, slots, allocator)
            data = digest(write_module(module))
            scheduled = schedule(module, MACHINE)
            ran = [
                of_result(run(scheduled, x.kernel, x, MACHINE, scheduler=scheduler, sms=sms, max_cycles=MAX_CYCLES))
                for x in program.launches
            ]
            lines.append(f"{where}: binary {data} runs {' '.join(ran)}")
        except BinallocError as error:
            lines.append(f"{where}: {type(error).__name__}: {error.message}")
    return lines


def lines_of(work: Path | int) -> list[str]:
    """Of a sample or a seed."""
    return of_program(work) if isinstance(work, int) else of_sample(work)


def all_lines(count: int, jobs: int) -> Iterator[str]:
    """Of every sample, then of so many random programs."""
    works: list[Path | int] = [*sample_files(".toml"), *range(count)]
    with multiprocessing.Pool(jobs) as pool:
        for lines in pool.imap(lines_of, works):
            yield from lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="random programs")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    for line in all_lines(given.count, given.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
