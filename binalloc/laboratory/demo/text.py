"""The demo is printed as tables, with notes on how to read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from binalloc.pipeline.steps.row import known
from binalloc.printable import count, one_line
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.demo import DemoFields, DemoKernelJson, DemoProgramJson, UnifiedChoice
    from binalloc.report.shapes.parts.versions import VersionJson


def render_demo(found: DemoFields) -> str:
    """Return a table for each kind of sample, with notes. found: the object of `demo_json`."""
    lines = ["PARTIAL: interrupted, further samples were not measured.\n\n"] if found["partial"] else []
    lines.append(f"Samples on {found['machine']}; cycles are emulated on one SM with its share of the bandwidth")
    lines.append(f", warp scheduler {found['scheduler']}.\n")
    lines += [_render_kernels(found["rows"])] if found["rows"] else []
    lines += [_render_programs(found["programs"])] if found["programs"] else []
    lines += [f"\n{one_line(row['sample'])}: left out, {row['reason']}.\n" for row in found["left_out"]]
    return "".join(lines)


_LABELS: tuple[Literal["original", "ordered", "local", "best"], ...] = ("original", "ordered", "local", "best")
"""Versions of a sample that its table shows, in this order."""


def _render_kernels(rows: Sequence[DemoKernelJson]) -> str:
    lines = ["\n"]
    header = ["sample", "version", "registers", "slots", "local B", "blocks", "instructions", "cycles", "speedup"]
    body: list[list[object]] = []
    for row in rows:
        base = known((row["ordered"] or row["original"])["cycles"])
        for label in _LABELS:
            v = row[label]
            if v is None or (label == "best" and not _gains(row)):
                continue
            body.append([row["sample"] if label == "original" else "", label, v["registers"], v["slots"]])
            cycles = known(v["cycles"])
            body[-1] += [v["local_bytes"], v["blocks_per_sm"], v["instructions"], cycles, base / cycles]
            body[-1].append(v["verified"])
    lines.append(table([*header, "verified"], body, left=2) + "\n")
    lines += [_explain(row) for row in rows]
    good = sum(1 for r in rows if r["speedup"] and r["speedup"] >= 1.2)
    done, ordered = sum(map(_gains, rows)), sum(r["by_order_alone"] for r in rows)
    lines.append(f"\n{done} of {len(rows)} rewritten, {good} at 1.2x or more; {ordered} more in another order only.\n")
    lines.append(_FOOT)
    return "".join(lines)


_FOOT = """\
original: rescheduled by the same pass; ordered: the original in another order if that is faster, and
then speedups are over it; local: spills to local memory only, at best's number of blocks; best: with
shared-memory slots. verified: symbolic check passed, results equal the reference.
"""


def _render_programs(rows: Sequence[DemoProgramJson]) -> str:
    lines = ["\nPrograms: all launches of each.\n\n"]
    header = ["program", "kernels", "rewritten", "reordered", "launches", "cycles before", "after", "speedup"]
    body: list[list[object]] = []
    for row in rows:
        cycles = row["cycles"]
        body.append([row["sample"], len(row["kernels"]), row["rewritten"], row["reordered"]])
        body[-1] += [row["launches"]["original"], cycles["original"], cycles["rewritten"], row["speedup"]]
        body[-1].append(row["verified"])
    lines.append(table([*header, "verified"], body) + "\n")
    lines += [text for row in rows for text in _explain_program(row)]
    faster, slower = (sum(1 for row in rows if row["speedup"] and test(row)) for test in (_faster, _slower))
    lines.append(f"\n{faster} of {count(len(rows), 'program')} faster, {slower} slower.\n")
    lines.append(_FOOT_OF_PROGRAMS)
    return "".join(lines)


def _faster(row: DemoProgramJson) -> bool:
    return row["cycles"]["rewritten"] < row["cycles"]["original"]


def _slower(row: DemoProgramJson) -> bool:
    return row["cycles"]["rewritten"] > row["cycles"]["original"]


def _explain_program(row: DemoProgramJson) -> list[str]:
    """Return a program's changed kernels and those with another time, with their speedups, and then its differences."""
    changed = []
    for kernel in row["kernels"]:
        speedup = "-" if kernel["speedup"] is None else f"{kernel['speedup']:.3f}x"
        how = "in another order" if kernel["by_order_alone"] else _level(kernel["rewritten"])
        how = "as it was" if kernel["kept_original"] else how
        if not kernel["kept_original"] or speedup not in ("-", "1.000x"):
            changed.append(f"{kernel['name']} {speedup} ({how})")
    lines = [f"{one_line(row['sample'])}: {'; '.join(changed) or 'all kernels kept as they are'}\n"]
    lines += [f"  {text}\n" for text in row["differences"]]
    return [*lines, *([] if row["as_reference"] else ["  not as its reference\n"])]


_FOOT_OF_PROGRAMS = """\
Each kernel is rewritten by policy model, which runs nothing, so a kernel may also become slower. Speedups are over the
input as it is, and include the gain of another order. verified: all symbolic checks passed; buffers and printed text
are the same as before, and equal the reference.
"""


def _gains(row: DemoKernelJson) -> bool:
    """Return whether a version is faster than every order of the original."""
    return row["rewritten"] and not row["by_order_alone"]


def _level(v: VersionJson | UnifiedChoice) -> str:
    """Return a version's blocks, registers and slots as text."""
    return f"{count(v['blocks_per_sm'], 'block')}, {count(v['registers'], 'register')}, {count(v['slots'], 'slot')}"


def _explain(row: DemoKernelJson) -> str:
    """Return a sample's speedup with its parts, or why there is none; then the choice of the static policy."""
    if _gains(row):
        parts = " x ".join(f"{name} {value:.3f}" for name, value in row["parts"].items())
        text = f"{row['sample']}: {row['speedup']:.3f}x = {parts}"
    else:
        kept = f"{row['ordering']:.3f}x by order alone" if row["by_order_alone"] else "kept as it is"
        text = f"{row['sample']}: {kept}, {row['reason']}"
        if row["nearest"]:
            n = row["nearest"]
            text += f" (nearest: {_level(n)}, {count(n['local_bytes'], 'local byte')}: {n['speedup']:.3f}x)"
    if row["rescheduling"] is not None and abs(row["rescheduling"] - 1) >= 0.0005:
        text += f"; rescheduling alone gave {row['rescheduling']:.3f}x, which is not counted"
    unified = row["unified"]
    last = unified["reason"].rsplit("; ", 1)[-1]
    if unified["kept_original"]:
        return f"{text}\n  policy unified: the original ({last})\n"
    choice = _level(unified)
    return f"{text}\n  policy unified: {choice}, {unified['speedup']:.3f}x ({last})\n"
