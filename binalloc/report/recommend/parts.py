"""The tables and sentences of a recommendation, for text and page alike. All is taken from its dictionary (`facts`)."""

from __future__ import annotations

from typing import Any

from binalloc.printable import count
from binalloc.report.table import Grid

Told = dict[str, Any]

CURVES = {
    "registers": "registers per thread",
    "shared_bytes": "shared bytes per block",
    "threads": "threads per block",
}
"""What-if curves, and what they are over."""
_LIMITS = {
    "warps": "warps",
    "registers": "registers",
    "shared": "shared memory",
    "blocks": "the limit of blocks",
    "barriers": "barriers",
}


def verdict(told: Told) -> str:
    """What to do, in one sentence."""
    chosen = told["recommended"]
    verb = "Leave it as it is" if told["kept_original"] else "Run it with"
    blocks, registers = count(chosen["blocks_per_sm"], "block"), count(chosen["registers"], "register")
    return f"{verb}: {blocks} per SM, {registers} and {count(chosen['slots'], 'slot')} per thread."


def expected(told: Told) -> str:
    """What is expected where nothing was run, else nothing."""
    gain = told["expected_speedup"]
    return "" if gain is None else f"Expected speedup {gain:.2f}, by the model: nothing was run."


def spread(told: Told) -> str:
    """Where the choice is among the levels that were looked at; nothing where none was."""
    found = told["spread"]
    if found is None:
        return ""
    sides = (f"{name} {found[name]['speedup']:.3f} at {count(found[name]['blocks'], 'block')}"
             for name in ("auto", "best", "worst"))  # fmt: skip
    return f"Of all levels looked at, {'emulated' if found['emulated'] else 'by the model'}: {', '.join(sides)}."


def certificate(told: Told) -> str:
    """What is known of better allocations; nothing where nothing is spilled."""
    found = told["certificate"]
    if found is None or not found["cost"]:
        return ""
    cost = f"Spill code costs {found['cost']:,.1f}, in accesses to a slot per run"
    if found["bound"] is None:
        return f"{cost}; no bound of it is known."
    return f"{cost}; no allocation costs less than {found['bound']:,.1f} (gap {found['gap']:.1%}, by {found['by']})."


def occupancy(told: Told) -> Grid:
    """What a block is handed out of what the machine has, and how many blocks that allows."""
    sides = list(told["occupancy"].values())
    rows: list[list[object]] = [
        ["registers per block, as asked", *(s["registers"] * s["threads"] for s in sides)],
        ["  as handed out", *(s["registers_per_block"] for s in sides)],
        ["shared bytes per block, as asked", *(s["shared_bytes"] for s in sides)],
        ["  as handed out", *(s["shared_per_block"] for s in sides)],
        *([f"blocks by {label}", *(s["limits"][name] for s in sides)] for name, label in _LIMITS.items()),
        ["resident warps", *(f"{s['active_warps']} of {s['max_warps']}" for s in sides)],
    ]
    return Grid(["", *told["occupancy"]], [row for row in rows if any(cell is not None for cell in row[1:])])


def functions(told: Told) -> Grid:
    """Where the recommended version has its values."""
    names = ("function", "instructions", "registers", "slot_accesses", "local_accesses")
    return Grid([name.replace("_", " ") for name in names], [[f[name] for name in names] for f in told["functions"]])


def left_registers(told: Told) -> bool:
    """Whether any value of the recommended version has."""
    return any(f["slot_accesses"] or f["local_accesses"] for f in told["functions"])


def issue_slots(told: Told) -> Grid | None:
    """Where issue slots went before and after, without reasons that cost nothing on either side; None without runs."""
    before, after = told["measured"]["original"], told["measured"]["recommended"]
    if before is None or after is None:
        return None
    rows = [["issued", f"{before['issued_percent']:.1f}%", f"{after['issued_percent']:.1f}%"]]
    for name, share in before["stall_percent"].items():
        if share or after["stall_percent"][name]:
            rows.append([name.replace("_", " "), f"{share:.1f}%", f"{after['stall_percent'][name]:.1f}%"])
    occupancy = [f"{side['achieved_occupancy']:.3f}" for side in (before, after)]
    return Grid(["issue slots (emulated)", "original", "recommended"], [*rows, ["achieved occupancy", *occupancy]])


def character(told: Told) -> list[str]:
    """What the kernel is like, in sentences: the unified paper's Table 1 has such columns."""
    found, bound = told["character"], "" if told["character"]["concurrency_bound"] else "not "
    said = [
        f"Mean dispatch interval {found['dispatch_interval']:.3f} cycles: {bound}concurrency bound.",
        (f"User's shared memory: {found['user_shared_bytes_per_thread']:g} bytes per thread. "
        f"Instructions: {found['instruction_change']:.2f} times as many as before."),
    ]
    return said if told["waves"] is None else [*said, f"The grid: {told['waves']:.2f} waves."]


def mix(told: Told) -> Grid:
    """Kinds of instructions."""
    rows = [[m["kind"], m["static"], f"{m['executed_percent']:.1f}%"] for m in told["character"]["mix"]]
    return Grid(["instructions", "static", "executed"], rows)


def levels(told: Told) -> Grid:
    """The levels that the policy looked at."""
    head = ["level", "registers", "used", "slots", "used", "local bytes", "resident", "cycles", "note"]
    names = ["blocks", "registers", "registers_used", "slots", "slots_used", "local_bytes", "blocks_per_sm", "cycles",
             "reason"]  # fmt: skip
    if len({level["allocator"] for level in told["levels"]} - {None}) > 1:
        head.insert(1, "allocator")
        names.insert(1, "allocator")
    return Grid(head, [[level[name] for name in names] for level in told["levels"]])


def curve(told: Told, name: str) -> str:
    """A what-if curve in a line."""
    return ", ".join(f"{step['at']:,} up: {step['blocks']}" for step in told["what_if"][name]) or "-"


def next_steps(told: Told) -> list[str]:
    """The command that makes it so, and what there is in CUDA; nothing where the input is kept."""
    following = told["next"]
    if following is None:
        return []
    unused = following["unused_shared_bytes"]
    held = f", launched with {unused:,} bytes of dynamic shared memory per block that nobody uses" if unused else ""
    return [
        f"Next: {following['rewrite']}",
        (f"In CUDA: {following['launch_bounds']} on the kernel, or nvcc -maxrregcount={following['maxrregcount']} "
        f"(what does not fit goes to local memory there){held}."),
    ]
