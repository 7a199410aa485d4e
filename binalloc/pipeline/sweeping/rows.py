"""The rows of a sweep: how they come of the outcomes of tasks, and the columns that a table of them has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.emulator.policies.gates.table import STALL_NAMES
from binalloc.pipeline.steps.row import INFEASIBLE, OK, Row
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import ORIGINAL, Configuration
from binalloc.printable import count, one_line

SCHEMA_VERSION = 1
"""Version of the columns: under one number no column changes its meaning, others may be added."""
Value = str | int | float | bool | None
TEXT, INTEGER, NUMBER, FLAG = "text", "integer", "number", "flag"


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    name: str
    kind: str  #: what its values are where they are not None: one of the four above


_STALLS = {f"stall_{name}": name for name in STALL_NAMES}
_KINDS = {
    TEXT: "file kernel machine scheduler allocator size program status reason",
    NUMBER: "occupancy instruction_change speedup dispatch_interval",
    FLAG: "same_results proven",
}
_NAMES = (
    "schema_version", "file", "kernel", "machine", "scheduler", "allocator", "size", "blocks", "registers_allowed",
    "slots_allowed", "status", "reason", "program", "registers", "slots", "blocks_per_sm", "occupancy", "local_bytes",
    "instructions", "instruction_change", "dispatch_interval", "proven", "same_results", "cycles", "original_cycles",
    "speedup", "spill_accesses", "local_accesses", "slot_accesses", "l1_accesses", "l1_misses",
)  # fmt: skip


def _kind(name: str) -> str:
    return next((kind for kind, names in _KINDS.items() if name in names.split()), INTEGER)


COLUMNS = (*(Column(name, _kind(name)) for name in _NAMES), *(Column(name, NUMBER) for name in _STALLS))


def columns_of(row: Row) -> dict[str, Value]:
    """Return a row as a table has it, by column; None where there is nothing to say."""
    found: dict[str, Value] = {"schema_version": SCHEMA_VERSION}
    found |= {name: getattr(row, name) for name in _NAMES[1:]}
    return found | {column: row.stalls.get(name) for column, name in _STALLS.items()}


@dataclass(frozen=True)
class Found:
    """The outcomes behind a row; None for what there is not, as nothing could be built."""

    original: Outcome  #: of building the original
    first: Outcome | None  #: of its run
    built: Outcome  #: of building the row's program
    ran: Outcome | None  #: of its run
    same: bool | None  #: whether both runs left the same


def cycles_of(row: Row) -> int:
    """Return the cycles of a row that ran."""
    assert row.cycles is not None
    return row.cycles


def row_of(asked: Configuration, found: Found | None) -> Row:
    """Return the row of a configuration. found: None where the machine cannot hold so many blocks."""
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
    )
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
    of_original = asked.allocator == ORIGINAL or asked.held
    return replace(
        row,
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
