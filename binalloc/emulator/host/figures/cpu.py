"""What CPU programs have done in a run follows here from their misses."""

from __future__ import annotations

from typing import NamedTuple

from binalloc.emulator.host.engines.engine import Engine, Records
from binalloc.emulator.host.memory.cpu import MIXED, SPLIT, Lap, lap_of, memory_with_cpu
from binalloc.emulator.state.memory_layout import RequestKind, Stage
from binalloc.models.dram.traffic import CpuTraffic
from binalloc.models.machines.model import Machine


class CpuRun(NamedTuple):
    """A CPU program has run beside the GPU, as long as the kernel."""

    name: str
    misses: int  #: misses that have ended
    under_way: int  #: misses under way at the end
    instructions: float  #: instructions that it has executed
    ipc: float  #: instructions per cycle of its clock
    ipc_alone: float  #: what the file states of the program alone
    delay_each: float | None  #: core cycles from a miss's arrival at its channel to its data; None without misses


class CpuRuns(NamedTuple):
    """CPU programs have run beside the GPU, as long as the kernel."""

    programs: tuple[CpuRun, ...]
    memory: str  #: the memory with their pages, `near` or `far`
    rows: str  #: where in a bank these lie, `mixed` or `split`
    first: bool  #: whether channels served them before the GPU

    @property
    def weighted_speedup(self) -> float:
        """Return the sum of IPC together over IPC alone (Eyerman and Eeckhout, "System-Level Performance Metrics for
        Multiprogram Workloads", 2008)."""
        return sum(run.ipc / run.ipc_alone for run in self.programs)


def cpu_runs(engine: Engine, g: Records, traffic: CpuTraffic, machine: Machine) -> CpuRuns:
    """Return what the programs have done up to now."""
    cycles = int(engine.get(g, 0, "cycle"))
    counts = {name: engine.view(g, 0, f"cpu_{name}") for name in ("misses", "asked", "delay")}
    seen = memory_with_cpu(traffic, machine)
    begun = _chains(engine, g)
    found = []
    for i, program in enumerate(traffic.programs):
        misses, asked, delay = (int(counts[name][i]) for name in ("misses", "asked", "delay"))
        lap = lap_of(traffic, program, seen)
        mine = [chain for chain in begun if chain.program == i]
        started = sum(chain.begins < cycles for chain in mine)
        time = misses * lap.miss + (asked - started) * lap.think + sum(_part(chain, lap, cycles) for chain in mine)
        instructions = time / lap.whole * program.instructions
        own_cycles = max(cycles, 1) / machine.clock.core_mhz * program.mhz
        found.append(
            CpuRun(program.name, misses, asked - misses, instructions, instructions / own_cycles, program.ipc,
                   delay / misses if misses else None)
        )  # fmt: skip
    rows = SPLIT if engine.get(g, 0, "cpu_high") else MIXED
    return CpuRuns(tuple(found), traffic.memory, rows, bool(engine.get(g, 0, "cpu_first")))


class _Chain(NamedTuple):
    """A chain stands somewhere in its lap at the end of the run."""

    program: int
    begins: int  #: cycle of its first miss
    due: int | None  #: cycle of its next miss; None for one whose miss is under way
    since: int  #: cycle in which that miss began


def _part(chain: _Chain, lap: Lap, cycles: int) -> float:
    """Return how much of the time of its laps alone a chain has behind it, beside whole misses and whole times of
    thinking."""
    if cycles <= chain.begins:
        return cycles
    if chain.due is None:
        return chain.begins + min(cycles - chain.since, lap.miss)
    return chain.begins + max(0.0, lap.think - max(0, chain.due - cycles))


def _chains(engine: Engine, g: Records) -> list[_Chain]:
    """Return the chains of all programs."""
    columns = {name: engine.view(g, 0, name) for name in ("kind", "source", "stage", "due")}
    chains = {name: engine.view(g, 0, f"cpu_{name}") for name in ("of_chain", "begins", "since")}
    found = []
    for r in range(engine.get(g, 0, "requests")):
        if columns["kind"][r] == RequestKind.CPU_LOAD:
            c = int(columns["source"][r])
            due = int(columns["due"][r]) if columns["stage"][r] == Stage.CPU_MISSES else None
            found.append(_Chain(int(chains["of_chain"][c]), int(chains["begins"][c]), due, int(chains["since"][c])))
    return found
