"""This module has the shapes of versions whose blocks share memory two by two, beside the best without."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.versions import VersionJson
from binalloc.report.shapes.says import says


class PairedWayJson(TypedDict):
    """This object is what a technique gives under a scheduler."""

    technique: Annotated[
        str,
        says(
            "what is changed: nothing (`original`), registers and slots (`level`), variables, which lie over one "
            "another (`overlay`), what is shared (`pairs`), or this and registers and slots (`both`)"
        ),
    ]
    scheduler: Annotated[str, says("warp scheduler of the run")]
    sharing: Annotated[str | None, says("pairs of an SM, and private bytes of a block; null where nothing is shared")]
    blocks_per_sm: Annotated[int | None, says("resident blocks; null where there is no such version")]
    registers: Annotated[int | None, says("registers per thread; null as above")]
    slots: Annotated[int | None, says("slots per thread, which are private bytes of each block; null as above")]
    cycles: Annotated[int | None, says("emulated cycles of the fastest version; null as above")]
    speedup: Annotated[
        float | None, says("cycles of the original, in another order if that is faster, over these; null as above")
    ]
    refused: Annotated[str | None, says("why there is no such version; null if there is one")]


class PairsTakenJson(TypedDict):
    """This object is the version that was taken."""

    technique: Annotated[str, says("`pairs` or `both`")]
    scheduler: Annotated[str, says("warp scheduler of its run")]
    sharing: Annotated[str, says("what `run --sharing` has to be for it: pairs of an SM, and private bytes of a block")]
    pairs: Annotated[int, says("pairs among its resident blocks")]
    private_bytes: Annotated[int, says("bytes of a block that only it uses, its slots included")]
    shared: Annotated[list[str], says("variables with bytes in the shared part")]
    speedup: Annotated[float, says("emulated speedup over the original, in another order if that is faster")]


class PairsJson(TypedDict):
    """This object has versions whose blocks share memory two by two, as no GPU lets them."""

    asked: Annotated[str, says("the option `--sharing`")]
    schedulers: Annotated[list[str], says("warp schedulers under which they were run")]
    chosen: Annotated[PairsTakenJson | None, says("the version that was taken; null where the one without was kept")]
    reason: Annotated[str, says("why it was taken, or why none was")]
    without: Annotated[VersionJson, says("the version without pairs, by a policy or as registers and slots ask for")]
    ways: Annotated[list[PairedWayJson], says("what each technique gives under each scheduler")]


class WithPairs(TypedDict):
    """This field is what `--sharing` adds."""

    pairs: NotRequired[
        Annotated[PairsJson, says("versions whose blocks share memory two by two; left out with `--sharing off`")]
    ]
