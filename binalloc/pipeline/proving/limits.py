"""This module checks the limits on a rewritten kernel, compared with its original.

Needs both binaries, and the cycles of both runs if there is a limit on slowdown. Leaves true: there is a row for each
limit of each kernel, and a sentence for each limit that is exceeded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from binalloc.isa.instruction import Module
from binalloc.models.machines.model import Machine
from binalloc.pipeline.directives import compiled
from binalloc.pipeline.limits import in_percent, most_cycles, slower_by
from binalloc.pipeline.steps.kernels import local_bytes
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.pipeline.proving.runs import ComparedRuns


@dataclass(frozen=True)
class VerifyLimits:
    """Limits say what a rewritten kernel may take at most; None for no limit."""

    slowdown: Fraction | None = None  #: emulated cycles beyond the original's, as a share of them
    local_bytes: int | None = None  #: of local memory per thread, see `pipeline.steps.kernels.local_bytes`


@dataclass(frozen=True)
class KeptLimit:
    """This record is one limit of one kernel, beside what the kernel takes."""

    kernel: str
    counter: str  #: `cycles` or `local_bytes`
    original: int  #: what the original takes
    limit: int
    found: int  #: what the rewritten kernel takes
    directives: tuple[str, ...] = ()  #: PTX directives that the kernel exceeds; obeying them would take `found`
    sentence: str = ""  #: what is wrong; "" if the limit is kept

    @property
    def kept(self) -> bool:
        """Return whether the kernel takes no more than the limit."""
        return self.found <= self.limit


def check_limits(
    old: Module,
    new: Module,
    kernels: list[str],
    ran: str,
    runs: ComparedRuns | None,
    limits: VerifyLimits,
    machine: Machine,
) -> list[KeptLimit]:
    """Check `kernels`, which both binaries have, against the limits.

    ran: the kernel of `runs`. A kernel may have more registers than its own directives leave on `machine`. It is then
    judged by the local memory of the original as compiled under them (`pipeline.directives.compiled`).
    """
    rows = []
    if limits.slowdown is not None and runs is not None:
        most = most_cycles(runs.original, limits.slowdown)
        rows.append(KeptLimit(ran, "cycles", runs.original, most, runs.rewritten))
    if limits.local_bytes is not None:
        for name in kernels:
            before, after = (local_bytes(module.function(name).info) for module in (old, new))
            found = compiled(old, name, machine, new.function(name).info.registers)
            bound = tuple(found.binding) if found else ()
            taken = max(after, found.local_bytes if found else 0)
            rows.append(KeptLimit(name, "local_bytes", before, limits.local_bytes, taken, bound))
    return [row if row.kept else replace(row, sentence=_sentence(row, limits)) for row in rows]


def _sentence(row: KeptLimit, limits: VerifyLimits) -> str:
    """Return a sentence that says by how much a limit is exceeded."""
    if row.counter == "cycles" and limits.slowdown is not None:
        allowed = f"{row.limit:,}, {in_percent(limits.slowdown)} above it"
        taken = f"{count(row.found, 'cycle')}, {slower_by(row.found, row.original)}"
        return f"{row.kernel}: {taken} above the original's {row.original:,}; limit {allowed}"
    what = "local memory per thread, frame and spills"
    under = f" under {' and '.join(row.directives)}, which it does not keep to" if row.directives else ""
    return (
        f"{row.kernel}: {count(row.found, 'byte')} of {what}{under}, the original {row.original:,}; limit {row.limit:,}"
    )
