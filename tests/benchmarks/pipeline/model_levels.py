"""What policy `model` takes, beside what the emulator finds of the levels that it looked at, by allocator `best` alone.

    python -m tests.benchmarks.pipeline.model_levels [--machine v100] SAMPLE ...

A quick look, where `model_policy` takes minutes: per sample emulated speedup over the original of what the model takes,
of the best level, and of each level, with what the model expected. Of a copy of the machine file whose `partitions`
are all false it is what comes of one pool of units. Asserts nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import geometric_mean

from binalloc.emulator.runs.run import run
from binalloc.launch.file import load_launch
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.pipeline import rewrite_kernel
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.version import Version
from tests.benchmarks.pipeline.model_policy import module_of
from tests.support.paths import sample_files


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--machine", default="v100")
    parser.add_argument("samples", nargs="+")
    options = parser.parse_args()
    machine = load_machine(options.machine)
    shares = []
    for path in sorted((*sample_files(".loom"), *sample_files(".ptx"))):
        if path.stem in options.samples:
            shares.append(share(path, machine))
    print(f"model over best on {machine.name}: {geometric_mean(shares):.3f}, worst {min(shares):.3f}")


def share(path: Path, machine: Machine) -> float:
    """What the model takes over the best level; prints the levels."""
    launch = load_launch(path.with_suffix(".toml"))
    request = Request(kernel=launch.kernel, machine=machine, launch=launch, policy="model", emulate=False)
    found = rewrite_kernel(module_of(path, machine), request)
    cycles: dict[int, int] = {}

    def taken(version: Version) -> int:
        if id(version.module) not in cycles:
            cycles[id(version.module)] = run(version.module, launch.kernel, launch, machine).cycles
        return cycles[id(version.module)]

    before = min(taken(found.given), taken(found.original))
    levels = [
        (t.budget.blocks, before / taken(t.version), t.reason.split("x ")[0])
        for t in found.tried
        if t.version is not None and t.version is not found.original and t.version is not found.given
    ]
    mine, best = before / taken(found.rewritten), max([1.0, *(gain for _, gain, _ in levels)])
    shown = ", ".join(f"{blocks}: {gain:.3f} ({said})" for blocks, gain, said in levels)
    print(f"{path.stem}: model {mine:.3f}, best {best:.3f}, share {mine / best:.3f}; {shown}", flush=True)
    return mine / best


if __name__ == "__main__":
    main()
