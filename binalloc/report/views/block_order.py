"""This module reports what orders of blocks give beside the version in the order as it is, as JSON and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.pipeline.block_order.choice import OrderChoice, TriedOrder
    from binalloc.pipeline.steps.version import Version
    from binalloc.report.shapes.parts.block_order import BlockOrderJson, OrderFigures, TriedOrderJson


_COLUMNS = ("cycles", "DRAM bytes", "activations", "L2 hits", "hit rate", "speedup", "inserted")


def block_order_json(found: OrderChoice, emulated: int) -> BlockOrderJson:
    """Return a choice as JSON. emulated: SMs of the runs."""
    best, cycles = found.best, found.without.cycles
    gain = None if best is None or not best.cycles or not cycles else round(cycles / best.cycles, 4)
    return {
        "asked": found.asked,
        "grid": list(found.grid),
        "sms": found.sms,
        "emulated_sms": emulated,
        "chosen": None if best is None else str(best.order),
        "speedup": gain,
        "in_place_cycles": found.in_place,
        "part_blocks": found.part,
        "shared": None if found.suggestion is None else round(found.suggestion.share, 4),
        "estimated_fetches": None if found.suggestion is None else round(found.suggestion.now, 4),
        "estimated_best": None if found.suggestion is None else round(found.suggestion.best, 4),
        "reason": found.reason,
        "without": _figures(found.without),
        "tried": [_tried(one, cycles) for one in found.tried],
    }


def _tried(one: TriedOrder, cycles: int | None) -> TriedOrderJson:
    """Return what an order gives. cycles: of the version without."""
    version = one.version
    return {
        "order": str(one.order),
        "inserted": one.words,
        "registers": None if version is None else version.registers,
        "blocks_per_sm": None if version is None else version.blocks_per_sm,
        "part_cycles": None if one.part is None else one.part[0],
        "part_dram_bytes": None if one.part is None else one.part[1],
        **_figures(version),
        "speedup": round(cycles / one.cycles, 4) if cycles and one.cycles else None,
        "refused": one.refused or None,
    }


def _figures(version: Version | None) -> OrderFigures:
    """Return the figures of a version's run."""
    if version is None or version.cycles is None:
        return {"cycles": None, "dram_bytes": None, "dram_activations": None, "l2_hits": None, "l2_hit_rate": None}
    stats = version.stats
    asked = stats["l2_hits"] + stats["l2_misses"]
    return {
        "cycles": version.cycles,
        "dram_bytes": stats["dram_bytes"],
        "dram_activations": stats["dram_activations"],
        "l2_hits": stats["l2_hits"],
        "l2_hit_rate": round(stats["l2_hits"] / asked, 4) if asked else None,
    }


def render_block_order(kernel: str, machine: str, found: BlockOrderJson) -> tuple[str, str]:
    """Return the answer to `--block-order` as a line, and what each order gives as text."""
    grid, sms = " x ".join(map(str, found["grid"])), count(found["emulated_sms"], "SM")
    if found["chosen"] is None:
        head = f"{kernel}: its blocks keep their order on {machine}: {found['reason']}.\n"
    else:
        order = f"on a grid of {grid} its blocks work in order {found['chosen']} on {machine}"
        head = f"{kernel}: {order}, {_gain(found, sms)}.\n"
    if not found["tried"]:
        return head, ""
    rows: list[list[object]] = [["as it is", *_cells(found["without"]), None, None]]
    if found["in_place_cycles"] is not None:
        rows.append(["such code, in place", found["in_place_cycles"], *[None] * (len(_COLUMNS) - 1)])
    ahead = len(rows)
    rows += [
        [one["order"], *_cells(one), None if one["speedup"] is None else f"{one['speedup']:.3f}", one["inserted"]]
        for one in found["tried"]
    ]
    text = f"What orders of blocks give ({found['asked']}, {sms})"
    columns, blocks = ["order", *_COLUMNS], found["part_blocks"]
    if blocks is not None:
        text += f": the first {blocks:,} blocks with all, all blocks with the fastest and the leanest of the others"
        columns[1:1] = ["cycles of part", "DRAM bytes"]
        parts = [*[(None, None)] * ahead, *((one["part_cycles"], one["part_dram_bytes"]) for one in found["tried"])]
        rows = [[row[0], *part, *row[1:]] for row, part in zip(rows, parts, strict=True)]
    text += f"\n{table(columns, rows)}"
    refused = (f"{one['order']} is not taken: {one['refused']}.\n" for one in found["tried"]
               if one["refused"] and (one["part_cycles"] is None or one["cycles"] is not None))  # fmt: skip
    return head, text + "".join(refused)


def _gain(found: BlockOrderJson, sms: str) -> str:
    """Return what the order that was taken gives, for a sentence. sms: the SMs of the runs."""
    if found["speedup"] is None:
        return "not emulated"
    before, taken = found["without"], next(one for one in found["tried"] if one["order"] == found["chosen"])
    gain = (before["cycles"] or 0) / (taken["cycles"] or 1)
    traffic = _traffic(before["dram_bytes"], taken["dram_bytes"])
    return f"{gain:.3f} times as fast as in the order as it is,{traffic} emulated on {sms}"


def _traffic(before: int | None, now: int | None) -> str:
    """Return how the bytes of DRAM have changed, for a sentence; "" where there are none."""
    if not before or now is None:
        return ""
    return f" with {abs(1 - now / before):.0%} {'fewer' if now <= before else 'more'} bytes of DRAM,"


def _cells(of: OrderFigures) -> list[object]:
    """Return the figures as cells of a table."""
    rate = None if of["l2_hit_rate"] is None else f"{of['l2_hit_rate']:.3f}"
    return [of["cycles"], of["dram_bytes"], of["dram_activations"], of["l2_hits"], rate]
