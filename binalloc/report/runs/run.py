"""This module reports `binalloc run` as text: the run in one line, its counters, and what else was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.emulator.host.figures.skew import cycles_text
from binalloc.printable import count, one_line
from binalloc.report.runs.annotate import render_annotation
from binalloc.report.runs.cpu import render_cpu
from binalloc.report.runs.emulator import emulator_text
from binalloc.report.runs.energy import render_energy
from binalloc.report.runs.printed import render_heap, render_printed
from binalloc.report.runs.shares import render_objects
from binalloc.report.runs.stopped import render_stopped
from binalloc.report.runs.watched import watch_lines
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.runs import RunFields
    from binalloc.report.shapes.parts.memory.dram import DramJson

_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "instructions",
        ("warp_instr", "thread_instr", "issue_slots", "dual_issues", "branches", "divergent", "barriers", "ipc"),
    ),
    ("accesses by the program", ("user_", "const_")),
    ("accesses by spill code", ("spill_",)),
    ("blocks", ("blocks_", "warp_cycles")),
    ("register file", ("register_", "operand_")),
    ("memory system", ("",)),
)
"""Groups of counters: the heading, and prefixes of names. A counter is in the first group that has a prefix of it."""
_ELSEWHERE = ("cycles", "achieved_occupancy", "stalls", "units", "queues", "dram_energy", "far_dram")
"""Counters that are in no group, as other lines and tables show them."""
_STALLS = {
    "no_warp": "no warp of a resident block",
    "stall_count": "the nearest warp waits for the stall count of its last instruction",
    "branch": "the nearest warp waits for its branch",
    "scoreboard": "the nearest warp waits for results of variable latency (memory, slow units)",
    "port_busy": "a warp is ready, its unit takes no instruction this cycle",
    "barrier": "every warp waits at a barrier",
    "block_drain": "every warp has exited, its block has not",
    "no_pair": "one instruction issued, no second one could issue with it",
    "pending": "warps are ready, but the scheduler's policy lets none of them issue",
    "register_bank": "the last instruction waits for the banks of its registers, and its scheduler with it",
    "shared_full": "the nearest warp's block waits for shared memory that other blocks hold",
}
"""Meanings of the reasons for lost issue slots, by name. Gates add their own reasons (`stall_texts`)."""


def stall_texts() -> dict[str, str]:
    """Return the meaning of each reason for a lost issue slot, by name, in the order of `STALL_NAMES`."""
    from binalloc.emulator.policies.gates.table import GATES

    return _STALLS | {name: gate.summary for name, gate in GATES.items()}


def render_run(found: RunFields) -> str:
    """Return the run in one line, its counters in groups without zeros, and the reasons for lost issue slots. For a run
    that stopped at a break, return the state of the warp in place of the counters."""
    title = f"{found['kernel']} on {found['machine']}: "
    ended = f"{found['blocks_ended']:,} of {count(found['blocks'], 'block')} ended"
    stopped = found.get("break")
    if stopped is not None:
        lines = [render_printed(found), title, render_stopped(stopped)]
        lines.append(f"\nUntil then {ended}; --json has the counters so far.\n")
        return "".join([*lines, *_asked_for(found), _seen(found)])
    if found["partial"]:
        title = f"PARTIAL, {ended}: {title}"
    title += f"{cycles_text(found['cycles'], found['cycles_range'])} cycle{'s' if found['cycles'] != 1 else ''} "
    beside = f", beside {count(len(found['cpu']['programs']), 'CPU program')}" if "cpu" in found else ""
    title += f"({emulator_text(found)}{beside}), "
    title += f"{count(found['blocks_per_sm'], 'block')} per SM, occupancy {found['occupancy']:.3f}, "
    lines = [render_printed(found), title + f"achieved occupancy {found['achieved_occupancy']:.3f}\n"]
    stats = found["stats"]
    rest = {k: v for k, v in stats.items() if k not in _ELSEWHERE and v}
    for name, starts in _GROUPS:
        rows = [(k, rest.pop(k)) for k in list(rest) if k.startswith(starts)]
        lines.append("\n" + table([name, "value"], rows) if rows else "")
    used, stalls = stats["issue_slots"], stats["stalls"]
    meanings = stall_texts()
    total = max(1, used + sum(stalls.values()))
    slots = [("issued", used), *((f"{k}: {meanings[k]}", v) for k, v in stalls.items() if v)]
    lines.append("\n" + table(["issue slots", "value", "share"], [(k, v, v / total) for k, v in slots]))
    units = [(k, v) for k, v in stats["units"].items() if v]
    lines.append("\n" + table(["warp instructions by unit", "value"], units))
    queues = [
        (k, queue["queues"], queue["places"], queue["average"], queue["most"], queue["full"])
        for k, queue in stats["queues"].items()
        if queue["most"]
    ]
    header = ["queues", "how many", "places each", "average", "most", "full for"]
    lines.append("\n" + table(header, queues) if queues else "")
    lines.append(render_energy(stats.get("dram_energy")))
    lines.append(_render_far(stats.get("far_dram")))
    lines.append(render_cpu(found))
    lines.append(render_objects(found["dram_by_object"]))
    lines.append("\nCounters that are zero are left out; --json has them all.\n")
    lines.append(render_heap(found))
    if "accelsim_trace" in found:
        lines.append(f"Trace for Accel-Sim: {found['accelsim_trace']}.\n")
    if "reference" in found:
        lines.append(f"Reference: {found['reference']}.\n")
        lines += [f"  {d}\n" for d in found["differences"]]
    return "".join([*lines, *_asked_for(found), _seen(found)])


def _render_far(far: DramJson | None) -> str:
    """Return the counters and the energy of the far memory, and nothing for a run that does not use one."""
    if far is None:
        return ""
    rows = [(name, value) for name, value in far.items() if name != "dram_energy" and value]
    return "\n" + table(["far memory", "value"], rows) + render_energy(far.get("dram_energy"), "far DRAM")


def _asked_for(found: RunFields) -> list[str]:
    """Return the annotation, the series and the profile, as far as they were asked for."""
    lines = []
    if "annotation" in found:
        lines.append(render_annotation(found["annotation"]))
        if any(source["path"] is None for source in found["annotation"]["sources"]):
            lines.append("--source DIR says in which folder to look.\n")
    if "series" in found:
        series = found["series"]
        intervals, every = count(series["intervals"], "interval"), count(series["every"], "cycle")
        rest = series["full_at_cycle"]
        more = "" if rest is None else f"; the last one has all the rest, from cycle {rest:,} on"
        lines.append(f"Series: {one_line(series['file'])}, {intervals} of {every}{more}.\n")
    if "dram_log" in found:
        log = found["dram_log"]
        until = log["full_at_cycle"]
        cut = "" if until is None else f", up to cycle {until:,}, as more would exceed --dram-log-limit"
        asked, told = count(log["requests"], "request"), count(log["commands"], "command")
        lines.append(f"DRAM log: {one_line(log['folder'])}, {asked} and {told}{cut}.\n")
    if "profile" in found:
        profile = found["profile"]
        begun = count(profile["warps"], "warp")
        lines.append(f"Profile: {one_line(profile['file'])}, executions by {begun}, for `rewrite --profile`.\n")
    return lines


def _seen(found: RunFields) -> str:
    """Return lines on breaks, watched memory and the trace, as far as they were asked for."""
    lines = []
    if "break" in found and found["break"] is None:
        lines.append("no break was reached")
    if "watch" in found:
        lines += watch_lines(found["watch"])
    if "trace" in found:
        trace = found["trace"]
        lines.append(f"trace {one_line(trace['file'])}: {count(trace['events'], 'event')}, {trace['bytes']:,} bytes")
    return "".join(f"{line}\n" for line in lines)
