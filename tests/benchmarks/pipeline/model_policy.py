"""What policies `model` and `measured` take, beside what the emulator finds: every sample at full size.

    python -m tests.benchmarks.pipeline.model_policy [--machine gtx680] [--size NAME] [SAMPLE ...]

Per sample that has levels to choose among: speedup (emulated) of the level that the model takes, of the one that
`measured` takes and how many it runs, of the best one, and of each level what the emulator says and what the model
expected; then the geometric means of the first two over the best.
Asserts nothing; takes minutes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from binalloc.errors import BinallocError
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.laboratory.samples import lies_apart
from binalloc.launch.file import load_launch
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.pipeline import Outcome, rewrite_kernel
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.version import Version
from binalloc.report.table import table
from binalloc.transform.allocators.table import DEFAULT
from tests.support.paths import SAMPLES, sample_files


@dataclass
class Row:
    """Speedups over the original, in the order in which it is faster: of what the model takes, which may be the slower
    one, of what `measured` takes, of the best level, 1 for the original itself. ran: levels that `measured` runs, of
    how many."""

    sample: str
    taken: float
    measured: float
    ran: str
    best: float
    levels: str


def module_of(path: Path, machine: Machine) -> Module:
    if path.suffix == ".loom":
        return load(path)
    return import_ptx(path.read_text(), path.stem, machine=machine).module


def compared(path: Path, machine: Machine, size: str | None) -> Row | None:
    """None where there is no level above the original's."""
    launch = load_launch(path.with_suffix(".toml"), size)
    module = module_of(path, machine)
    request = {"kernel": launch.kernel, "machine": machine, "launch": launch}
    measured = rewrite_kernel(module, Request(**request, policy="exhaustive"))
    expected = rewrite_kernel(module, Request(**request, policy="model", emulate=False))
    before = measured.original.cycles
    assert before is not None
    versions = [t.version for t in measured.tried if t.version is not None and t.version is not measured.original]
    ran_ones = sorted((v for v in versions if v.cycles), key=lambda v: v.allocator != DEFAULT)
    speedups = {key(v): before / (v.cycles or 0) for v in reversed(ran_ones)}  # what two programs share is of `best`
    if all(v.blocks_per_sm < measured.original.blocks_per_sm for v in ran_ones):
        return None
    taken = _taken(measured, expected, speedups)
    few = rewrite_kernel(module, Request(**request, policy="measured"))
    ran = sum(bool(t.version and t.version.cycles) for t in few.tried if t.version is not few.original)
    best = max([1.0, *(before / (v.cycles or 0) for v in ran_ones)])
    programs = len({id(v.module) for v in ran_ones})
    return Row(path.stem, taken, few.speedup or 1.0, f"{ran} of {programs}", best, levels(measured, expected))


def _taken(measured: Outcome, expected: Outcome, speedups: dict[tuple[int, int, int, int], float]) -> float:
    """Of what the model chose: a level, or one of the original's orders."""
    if not expected.kept_original and not expected.by_order_alone:
        return speedups[key(expected.rewritten)]
    if expected.by_order_alone and measured.original is not measured.given:
        return 1.0
    assert measured.ordering is not None
    return 1 / measured.ordering


def key(version: Version) -> tuple[int, int, int, int]:
    return version.registers, version.slots, version.local_bytes, version.blocks_per_sm


def levels(measured: Outcome, expected: Outcome) -> str:
    """Of each: blocks, emulated speedup (what the model said of it)."""
    before = measured.original.cycles or 0
    said = {t.budget.blocks: t.reason.split("x ")[0] for t in expected.tried}
    return ", ".join(
        f"{t.budget.blocks}: {before / t.version.cycles:.3f} ({said.get(t.budget.blocks, '-')})"
        for t in measured.tried
        if t.version is not None and t.version.cycles and t.version.allocator == DEFAULT
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", default="gtx680")
    parser.add_argument("--size")
    parser.add_argument("samples", nargs="*")
    options = parser.parse_args()
    machine = load_machine(options.machine)
    rows: list[Row] = []
    for path in sorted((*sample_files(".loom"), *sample_files(".ptx"))):
        if lies_apart(path, SAMPLES) or (options.samples and path.stem not in options.samples):
            continue
        try:
            row = compared(path, machine, options.size)
        except BinallocError as error:
            print(f"{path.stem}: {error}")
            continue
        rows += [] if row is None else [row]
    cells = [[r.sample, f"{r.taken:.3f}", f"{r.measured:.3f}", r.ran, f"{r.best:.3f}", r.levels] for r in rows]
    print(table(["sample", "model", "measured", "runs", "best", "blocks: speedup (by the model)"], cells, left=1))
    shares_of = {"model": [r.taken / r.best for r in rows], "measured": [r.measured / r.best for r in rows]}
    for name, shares in shares_of.items():
        if shares:
            mean, worst = geometric_mean(shares), min(shares)
            print(f"{name} over best on {machine.name}: {mean:.3f}, worst {worst:.3f}, {len(rows)} samples")


if __name__ == "__main__":
    main()
