"""This module proves kernels whose variables lie over one another in shared memory.

Needs an original, and a binary whose record says how a kernel was made. It is made again of the original, and the
checker judges it: neither record nor what makes it is trusted. Leaves the module in front of allocation, against which
the ordinary checker judges the binary.
"""

from __future__ import annotations

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.pipeline.proving.turns import TurnsProof, each_recorded, for_blocks
from binalloc.pipeline.sharing.overlay_record import OverlayRecord, was_overlaid
from binalloc.pipeline.sharing.overlays import plan_again
from binalloc.transform.sharing.overlay import overlay_memory
from binalloc.verify.sharing.overlay.check import check_overlay

OVERLAY = "overlay"
"""Stands for the scheme of a kernel whose variables lie over one another."""


def prove_overlays(old: Module, new: Module, names: list[str]) -> tuple[Module, list[TurnsProof]]:
    """Return the original with the named kernels as their records say, and what is proven of each. Kernels of which
    `old` records the same are left alone. Raises MalformedInput for a record that makes no sense."""
    return each_recorded(old, new, names, was_overlaid, lambda old, name, record: _prove(old, new, name, record))


def _prove(old: Module, new: Module, name: str, record: OverlayRecord) -> TurnsProof:
    required = new.function(name).info.block
    x, y, z = (side or 1 for side in required)
    try:
        plan = plan_again(shared_memory_of(old, name, (x, y, z)), record.distances, record.bytes)
        made = overlay_memory(old, plan.memory, plan.units, plan.distances, plan.bytes)
    except BinallocError as error:
        missing = f"{name}: it cannot be made again of the original: {error}"
        return TurnsProof(name, OVERLAY, (x, y, z), missing, None)
    report = check_overlay(old, made, name, (x, y, z), record.dynamic)
    missing = "" if report.ok else str(report.errors[0])
    return TurnsProof(name, OVERLAY, (x, y, z), missing, for_blocks(made, name, required),
                      by_symbol=report.by_symbol)  # fmt: skip
