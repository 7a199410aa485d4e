"""Prints how far one SM with its share is from the whole GPU: `python -m tests.benchmarks.emulator.one_sm [MACHINE]`.

Each sample at full size, as it comes, once on one SM and once on all: the table of docs/measured/one_sm.md.
Some minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from binalloc import import_ptx
from binalloc.emulator.runs.run import run
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.laboratory.samples import beside, choose_samples
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.support.paths import SAMPLES


def program_launches() -> list[Path]:
    """Launch files of the samples that do not only measure a machine, by name."""
    return [beside(stem, ".toml") for stem in sorted(choose_samples(SAMPLES, []), key=lambda p: p.name.lower())]


def module_of(launch: Path) -> Module:
    """The sample beside its launch file."""
    ptx = launch.with_suffix(".ptx")
    if not ptx.exists():
        return load(launch.with_suffix(".loom"))
    return import_ptx(ptx.read_text(), str(ptx), machine="gtx680").module


def main(name: str = "gtx680") -> None:
    machine = load_machine(name)
    print(f"| sample | one SM | {machine.chip.sms} SMs | ratio |\n|---|---|---|---|")
    for path in program_launches():
        module, launch = schedule(module_of(path), machine), load_launch(path)
        one, whole = (run(module, launch.kernel, launch, machine, sms=n).cycles for n in (1, machine.chip.sms))
        ratio = one / machine.chip.sms / whole
        print(f"| {path.stem} | {one:,} | {whole:,} | {ratio:.3f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
