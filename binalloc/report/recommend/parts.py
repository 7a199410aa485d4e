"""The tables and sentences of a recommendation, for text and page alike. All is taken from its dictionary (`facts`)."""

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
"""What-if curves, and what they are over."""
_LIMITS = {
    "warps": "warps",
    "registers": "registers",
    "shared": "shared memory",
    "blocks": "the limit of blocks",
    "barriers": "barriers",
}


BUSY = {"issue": "issue slots", "dram": "DRAM", "requests": "link to L2", "answers": "link from L2"}
"""Resources by other names than their port groups'."""


def expected(told: RecommendationJson) -> str:
    """What is expected where nothing was run, else nothing."""
    gain = told["expected_speedup"]
    return "" if gain is None else f"Expected speedup {gain:.2f}, by the model: nothing was run."


def spread(told: RecommendationJson) -> str:
    """Where the choice is among the levels that were looked at; nothing where none was."""
    found = told["spread"]
    if found is None:
        return ""
    sides = (
        f"{name} {side['speedup']:.3f} at {count(side['blocks'], 'block')}"
        for name, side in (("auto", found["auto"]), ("best", found["best"]), ("worst", found["worst"]))
    )
    return f"Of all levels looked at, {'emulated' if found['emulated'] else 'by the model'}: {', '.join(sides)}."


def certificate(told: RecommendationJson) -> str:
    """What is known of better allocations; nothing where nothing is spilled."""
    found = told["certificate"]
    if found is None or not found["cost"]:
        return ""
    cost = f"Spill code costs {found['cost']:,.1f}, in accesses to a slot per run"
    if found["bound"] is None:
        return f"{cost}; no bound of it is known."
    return f"{cost}; no allocation costs less than {found['bound']:,.1f} (gap {found['gap']:.1%}, by {found['by']})."


def occupancy(told: RecommendationJson) -> TextTable:
    """What a block is handed out of what the machine has, and how many blocks that allows."""
    sides = list(told["occupancy"].values())
    limits: list[list[object]] = [
        [f"blocks by {label}", *(s["limits"][name] for s in sides)] for name, label in _LIMITS.items()
    ]
    rows: list[list[object]] = [
        ["registers per block, as asked", *(s["registers"] * s["threads"] for s in sides)],
        ["  as handed out", *(s["registers_per_block"] for s in sides)],
        ["shared bytes per block, as asked", *(s["shared_bytes"] for s in sides)],
        ["  as handed out", *(s["shared_per_block"] for s in sides)],
        *limits,
        ["resident warps", *(f"{s['active_warps']} of {s['max_warps']}" for s in sides)],
    ]
    return TextTable(["", *told["occupancy"]], [row for row in rows if any(cell is not None for cell in row[1:])])


def functions(told: RecommendationJson) -> TextTable:
    """Where the recommended version has its values."""
    rows = [
        [short_name(f["function"]), f["instructions"], f["registers"], f["slot_accesses"], f["local_accesses"]]
        for f in told["functions"]
    ]
    return TextTable(["function", "instructions", "registers", "slot accesses", "local accesses"], rows)


def left_registers(told: RecommendationJson) -> bool:
    """Whether any value of the recommended version has."""
    return any(f["slot_accesses"] or f["local_accesses"] for f in told["functions"])


def issue_slots(told: RecommendationJson) -> TextTable | None:
    """Where issue slots went before and after, without reasons that cost nothing on either side; None without runs."""
    before, after = told["measured"]["original"], told["measured"]["recommended"]
    if before is None or after is None:
        return None
    rows = [["issued", f"{before['issued_percent']:.1f}%", f"{after['issued_percent']:.1f}%"]]
    for name, share in before["stall_percent"].items():
        if share or after["stall_percent"][name]:
            rows.append([name.replace("_", " "), f"{share:.1f}%", f"{after['stall_percent'][name]:.1f}%"])
    occupancy = [f"{side['achieved_occupancy']:.3f}" for side in (before, after)]
    return TextTable(["issue slots (emulated)", "original", "recommended"], [*rows, ["achieved occupancy", *occupancy]])


def character(told: RecommendationJson, papers: bool = True) -> list[str]:
    """What the kernel is like, in sentences; with `papers` in the unified paper's words (its Table 1), too."""
    found, bound = told["character"], "" if told["character"]["concurrency_bound"] else "not "
    said = [] if told["waves"] is None else [f"The grid: {told['waves']:.2f} waves."]
    if not papers:
        return said
    return [
        (f"Mean dispatch interval (cycles between the issues of a warp's instructions, by stall counts) "
        f"{found['dispatch_interval']:.3f}: {bound}concurrency bound (more warps would {'' if not bound else 'not '}"
        "find idle issue cycles)."),
        (f"User's shared memory: {found['user_shared_bytes_per_thread']:g} bytes per thread. "
        f"InstChange (static instructions after over before): {found['instruction_change']:.2f}."),
        *said,
    ]


def busy(told: RecommendationJson) -> TextTable | None:
    """How busy each resource is, where that is known."""
    bound = told["bound"]
    if bound is None:
        return None
    shares = ((name, share) for name, share in bound["busy_percent"].items() if share)
    rows = [[BUSY.get(name, f"{name} units"), f"{share:.1f}%"] for name, share in shares]
    return TextTable([f"resource ({'emulated' if bound['measured'] else 'by the model'})", "busy"], rows)


def hot_lines(told: RecommendationJson) -> TextTable | None:
    """The source lines of which most is executed; None where the binary names none."""
    found = told["hot_lines"]
    places = [f"{one['file'].rsplit('/', 1)[-1]}:{one['line']}" for one in found]
    rows = [[place, f"{one['percent']:.1f}%", one["text"]] for place, one in zip(places, found, strict=True)]
    how = "emulated" if any(one["measured"] for one in found) else "estimated"
    return TextTable(["line", f"executed ({how})", "text"], rows) if rows else None


def mix(told: RecommendationJson) -> TextTable:
    """Kinds of instructions."""
    rows = [[m["kind"], m["static"], f"{m['executed_percent']:.1f}%"] for m in told["character"]["mix"]]
    return TextTable(["instructions", "static", "executed"], rows)


def levels(told: RecommendationJson) -> TextTable:
    """The levels that the policy looked at."""
    head = ["level", "registers", "used", "slots", "used", "local bytes", "resident", "cycles", "note"]
    rows: list[list[object]] = [
        [level["blocks"], level["registers"], level["registers_used"], level["slots"], level["slots_used"],
         level["local_bytes"], level["blocks_per_sm"], level["cycles"], level["reason"]]
        for level in told["levels"]
    ]  # fmt: skip
    allocators = [level["allocator"] for level in told["levels"]]
    if len({*allocators} - {None}) > 1:
        head.insert(1, "allocator")
        rows = [[row[0], allocator, *row[1:]] for row, allocator in zip(rows, allocators, strict=True)]
    return TextTable(head, rows)


def curve(told: RecommendationJson, name: Resource) -> str:
    """A what-if curve in a line."""
    return ", ".join(f"{step['at']:,} up: {step['blocks']}" for step in told["what_if"][name]) or "-"


def next_steps(told: RecommendationJson) -> list[str]:
    """The command that makes it so, and what there is in CUDA; nothing where the input is kept."""
    following = told["next"]
    if following is None:
        return []
    unused = following["unused_shared_bytes"]
    held = f", launched with {unused:,} bytes of dynamic shared memory per block that nobody uses" if unused else ""
    if following["already_bound"]:
        words = f"the kernel has {following['launch_bounds']} already, which makes it the original above"
        return [f"Next: {following['rewrite']}", f"In CUDA: {words}."]
    return [
        f"Next: {following['rewrite']}",
        (f"In CUDA: {following['launch_bounds']} on the kernel, or nvcc -maxrregcount={following['maxrregcount']} "
        f"(what does not fit goes to local memory there){held}."),
    ]
