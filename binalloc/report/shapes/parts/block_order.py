"""This module has the shapes of versions whose blocks work in another order, beside the version without."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.says import says


class OrderFigures(TypedDict):
    """These fields are the figures of a run that the order of blocks may change."""

    cycles: Annotated[int | None, says("emulated cycles; null where nothing was run")]
    dram_bytes: Annotated[int | None, says("bytes that DRAM moved; null as above")]
    dram_activations: Annotated[int | None, says("rows of DRAM that were opened; null as above")]
    l2_hits: Annotated[int | None, says("accesses of SMs that hit L2; null as above")]
    l2_hit_rate: Annotated[
        float | None, says("`l2_hits` over hits and misses; null without either, and where nothing was run")
    ]


class TriedOrderJson(OrderFigures):
    """This object is what one order gives."""

    order: Annotated[str, says("the order, as `--block-order` names it")]
    inserted: Annotated[int, says("words that compute the block's place, in front of allocation")]
    registers: Annotated[int | None, says("registers per thread; null where there is no such version")]
    blocks_per_sm: Annotated[int | None, says("resident blocks; null as above")]
    part_cycles: Annotated[
        int | None, says("emulated cycles of the first `part_blocks` blocks; null without such a run")
    ]
    part_dram_bytes: Annotated[int | None, says("bytes that DRAM moved in that run; null without it")]
    speedup: Annotated[float | None, says("cycles of the version without over these; null where either was not run")]
    refused: Annotated[str | None, says("why it may not be taken; null if it may")]


class BlockOrderJson(TypedDict):
    """This object has versions whose blocks work in another order on the launch's grid."""

    asked: Annotated[str, says("the option `--block-order`")]
    grid: Annotated[list[int], says("blocks along x, y and z of the grid; on others blocks keep their order")]
    sms: Annotated[int, says("SMs of the machine, to which strides take blocks to be dealt in turn")]
    emulated_sms: Annotated[int, says("SMs that were emulated")]
    chosen: Annotated[str | None, says("the order that was taken; null where the order as it is was kept")]
    speedup: Annotated[
        float | None, says("emulated speedup of that order over the order as it is; null without it, or without runs")
    ]
    in_place_cycles: Annotated[
        int | None,
        says(
            "emulated cycles of the code of the order that `auto` had found best, where it leaves all blocks in place: "
            "what other code gives without another order; null where it was not run"
        ),
    ]
    part_blocks: Annotated[
        int | None,
        says(
            "dealt blocks on which all orders were run, and then on the whole grid the fastest there and the leanest "
            "of the others; null where each was run on the whole grid at once"
        ),
    ]
    shared: Annotated[
        float | None,
        says("of the memory that blocks touch, the part that several touch; null where `auto` was not asked for"),
    ]
    estimated_fetches: Annotated[
        float | None, says("what L2 fetches in the order as it is over what blocks touch, an estimate; null as above")
    ]
    estimated_best: Annotated[
        float | None, says("the same of the best order that was run; `estimated_fetches` where none was; null as above")
    ]
    reason: Annotated[str, says("why it was taken, or why none was")]
    without: Annotated[OrderFigures, says("the version in the order as it is")]
    tried: Annotated[list[TriedOrderJson], says("orders that were tried")]


class WithBlockOrder(TypedDict):
    """This field is what `--block-order` adds."""

    block_order: NotRequired[
        Annotated[
            BlockOrderJson, says("versions whose blocks work in another order; left out with `--block-order off`")
        ]
    ]
