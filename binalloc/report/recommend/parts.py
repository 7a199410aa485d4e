"""This module makes the tables and sentences of a recommendation for both text and page, from its JSON (`facts.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from binalloc.names.short import short_name
from binalloc.printable import count
from binalloc.report.table import TextTable

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.recommend import RecommendationJson

Resource = Literal["registers", "shared_bytes", "threads"]
CURVES: dict[Resource, str] = {
    "registers": "registers per thread",
    "shared_bytes": "shared bytes per block",
    "threads": "threads per block",
}
"""What-if curves by name, and the quantity on the axis of each."""
_LIMITS = {
    "warps": "warps",
    "registers": "registers",
    "shared": "shared memory",
    "blocks": "the limit of blocks",
    "barriers": "barriers",
}
"""Resources that limit the number of resident blocks, as JSON names them, and their names in text."""
BUSY = {"issue": "issue slots", "dram": "DRAM", "requests": "link to L2", "answers": "link from L2"}
"""Names in text of resources that are no execution units. A unit is named after its port group."""


def expected(advice: RecommendationJson) -> str:
    """Return a sentence on the expected speedup; "" if versions were run, and without a model."""
    gain = advice["expected_speedup"]
    return "" if gain is None else f"Expected speedup {gain:.2f}, by the model: nothing was run."


def spread(advice: RecommendationJson) -> str:
    """Return a sentence that compares the chosen level with the best and the worst; "" if no levels were compared."""
    found = advice["spread"]
    if found is None:
        return ""
    sides = (
        f"{name} {side['speedup']:.3f} at {count(side['blocks'], 'block')}"
        for name, side in (("auto", found["auto"]), ("best", found["best"]), ("worst", found["worst"]))
    )
    return f"Of all levels looked at, {'emulated' if found['emulated'] else 'by the model'}: {', '.join(sides)}."


def certificate(advice: RecommendationJson) -> str:
    """Return a sentence on the cost of the spill code and its lower bound; "" if nothing is spilled."""
    found = advice["certificate"]
    if found is None or not found["cost"]:
        return ""
    cost = f"Spill code costs {found['cost']:,.1f}, in accesses to a slot per run"
    if found["bound"] is None:
        return f"{cost}; no lower bound is known."
    return f"{cost}; no allocation costs less than {found['bound']:,.1f} (gap {found['gap']:.1%}, by {found['by']})."


def occupancy(advice: RecommendationJson) -> TextTable:
    """Return a table of the resources that a block asks for and is given, and of the blocks that they allow."""
    sides = list(advice["occupancy"].values())
    limits: list[list[object]] = [
        [f"blocks by {label}", *(s["limits"][name] for s in sides)] for name, label in _LIMITS.items()
    ]
    rows: list[list[object]] = [
        ["registers per block, as asked", *(s["registers"] * s["threads"] for s in sides)],
        ["  as given", *(s["registers_per_block"] for s in sides)],
        ["shared bytes per block, as asked", *(s["shared_bytes"] for s in sides)],
        ["  as given", *(s["shared_per_block"] for s in sides)],
        *limits,
        ["resident warps", *(f"{s['active_warps']} of {s['max_warps']}" for s in sides)],
    ]
    return TextTable(["", *advice["occupancy"]], [row for row in rows if any(cell is not None for cell in row[1:])])


def functions(advice: RecommendationJson) -> TextTable:
    """Return a table of the functions of the recommended version, with their registers and accesses by spill code."""
    rows = [
        [short_name(f["function"]), f["instructions"], f["registers"], f["slot_accesses"], f["local_accesses"]]
        for f in advice["functions"]
    ]
    return TextTable(["function", "instructions", "registers", "slot accesses", "local accesses"], rows)


def has_spills(advice: RecommendationJson) -> bool:
    """Return whether the recommended version has spill code."""
    return any(f["slot_accesses"] or f["local_accesses"] for f in advice["functions"])


def issue_slots(advice: RecommendationJson) -> TextTable | None:
    """Return a table of the issue slots of both versions by what became of them; None without runs.

    Reasons for which neither version lost a slot are left out.
    """
    before, after = advice["measured"]["original"], advice["measured"]["recommended"]
    if before is None or after is None:
        return None
    rows = [["issued", f"{before['issued_percent']:.1f}%", f"{after['issued_percent']:.1f}%"]]
    for name, share in before["stall_percent"].items():
        if share or after["stall_percent"][name]:
            rows.append([name.replace("_", " "), f"{share:.1f}%", f"{after['stall_percent'][name]:.1f}%"])
    occupancy = [f"{side['achieved_occupancy']:.3f}" for side in (before, after)]
    return TextTable(["issue slots (emulated)", "original", "recommended"], [*rows, ["achieved occupancy", *occupancy]])


def character(advice: RecommendationJson, papers: bool = True) -> list[str]:
    """Return sentences on the kernel. papers: whether to add the figures of the unified paper (its Table 1)."""
    found, bound = advice["character"], "" if advice["character"]["concurrency_bound"] else "not "
    grid = [] if advice["waves"] is None else [f"The grid: {advice['waves']:.2f} waves."]
    if not papers:
        return grid
    return [
        (f"Mean dispatch interval (cycles between the issues of a warp's instructions, by stall counts) "
        f"{found['dispatch_interval']:.3f}: {bound}concurrency bound (more warps would {'' if not bound else 'not '}"
        "find idle issue cycles)."),
        (f"User's shared memory: {found['user_shared_bytes_per_thread']:g} bytes per thread. "
        f"InstChange (static instructions after over before): {found['instruction_change']:.2f}."),
        *grid,
    ]


def busy(advice: RecommendationJson) -> TextTable | None:
    """Return a table of how busy each resource is; None if that is not known."""
    bound = advice["bound"]
    if bound is None:
        return None
    shares = ((name, share) for name, share in bound["busy_percent"].items() if share)
    rows = [[BUSY.get(name, f"{name} units"), f"{share:.1f}%"] for name, share in shares]
    return TextTable([f"resource ({'emulated' if bound['measured'] else 'by the model'})", "busy"], rows)


def hot_lines(advice: RecommendationJson) -> TextTable | None:
    """Return a table of the source lines that are executed most; None if the binary names none."""
    found = advice["hot_lines"]
    places = [f"{one['file'].rsplit('/', 1)[-1]}:{one['line']}" for one in found]
    rows = [[place, f"{one['percent']:.1f}%", one["text"]] for place, one in zip(places, found, strict=True)]
    how = "emulated" if any(one["measured"] for one in found) else "estimated"
    return TextTable(["line", f"executed ({how})", "text"], rows) if rows else None


def mix(advice: RecommendationJson) -> TextTable:
    """Return a table of the kinds of instructions."""
    rows = [[m["kind"], m["static"], f"{m['executed_percent']:.1f}%"] for m in advice["character"]["mix"]]
    return TextTable(["instructions", "static", "executed"], rows)


def levels(advice: RecommendationJson) -> TextTable:
    """Return a table of the levels that the policy compared, with their allocators if there are several."""
    head = ["level", "registers", "used", "slots", "used", "local bytes", "resident", "cycles", "note"]
    rows: list[list[object]] = [
        [level["blocks"], level["registers"], level["registers_used"], level["slots"], level["slots_used"],
         level["local_bytes"], level["blocks_per_sm"], level["cycles"], level["reason"]]
        for level in advice["levels"]
    ]  # fmt: skip
    allocators = [level["allocator"] for level in advice["levels"]]
    if len({*allocators} - {None}) > 1:
        head.insert(1, "allocator")
        rows = [[row[0], allocator, *row[1:]] for row, allocator in zip(rows, allocators, strict=True)]
    return TextTable(head, rows)


def curve(advice: RecommendationJson, name: Resource) -> str:
    """Return a what-if curve as a line of text."""
    return ", ".join(f"{step['at']:,} up: {step['blocks']}" for step in advice["what_if"][name]) or "-"


def next_steps(advice: RecommendationJson) -> list[str]:
    """Return the command that writes the recommended version, and what CUDA offers; [] if the input is kept."""
    following = advice["next"]
    if following is None:
        return []
    unused = following["unused_shared_bytes"]
    held = f", launched with {unused:,} bytes of unused dynamic shared memory per block" if unused else ""
    if following["launch_bounds"] is None:
        return [f"Next: {following['rewrite']}"]
    if following["already_bound"]:
        words = f"the kernel has {following['launch_bounds']} already, which makes it the original above"
        return [f"Next: {following['rewrite']}", f"In CUDA: {words}."]
    return [
        f"Next: {following['rewrite']}",
        (f"In CUDA: {following['launch_bounds']} on the kernel, or nvcc -maxrregcount={following['maxrregcount']} "
        f"(what does not fit goes to local memory there){held}."),
    ]
