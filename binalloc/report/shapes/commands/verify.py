"""These are the shapes of `verify`."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import BothCounts, Versioned
from binalloc.report.shapes.says import says


class HazardJson(TypedDict):
    """An instruction that does not wait as it should."""

    machine: Annotated[str, says("machine of the hazard")]
    kind: Annotated[str, says("RAW, WAW, WAR, or what is wrong with a control code")]
    function: Annotated[str, says("function of the instruction that comes too early")]
    index: Annotated[int, says("its word")]
    instruction: Annotated[str, says("its text")]
    places: Annotated[list[str], says("registers and predicates concerned")]
    producer_function: Annotated[
        str | None,
        says("function of the instruction it has to wait for; null where that is not known"),
    ]
    producer_index: Annotated[int | None, says("its word")]
    producer: Annotated[str | None, says("its text")]
    cycles_needed: Annotated[int | None, says("cycles that must lie between the two")]
    cycles_found: Annotated[int | None, says("cycles that lie between them on the shortest way")]
    scoreboards: Annotated[list[int], says("scoreboards that should have been waited for")]
    other_lanes: Annotated[bool, says("other lanes of the warp ran the producer")]


class ControlCodesJson(TypedDict):
    """The hazard check of a binary."""

    ok: Annotated[bool | None, says("no hazard in any function; false with one, null where some could not be checked")]
    machines: Annotated[list[str], says("machines they were checked for")]
    hazards: Annotated[list[HazardJson], says("hazards")]
    findings: Annotated[list[str], says("one sentence for each hazard")]
    notes: Annotated[list[str], says("functions whose control codes were not checked, and why")]


class StoreJson(TypedDict):
    """A store, and what it left."""

    store: Annotated[str | None, says("the store that wrote it in the original")]
    value: Annotated[
        int | float | str, says("what it left; complex numbers as text, and pointers with what they are to")
    ]


class FirstStoreJson(TypedDict):
    """The first element that differs, and who wrote it."""

    element: Annotated[
        str | None,
        says("first element that differs, of structs the number in it, `nodes[3].pos.x`; null where none does"),
    ]
    original: Annotated[StoreJson, says("in the original's run")]
    rewritten: Annotated[StoreJson, says("in the rewritten binary's run")]


class LimitJson(TypedDict):
    """A limit of a kernel."""

    kernel: Annotated[str, says("a kernel that a limit is for")]
    counter: Annotated[
        str,
        says(
            "`cycles` of the emulated runs, or `local_bytes`: bytes of local memory per thread as the binary has "
            "them, the kernel's frame and its spills"
        ),
    ]
    original: Annotated[int, says("the original's")]
    limit: Annotated[int, says("the most that the rewritten kernel may have")]
    found: Annotated[
        int,
        says(
            "what it has; of `local_bytes`, where it has more registers than its own directives leave it, what it "
            "has under them, if that is more"
        ),
    ]
    directives: Annotated[list[str], says("those directives; none where it keeps to them")]


class ProvenJson(TypedDict):
    """What is known of both binaries."""

    kernel: Annotated[str | None, says("the kernel proven; null where there are several")]
    kernels: Annotated[list[str], says("the kernels compared: the one of `--kernel`, or all that both have")]
    unchanged: Annotated[
        list[str],
        says(
            "those of them that are as they were, code, callees and resources, and that the checker did not look "
            "at: without `--kernel` all such where there are several kernels, a single one where it calls in ways "
            "that no proof can follow"
        ),
    ]
    checked: Annotated[
        bool | None,
        says("the checker passed; null where it had nothing to look at, as all kernels are unchanged"),
    ]
    verified: Annotated[bool, says("it found nothing, control codes have no hazard, and results do not differ")]
    findings: Annotated[list[str], says("one sentence for each thing not proven")]
    notes: Annotated[list[str], says("one sentence for each read of a value that the original may not have written")]
    control_codes: Annotated[ControlCodesJson, says("the hazard check of the rewritten binary")]
    hint: Annotated[str | None, says("what the findings may come from")]
    same_results: Annotated[bool | None, says("both runs left the same; null without a launch")]
    differences: Annotated[list[str], says("one sentence for each buffer that differs")]
    first_store: Annotated[
        FirstStoreJson | None,
        says("the first element that differs, and who wrote it; null where none differs"),
    ]
    cycles: Annotated[BothCounts | None, says("emulated cycles of both runs; null without a launch")]
    within_limits: Annotated[
        bool | None,
        says(
            "all limits that could be looked at are kept; null without `--max-slowdown` and `--max-local-bytes`. "
            "`verified` says nothing of limits; the exit code does"
        ),
    ]
    limits: Annotated[list[LimitJson], says("limits, one for each kernel and counter")]
    exceeded: Annotated[list[str], says("one sentence for each limit that is not kept")]


class ComparedOn(TypedDict):
    """Where both runs were emulated."""

    machine: NotRequired[Annotated[str, says("machine of the runs; left out without a launch, as is the next")]]
    scheduler: NotRequired[
        Annotated[
            str,
            says("the warp scheduler of the runs, as `--scheduler` names it; left out without them"),
        ]
    ]
    original_rescheduled: NotRequired[Annotated[bool, says("the original had to be scheduled for it")]]


class VerificationJson(ProvenJson, ComparedOn):
    """The fields of what `verify` prints."""


class VerifyJson(Versioned, VerificationJson):
    """What `verify` prints."""
