"""What a profiled run counted of single instructions, read back from the further columns of its program."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.policies.gates.table import STALL_NAMES
from binalloc.emulator.state import profile_columns as P
from binalloc.emulator.state.counters import Stall, Stat
from binalloc.emulator.state.memories import Array

NOT_OF_INSTRUCTIONS = ("issue_slots", "dual_issues", "blocks_dispatched", "blocks_retired", "warp_cycles")
"""Counters of an SM that no single instruction changes."""
COUNTED = tuple(name for name in Stat.names if name not in NOT_OF_INSTRUCTIONS)
REASONS = tuple(name for i, name in enumerate(STALL_NAMES) if i != Stall.NO_WARP)


@dataclass(frozen=True)
class Profile:
    """A function's instructions: arrays with an entry for each, summed over the SMs.

    stalls: lost issue slots held against the instruction, by reason; over all instructions of a module they add up to
    the run's, but for `no_warp`, which is nobody's. counters: what the instruction added to each counter of the run,
    likewise. latencies: its accesses of which is known when all their data was there; latency_sum: cycles from issue
    until then, over them; latency_max: the most.
    """

    stalls: dict[str, Array]
    counters: dict[str, Array]
    latencies: Array
    latency_sum: Array
    latency_max: Array


def collect_profile(device: LaunchedDevice) -> dict[str, Profile]:
    """Per function of the module. Needs a device that was told to `profile`."""
    table = device.memories.program
    out = {}
    for fn in device.module.functions:
        rows = table[fn.address : fn.address + len(fn.instrs)].copy()
        out[fn.name] = Profile(
            {name: rows[:, P.FIRST_STALL + STALL_NAMES.index(name)] for name in REASONS},
            {name: rows[:, P.FIRST_COUNT + Stat.names.index(name)] for name in COUNTED},
            rows[:, P.LATENCIES], rows[:, P.LATENCY_SUM], rows[:, P.LATENCY_MAX],
        )  # fmt: skip
    return out
