"""This module finds the bound of a version by the model: the demand of a warp on each resource, times the rate at which
warps are expected to complete.

Needs the estimate of a version (`estimate`). Nothing is run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from binalloc.isa.kinds import Access, Space
from binalloc.pipeline.bound import Bound, by_model
from binalloc.pipeline.steps.counts import OFF_CHIP

if TYPE_CHECKING:
    from binalloc.models.machines.model import Machine
    from binalloc.pipeline.estimate.estimate import Estimates
    from binalloc.pipeline.steps.version import Version

_SPACES = {
    Space.GLOBAL: "global memory", Space.GENERIC: "global memory", Space.LOCAL: "local memory",
    Space.TEXTURE: "textures", Space.SHARED: "shared memory",
}  # fmt: skip
"""For each memory space, the name of the wait for its accesses."""
_SLOW = {"sfu": "special functions", "conv": "conversions", "dp": "f64 arithmetic"}
"""For each class of units with a long latency, the name of the wait for it."""
NOBODY = "dependent instructions"
"""Name of the wait in code without accesses and without slow units."""


def bound_of(estimates: Estimates, version: Version, machine: Machine) -> Bound | None:
    """Return the bound of a version by the model; None if no instruction of the kernel can be walked."""
    followed = estimates.followed(version)
    units: dict[str, float] = defaultdict(float)
    waits: dict[str, float] = defaultdict(float)
    asks: dict[str, float] = defaultdict(float)
    issues = conflicts = accesses = 0.0
    for words, share in followed.words:
        each = 1 / share / len(followed.words) if share else 0.0
        for word, times in Counter(words).items():
            seen, n = followed.setting.view(word), times * each
            units[seen.unit] += n
            issues += n if seen.instr.ctrl.stall or machine.schedulers.issue_width == 1 else 0.0
            memory = seen.memory
            if memory is None:
                if seen.unit in _SLOW:
                    waits[_SLOW[seen.unit]] += n * machine.units[seen.unit].latency
                continue
            if memory.space == Space.SHARED:
                passes = followed.passes(word, memory)
                conflicts, accesses = conflicts + n * (passes - 1), accesses + n
                waits[_SPACES[memory.space]] += n * machine.shared.latency
            elif memory.space in OFF_CHIP:
                asked = followed.asked(word, seen)
                for name, value in (("dram", asked.dram), ("requests", asked.requests), ("answers", asked.answers)):
                    asks[name] += n * value
                if memory.access != Access.STORE:
                    waits[_SPACES[memory.space]] += n * asked.latency
    rate = estimates.rate(version) / (followed.done or 1.0)
    if not rate or not units:
        return None
    bytes_of = {
        "dram": machine.dram.bandwidth * 1000 / machine.clock.core_mhz / machine.chip.sms,
        "requests": machine.request_bytes_per_sm, "answers": machine.response_bytes_per_sm,
    }  # fmt: skip
    passes = 1 + conflicts / accesses if accesses else 1.0
    awaited = max(waits, key=lambda name: waits[name]) if waits else NOBODY
    return by_model(
        {name: n * rate for name, n in units.items()}, issues * rate, conflicts * rate, passes,
        {name: asks[name] * rate / bytes_of[name] for name in bytes_of}, awaited, estimates.without_barriers(version),
        machine, estimates.warps * version.blocks_per_sm,
    )  # fmt: skip
