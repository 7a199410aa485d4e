"""This module finds the bound of a kernel on an SM: a resource that is nearly always busy, or a wait of its warps.

Needs the statistics of a run, or the demand that a version is expected to make on the SM (`estimate.demand`). Leaves a
`Bound`. Profilers have the same rule: a resource that is busy for `SATURATED` of the cycles bounds the kernel. Without
such a resource, the largest reason for lost issue slots does, unless a resource that is busy for `NEARLY` of the cycles
explains it.

Resources are the issue slots of the schedulers, the port groups of the units, the load/store port with the further
passes of bank conflicts, the links to and from L2, and DRAM. A port group is busy in cycles in which an instruction
holds a port, over all its ports. With fewer warps than schedulers only schedulers with a warp count: units of other
partitions cannot serve it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine

SATURATED = 0.8
"""Share of the cycles from which on a resource bounds the kernel, whatever warps wait for. Chosen by hand."""
NEARLY = 0.6
"""Share from which on a busy resource explains warps that wait for a port. Chosen by hand."""

ISSUE, UNIT, BANKS, ARRIVALS, DRAM, LINK, LATENCY, BARRIER, DEPENDENCE, TAIL, FETCH, SHARED = (
    "issue", "unit", "banks", "arrivals", "dram", "link", "latency", "barrier", "dependence", "tail", "fetch", "shared",
)  # fmt: skip
"""Kinds of bounds: busy resources (`THROUGHPUT`), and reasons for which warps wait."""
THROUGHPUT = (ISSUE, UNIT, BANKS, ARRIVALS, DRAM, LINK)
"""The bounds that more resident warps cannot change."""

UNITS = {
    "alu": "integer ALU", "imad": "IMAD", "fma": "FFMA", "conv": "conversion", "sfu": "MUFU", "dp": "DFMA",
    "lsu": "load/store", "tex": "texture", "bru": "branch", "bar": "barrier", "sys": "special register",
}  # fmt: skip
"""For each class of units, the usual name of the work that it does most."""
_REASONS = {
    LATENCY: ("scoreboard", "pending"),
    BARRIER: ("barrier",),
    DEPENDENCE: ("stall_count", "branch", "register_bank"),
    TAIL: ("block_drain", "no_warp"),
    FETCH: ("instruction_fetch", "constant"),
    SHARED: ("shared_full", "shared_lock"),
    UNIT: ("port_busy",),
}
"""For each bound, the reasons in the statistics for which issue slots are lost. A second slot of a scheduler that finds
no pair (`no_pair`) is not counted as lost."""
_WAITS = {
    BARRIER: "barriers (__syncthreads)",
    DEPENDENCE: "dependent instructions (fixed latency)",
    TAIL: "the last warps of blocks",
    FETCH: "instruction and constant caches",
    SHARED: "shared memory that other blocks hold",
}
"""For each bound that is no resource, the name of what warps wait for."""


@dataclass(frozen=True)
class Bound:
    """A bound is what keeps a kernel from running faster on an SM."""

    kind: str  #: one of the names above, `ISSUE` to `SHARED`
    what: str  #: the resource, or what warps wait for, in words
    #: share of the cycles in which the resource is busy, or of the issue slots that are lost; None where only the
    #: model's comparison shows the bound
    share: float | None
    busy: dict[str, float]  #: share of the cycles in which each resource is busy, by name, the busiest first
    measured: bool  #: whether a run measured it; otherwise the model expects it

    @property
    def by_throughput(self) -> bool:
        """Return whether a resource is at its limit, so that more resident warps do not help."""
        return self.kind in THROUGHPUT

    def text(self) -> str:
        """Return the bound in words, as `FFMA issue (96 % of what the units do at most)`."""
        if self.share is None:
            return self.what
        share = f"{self.share:.0%}".replace("%", " %")
        return f"{self.what} ({share} of {_OF.get(self.kind, 'issue slots wait')})"


_OF = {
    ISSUE: "issue slots", UNIT: "what the units do at most", BANKS: "cycles of the shared-memory port",
    ARRIVALS: "what the barrier unit takes", DRAM: "an SM's share of the bandwidth", LINK: "the link's bandwidth",
}  # fmt: skip
"""For each resource, the whole to which its share refers, in words."""


def by_run(stats: Mapping[str, Any], machine: Machine, warps: int) -> Bound | None:
    """Return the bound of the kernel in a run; None if nothing was issued.

    stats: of the run. warps: the most warps that were resident on an SM.
    """
    cycles = stats["cycles"]
    if not cycles or not stats["issue_slots"]:
        return None
    counts: dict[str, float] = {name: n / cycles for name, n in stats["units"].items()}
    busy = _busy(
        counts, (stats["issue_slots"] - stats["dual_issues"]) / cycles, stats["bank_conflict_cycles"] / cycles,
        {"dram": stats["dram_utilisation"], "requests": stats["request_utilisation"],
         "answers": stats["response_utilisation"]}, machine, warps,
    )  # fmt: skip
    idle = ("no_pair", "no_warp") if warps < machine.schedulers.count else ("no_pair",)
    stalls = {name: n for name, n in stats["stalls"].items() if name not in idle}
    total = stats["issue_slots"] + sum(stalls.values())
    lost = {kind: sum(stalls.get(name, 0) for name in names) / total for kind, names in _REASONS.items()}
    conflicts = stats["shared_accesses"] and stats["shared_passes"] / stats["shared_accesses"]
    return _verdict(busy, lost, counts, conflicts or 1.0, _awaited(stats, machine), machine, measured=True)


def by_model(
    counts: Mapping[str, float], issues: float, conflicts: float, passes: float, bandwidth: Mapping[str, float],
    awaited: str, barriers: float, machine: Machine, warps: int,
) -> Bound:  # fmt: skip
    """Return the bound of the kernel that the model expects.

    counts: instructions per cycle, by class of units. issues: issue slots per cycle. conflicts: further passes over
    banks per cycle. passes: per access to shared memory. bandwidth: the share in use of each link and of DRAM. awaited:
    the cause of most of the latency, in words. barriers: speedup if no warp waited at barriers. warps: resident.
    """
    busy = _busy(counts, issues, conflicts, bandwidth, machine, warps)
    lost = {BARRIER: 1.0} if barriers > _WORTH else {LATENCY: 1.0}
    found = _verdict(busy, lost, counts, passes, awaited, machine, measured=False)
    return found if found.by_throughput else Bound(found.kind, found.what, None, busy, False)


_MOSTLY = 0.6
"""Share of all instructions from which on one class names the bound by issue ("FFMA issue"). Chosen by hand."""
_WORTH = 1.15
"""Speedup without barriers from which on they are named as the bound. Chosen by hand."""


def _busy(
    counts: Mapping[str, float], issues: float, conflicts: float, bandwidth: Mapping[str, float], machine: Machine,
    warps: int,
) -> dict[str, float]:  # fmt: skip
    """Return the share of the cycles in which each resource is busy, the busiest first.

    counts, issues, conflicts, bandwidth: per cycle, as for `by_model`.
    """
    schedulers = machine.schedulers.count
    serving = min(schedulers, max(1, warps)) / schedulers
    found = {ISSUE: issues / schedulers / serving}
    for name, n in counts.items():
        unit = machine.units[name]
        divided = machine.owners(name) > 1
        own = n * unit.interval / unit.ports / (serving if divided else 1.0)
        found[unit.port_group] = found.get(unit.port_group, 0.0) + own
    lsu = machine.units["lsu"].port_group
    found[lsu] = found.get(lsu, 0.0) + conflicts
    found |= bandwidth
    return {name: min(1.0, n) for name, n in sorted(found.items(), key=lambda item: (-item[1], item[0]))}


def _verdict(
    busy: dict[str, float], lost: Mapping[str, float], counts: Mapping[str, float], passes: float, awaited: str,
    machine: Machine, *, measured: bool,
) -> Bound:  # fmt: skip
    """Choose the bound between the busiest resource and the largest reason for lost issue slots.

    busy: see `_busy`. lost: share of the issue slots that each bound costs.
    """
    name, most = next(iter(busy.items()))
    kind, share = max(lost.items(), key=lambda item: item[1])
    queueing = kind == UNIT or (kind == TAIL and lost.get(UNIT, 0.0) > share / 4)
    if most >= SATURATED or (most >= NEARLY and queueing):
        return Bound(*_resource(name, counts, passes, machine), most, busy, measured)
    if kind == UNIT:
        kind, share = _other(lost)
        if name in ("dram", "requests", "answers") or most >= NEARLY:
            return Bound(*_resource(name, counts, passes, machine), most, busy, measured)
    what = f"the latency of {awaited}" if kind == LATENCY else _WAITS[kind]
    return Bound(kind, what, share, busy, measured)


def _other(lost: Mapping[str, float]) -> tuple[str, float]:
    """Return the largest reason for lost issue slots other than busy ports, with its share."""
    others = [(kind, share) for kind, share in lost.items() if kind != UNIT]
    return max(others, key=lambda item: item[1])


def _resource(name: str, counts: Mapping[str, float], passes: float, machine: Machine) -> tuple[str, str]:
    """Return the kind of bound that a busy resource is, and its name in words."""
    if name == ISSUE:
        first = max(counts, key=lambda unit: counts[unit])
        mostly = counts[first] > _MOSTLY * sum(counts.values())
        return ISSUE, f"{UNITS.get(first, first) if mostly else 'instruction'} issue"
    if name == "dram":
        return DRAM, "DRAM bandwidth"
    if name in ("requests", "answers"):
        return LINK, f"L2 bandwidth ({'to' if name == 'requests' else 'from'} L2)"
    members = {unit: n * machine.units[unit].interval / machine.units[unit].ports for unit, n in counts.items()
               if machine.units[unit].port_group == name}  # fmt: skip
    if passes > 2 and "lsu" in members:
        return BANKS, f"shared-memory bank conflicts, {passes:.1f} passes an access"
    if name == machine.units["bar"].port_group:
        return ARRIVALS, "arrivals at barriers (__syncthreads)"
    return UNIT, f"{UNITS.get(max(members, key=lambda unit: members[unit]), name)} issue"


def _awaited(stats: Mapping[str, Any], machine: Machine) -> str:
    """Return the cause of most of the latency in a run: of the number of accesses times the unloaded latency of one."""
    hits = stats["l1_global_hits"] / max(1, stats["l1_global_hits"] + stats["l1_global_misses"])
    far = stats["l2_hits"] / max(1, stats["l2_hits"] + stats["l2_misses"])
    beyond = far * machine.l2.latency + (1 - far) * machine.dram.latency
    units = stats["units"]
    weights = {
        "global memory": (stats["user_global_loads"] + stats["user_global_atomics"])
        * (hits * machine.l1.latency + (1 - hits) * beyond),
        "local memory": (stats["user_local_loads"] + stats["spill_local_loads"]) * machine.l1.latency,
        "shared memory": (stats["user_shared_loads"] + stats["user_shared_atomics"] + stats["spill_shared_loads"])
        * machine.shared.latency,
        "textures": stats["texture_fetches"] * machine.units["tex"].latency,
        "special functions": units["sfu"] * machine.units["sfu"].latency,
        "conversions": units["conv"] * machine.units["conv"].latency,
        "f64 arithmetic": units["dp"] * machine.units["dp"].latency,
    }
    return max(weights, key=lambda name: weights[name])
