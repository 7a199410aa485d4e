"""This module finds the facts about a kernel on which a recommendation of its number of blocks rests.

Needs a binary and the kernel's baseline (`original.baseline`). Leaves the unified paper's figures of the kernel
(sections 4.1 and 5, Table 1) and its instruction mix, weighted by executions. Nothing is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from binalloc.isa.instruction import Module
from binalloc.isa.interface.view import View
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.search.unified import is_concurrency_bound
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.counts import dispatch_interval
from binalloc.pipeline.steps.version import Version

CONTROL = "control"  # the kind of branches, barriers and the like in the instruction mix


@dataclass(frozen=True)
class Share:
    """A share is the part of one kind of instructions in a kernel's instruction mix."""

    kind: str  #: see `_kind`
    static: int  #: number of such instructions in the code
    executed: float  #: percent of the instructions that a thread executes, by a profile or estimated by loops and calls


@dataclass(frozen=True)
class Character:
    """A character has the facts about a kernel that do not depend on the number of blocks."""

    interval: Fraction  #: mean static dispatch interval, in cycles
    concurrency_bound: bool  #: whether more warps can fill idle issue cycles
    user_shared: float  #: bytes per thread of the user's own shared memory
    mix: list[Share]  #: largest share first


def characterise(module: Module, request: Request, original: Version, use: KernelUse) -> Character:
    """Return the facts about a kernel. original: its baseline on the request's machine. use: the input's resources."""
    interval = dispatch_interval(original)
    return Character(interval, is_concurrency_bound(interval), use.shared_bytes / use.threads, _mix(module, request))


def _mix(module: Module, request: Request) -> list[Share]:
    """Return the instruction mix of the kernel and the functions it calls, largest share first."""
    from binalloc.transform.allocate.frequencies import blocks_by_runs

    static: dict[str, int] = {}
    executed: dict[str, float] = {}
    for f, b, runs in blocks_by_runs(request.prepared_for(module).program):
        block = f.cfg.blocks[b]
        for view in f.cfg.views[block.start : block.end]:
            kind = _kind(view)
            static[kind] = static.get(kind, 0) + 1
            executed[kind] = executed.get(kind, 0.0) + runs
    total = sum(executed.values()) or 1.0
    shares = [Share(kind, number, 100 * executed[kind] / total) for kind, number in static.items()]
    return sorted(shares, key=lambda share: (-share.executed, share.kind))


def _kind(view: View) -> str:
    """Return the memory space of an access, "control" for control flow, else the unit of the instruction."""
    if view.memory is not None:
        return str(view.memory.space)
    return CONTROL if view.control else view.unit
