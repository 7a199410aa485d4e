"""What a kernel is like: the facts about it that a recommendation of its number of blocks rests on.

Needs a binary and the kernel's baseline (`original.baseline`); leaves the unified paper's figures of the kernel
(sections 4.1 and 5, Table 1) and its instruction mix by how often code runs. Nothing is run.
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

CONTROL = "control"


@dataclass(frozen=True)
class Share:
    """A kind of instructions: how many there are, and how many of every hundred that a thread executes, estimated by
    loops and calls or as a profile has it."""

    kind: str
    static: int
    executed: float


@dataclass(frozen=True)
class Character:
    """interval: mean static dispatch interval, in cycles. concurrency_bound: whether more warps can fill idle issue
    cycles. user_shared: bytes per thread of the user's own shared memory. mix: largest share first."""

    interval: Fraction
    concurrency_bound: bool
    user_shared: float
    mix: list[Share]


def characterise(module: Module, request: Request, original: Version, use: KernelUse) -> Character:
    """original: the kernel's baseline on the request's machine. use: the input's."""
    interval = dispatch_interval(original)
    return Character(interval, is_concurrency_bound(interval), use.shared_bytes / use.threads, _mix(module, request))


def _mix(module: Module, request: Request) -> list[Share]:
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
    """The space of a memory access, else "control", else the unit that executes it."""
    if view.memory is not None:
        return str(view.memory.space)
    return CONTROL if view.control else view.unit
