"""Prints how far cycles hang on when blocks start:
`python -m tests.benchmarks.emulator.resonance [MACHINE [SIZE [SEEDS]]]`.

Every sample at every number of blocks that its levels have, as `rewrite` would measure them (size `test` as a default,
or `full`, which takes long), without delays and with those of some seeds. A level changes by the largest difference
that a seed makes; a row has the median of a sample's levels and its worst, the last line median and 95th percentile of
all levels.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from binalloc.emulator.host.figures.skew import change
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch
from binalloc.models.machines.budget import levels
from binalloc.models.machines.model import Machine
from binalloc.pipeline.original import baseline
from binalloc.pipeline.pipeline import Request, Version, build_version, measure
from binalloc.pipeline.steps.kernels import kernel_use
from tests.benchmarks.emulator.one_sm import module_of, program_launches


def versions(module: Module, request: Request) -> Iterator[tuple[str, Version]]:
    """The original, then what there is at each level."""
    yield "original", baseline(module, request)
    for level in levels(request.machine, kernel_use(module.function(request.kernel), request.launch)):
        try:
            yield f"{level.blocks} blocks", build_version(module, request, level.registers, level.slots)
        except BinallocError:
            continue


def changes(path: Path, machine: Machine, size: str, seeds: int) -> list[tuple[float, str]]:
    """How far each level of a sample changes, and which it is."""
    launch = load_launch(path, None if size == "full" else size)
    request = Request(launch.kernel, machine, launch, skews=seeds)
    module = module_of(path)
    found = []
    for name, version in versions(module, request):
        measured = measure(version, request)
        assert measured.cycles is not None
        found.append((change(measured.cycles, measured.skewed), name))
    return found


def main(name: str = "gtx680", size: str = "test", seeds: str = "5") -> None:
    machine = Request("", name).machine
    print("| sample | levels | median | worst | at |\n|---|---|---|---|---|")
    whole: list[float] = []
    for path in program_launches():
        found = changes(path, machine, size, int(seeds))
        whole += [share for share, _ in found]
        worst, where = max(found)
        middle = np.median([share for share, _ in found])
        print(f"| {path.stem} | {len(found)} | {middle:.1%} | {worst:.1%} | {where} |", flush=True)
    print(f"\n{len(whole)} levels: median {np.median(whole):.2%}, 95th percentile {np.percentile(whole, 95):.2%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
