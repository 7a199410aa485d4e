"""This module makes the rows of a sweep from the outcomes of tasks, and defines the columns of a table of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.emulator.policies.gates.table import STALL_NAMES
from binalloc.pipeline.steps.row import INFEASIBLE, OK, Row, known
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import ORIGINAL, Configuration
from binalloc.printable import count, one_line

SCHEMA_VERSION = 1
"""Version of the columns. Under one number no column changes its meaning, but columns may be added."""
Value = str | int | float | bool | None
"""A value in a table."""
TEXT, INTEGER, NUMBER, FLAG = "text", "integer", "number", "flag"  # kinds of values


@dataclass(frozen=True)
class SweepColumn:
    """This record is a column of the table."""

    name: str
    kind: str  #: kind of its values, one of the four above; any value may be None, too


_STALLS = {f"stall_{name}": name for name in STALL_NAMES}
"""For each column of stalls, the reason."""
_KINDS = {
    TEXT: "file kernel machine scheduler allocator size scheme barriers sharing program status reason",
    NUMBER: "occupancy instruction_change speedup dispatch_interval",
    FLAG: "same_results proven shorter_regions own_words",
}
"""For each kind of values, the columns; all others are integers."""
_NAMES = (
    "schema_version", "file", "kernel", "machine", "scheduler", "allocator", "size", "blocks", "registers_allowed",
    "slots_allowed", "scheme", "merge", "barriers", "shorter_regions", "own_words", "sharing", "pairs", "private_bytes",
    "status", "reason", "program",
    "registers", "slots", "blocks_per_sm", "occupancy", "local_bytes", "instructions", "instruction_change",
    "dispatch_interval", "proven", "same_results", "cycles", "original_cycles", "speedup", "spill_accesses",
    "local_accesses", "slot_accesses", "l1_accesses", "l1_misses",
)  # fmt: skip


def _kind(name: str) -> str:
    """Return the kind of a column's values."""
    return next((kind for kind, names in _KINDS.items() if name in names.split()), INTEGER)


COLUMNS = (*(SweepColumn(name, _kind(name)) for name in _NAMES), *(SweepColumn(name, NUMBER) for name in _STALLS))


def columns_of(row: Row) -> dict[str, Value]:
    """Return a row of the table, by column; None for figures that do not apply."""
    found: dict[str, Value] = {"schema_version": SCHEMA_VERSION}
    found |= {name: getattr(row, name) for name in _NAMES[1:]}
    return found | {column: row.stalls.get(name) for column, name in _STALLS.items()}


@dataclass(frozen=True)
class Found:
    """This record has the outcomes behind a row. A run is None if its program could not be built."""

    original: Outcome  #: of building the original
    first: Outcome | None  #: of the original's run
    built: Outcome  #: of building the row's program
    ran: Outcome | None  #: of the run of this program
    same: bool | None  #: whether both runs left the same results; None if not both ran


def cycles_of(row: Row) -> int:
    """Return the cycles of a row that ran."""
    return known(row.cycles)


def row_of(asked: Configuration, found: Found | None) -> Row:
    """Return the row of a configuration. found: None if the machine cannot hold so many blocks."""
    subject = asked.subject
    row = Row(
        allocator=asked.allocator,
        blocks=asked.blocks,
        registers_allowed=asked.registers,
        slots_allowed=asked.slots,
        file=subject.file,
        kernel=subject.kernel,
        machine=subject.machine.name,
        scheduler=asked.options.scheduler,
        size=subject.launch.size,
        sharing=asked.sharing,
    )
    if asked.wanted is not None:
        wanted = asked.wanted
        barriers = None if wanted.merge is None else wanted.barriers
        row = replace(row, scheme=wanted.scheme, merge=wanted.merge, barriers=barriers, own_words=wanted.own)
        row = replace(row, shorter_regions=wanted.shorter)
    if found is None:
        what = f"{count(asked.blocks or 0, 'block')} of {count(subject.launch.threads_per_block, 'thread')}"
        return replace(row, status=INFEASIBLE, reason=f"{subject.machine.name} has no room at once for {what}")
    last = found.built if found.ran is None else found.ran
    row = replace(row, status=last["status"], reason=last["reason"])
    if asked.held and asked.refused and last["status"] == OK:
        row = replace(row, reason=f"the original as it is: {one_line(asked.refused)}")
    if found.built["status"] == OK:
        row = _with_program(row, asked, found)
    if found.first is not None and found.first["status"] == OK:
        row = replace(row, original_cycles=found.first["cycles"])
    if found.ran is not None and found.ran["status"] == OK:
        row = replace(_with_run(row, found.ran), same_results=found.same)
    return row


def _with_program(row: Row, asked: Configuration, found: Found) -> Row:
    """Return the row with the figures of a program that has not run."""
    built, original = found.built, found.original
    resident = asked.blocks if asked.held and asked.blocks is not None else built["blocks_per_sm"]
    of_original = asked.held or (asked.allocator == ORIGINAL and asked.sharing is None)
    return replace(
        row,
        pairs=built.get("pairs"),
        private_bytes=built.get("private_bytes"),
        program=ORIGINAL if of_original else built["digest"],
        registers=built["registers"],
        slots=built["slots"],
        blocks_per_sm=resident,
        occupancy=round(built["occupancy"] * resident / built["blocks_per_sm"], 6),
        local_bytes=built["local_bytes"],
        instructions=built["instructions"],
        instruction_change=round(built["instructions"] / original["instructions"], 4),
        dispatch_interval=round(built["dispatch_interval"], 4),
        proven=built["proven"],
    )


def _with_run(row: Row, ran: Outcome) -> Row:
    """Return the row with the figures of its run."""
    whole, before = ran["issue_slots"], row.original_cycles
    return replace(
        row,
        cycles=ran["cycles"],
        speedup=None if before is None else round(before / ran["cycles"], 4),
        spill_accesses=ran["spill_accesses"],
        local_accesses=ran["local_accesses"],
        slot_accesses=ran["slot_accesses"],
        l1_accesses=ran["l1_accesses"],
        l1_misses=ran["l1_misses"],
        stalls={name: round(ran["stalls"][name] / whole, 6) for name in STALL_NAMES},
    )
