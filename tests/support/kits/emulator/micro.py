"""The measuring samples on any machine: their sources, scheduled for it, and what they read off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Any

from binalloc.emulator.runs.run import Result, run
from binalloc.isa.instruction import Module
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import compare, load_launch, reference_outputs
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from binalloc.models.machines.unloaded import closed_bank_cycles, closed_bank_ticks, ticks_per_cycle
from binalloc.transform.schedule.schedule import schedule
from tests.support.paths import sample_file


@cache
def scheduled(name: str, machine: str) -> Module:
    """A sample in assembly, scheduled for a machine of the package."""
    return schedule(assemble(sample_file(f"{name}.lasm").read_text(), name), load_machine(machine))


def measure(name: str, machine: str, size: str = "test", *, blocks: int | None = None, **options: Any) -> Result:
    """Run a measuring sample; its results are its reference's."""
    launch = load_launch(sample_file(f"{name}.toml"), size)
    if blocks is not None:
        launch = replace(launch, grid=(blocks, 1, 1))
    result = run(scheduled(name, machine), name, launch, load_machine(machine), **options)
    if blocks is None:
        assert [str(d) for d in compare(launch, reference_outputs(launch, launch.make_buffers()), result.buffers)] == []
    return result


def walks(name: str, machine: str, **options: Any) -> list[tuple[int, int]]:
    """The times of the two parts of each walk of a chase."""
    times = [int(t) for t in measure(name, machine, **options).buffers["cycles"]]
    return list(zip(times[::2], times[1::2], strict=True))


def latency(parts: tuple[int, int], accesses: tuple[int, int]) -> Fraction:
    """Cycles of one access of a walk: of the further ones of its longer part."""
    return Fraction(parts[1] - parts[0], accesses[1] - accesses[0])


def bus_share(m: Machine, sms: int) -> Fraction:
    """How many times as long a burst takes the bus where so many SMs have their share of the channels."""
    share = m.dram.channels * Fraction(sms, m.chip.sms)
    return ceil(share) / share


def tick_slack(m: Machine, sms: int = 1) -> int:
    """By how many cycles a load of a closed bank may come before `dram.latency`, which counts the commands' T ticks as
    ceil(T * p) cycles, p being those of a tick.

    A request that is there in cycle c gets the tick t = ceil(c / p), so t * p = c + d with 0 <= d < p; its last data
    ends with tick t + T - 1, and is taken in the cycle behind the one in which that begins: floor(d + (T - 1) * p) + 1
    cycles after c, which is at least floor((T - 1) * p) + 1 and at most ceil(T * p).
    """
    slower = bus_share(m, sms)
    shortest = floor((closed_bank_ticks(m, slower) - 1) / ticks_per_cycle(m)) + 1
    return closed_bank_cycles(m, slower) - shortest
