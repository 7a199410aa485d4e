"""This module has the shapes of the batching paper's experiments, `reproduce batching`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.batches import FormulaJson
from binalloc.report.shapes.says import says


class EnergyRangeJson(TypedDict):
    """This object has the energy of off-chip memory in a run, in nanojoules."""

    total_nj: Annotated[float, says("all parts, with the machine file's own currents")]
    least_nj: Annotated[float, says("least energy among the sets of currents of the machine file")]
    most_nj: Annotated[float, says("likewise, the most energy")]
    activation_nj: Annotated[float, says("part of `total_nj`: activations, each with its precharge")]
    background_nj: Annotated[float, says("part of `total_nj`: background of open and closed banks")]
    far_nj: Annotated[float | None, says("part of `total_nj`: the far memory; null for schemes that do not use it")]


class SchemeRunJson(TypedDict):
    """This object is a run of a kernel on all SMs under a scheme."""

    batches: Annotated[
        str, says("which blocks are a batch, as `--batches` has it; `auto` where the scheme knows no batches")
    ]
    cycles: Annotated[int, says("emulated cycles")]
    local_ratio: Annotated[
        float | None, says("share of the requests to L2 that are for pages in banks of the SM; null without such pages")
    ]
    l1_hits: Annotated[float | None, says("hits of L1 over its accesses, without textures; null without accesses")]
    row_hits: Annotated[float | None, says("requests of DRAM that found their row open; null without requests")]
    bank_parallelism: Annotated[
        float | None, says("busy banks of a channel of DRAM while at least one is busy; null if none ever was")
    ]
    banks_busy: Annotated[float, says("busy banks of all DRAM, on average over the run")]
    dram_delay: Annotated[
        float | None,
        says("core cycles from the arrival of a fetch at its channel to its last data; null without fetches"),
    ]
    reply_stalls: Annotated[int, says("cycles that answers of L2 waited for the link to their SM, summed over answers")]
    energy: Annotated[EnergyRangeJson, says("energy of off-chip memory")]
    activations: Annotated[int, says("rows of DRAM that were opened")]
    dram_bytes: Annotated[int, says("bytes that DRAM moved")]
    dram_utilisation: Annotated[float, says("share of the near memory's bandwidth that was used")]
    l1_misses: Annotated[int, says("misses of L1, without textures")]
    l2_misses: Annotated[int, says("loads and atomics that waited for DRAM")]
    instructions: Annotated[int, says("warp instructions")]
    prefetches: Annotated[int, says("lines that L2 prefetched from open rows, as `owl` wants it")]
    prefetches_used: Annotated[int, says("part of `prefetches` that were asked for before L2 evicted them")]
    batches_resident: Annotated[float, says("batches with a resident block in an SM, on average")]
    idle_share: Annotated[float, says("share of the SMs' cycles between their last block and the end of the run")]
    same_results: Annotated[
        bool | None, says("whether the run left the results of `ccws`; null if only tolerances could decide that")
    ]


class PageSharingJson(TypedDict):
    """This object says how the batches of a kernel share pages of 4 KB."""

    formula: Annotated[FormulaJson, says("formula of the batches")]
    blocks: Annotated[int, says("blocks of the grid")]
    batches: Annotated[int, says("batches of the grid")]
    inputs_alone: Annotated[bool, says("whether other contents of memory may lead to other pages")]
    pages: Annotated[int, says("pages that the kernel touches")]
    one_batch: Annotated[int, says("pages that one batch touches")]
    two_batches: Annotated[int, says("pages that two batches in a row touch")]
    global_pages: Annotated[int, says("pages that more than half of the blocks or batches touch")]


class _OfKernel(TypedDict):
    """These fields describe a kernel on a machine with rows of some size."""

    kernel: Annotated[str, says("name of the kernel and of its sample")]
    suite: Annotated[str, says("suite that has such a kernel")]
    machine: Annotated[str, says("name of the machine")]
    row_bytes: Annotated[int, says("bytes of a row of its DRAM")]
    status: Annotated[str, says("`ok`, `refused`, `limit` or `fault`, as in a [row](SWEEP.md#columns) of a sweep")]
    reason: Annotated[str, says("why `status` is not `ok`; empty where it is")]
    sharing: Annotated[PageSharingJson | None, says("how batches share pages; null where that is not known")]
    schemes: Annotated[
        dict[str, SchemeRunJson | None],
        says(
            "runs by scheme: the paper's `ccws`, `owl`, `temp`, `temp_tbas`, `bw_aware` and `batching_bw`, and the "
            "halves of `temp`, `dispatch_only` and `colours_only`; null where there is no run"
        ),
    ]


_CLASS = TypedDict(
    "_CLASS",
    {"class": Annotated[
        str | None,
        says("`C1`, `C2` or `C3` by the paper's rule, or `none`; null where a run that decides it is missing"),
    ]},
)  # fmt: skip


class BatchedKernelJson(_OfKernel, _CLASS):
    """This object is a kernel on a machine with rows of some size."""


class FailedKernelJson(TypedDict):
    """This object is a kernel for which a sentence of the paper does not hold."""

    kernel: Annotated[str, says("name of the kernel")]
    ours: Annotated[float, says("our value for it")]
    why: Annotated[str, says("counters of the scheme's run over those of the other; empty where they are alike")]


class BatchedSayingJson(TypedDict):
    """This object is a sentence of the paper, judged by our runs."""

    row_bytes: Annotated[int, says("bytes of a row of DRAM in these runs")]
    figure: Annotated[str, says("figure of the paper; empty for a sentence of its text alone")]
    says: Annotated[str, says("the sentence, in short")]
    of: Annotated[str, says("a class, a kernel, or `all`")]
    scheme: Annotated[str, says("scheme that it is about")]
    measure: Annotated[str, says("what is compared")]
    relation: Annotated[str, says("`above` or `below`")]
    over: Annotated[str, says("the other scheme; or the number with which the measure is compared")]
    paper: Annotated[
        float | None, says("the paper's: per cent over the other scheme, or the measure; null where it has no number")
    ]
    note: Annotated[str, says("what contradicts the sentence in the paper itself; empty where nothing does")]
    kernels: Annotated[int, says("kernels with both runs")]
    ours: Annotated[
        float | None,
        says(
            "ours: geometric mean in per cent over the other scheme, or the mean of the measure; null without kernels"
        ),
    ]
    holds: Annotated[bool | None, says("whether our mean has this direction; null without kernels")]
    why: Annotated[str, says("counters of the scheme over those of the other one, as geometric means")]
    holds_for: Annotated[list[str], says("kernels for which it holds")]
    fails_for: Annotated[list[FailedKernelJson], says("kernels for which it does not")]


class BatchedMeanJson(TypedDict):
    """This object compares a scheme with `ccws`, as means over kernels."""

    row_bytes: Annotated[int, says("bytes of a row of DRAM in these runs")]
    of: Annotated[str, says("a class, or `all`")]
    scheme: Annotated[str, says("the scheme")]
    kernels: Annotated[int, says("kernels with both runs")]
    changes: Annotated[
        dict[str, float],
        says("geometric means in per cent over `ccws`, by measure: Figs. 10, 12 and 13; `local_ratio` is a mean"),
    ]


class BesidePaperJson(TypedDict):
    """This object is a bar of Fig. 7 or 8, as a share in per cent."""

    what: Annotated[str, says("kind of formula, or batches that touch a page")]
    ours: Annotated[float | None, says("ours; null where no kernel was profiled")]
    paper: Annotated[float, says("the paper's")]


class BatchingReproductionJson(TypedDict):
    """These fields are in what `reproduce batching` prints."""

    partial: Annotated[bool, says("whether the command was interrupted")]
    cache: Annotated[str, says("folder in which finished runs are kept")]
    done: Annotated[int, says("runs that this command made")]
    cached: Annotated[int, says("runs that were kept already")]
    missing: Annotated[dict[str, str], says("what a scheme needs that does not exist, by scheme")]
    kernels: Annotated[list[BatchedKernelJson], says("kernels, one machine after the other")]
    mixes: Annotated[list[str], says("mixes of programs of a CPU and kernels; empty: none were run")]
    formulas: Annotated[list[BesidePaperJson], says("kernels by kind of formula, in per cent (Fig. 7)")]
    distances: Annotated[
        list[BesidePaperJson], says("pages by the batches that touch them, a mean over kernels with a stride (Fig. 8)")
    ]
    means: Annotated[list[BatchedMeanJson], says("schemes over `ccws`, by row size and class")]
    sayings: Annotated[list[BatchedSayingJson], says("sentences of the paper, by row size")]
