"""What binds a kernel on an SM: a resource that is busy nearly all the time, or what its warps wait for.

Needs the statistics of a run, or what a version is expected to ask of the SM (`estimate.demand`). Leaves a `Bound`.
The rule is that of profilers: a resource that is busy for `SATURATED` of the cycles binds the kernel; where none is,
the largest reason for lost issue slots does, unless a resource that is busy for `NEARLY` of them explains it.

Resources: issue slots of the schedulers; port groups of the units (cycles in which an instruction holds a port, over
all ports); the load/store port with the further passes of bank conflicts; the links to and from L2; DRAM. With fewer
warps than schedulers only those schedulers count that have one: other partitions' units cannot serve them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine

SATURATED = 0.8
NEARLY = 0.6

ISSUE, UNIT, BANKS, ARRIVALS, DRAM, LINK, LATENCY, BARRIER, DEPENDENCE, TAIL, FETCH = (
    "issue", "unit", "banks", "arrivals", "dram", "link", "latency", "barrier", "dependence", "tail", "fetch",
)  # fmt: skip
THROUGHPUT = (ISSUE, UNIT, BANKS, ARRIVALS, DRAM, LINK)
"""What more warps cannot change."""

UNITS = {
    "alu": "integer ALU", "imad": "IMAD", "fma": "FFMA", "conv": "conversion", "sfu": "MUFU", "dp": "DFMA",
    "lsu": "load/store", "tex": "texture", "bru": "branch", "bar": "barrier", "sys": "special register",
}  # fmt: skip
"""Classes of units by the field's names for what they do most."""
_REASONS = {
    LATENCY: ("scoreboard", "pending"),
    BARRIER: ("barrier",),
    DEPENDENCE: ("stall_count", "branch", "register_bank"),
    TAIL: ("block_drain", "no_warp"),
    FETCH: ("instruction_fetch", "constant"),
    UNIT: ("port_busy",),
}
"""Why issue slots are lost. Second slots of a scheduler that find no pair (`no_pair`) count as no loss."""
_WAITS = {
    BARRIER: "barriers (__syncthreads)",
    DEPENDENCE: "dependent instructions (fixed latency)",
    TAIL: "the last warps of blocks",
    FETCH: "instruction and constant caches",
}


@dataclass(frozen=True)
class Bound:
    """kind: see the names above. what: in the field's terms. share: of the cycles that the resource is busy, or of
    issue slots that are lost; None where only a model's comparison tells. busy: share of the cycles that each resource
    is busy, by name, the busiest first. measured: by a run; otherwise by the model."""

    kind: str
    what: str
    share: float | None
    busy: dict[str, float]
    measured: bool

    @property
    def by_throughput(self) -> bool:
        """Whether a resource is at its limit, which more resident warps cannot change."""
        return self.kind in THROUGHPUT

    def text(self) -> str:
        """As `FFMA issue (units busy 96 % of the time)`."""
        if self.share is None:
            return self.what
        share = f"{self.share:.0%}".replace("%", " %")
        return f"{self.what} ({share} of {_OF.get(self.kind, 'issue slots wait')})"


_OF = {
    ISSUE: "issue slots", UNIT: "what the units do at most", BANKS: "cycles of the shared-memory port",
    ARRIVALS: "what the barrier unit takes", DRAM: "an SM's share of the bandwidth", LINK: "the link's bandwidth",
}  # fmt: skip


def by_run(stats: Mapping[str, Any], machine: Machine, warps: int) -> Bound | None:
    """Of a run with so many warps resident on an SM at most. None where nothing was issued."""
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
    """As a model expects it. counts: instructions by class of units, issues: issue slots, conflicts: further passes
    over banks, all per cycle; passes: per access to shared memory; bandwidth: shares in use; awaited: whose latency
    warps wait for most; barriers: how many times as fast it would be without them."""
    busy = _busy(counts, issues, conflicts, bandwidth, machine, warps)
    lost = {BARRIER: 1.0} if barriers > _WORTH else {LATENCY: 1.0}
    found = _verdict(busy, lost, counts, passes, awaited, machine, measured=False)
    return found if found.by_throughput else Bound(found.kind, found.what, None, busy, False)


_MOSTLY = 0.6
"""Of all instructions, and the bound by issue is called after them."""
_WORTH = 1.15
"""So many times as fast without barriers, and they bind the kernel."""


def _busy(
    counts: Mapping[str, float], issues: float, conflicts: float, bandwidth: Mapping[str, float], machine: Machine,
    warps: int,
) -> dict[str, float]:  # fmt: skip
    """The share of the cycles that each resource is busy, the busiest first. All arguments per cycle."""
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
    """The largest reason beside busy ports."""
    others = [(kind, share) for kind, share in lost.items() if kind != UNIT]
    return max(others, key=lambda item: item[1])


def _resource(name: str, counts: Mapping[str, float], passes: float, machine: Machine) -> tuple[str, str]:
    """The kind and the words of a busy resource."""
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
    """What most latency is of: accesses times how long one takes where nobody else is there."""
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
