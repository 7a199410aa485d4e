"""This module reports a run of a program as text: a line for each launch, the sums for each kernel, the comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count, one_line
from binalloc.report.runs.emulator import emulator_text
from binalloc.report.runs.printed import render_heap, render_printed
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.run_program import KernelTotal, LaunchedJson, ProgramRunFields


def render_program(found: ProgramRunFields, listed: int | None) -> str:
    """Return the program in one line, a table of its launches, and a table of its kernels.

    listed: most launches in the table, half of them the first ones and half the last ones; None for all.
    """
    launches = found["launches"]
    title = "PARTIAL: " if found["partial"] else ""
    title += f"{one_line(found['program'] or 'program')} on {found['machine']}: "
    title += f"{count(len(launches), 'launch', 'launches')} of {count(len(found['kernels']), 'kernel')}, "
    title += f"{count(found['cycles'], 'cycle')} "
    lines = [render_printed(found), f"{title}({emulator_text(found)})\n"]
    if launches:
        lines += ["\n", _timeline(launches, listed), "\n", _kernels(found["kernels"])]
    lines.append(render_heap(found))
    if "reference" in found:
        lines.append(f"\nReference: {found['reference']}.\n")
        lines += [f"  {d}\n" for d in found["differences"]]
    return "".join(lines)


_HEAD = (
    "launch", "kernel", "grid", "block", "start", "cycles", "blocks/SM", "occupancy", "registers", "bytes read",
    "written", "L1 hits", "L2 hits", "DRAM bytes", "step", "round",
)  # fmt: skip


def _timeline(launches: list[LaunchedJson], listed: int | None) -> str:
    most = len(launches) if listed is None else listed
    first, last = -(-most // 2), most // 2
    shown = launches if len(launches) <= most else launches[:first] + launches[len(launches) - last :]
    rows: list[tuple[object, ...]] = [
        (
            f"{found['launch']:,}", found["name"], _shape(found["grid"]), _shape(found["block"]), found["start"],
            found["cycles"], found["blocks_per_sm"], found["occupancy"], found["registers"],
            found["user_global_load_bytes"], found["user_global_store_bytes"], _percent(found["l1_hit_rate"]),
            _percent(found["l2_hit_rate"]), found["dram_bytes"], found["step"],
            ",".join(map(str, found["rounds"])),
        )
        for found in shown
    ]  # fmt: skip
    text = table(_HEAD, rows, left=2)
    left_out = len(launches) - len(shown)
    if left_out:
        lines = text.splitlines(keepends=True)
        lines.insert(2 + first, f"... {count(left_out, 'launch', 'launches')} left out; --timeline all lists all\n")
        text = "".join(lines)
    return text


def _kernels(kernels: list[KernelTotal]) -> str:
    far = any(k["far_dram_energy"] for k in kernels)
    head = ("kernel", "launches", "cycles", "share", "average", "min", "max", "L1 hits", "L2 hits", "DRAM bytes",
            *(["DRAM uJ"] if any(k["dram_energy"] for k in kernels) else []),
            *(["far DRAM uJ"] if far else []))  # fmt: skip
    rows = [
        (
            k["name"], k["launches"], k["cycles"], _percent(k["share"]), f"{k['average']:,.1f}", k["least"], k["most"],
            _percent(k["l1_hit_rate"]), _percent(k["l2_hit_rate"]), k["stats"]["dram_bytes"],
            *([] if k["dram_energy"] is None else [k["dram_energy"]["total_nj"] / 1000]),
            *([k["far_dram_energy"]["total_nj"] / 1000 if k["far_dram_energy"] else None] if far else []),
        )
        for k in kernels
    ]  # fmt: skip
    return table(head, rows)


def _shape(sides: list[int]) -> str:
    """Return sizes along x, y and z as text, without sizes of 1 at the end: `64`, `8x4`."""
    while len(sides) > 1 and sides[-1] == 1:
        sides = sides[:-1]
    return "x".join(map(str, sides))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"
