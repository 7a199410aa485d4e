"""This module annotates code: it shows what each instruction of a run did and waited for, beside its source line.

Precondition: the run was profiled. A *slot* is an issue slot. The slots of an instruction are its issues, and the lost
slots that are charged to it by the rule in `emulator/sm/profile.py`. The hottest instructions have the most slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import TYPE_CHECKING

from binalloc.emulator.host.figures.shares import COUNTED, DramCounts
from binalloc.emulator.state.parts.shares import Cause
from binalloc.printable import count, one_line
from binalloc.report.runs.shares import did, dram_json, has_energy
from binalloc.report.sources import find_source, line_of, read_source
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.emulator.runs.run import Result
    from binalloc.isa.instruction import Function, Module
    from binalloc.report.shapes.parts.annotation import (
        AnnotatedFunction,
        AnnotatedInstruction,
        AnnotatedLine,
        AnnotationJson,
        SlotsOfCode,
    )
    from binalloc.report.shapes.parts.dram_shares import DramOfJson

HOTTEST = 10
"""Instructions that are marked where no number is asked for: few enough to find at a glance; chosen by hand."""
_LINE_TEXT = 72
"""Characters of a source line that are shown. With more, the table's ten columns of figures would be far to the right;
chosen by hand."""


def annotation(
    module: Module, kernel: Function, result: Result, most: int | None, folder: str | None
) -> AnnotationJson:
    """Return the annotation of a run: its instructions with their counts, their source lines with sums, and the source
    files.

    The instructions are those of the kernel and of all functions that it may call, in the order of the code. most:
    number of hottest instructions to mark (`hot`); None marks HOTTEST, and the text then shows all. folder: where to
    look for source files first; None for no folder.
    """
    total = result.stats["issue_slots"] + sum(result.stats["stalls"].values())
    rows = {
        fn.name: [
            _instruction(fn, i, place, module, result, total)
            for i, place in enumerate(fn.source_lines())
        ]
        for fn in module.reached(kernel)
    }
    _mark([row for of_function in rows.values() for row in of_function], HOTTEST if most is None else most)
    names = sorted({file for fn in module.reached(kernel) for file, _ in fn.lines.values()})
    found = {name: find_source(name, module.path, folder) for name in names}
    texts = {name: read_source(path) for name, path in found.items()}
    return {
        "slots": total,
        "unattributed_slots": result.stats["stalls"]["no_warp"],
        "all": most is None,
        "functions": [
            {"function": name, "instructions": of_function, "lines": _lines(name, of_function, texts, total, result)}
            for name, of_function in rows.items()
        ],
        "dram_of_no_instruction": [
            {"cause": cause, **dram_json(result, counts)} for cause, counts in result.dram_of_no_word.items()
        ],
        "sources": [{"file": name, "path": None if path is None else str(path)} for name, path in found.items()],
    }


def _instruction(
    fn: Function, i: int, place: tuple[str, int] | None, module: Module, result: Result, total: int
) -> AnnotatedInstruction:
    """Return the counts of the instruction at word i. place: its source file and line. total: slots of the run."""
    from binalloc.isa.sets.table import set_of

    profile = result.profile[fn.name]
    counted = {name: int(values[i]) for name, values in profile.counters.items()}
    stalls = {name: int(slots[i]) for name, slots in profile.stalls.items()}
    instr = fn.instrs[i]
    isa = set_of(instr)
    memory = isa.view(instr).memory
    latencies = int(profile.latencies[i])
    requests = sum(counted[f"user_global_{what}s"] for what in ("load", "store", "atomic"))
    sectors = sum(counted[f"global_{what}_sectors"] for what in ("load", "store", "atomic"))
    return {
        "index": i,
        "text": isa.text(instr, fn, i, module),
        "spill": memory is not None and memory.spill,
        "original": _original(fn, i),
        "file": None if place is None else place[0],
        "line": None if place is None else place[1],
        **_slots(counted["warp_instructions"], counted["thread_instructions"], stalls, total),
        "requests": requests,
        "sectors": sectors,
        "sectors_per_request": sectors / requests if requests else None,
        "shared_accesses": counted["shared_accesses"],
        "shared_passes": counted["shared_passes"],
        "conflict_degree": _per(counted["shared_passes"], counted["shared_accesses"]),
        "l1_hits": sum(counted[f"l1_{what}_hits"] for what in ("local", "global", "texture")),
        "l1_misses": sum(counted[f"l1_{what}_misses"] for what in ("local", "global", "texture")),
        "latencies": latencies,
        "latency_average": _per(int(profile.latency_sum[i]), latencies),
        "latency_max": int(profile.latency_max[i]) if latencies else None,
        **_dram(result, fn.name, [i]),
        "hot": False,
    }


def _original(fn: Function, i: int) -> int | None:
    """Return the word of the original function that word i stands for; None if the rewrite inserted word i."""
    if fn.origin is None:
        return i
    return fn.origin.index[i] if fn.origin.index[i] >= 0 else None


def _slots(issues: int, lanes: int, stalls: dict[str, int], total: int) -> SlotsOfCode:
    """Return the issues and the lost slots of an instruction or of a line. total: slots of the run."""
    lost = sum(stalls.values())
    return {
        "issues": issues,
        "thread_instructions": lanes,
        "average_lanes": _per(lanes, issues),
        "stall_slots": lost,
        "stall_share": lost / max(total, 1),
        "main_stall": max(stalls, key=lambda name: stalls[name]) if lost else None,
        "stalls": stalls,
    }


def _per(part: int, of: int) -> float | None:
    return part / of if of else None


def _mark(rows: list[AnnotatedInstruction], most: int) -> None:
    """Mark the `most` hottest rows, but none without slots. Of two rows that are as hot the earlier one goes first."""
    ranked = sorted(rows, key=lambda row: -(row["issues"] + row["stall_slots"]))
    hot = {id(row) for row in ranked[:most] if row["issues"] + row["stall_slots"]}
    for row in rows:
        row["hot"] = id(row) in hot


def _dram(result: Result, function: str, words: list[int]) -> DramOfJson:
    """Return what DRAM did for some instructions of a function together."""
    of_memories = result.profile[function].dram
    return dram_json(
        result, tuple(DramCounts(*(int(table[name][words].sum()) for name in COUNTED)) for table in of_memories)
    )  # fmt: skip


def _lines(
    name: str, rows: list[AnnotatedInstruction], texts: dict[str, list[str] | None], total: int, result: Result
) -> list[AnnotatedLine]:
    """Return the source lines of a function, by file and number, with sums over the instructions of each.

    name: that of the function. texts: lines of each source file; None for a file that was not found. total: slots of
    the run.
    """
    groups: dict[tuple[str, int], list[AnnotatedInstruction]] = {}
    for row in rows:
        if row["file"] is not None and row["line"] is not None:
            groups.setdefault((row["file"], row["line"]), []).append(row)
    out: list[AnnotatedLine] = []
    for (file, line), members in sorted(groups.items()):
        stalls = {reason: sum(row["stalls"][reason] for row in members) for reason in members[0]["stalls"]}
        issues = sum(row["issues"] for row in members)
        lanes = sum(row["thread_instructions"] for row in members)
        out.append(
            {
                "file": file,
                "line": line,
                "text": line_of(texts[file], line),
                "instructions": [row["index"] for row in members],
                **_slots(issues, lanes, stalls, total),
                **_dram(result, name, [row["index"] for row in members]),
            }
        )
    return out


_HEADER = (
    "", "word", "instruction", "issues", "lanes", "lost slots", "share", "mostly for", "sectors/req", "passes",
    "L1 hits", "latency", "most",
)  # fmt: skip


def render_annotation(found: AnnotationJson) -> str:
    """Return a table per function, and the legend. A table has each source line with its instructions after it, or, if
    the binary names no lines, the instructions in the order of the code."""
    out = []
    for fn in found["functions"]:
        rows = [row for row in fn["instructions"] if found["all"] or row["hot"]]
        if rows:
            heading = f"{fn['function']}: {len(rows)} of {count(len(fn['instructions']), 'instruction')}"
            out.append(f"\n{one_line(heading)}\n")
            header = (*_HEADER, *_dram_columns(rows))
            out.append(table(header, list(_table_rows(fn, rows)), left=3))
    out.append(_legend(found))
    return "".join(out)


def _table_rows(fn: AnnotatedFunction, rows: Sequence[AnnotatedInstruction]) -> Iterable[tuple[object, ...]]:
    """Yield the rows of a function's table. rows: the instructions to show."""
    lines = {index: line for line in fn["lines"] for index in line["instructions"]}
    if not lines:
        yield from map(_shown, rows)
        return
    yield from (_shown(row) for row in rows if row["index"] not in lines)
    for line in fn["lines"]:
        members = [row for row in rows if lines.get(row["index"]) is line]
        if members:
            yield _shown_line(line)
            yield from map(_shown, members)


def _shown(row: AnnotatedInstruction) -> tuple[object, ...]:
    mark = ("*" if row["hot"] else "") + ("S" if row["spill"] else "+" if row["original"] is None else "")
    looked = row["l1_hits"] + row["l1_misses"]
    hits = f"{row['l1_hits'] / looked:.1%}" if looked else ""
    return (
        mark, str(row["index"]), row["text"], *_shown_slots(row), _blank(row["sectors_per_request"]),
        _blank(row["conflict_degree"]), hits, _blank(row["latency_average"]), _blank(row["latency_max"]),
        *_shown_dram(row),
    )  # fmt: skip


def _shown_line(line: AnnotatedLine) -> tuple[object, ...]:
    text = one_line(line["text"] or "").strip()
    text = text if len(text) <= _LINE_TEXT else text[:_LINE_TEXT] + "..."
    place = f"{line['file']}:{line['line']}  {text}".rstrip()
    return ("", "", place, *_shown_slots(line), "", "", "", "", "", *_shown_dram(line))


def _shown_slots(row: SlotsOfCode) -> tuple[object, ...]:
    main = row["main_stall"]
    share = f"{row['stalls'][main] / row['stall_slots']:.0%} {main}" if main else ""
    lanes = "" if row["average_lanes"] is None else f"{row['average_lanes']:.1f}"
    return row["issues"], lanes, row["stall_slots"], f"{row['stall_share']:.1%}", share


def _dram_columns(rows: Sequence[DramOfJson]) -> list[str]:
    """Return the headings on DRAM, for one memory or two."""
    columns = ["rows opened", *(["DRAM nJ"] if has_energy(rows) else [])]
    far = [row["far_dram"] for row in rows if "far_dram" in row]
    return [*columns, *(["far rows"] if far else []), *(["far nJ"] if has_energy(far) else [])]


def _shown_dram(row: DramOfJson) -> tuple[object, ...]:
    """Return the cells on DRAM. They are empty where it did nothing."""
    cells: list[str] = []
    for of_memory in (row, *([row["far_dram"]] if "far_dram" in row else [])):
        values = (of_memory["dram_activations"], of_memory["dram_nj"])
        cells += [_blank(value) if did(of_memory) else "" for value in values if value is not None]
    return tuple(cells)


def _blank(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def _legend(found: AnnotationJson) -> str:
    lines = [
        "\n* hottest: most slots, issued and lost. S: spill code. +: inserted by a rewrite.\n",
        "lost slots: lost issue slots that are charged to the instruction. share: of all slots of the run.\n",
        "sectors/req: of an access to global memory. passes: of an access to shared memory.\n",
        "latency, most: cycles from issue until all data is there, on average and at most.\n",
    ]
    lines += _legend_of_dram(found)
    if found["unattributed_slots"]:
        lost = count(found["unattributed_slots"], "slot")
        lines.append(f"{lost} lost without a resident warp: charged to no instruction.\n")
    missing = [source["file"] for source in found["sources"] if source["path"] is None]
    if missing:
        names = one_line(", ".join(missing))
        lines.append(f"Source not found, line numbers alone: {names}.\n")
    return "".join(lines)


_CAUSES = {
    Cause.EARLIER: "write-backs of what earlier launches changed",
    Cause.CODE: "the instruction cache",
    Cause.CONSTANTS: "the constant cache",
    Cause.CPU: "CPU programs",
    Cause.OTHER: "others",
}
"""What DRAM works for without an instruction, in words."""


def _legend_of_dram(found: AnnotationJson) -> list[str]:
    """Return the lines on DRAM, and on what it did for no instruction."""
    rest = found["dram_of_no_instruction"]
    opened = "rows of DRAM opened for requests of the instruction, and for write-backs of lines that it changed last"
    lines = [f"rows opened: {opened}.\n"]
    if has_energy(rest):
        lines.append("DRAM nJ: energy of these rows, and of its reads and writes, without background and refreshes.\n")
        lines += _range_of_dram([row for fn in found["functions"] for row in fn["instructions"]])
    for row in rest:
        for memory, part in (("", row), *([(" of far DRAM", row["far_dram"])] if "far_dram" in row else [])):
            if did(part):
                what = f"{count(part['dram_activations'], 'row')}{memory} opened, {count(part['dram_bytes'], 'byte')}"
                nano = "" if part["dram_nj"] is None else f", {part['dram_nj']:,.1f} nJ"
                cause = _CAUSES[Cause.names.index(row["cause"])]
                lines.append(f"For no instruction, but for {cause}: {what}{nano}.\n")
    return lines


def _range_of_dram(rows: Sequence[AnnotatedInstruction]) -> list[str]:
    """Return a line with the range of the energy where figures of the machine have alternatives."""
    values = [[row[name] for row in rows] for name in ("dram_nj", "dram_least_nj", "dram_most_nj")]
    stated, *extremes = (fsum(value for value in of_rows if value is not None) for of_rows in values)
    if not stated or rows[0]["dram_least_nj"] is None:
        return []
    least, most = (value / stated for value in extremes)
    return [f"With other figures that the machine file names it is {least:.2f} to {most:.2f} times as much in all.\n"]
