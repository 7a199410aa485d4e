"""This module has the shapes of `verify`."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import BothCounts, Versioned
from binalloc.report.shapes.says import says


class HazardJson(TypedDict):
    """A hazard is an instruction that does not wait for another one as it should."""

    machine: Annotated[str, says("name of the machine on which there is the hazard")]
    kind: Annotated[
        str,
        says(
            "`RAW`, `WAW` or `WAR`; `drain` where a result is in flight when code continues that cannot be "
            "seen; `unscheduled` for a call of code that is not scheduled for the machine"
        ),
    ]
    function: Annotated[str, says("function of the instruction that comes too early")]
    index: Annotated[int, says("number of that instruction in its function, from 0")]
    instruction: Annotated[str, says("that instruction as assembly")]
    places: Annotated[list[str], says("registers and predicates of the hazard")]
    producer_function: Annotated[
        str | None,
        says("function of the producer, the instruction to wait for; null where the hazard has no known producer"),
    ]
    producer_index: Annotated[
        int | None, says("number of the producer in its function, from 0; null where the hazard has no known producer")
    ]
    producer: Annotated[str | None, says("the producer as assembly; null where the hazard has no known producer")]
    cycles_needed: Annotated[
        int | None, says("cycles needed between the two instructions; null where the latency is variable")
    ]
    cycles_found: Annotated[
        int | None,
        says("cycles between the two instructions on the shortest path; null where the latency is variable"),
    ]
    scoreboards: Annotated[list[int], says("scoreboards that the instruction should have waited for")]
    other_lanes: Annotated[bool, says("whether other lanes of the warp executed the producer")]


class ControlCodesJson(TypedDict):
    """This object has the results of the hazard check of a binary."""

    ok: Annotated[
        bool | None,
        says(
            "whether all functions are free of hazards; false with a hazard, null where some functions could "
            "not be checked"
        ),
    ]
    machines: Annotated[list[str], says("names of the machines that control codes were checked for")]
    hazards: Annotated[list[HazardJson], says("hazards that were found")]
    findings: Annotated[list[str], says("a sentence for each hazard")]
    notes: Annotated[list[str], says("functions whose control codes were not checked, and why")]


class StoreJson(TypedDict):
    """This object describes the last store to an element in a run."""

    store: Annotated[
        str | None, says("the store and its place in the code, in words; null where no store wrote the element")
    ]
    value: Annotated[
        int | float | str,
        says("value that the run left in the element; NaN, infinities, complex numbers and pointers as text"),
    ]


class FirstStoreJson(TypedDict):
    """This object describes the first element that differs between both runs."""

    element: Annotated[
        str,
        says("the first element that differs; in a buffer of structs the number in it, such as `nodes[3].pos.x`"),
    ]
    original: Annotated[StoreJson, says("last store to the element in the run of the original")]
    rewritten: Annotated[StoreJson, says("last store to the element in the run of the rewritten binary")]


class LimitJson(TypedDict):
    """This object compares a kernel with an upper limit."""

    kernel: Annotated[str, says("name of the kernel")]
    counter: Annotated[
        str,
        says(
            "figure that is limited: `cycles` of the emulated run, or `local_bytes`, the local memory per "
            "thread in bytes, the kernel's frame and its spills"
        ),
    ]
    original: Annotated[int, says("figure of the original")]
    limit: Annotated[int, says("upper limit of the figure for the rewritten kernel")]
    found: Annotated[
        int,
        says(
            "figure of the rewritten kernel. Where the kernel has more registers than its own directives allow, "
            "its `local_bytes` are the bytes that it would have with the allowed registers, if these are more"
        ),
    ]
    directives: Annotated[
        list[str], says("directives that allow fewer registers than the kernel has; empty where there are none")
    ]


class ProvenTurnsJson(TypedDict):
    """This object says what is proven of a kernel that a record says was changed in front of allocation."""

    kernel: Annotated[str, says("name of the kernel")]
    scheme: Annotated[
        str,
        says(
            "the version that it is by the binary's record, as `multiplex` names it in its table; `share` with pairs "
            "and private bytes; `overlay`; or `block order`"
        ),
    ]
    block: Annotated[list[int], says("threads of the original's blocks along x, y and z; of others nothing is proven")]
    proven: Annotated[
        bool,
        says("whether the step to this version is proven; `checked` is also about the rest: registers and order"),
    ]
    missing: Annotated[str | None, says("what could not be proven; null if all was")]
    sharing: Annotated[
        str | None, says("pairs and private bytes, where blocks share memory two by two; null for schemes in turns")
    ]
    by_symbol: Annotated[
        int, says("accesses of which the proof takes that they stay in the variables that their addresses come from")
    ]
    order: Annotated[str | None, says("order in which blocks work; null where it is the order as it is")]
    grid: Annotated[
        list[int] | None, says("blocks along x, y and z of the grid on which they do; null without an order")
    ]


class ProvenJson(TypedDict):
    """These fields say what is proven of both binaries, and what was found in runs."""

    kernel: Annotated[str | None, says("name of the kernel that was proven; null where there are several")]
    kernels: Annotated[
        list[str], says("kernels that were compared: the one of `--kernel`, or all that both binaries have")
    ]
    unchanged: Annotated[
        list[str],
        says(
            "kernels with the same code, callees and resources in both binaries, which the checker left out. "
            "Without `--kernel` these are all such kernels where the binaries have several; a single kernel is "
            "left out only where the checker cannot follow its calls"
        ),
    ]
    checked: Annotated[
        bool | None,
        says("whether the checker passed; null where it had nothing to check because all kernels are unchanged"),
    ]
    verified: Annotated[
        bool,
        says(
            "whether the checker found nothing, control codes have no hazard, and results do not differ. Limits "
            "do not count; the exit code includes them"
        ),
    ]
    findings: Annotated[list[str], says("a sentence for each thing that is not proven")]
    turns: Annotated[
        list[ProvenTurnsJson],
        says(
            "kernels whose blocks use shared memory in turns, share it two by two or work in another order, or whose "
            "variables lie over one another, by the rewritten one's record"
        ),
    ]
    notes: Annotated[list[str], says("a sentence for each read of a value that the original may not have written")]
    control_codes: Annotated[ControlCodesJson, says("results of the hazard check of the rewritten binary")]
    hint: Annotated[str | None, says("what the findings may come from; null where there is no hint")]
    same_results: Annotated[bool | None, says("whether both runs have the same results; null without a launch")]
    differences: Annotated[list[str], says("a sentence for each buffer that differs between the runs")]
    first_store: Annotated[
        FirstStoreJson | None,
        says(
            "the first element that differs between the runs, and the stores that wrote it; null where none "
            "differs, and without a launch"
        ),
    ]
    cycles: Annotated[BothCounts | None, says("emulated cycles of both runs; null without a launch")]
    within_limits: Annotated[
        bool | None,
        says(
            "whether all limits that could be checked are kept; null without `--max-slowdown` and `--max-local-bytes`"
        ),
    ]
    limits: Annotated[list[LimitJson], says("limits, one entry for each kernel and figure")]
    exceeded: Annotated[list[str], says("a sentence for each limit that is exceeded")]


class ComparedOn(TypedDict):
    """These fields say where both runs were emulated."""

    machine: NotRequired[Annotated[str, says("name of the machine of the runs; left out without a launch")]]
    scheduler: NotRequired[
        Annotated[
            str,
            says("warp scheduler of the runs, as `--scheduler` names it; left out without a launch"),
        ]
    ]
    original_rescheduled: NotRequired[
        Annotated[
            bool, says("whether the original had to be scheduled for that machine first; left out without a launch")
        ]
    ]


class VerificationJson(ProvenJson, ComparedOn):
    """These fields are the results of a verification."""


class VerifyJson(Versioned, VerificationJson):
    """`verify` prints this object."""
