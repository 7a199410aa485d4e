"""This module makes the report of `batches`: the formula, how pages are shared, and how many pages are touched."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from binalloc.models.batches.fit import ALL_GLOBAL, ALONE, NO_PAGES, Sharing
from binalloc.models.batches.formula import MODULUS, NONE, STRIDE, BatchFormula
from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.models.batches.resident import ResidentPages
    from binalloc.pipeline.batches.profiled import BatchProfile, PageCounts
    from binalloc.report.shapes.commands.laboratory import BatchesJson
    from binalloc.report.shapes.parts.batches import CandidateJson, DistanceJson, PageCountsJson
    from binalloc.report.shapes.parts.common import OnMachine


def batches_json(found: BatchProfile, version: int, machine: OnMachine) -> BatchesJson:
    """Return the report of a profile. version: of the schema. machine: the fields on the machine."""
    blocks, formula = prod(found.grid), found.formula
    total, lost = len(found.fit.is_global), int(found.fit.is_global.sum())
    return {
        "schema_version": version,
        **machine,
        "kernel": found.run.function.name,
        "step": found.run.step,
        "grid": [*found.grid],
        "blocks": blocks,
        "page_bytes": found.page_bytes,
        "formula": {"kind": formula.kind, "value": formula.value},
        "reason": found.fit.reason,
        "batches": formula.count(blocks),
        "inputs_alone": found.inputs_alone,
        "left_out": found.left_out,
        "touched_pages": total,
        "global_pages": lost,
        "global_share": _share(lost, total),
        "sharing_by_distance": _distances(found),
        "candidates": _candidates(found),
        "blocks_per_sm": found.blocks_per_sm,
        "sms": found.run.options.machine.chip.sms,
        "pages": [_page_counts(each) for each in found.counts],
    }


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _distances(found: BatchProfile) -> list[DistanceJson]:
    """Return the points of Fig. 8: distances 0, 1, 2, 4 and so on, up to the largest one."""
    distances = found.touches.distances(found.formula)[~found.fit.is_global]
    most = int(distances.max(initial=-1))
    steps = [0, *(2**k for k in range(most.bit_length() + 1))] if most >= 0 else []
    last = next((k for k, step in enumerate(steps) if step >= most), -1)
    points = [(step, int((distances <= step).sum())) for step in steps[: last + 1]]
    total = len(found.fit.is_global)
    return [{"distance": step, "pages": pages, "share": _share(pages, total)} for step, pages in points]


def _candidates(found: BatchProfile) -> list[CandidateJson]:
    """Return the sharing under some formulas: Fig. 7 of the paper gives the best stride alone."""
    if not len(found.touches.pages):
        return []
    sharing, blocks, width = Sharing(found.touches), prod(found.grid), found.grid[0]
    strides = {2**k for k in range(sharing.most.bit_length()) if 2**k <= sharing.most} | {width}
    wanted = [BatchFormula(STRIDE, stride) for stride in strides if stride <= sharing.most]
    wanted += [BatchFormula(MODULUS, width)] if 2 <= width <= blocks // 2 else []
    if found.formula.kind != NONE:
        wanted.append(found.formula)
    total = len(found.fit.is_global)
    chosen = sorted(set(wanted), key=lambda each: (each.kind != STRIDE, each.value))
    shared = [sharing.of(each) for each in chosen]
    return [
        {"kind": each.kind, "value": each.value, "batches": each.count(blocks), "shared_pages": pages,
         "share": _share(pages, total)}
        for each, pages in zip(chosen, shared, strict=True)
    ]  # fmt: skip


def _page_counts(found: PageCounts) -> PageCountsJson:
    most, mean = _of_sm(found.resident)
    buffers = [(each, *_of_sm(each.resident)) for each in found.buffers]
    return {
        "page_bytes": found.page_bytes,
        "pages": found.pages,
        "sm_most": most,
        "sm_mean": mean,
        "buffers": [
            {"name": each.name, "bytes": each.bytes, "pages": each.pages, "sm_most": most, "sm_mean": mean}
            for each, most, mean in buffers
        ],
    }


def _of_sm(found: ResidentPages) -> tuple[int, float]:
    return found.most, round(found.mean, 2)


def render_batches(found: BatchesJson) -> str:
    """Return the report as text; its first line is the answer."""
    out = f"{found['kernel']}: {_answer(found)}\n"
    x, y, z = found["grid"]
    out += f"Pages of {_size(found['page_bytes'])} that its {count(found['blocks'], 'block')} ({x} x {y} x {z}) touch: "
    out += f"{found['touched_pages']:,}; global ones, which most blocks or batches touch: {found['global_pages']:,}.\n"
    out += "".join(f"{line}\n" for line in _notes(found))
    if found["sharing_by_distance"]:
        rows = [[one["distance"], one["pages"], _percent(one["share"])] for one in found["sharing_by_distance"]]
        rows.append(["global", found["global_pages"], _percent(found["global_share"])])
        out += "\nPages by the largest distance of the batches that touch them, accumulated:\n"
        out += table(["distance up to", "pages", "share"], rows, left=0)
    if found["candidates"]:
        tried = [[f"{one['kind']} {one['value']:,}", one["batches"], one["shared_pages"], _percent(one["share"])]
                 for one in found["candidates"]]  # fmt: skip
        out += "\nPages that several batches share:\n"
        out += table(["batches by", "batches", "pages", "share"], tried)
    held = f"{count(found['blocks_per_sm'], 'resident block')} of an SM of {found['machine']}"
    out += f"\nPages of the kernel, and of the {held} ({found['sms']} SMs, blocks in turn):\n"
    counted = []
    for one in found["pages"]:
        size = _size(one["page_bytes"])
        counted.append([size, "all", one["pages"], one["sm_most"], one["sm_mean"]])
        counted += [[size, each["name"], each["pages"], each["sm_most"], each["sm_mean"]] for each in one["buffers"]]
    return out + table(["page", "buffer", "kernel", "SM at most", "SM on average"], counted, left=2)


def _answer(found: BatchesJson) -> str:
    """Return the formula in words."""
    kind, value, pages = found["formula"]["kind"], found["formula"]["value"], _size(found["page_bytes"])
    batches = count(found["batches"], "batch", "batches")
    if kind == MODULUS:
        return f"modulus {value:,}: blocks of equal number modulo {value:,} are a batch, {batches} (pages of {pages})"
    if kind == STRIDE and found["reason"] == ALONE:
        return f"stride 1: each block is a batch, {batches} (pages of {pages})"
    if kind == STRIDE:
        return f"stride {value:,}: {value:,} blocks in a row are a batch, {batches} (pages of {pages})"
    why = {
        NO_PAGES: "the kernel touches no global memory",
        ALL_GLOBAL: "most blocks touch every page",
    }.get(found["reason"], "no stride or modulus keeps shared pages within batches")
    return f"no formula: {why} (pages of {pages})"


def _notes(found: BatchesJson) -> list[str]:
    """Return what the reader has to know of the profile."""
    out = []
    if found["inputs_alone"]:
        out.append("Which pages are touched may hang on contents of memory: this holds for these inputs alone.")
    else:
        out.append("Which pages are touched does not hang on contents of memory: this holds for any contents.")
    if found["grid"][2] > 1:
        out.append("The grid has three dimensions: blocks are numbered x + gridDim.x * (y + gridDim.y * z).")
    if found["left_out"]:
        out.append(f"Not counted: accesses to {' and '.join(found['left_out'])} memory.")
    return out


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _size(size: int) -> str:
    """Return a size of pages, a power of two from 4 KB to 2 MB."""
    return f"{size >> 20} MB" if size >> 20 else f"{size >> 10} KB"
