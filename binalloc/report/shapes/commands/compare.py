"""These are the shapes of `compare-allocators`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import MachineFrom, Versioned, WeighingProfile
from binalloc.report.shapes.says import says


class ComparedRow(TypedDict):
    """An allocator at a budget."""

    registers: Annotated[int, says("registers per thread of a budget")]
    slots: Annotated[int, says("its slots per thread")]
    allocator: Annotated[str, says("by name")]
    reason: Annotated[
        str, says('why the budget is infeasible, "" where it is not; the fields that follow are null where it is')
    ]
    registers_used: Annotated[int | None, says("registers per thread")]
    slots_used: Annotated[int | None, says("slots per thread")]
    local_bytes: Annotated[int | None, says("bytes of local memory for spilled values, per thread")]
    local: Annotated[int | None, says("accesses to those in the code, callees included; likewise the next four")]
    slot: Annotated[int | None, says("accesses to slots, those of `moves` left out")]
    recomputed: Annotated[int | None, says("instructions that give a value again")]
    moves: Annotated[
        int | None,
        says("accesses to slots that bring values elsewhere before calls and back behind them"),
    ]
    copies: Annotated[int | None, says("new copies between registers")]
    cost: Annotated[
        float | None,
        says(
            "of all but the copies, by `prices` and estimated runs of loops and functions, or those of the "
            "profile, per run of the kernel"
        ),
    ]
    bound: Annotated[
        float | None,
        says(
            "no allocation of the budget costs less, of the code in the order that `cpsat` took and with those "
            "arguments in memory that are there; null where that is not proven: without `cpsat`, where it hit its "
            "limit, and for call graphs of more than 4,000 lines"
        ),
    ]
    gap: Annotated[float | None, says("(`cost` - `bound`) / `cost`; null without a bound")]
    cpu_seconds: Annotated[float | None, says("CPU time of the allocation: the one field that differs from run to run")]


class ComparedKernelJson(TypedDict):
    """A kernel with all allocators at all budgets."""

    kernel: Annotated[str, says("a kernel")]
    ptxas_slots: Annotated[int, says("slots per thread that the vendor's compiler would take, see `ptxas-smem`")]
    reason: Annotated[str, says('why no budget can be rewritten for, "" where some can')]
    rows: Annotated[list[ComparedRow], says("allocators at budgets")]


class ComparisonJson(TypedDict):
    """The fields of what `compare-allocators` prints."""

    machine: Annotated[str, says("the machine's name")]
    partial: Annotated[bool, says("Ctrl-C ended it: further rows are not known")]
    inline: Annotated[str, says("which calls were to be inlined, as `--inline` names it")]
    profile: Annotated[
        WeighingProfile | None,
        says("the [profile](#profile-of-a-run) that weighs code; null where loops do"),
    ]
    prices: Annotated[
        dict[str, float],
        says(
            "what an access to a `slot`, an access to `local` memory and an instruction that is `recomputed` "
            "count for in a cost; that of `local` follows from the machine"
        ),
    ]
    kernels: Annotated[list[ComparedKernelJson], says("kernels")]


class CompareJson(Versioned, ComparisonJson, MachineFrom):
    """What `compare-allocators` prints."""
