"""This module has the shapes of batches of blocks: formulas, and the pages that blocks touch and share."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says

_MOST, _MEAN = (
    f"{what} that the resident blocks of an SM touch at once; blocks come to the SMs of the machine in turn"
    for what in ("most pages", "pages on average")
)


class FormulaJson(TypedDict):
    """This object says which batch a block belongs to. Block (x, y, z) has the number
    x + gridDim.x * (y + gridDim.y * z)."""

    kind: Annotated[
        str,
        says(
            "`stride`: a block's number divided by `value`, rounded down; `modulus`: the remainder; `none`: no formula "
            "fits"
        ),
    ]
    value: Annotated[int, says("the stride or the modulus; 0 where no formula fits")]


class DistanceJson(TypedDict):
    """This object is a point of the curve of Fig. 8."""

    distance: Annotated[int, says("largest distance between two batches that touch a page")]
    pages: Annotated[int, says("pages with this distance or a smaller one, without global ones")]
    share: Annotated[float, says("the same as a share of all pages")]


class CandidateJson(TypedDict):
    """This object is a candidate: a stride or a modulus."""

    kind: Annotated[str, says("`stride` or `modulus`")]
    value: Annotated[int, says("the stride or the modulus")]
    batches: Annotated[int, says("batches that it gives")]
    shared_pages: Annotated[int, says("pages that several batches touch, without those that most blocks touch")]
    share: Annotated[float, says("the same as a share of all pages")]


class BufferPagesJson(TypedDict):
    """This object has the touched pages of a buffer or variable."""

    name: Annotated[str, says("name of the buffer, or `.global NAME` of a variable")]
    bytes: Annotated[int, says("size of the buffer")]
    pages: Annotated[int, says("pages that the kernel touches")]
    sm_most: Annotated[int, says(_MOST)]
    sm_mean: Annotated[float, says(_MEAN)]


class PageCountsJson(TypedDict):
    """This object counts pages of one size. Each buffer begins with a page."""

    page_bytes: Annotated[int, says("size of the pages")]
    pages: Annotated[int, says("pages that the kernel touches")]
    sm_most: Annotated[int, says(_MOST)]
    sm_mean: Annotated[float, says(_MEAN)]
    buffers: Annotated[list[BufferPagesJson], says("buffers and variables that the kernel touches")]
