"""The unified paper's figures on emulated machines beside what the paper states, as a dictionary and as text."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

from binalloc.pipeline.papers.reproduce import OURS, PLAIN, READINGS, SAME, Point, Taken, told
from binalloc.pipeline.papers.unified import BLOCK
from binalloc.pipeline.sweeping.rows import Row
from binalloc.pipeline.sweeping.sweep import Tally
from binalloc.report.table import table

_OF_A_LEVEL = (
    "allocator", "blocks", "status", "reason", "registers", "slots", "local_bytes", "blocks_per_sm", "occupancy",
    "instructions", "cycles", "same_results", "proven",
)  # fmt: skip
_STALL = "stall_"
_TOP = 2


def reproduction_to_dict(points: Sequence[Point], tally: Tally, partial: bool, cache: str) -> dict[str, Any]:
    """What `reproduce --json` prints; see JSON.md."""
    return {
        "partial": partial,
        "cache": cache,
        "done": tally.done,
        "cached": tally.cached,
        "machines": [_of_machine(name, [p for p in points if _machine(p) == name]) for name in _machines(points)],
        "kernels": [_of_point(point, points) for point in points],
    }


def _machine(point: Point) -> str:
    return point.case.subject.machine.name


def _machines(points: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(_machine(point) for point in points))


def _of_machine(name: str, points: Sequence[Point]) -> dict[str, Any]:
    """What the automatic choice reaches of the best level's speedup, over all kernels that ran."""
    shares = [auto / best for p in points if (auto := p.automatic) and (best := p.speedup(p.best))]
    return {
        "machine": name,
        "auto_over_best": round(geometric_mean(shares), 4) if shares else None,
        "least_auto_over_best": round(min(shares), 4) if shares else None,
    }


def _of_point(point: Point, points: Sequence[Point]) -> dict[str, Any]:
    case, subject = point.case, point.case.subject
    best, worst = point.best, point.worst
    return {
        "machine": _machine(point),
        "kernel": subject.kernel,
        "domain": case.benchmark.domain,
        "sample": case.stated.sample,
        "block": list(subject.launch.block),
        "block_is": case.benchmark.block,
        "original_blocks": point.original["blocks_per_sm"],
        "input_cycles": point.original["cycles"],
        "original_cycles": point.base["cycles"],
        "auto": point.automatic,
        "auto_blocks": point.auto.blocks,
        "auto_reason": point.auto.reason,
        "best": point.speedup(best),
        "best_blocks": best["blocks"],
        "best_allocator": best["allocator"],
        "worst": point.speedup(worst),
        "worst_blocks": worst["blocks"],
        "worst_allocator": worst["allocator"],
        "unified": {name: _taken(point, taken) for name, taken in point.unified.items()},
        "table1": _table1(point),
        "stated": [
            {"claim": str(claim), "holds": so} for claim, so in told(point, _elsewhere(point, points)).items()
        ],
        "stalls": {"original": _stalls(point.base), "auto": _stalls(point.auto.row), "best": _stalls(best)},
        "levels": [
            {name: row[name] for name in _OF_A_LEVEL} | {"speedup": point.speedup(row)}
            for row in (point.original, *point.levels)
        ],
    }


def _taken(point: Point, taken: Taken) -> dict[str, Any]:
    return {"blocks": taken.blocks, "speedup": point.gain(taken), "reason": taken.reason}


def _elsewhere(point: Point, points: Sequence[Point]) -> Point | None:
    """The same benchmark on another machine."""
    others = [p for p in points if p.case.benchmark is point.case.benchmark and _machine(p) != _machine(point)]
    return others[0] if others else None


def _table1(point: Point) -> dict[str, Any]:
    """Each column of Table 1: the paper's figure, and what it is here."""
    stated, subject = point.case.stated, point.case.subject
    at_auto = point.at_auto
    return {
        "register_demand": _pair(stated.demand, point.demand),
        "user_shared_bytes_per_thread": _pair(stated.user_shared, round(point.character.user_shared, 4)),
        "instruction_change": _pair(stated.instruction_change, point.auto.row["instruction_change"]),
        "miss_percent": _pair(stated.misses, _misses(at_auto.get(OURS, point.original))),
        "miss_percent_local_only": _pair(stated.misses_local, _misses(at_auto.get(PLAIN, point.original))),
        "dispatch_interval": round(float(point.character.interval), 4),
        "threads_per_block": subject.launch.threads_per_block,
    }


def _pair(paper: float, here: Any) -> dict[str, Any]:
    return {"paper": paper, "here": here}


def _misses(row: Row) -> float | None:
    """Of a hundred lines that L1 was asked for; 0 where it was asked for none."""
    asked, missed = row["l1_accesses"], row["l1_misses"]
    if not isinstance(asked, int) or not isinstance(missed, int):
        return None
    return round(100 * missed / asked, 2) if asked else 0.0


def _stalls(row: Row) -> dict[str, float]:
    """The shares of issue slots that stayed empty, for the reasons that left most of them empty; what is left issued
    or waited for others."""
    shares = {name.removeprefix(_STALL): share for name, share in row.items() if name.startswith(_STALL)}
    most = sorted(((share, name) for name, share in shares.items() if isinstance(share, float)), reverse=True)
    return {name: round(share, 3) for share, name in most[:_TOP]}


def render_reproduction(told_of: dict[str, Any]) -> str:
    """What `reproduction_to_dict` gave, for a terminal."""
    parts = [_figure(machine, [k for k in told_of["kernels"] if k["machine"] == machine["machine"]])
             for machine in told_of["machines"]]  # fmt: skip
    return "\n".join([*parts, _stated(told_of["kernels"]), _legend(told_of["kernels"])])


def _figure(machine: dict[str, Any], kernels: Sequence[dict[str, Any]]) -> str:
    """The bars of a figure, and Table 1's columns: the paper's / here."""
    readings = list(READINGS)
    head = ["kernel", "blocks", "auto", "best", "worst", *(f"unified {n}" for n in range(1, len(readings) + 1))]
    rows = [
        [k["kernel"], k["original_blocks"], *(_at(k, what) for what in ("auto", "best", "worst")),
         *(_speed(k["unified"][name]["speedup"], k["unified"][name]["blocks"]) for name in readings)]
        for k in kernels
    ]  # fmt: skip
    text = f"{machine['machine']}: speedups over the original, emulated (at so many blocks)\n\n"
    text += table(head, rows, left=1)
    if machine["auto_over_best"] is not None:
        text += (f"\nauto over best: {machine['auto_over_best']:.3f} in geometric mean, least "
                 f"{machine['least_auto_over_best']:.3f}.\n")  # fmt: skip
    names = ["register_demand", "user_shared_bytes_per_thread", "instruction_change", "miss_percent",
             "miss_percent_local_only"]  # fmt: skip
    columns = [[k["kernel"], *(f"{k['table1'][name]['paper']:g} / {_number(k['table1'][name]['here'])}"
                               for name in names)] for k in kernels]  # fmt: skip
    heads = ["Table 1: paper / here", "registers", "user shared", "InstChange", "misses %", "local only"]
    return f"{text}\n{table(heads, columns, left=1)}"


def _at(kernel: dict[str, Any], what: str) -> str:
    return _speed(kernel[what], kernel[f"{what}_blocks"])


def _speed(value: float | None, blocks: int | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f} ({'orig' if blocks is None else blocks})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _stated(kernels: Sequence[dict[str, Any]]) -> str:
    """What the text says, and where it is otherwise here, what most issue slots waited for."""
    lines = ["What the paper says of them, and whether it is so here:\n\n"]
    for k in kernels:
        for one in k["stated"]:
            so = {True: "so", False: "NOT so", None: "not known"}[one["holds"]]
            line = f"  {k['kernel']} on {k['machine']}: {one['claim']}: {so}"
            if one["holds"] is False:
                line += f" (auto {_at(k, 'auto')}, best {_at(k, 'best')}; {_waited(k)})"
            lines.append(line + "\n")
    return "".join(lines)


def _waited(kernel: dict[str, Any]) -> str:
    """In what most empty issue slots of the original and of the best level are lost."""
    said = [
        f"{name} " + ", ".join(f"{share:.0%} {reason}" for reason, share in kernel["stalls"][name].items())
        for name in ("original", "best")
    ]
    return "empty issue slots: " + "; ".join(said)


def _legend(kernels: Sequence[dict[str, Any]]) -> str:
    readings = "; ".join(f"{n} {name}" for n, name in enumerate(READINGS, 1))
    sizes = "".join(
        f"  {', '.join(of)}: {BLOCK[how]}\n"
        for how in BLOCK
        if (of := list(dict.fromkeys(k["kernel"] for k in kernels if k["block_is"] == how)))
    )
    return (
        f"original: the input, or the faster code that allocator {PLAIN} orders for as many blocks. auto:\n"
        f"policy model with allocator {OURS}. best, worst: of every number of blocks, fewer than the original's\n"
        f"too, by every allocator. unified: the paper's search and its allocator, by reading:\n{readings}.\n"
        f"Speedups that differ by less than {SAME:.0%} count as the same.\n"
        f"How block sizes are known:\n{sizes}"
    )
