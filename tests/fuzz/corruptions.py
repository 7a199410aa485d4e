"""Fuzzing of everything that reads a file: `python -m tests.fuzz.corruptions --count 20000 --seed 1`.

Random corruptions of the samples go through the reader, and what still reads through disassembler, every view of
`inspect`, scheduling, rewriting, checking and the first cycles of a run; corrupted sources, launch and machine files
through their parsers.
Anything raised but BinallocError, a case of more than `CASE_SECONDS` of CPU time, and more than 1 GiB of address space
end the run with the case's seed. Run as a process of its own, so that the limits hold for nobody else.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from binalloc.errors import BinallocError, LimitHit, MalformedInput, Refused, UsageError
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble
from binalloc.launch.file import load_launch
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.report.views.inspect import inspect_module, render_inspection
from binalloc.transform.schedule.schedule import schedule
from tests.support.paths import MACHINES, sample_file, sample_files
from tests.support.programs.words import corrupt, smash_words

LAUNCH = load_launch(sample_file("callchain.toml"))
SMALL = {p.stem: load_launch(p, "test") for p in sample_files(".toml")}
MEMORY_LIMIT = 1 << 30
CASE_SECONDS = 20.0
CHEAP = ["sections", "cfg"]
DEEP = ["webs", "pressure", "stack"]
# One in so many of the binaries that still read is analysed and rewritten, or run.
DEEP_EVERY = 10
RUN_EVERY = 30
MAX_CYCLES = 400
SMALL_FILE = 3000  # bytes: callchain, which is quickly rewritten


def smash_code(rng: random.Random, data: bytes) -> bytes:
    """Bits flipped in the first code words alone, but not in the upper part of their control codes."""
    return smash_words(rng, data, words=20, bits=105)


def binary_case(rng: random.Random, files: list[bytes], machine: Machine, seen: Counter[str]) -> None:
    """One corrupted binary through all that takes binaries."""
    damage = rng.choice((corrupt, corrupt, smash_code))
    data = damage(rng, rng.choice(files))
    try:
        module = read_module(data, "fuzzed.loom")
    except MalformedInput as error:
        one_line(error)
        seen["refused by the reader"] += 1
        return
    seen["still read"] += 1
    text = disassemble(module)
    quietly(lambda: render_inspection(inspect_module(module, data, None, CHEAP, machine)), seen)
    if seen["still read"] % DEEP_EVERY:
        return
    assert write_module(assemble(text)) == write_module(module)
    for v in DEEP:
        quietly(lambda v=v: render_inspection(inspect_module(module, data, None, [v], machine)), seen)  # type: ignore[misc]
    quietly(lambda: schedule(module, machine), seen)
    if len(data) < SMALL_FILE or seen["still read"] % RUN_EVERY == 0:
        quietly(lambda: rewrite_and_check(module, machine, rng), seen)
    if seen["still read"] % RUN_EVERY == 0:
        quietly(lambda: emulate(module, machine), seen)


def emulate(module: Module, machine: Machine) -> None:
    """The first cycles of a run; faults, limits and refusals are all fine."""
    from binalloc.emulator.runs.run import run
    from binalloc.pipeline.pipeline import find_kernel

    name = find_kernel(module, None).name
    if name in SMALL:
        run(module, name, SMALL[name], machine, engine="python", max_cycles=MAX_CYCLES)


def rewrite_and_check(module: Module, machine: Machine, rng: random.Random) -> None:
    """A rewrite for a random budget; what comes out must pass the checker and be a valid binary."""
    from binalloc.pipeline.pipeline import Request, build_version, find_kernel

    request = Request(find_kernel(module, None).name, machine, LAUNCH)
    try:
        version = build_version(module, request, rng.choice((4, 8, 24, 48, 63)), rng.choice((0, 4, 16)))
    except Refused as error:
        if "defect" in str(error):
            raise AssertionError(str(error)) from error
        raise
    read_module(write_module(version.module))


def one_line(error: BinallocError) -> None:
    """Errors are one line each, so that tools can show them."""
    if "\n" in str(error):
        raise AssertionError("an error of more than one line") from error


def quietly(step: Callable[[], object], seen: Counter[str]) -> None:
    """Run a step; our own refusals are fine."""
    try:
        step()
        seen["steps done"] += 1
    except BinallocError as error:
        one_line(error)
        seen[f"steps refused ({type(error).__name__})"] += 1


def text_case(rng: random.Random, texts: list[tuple[str, bytes]], folder: Path, seen: Counter[str]) -> None:
    """One corrupted source, launch file or machine file."""
    kind, data = rng.choice(texts)
    data = corrupt(rng, data)
    try:
        if kind == "asm":
            assemble(data.decode("latin-1"), path="fuzzed.lasm")
        else:
            path = folder / "fuzzed.toml"
            path.write_bytes(data)
            load_launch(path) if kind == "launch" else load_machine(str(path))
        seen[f"{kind} accepted"] += 1
    except (MalformedInput, UsageError, LimitHit) as error:
        one_line(error)
        seen[f"{kind} refused"] += 1


def fuzz(count: int, seed: int, folder: Path, first: int = 0) -> Counter[str]:
    """`count` corrupted binaries and a tenth as many corrupted texts."""
    machine = load_machine("gtx680")
    files = [p.read_bytes() for p in sample_files(".loom")]
    small = sorted(files, key=len)[:1]
    texts = [("asm", p.read_bytes()) for p in sample_files(".lasm")]
    texts += [("launch", p.read_bytes()) for p in sample_files(".toml")]
    texts += [("machine", p.read_bytes()) for p in sorted(MACHINES.glob("*.toml"))]
    seen: Counter[str] = Counter()
    for case in range(first, count):
        name = f"{seed}:{case}"
        rng = random.Random(name)
        signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
        try:
            binary_case(rng, files + small * 5, machine, seen)
            if case % 10 == 0:
                text_case(rng, texts, folder, seen)
        except Exception:
            print(f"case {name} fails; random.Random({name!r}) makes it again", file=sys.stderr)
            raise
    signal.setitimer(signal.ITIMER_PROF, 0)
    return seen


def _too_long(*_: object) -> None:
    raise TimeoutError(f"a case took more than {CASE_SECONDS} s of CPU time")


def main() -> None:
    import tempfile

    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="start at this case, to see a failing one again")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    signal.signal(signal.SIGPROF, _too_long)
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        seen = fuzz(options.count, options.seed, Path(folder), options.first)
    for key, number in sorted(seen.items()):
        print(f"{key}: {number}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{options.count} corruptions, {time.process_time() - start:.0f} s of CPU time, at most {peak} MB resident")


if __name__ == "__main__":
    main()
