"""This module reads the counts of single instructions of a profiled run from the further columns of its program."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.host.figures.shares import DramCauses
from binalloc.emulator.policies.gates.table import STALL_NAMES
from binalloc.emulator.state import profile_columns as P
from binalloc.emulator.state.counters import Stall, Stat
from binalloc.emulator.state.memories import Array

NOT_OF_INSTRUCTIONS = (
    "issue_slots", "dual_issues", "blocks_dispatched", "blocks_retired", "warp_cycles", "locks_taken", "lock_waits",
    "lock_wait_cycles", "cycles_before_lock", "cycles_with_lock", "cycles_behind_lock",
)  # fmt: skip
"""Counters of an SM that no single instruction changes."""
COUNTED = tuple(name for name in Stat.names if name not in NOT_OF_INSTRUCTIONS)
REASONS = tuple(name for i, name in enumerate(STALL_NAMES) if i != Stall.NO_WARP)


@dataclass(frozen=True)
class InstructionProfile:
    """A profile has arrays with an entry for each instruction of a function, summed over the SMs."""

    #: lost issue slots charged to the instruction, by reason; over all instructions of a module they add up to the
    #: run's. `no_warp` has no instruction
    stalls: dict[str, Array]
    #: what the instruction added to each counter of the run; the sums are those of the run, too
    counters: dict[str, Array]
    latencies: Array  #: accesses of the instruction with a known time at which all their data was there
    latency_sum: Array  #: sum of their cycles from issue until then
    latency_max: Array  #: the most cycles of one of them
    #: by off-chip memory, commands of DRAM that its requests caused, see `figures.shares.COUNTED`; a write-back goes
    #: back to the instruction that has changed the line last
    dram: tuple[dict[str, Array], ...]


def collect_profile(device: LaunchedDevice) -> dict[str, InstructionProfile]:
    """Return the profile of each function of the module. Needs a device with `profile` on."""
    table, causes = device.memories.program, DramCauses(device.engine, device.g)
    out = {}
    for fn in device.module.functions:
        rows = table[fn.address : fn.address + len(fn.instrs)].copy()
        out[fn.name] = InstructionProfile(
            {name: rows[:, P.FIRST_STALL + STALL_NAMES.index(name)] for name in REASONS},
            {name: rows[:, P.FIRST_COUNT + Stat.names.index(name)] for name in COUNTED},
            rows[:, P.LATENCIES], rows[:, P.LATENCY_SUM], rows[:, P.LATENCY_MAX],
            causes.of_words(fn.address, len(fn.instrs)),
        )  # fmt: skip
    return out
