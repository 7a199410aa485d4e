"""This module lays variables of a kernel over one another, and measures what that gives on the emulator.

Needs a laid-out module, and a request with a launch. Leaves a version whose blocks need fewer bytes of shared memory,
beside the original. No hardware has to do anything new for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import shared_memory_of
from binalloc.errors import Refused
from binalloc.isa.instruction import Module
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.sharing.overlay_record import OverlayRecord, was_overlaid
from binalloc.pipeline.sharing.overlays import OverlayPlan, overlay_plan
from binalloc.pipeline.sharing.sharing import START, require_unpaired
from binalloc.pipeline.steps.measure import measure, measured_beside
from binalloc.pipeline.steps.proof import require_no_hazard
from binalloc.pipeline.steps.record import made_of
from binalloc.pipeline.steps.version import Version
from binalloc.printable import count
from binalloc.transform.sharing.overlay import overlay_memory
from binalloc.verify.report import CheckReport
from binalloc.verify.sharing.overlay.check import check_overlay


@dataclass(frozen=True)
class Overlaid:
    """An overlaid kernel is a version whose variables lie over one another, beside the original."""

    original: Version
    plan: OverlayPlan
    version: Version  #: as it was run, if it was
    report: CheckReport  #: of its proof
    same: bool | None = None  #: whether it left the original's results; None where it was not run
    ended: str | None = None  #: why its run did not end well

    @property
    def right(self) -> bool:
        """Return whether it is proven, and left the original's results if it was run."""
        return self.report.ok and self.same is not False and self.ended is None

    @property
    def gains(self) -> bool:
        """Return whether an SM holds more blocks."""
        return self.version.blocks_per_sm > self.original.blocks_per_sm

    @property
    def slower(self) -> bool:
        """Return whether it was run, and took no fewer cycles than the original."""
        before, now = self.original.cycles, self.version.cycles
        return before is not None and now is not None and now >= before


def overlay_kernel(module: Module, request: Request) -> Overlaid:
    """Return what becomes of a kernel whose variables lie over one another.

    Raises Refused where no byte is saved, as `overlay_plan`, and for a kernel that has been overlaid or whose blocks
    share memory already.
    """
    assert request.launch is not None
    launch = request.launch
    _require_apart(module, request)
    original = baseline(module, request)
    plan = overlay_plan(shared_memory_of(module, request.kernel, launch.block), launch.dynamic_shared)
    made = overlay_memory(module, plan.memory, plan.units, plan.distances, plan.bytes)
    version = baseline(made, replace(request, prepared=Preparations()))
    require_no_hazard(version.module, request.machine)
    proven = made if version.allocated else version.module
    report = check_overlay(module, proven, request.kernel, launch.block, launch.dynamic_shared)
    found = Overlaid(original, plan, replace(version, name="the overlay"), report)
    if not request.emulate or not report.ok:
        return found
    original = measure(original, request)
    version, same, error = measured_beside(original, found.version, request)
    return Overlaid(original, plan, version, report, same, None if error is None else error.message)


def _require_apart(module: Module, request: Request) -> None:
    """Raise Refused for a kernel whose variables lie over one another already, or whose blocks share memory."""
    record = was_overlaid(module, request.kernel)
    if record is not None:
        raise Refused(
            "variables of the kernel lie over one another already", file=module.path or None, place=request.kernel,
            found=f"a binary that was overlaid, with {count(record.bytes, 'byte')} of shared memory",
            expected="a kernel whose variables are apart", remedy=START,
        )  # fmt: skip
    require_unpaired(module, request)


def recorded_overlay(found: Overlaid, request: Request, source: bytes) -> Module:
    """Return the version's module with a record of what it was made of and how, and with the size of its blocks as the
    required one: for others there is no proof. source: bytes of the input."""
    assert request.launch is not None
    module, launch = found.version.module, request.launch
    how = OverlayRecord(found.plan.distances, found.plan.bytes, launch.dynamic_shared)
    functions = [
        replace(fn, info=replace(fn.info, block=launch.block)) if fn.name == request.kernel else fn
        for fn in module.functions
    ]  # fmt: skip
    record = made_of(source, request) | how.fields()
    return replace(module, functions=functions, provenance=[*module.provenance, record])
