"""This module has the shapes of `compare-allocators`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import MachineFrom, Versioned, WeighingProfile
from binalloc.report.shapes.says import says

_INFEASIBLE = "null where the budget is infeasible"


class ComparedRow(TypedDict):
    """A row is the allocation of one allocator for one budget."""

    registers: Annotated[int, says("registers per thread that the budget allows")]
    slots: Annotated[int, says("slots per thread that the budget allows")]
    allocator: Annotated[str, says("name of the allocator")]
    reason: Annotated[str, says("why the allocator finds the budget infeasible; empty where it does not")]
    registers_used: Annotated[int | None, says(f"registers per thread that the allocation takes; {_INFEASIBLE}")]
    slots_used: Annotated[int | None, says(f"slots per thread that the allocation takes; {_INFEASIBLE}")]
    local_bytes: Annotated[
        int | None,
        says(f"local memory per thread that spilled values take, in bytes; {_INFEASIBLE}"),
    ]
    local: Annotated[
        int | None,
        says(f"spill accesses to local memory in the code of the kernel and its callees; {_INFEASIBLE}"),
    ]
    slot: Annotated[
        int | None,
        says(f"accesses to slots in the code of the kernel and its callees, without `moves`; {_INFEASIBLE}"),
    ]
    recomputed: Annotated[
        int | None,
        says(f"instructions that recompute a value, in the code of the kernel and its callees; {_INFEASIBLE}"),
    ]
    moves: Annotated[
        int | None,
        says(
            "accesses to slots that move values to other slots before calls and back after them, in the code of the "
            f"kernel and its callees; {_INFEASIBLE}"
        ),
    ]
    copies: Annotated[
        int | None,
        says(
            f"copies between registers that the input lacks, in the code of the kernel and its callees; {_INFEASIBLE}"
        ),
    ]
    cost: Annotated[
        float | None,
        says(
            "cost of `local`, `slot`, `recomputed` and `moves` per run of the kernel: each instruction by `prices`, "
            "times its executions, estimated from loops and calls or counted by the profile; "
            f"{_INFEASIBLE}"
        ),
    ]
    bound: Annotated[
        float | None,
        says(
            "lower bound of the cost for this budget, with the code in the order that `cpsat` chose and the "
            "same arguments in memory; null where no bound is proven. That is so without `cpsat`, where `cpsat` hit "
            "its limit, and for call graphs of more than 4,000 lines"
        ),
    ]
    gap: Annotated[float | None, says("(`cost` - `bound`) / `cost`; null without a bound")]
    cpu_seconds: Annotated[
        float | None,
        says(f"CPU time of the allocation in seconds, the only field that differs from run to run; {_INFEASIBLE}"),
    ]


class ComparedKernelJson(TypedDict):
    """This object has a kernel with all allocators and all budgets."""

    kernel: Annotated[str, says("name of the kernel")]
    ptxas_slots: Annotated[
        int,
        says("slots per thread that the vendor's compiler would take, as allocator `ptxas-smem` does"),
    ]
    reason: Annotated[str, says("why the kernel cannot be rewritten for any budget; empty where it can")]
    rows: Annotated[list[ComparedRow], says("a row for each budget and allocator")]


class ComparisonJson(TypedDict):
    """These fields compare the allocators."""

    machine: Annotated[str, says("name of the machine")]
    partial: Annotated[bool, says("whether Ctrl-C ended the command, so that rows are missing")]
    inline: Annotated[str, says("calls that were to be inlined, as `--inline` names them")]
    profile: Annotated[
        WeighingProfile | None,
        says("[profile](#profile-of-a-run) that weights the code; null where loops and calls do"),
    ]
    prices: Annotated[
        dict[str, float],
        says(
            "cost of one access to a `slot`, of one access to `local` memory, and of one `recomputed` instruction; the "
            "cost of `local` follows from the machine"
        ),
    ]
    kernels: Annotated[list[ComparedKernelJson], says("kernels that were compared")]


class CompareJson(Versioned, ComparisonJson, MachineFrom):
    """`compare-allocators` prints this object."""
