"""The figures of CPU programs become fields of the device record here."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple, TypedDict

from binalloc.emulator.state.memory_layout import CPU_FRACTION, CPU_SHARE, LINE_SHIFT, MAX_CHAINS, MAX_CPUS, Memory
from binalloc.errors import Hint, UsageError
from binalloc.models.dram.traffic import (
    FAR,
    LINE_BYTES,
    MOST_CHAINS,
    MOST_PROGRAMS,
    CpuProgram,
    CpuTraffic,
    impossible_latency,
)
from binalloc.models.machines.model import Machine
from binalloc.models.machines.unloaded import closed_bank_cycles

assert MOST_PROGRAMS <= MAX_CPUS
assert MOST_CHAINS <= MAX_CHAINS
_APART = 2 << 20 >> LINE_SHIFT  # lines of the largest pages, so that no two programs share a page
MIXED, SPLIT = "mixed", "split"
"""Rows of the pages of CPU programs: among those of the GPU, or the high rows of each bank alone."""


class CpuFields(TypedDict):
    """These fields of the record describe the programs and their chains."""

    cpu_chains: int
    cpu_memory: int
    cpu_high: int
    cpu_first: int
    cpu_think: list[int]
    cpu_path: list[int]
    cpu_lines: list[int]
    cpu_base: list[int]
    cpu_locality: list[int]
    cpu_drawn: list[int]
    cpu_last: list[int]
    cpu_of_chain: list[int]
    cpu_begins: list[int]


def cpu_fields(traffic: CpuTraffic, machine: Machine, sms: int, rows: str, first: bool) -> CpuFields:
    """Return the fields of the device record for CPU traffic. rows: MIXED or SPLIT. first: whether channels serve CPU
    programs before the GPU.

    Raises UsageError on fewer SMs than the machine has, as CPU programs meet all of its memory, and for a far memory
    that is not there; MalformedInput for a latency that is shorter than that of DRAM's commands.
    """
    if sms != machine.chip.sms:
        raise UsageError(
            "CPU programs share the memory of the whole machine", place=Hint("{sms}"), found=sms,
            expected=machine.chip.sms, remedy=Hint("Emulate all SMs ({sms} N), or leave out {cpu}."),
        )  # fmt: skip
    seen = memory_with_cpu(traffic, machine)
    programs = traffic.programs
    fields = CpuFields(
        cpu_chains=sum(p.inflight for p in programs),
        cpu_memory=Memory.FAR if traffic.memory == FAR else Memory.NEAR,
        cpu_high=int(rows == SPLIT), cpu_first=int(first),
        cpu_think=[], cpu_path=[], cpu_lines=[p.lines for p in programs], cpu_base=_bases(programs),
        cpu_locality=[round(p.locality * (1 << CPU_SHARE)) for p in programs],
        cpu_drawn=[1 + (traffic.seed * 7919 + 104729 * i) % ((1 << 31) - 2) for i in range(len(programs))],
        cpu_last=[p.lines - 1 for p in programs], cpu_of_chain=[], cpu_begins=[],
    )  # fmt: skip
    for i, program in enumerate(programs):
        lap = lap_of(traffic, program, seen)
        fields["cpu_path"].append(lap.path)
        fields["cpu_think"].append(round(lap.think * (1 << CPU_FRACTION)))
        fields["cpu_of_chain"] += [i] * program.inflight
        fields["cpu_begins"] += [1 + round(lap.whole * (k + 0.5) / program.inflight) for k in range(program.inflight)]
    return fields


def memory_with_cpu(traffic: CpuTraffic, machine: Machine) -> Machine:
    """Return the machine with the memory of the programs' pages as its `dram`. Raises UsageError for a far memory that
    is not there."""
    if traffic.memory != FAR:
        return machine
    if machine.far is None:
        raise UsageError(
            f"{machine.name} has no far memory", file=traffic.file or None, place="memory", found=FAR,
            expected="near, or a machine with the section far_dram",
        )  # fmt: skip
    return machine.far


def _bases(programs: tuple[CpuProgram, ...]) -> list[int]:
    """Return the first line of each footprint, where no two share a page."""
    bases, line = [], 0
    for program in programs:
        bases.append(line)
        size = -(-program.lines * LINE_BYTES >> LINE_SHIFT)
        line += -(-size // _APART) * _APART
    return bases


class Lap(NamedTuple):
    """A lap of a chain goes from one of its misses to its next one. Times are core cycles."""

    path: int  #: of a miss, beside DRAM's commands
    miss: int  #: of a miss alone
    think: float  #: from the data to the next miss

    @property
    def whole(self) -> float:
        """Return the time of a lap of the program alone."""
        return self.miss + self.think


def lap_of(traffic: CpuTraffic, program: CpuProgram, machine: Machine) -> Lap:
    """Return the lap of a program's chains. machine: has the memory of the programs' pages as its `dram`."""
    per_ns = machine.clock.core_mhz / 1000
    commands = closed_bank_cycles(machine, fetched=LINE_BYTES)
    if program.latency * per_ns < commands:
        raise impossible_latency(traffic, program, commands / per_ns)
    miss = ceil(program.latency * per_ns)
    think = round((program.lap * per_ns - miss) * (1 << CPU_FRACTION)) / (1 << CPU_FRACTION)
    return Lap(miss - commands, miss, max(0.0, think))
