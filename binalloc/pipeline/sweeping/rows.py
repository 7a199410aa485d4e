"""The rows of a sweep: what its columns are, and how a row comes of the outcomes of tasks."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.emulator.policies.gates.table import STALL_NAMES
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import ORIGINAL, Configuration
from binalloc.pipeline.sweeping.tasks import INFEASIBLE, OK
from binalloc.printable import count, one_line

SCHEMA_VERSION = 1
"""Of the columns: what one says never changes under one number, others may be added."""
Value = str | int | float | bool | None
Row = dict[str, Value]
"""By column, in their order; None where there is nothing to say."""
TEXT, INTEGER, NUMBER, FLAG = "text", "integer", "number", "flag"


@dataclass(frozen=True)
class Column:
    """kind: what its values are where they are not None, one of the four above."""

    name: str
    kind: str


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


@dataclass(frozen=True)
class Found:
    """The outcomes behind a row: the original built and run, the row's program built and run, and whether results are
    the same; None for what there is not, as nothing could be built."""

    original: Outcome
    first: Outcome | None
    built: Outcome
    ran: Outcome | None
    same: bool | None


def cycles_of(row: Row) -> int:
    """Of a row that ran."""
    cycles = row["cycles"]
    assert isinstance(cycles, int)
    return cycles


def row_of(asked: Configuration, found: Found | None) -> Row:
    """found: None where the machine cannot hold so many blocks."""
    row: Row = {column.name: None for column in COLUMNS}
    subject = asked.subject
    row |= {
        "schema_version": SCHEMA_VERSION,
        "file": subject.file,
        "kernel": subject.kernel,
        "machine": subject.machine.name,
        "scheduler": asked.options.scheduler,
        "allocator": asked.allocator,
        "size": subject.launch.size,
        "blocks": asked.blocks,
        "registers_allowed": asked.registers,
        "slots_allowed": asked.slots,
    }
    if found is None:
        what = f"{count(asked.blocks or 0, 'block')} of {count(subject.launch.threads_per_block, 'thread')}"
        return row | {"status": INFEASIBLE, "reason": f"{subject.machine.name} has no room at once for {what}"}
    last = found.built if found.ran is None else found.ran
    row |= {"status": last["status"], "reason": last["reason"]}
    if asked.held and asked.refused and last["status"] == OK:
        row["reason"] = f"the original as it is: {one_line(asked.refused)}"
    if found.built["status"] == OK:
        row |= _built(asked, found)
    if found.first is not None and found.first["status"] == OK:
        row["original_cycles"] = found.first["cycles"]
    if found.ran is not None and found.ran["status"] == OK:
        row |= _ran(found.ran, found.first)
        row["same_results"] = found.same
    return row


def _built(asked: Configuration, found: Found) -> Row:
    """What is known of a program that has not run."""
    built, original = found.built, found.original
    resident = asked.blocks if asked.held and asked.blocks is not None else built["blocks_per_sm"]
    of_original = asked.allocator == ORIGINAL or asked.held
    return {
        "program": ORIGINAL if of_original else built["digest"],
        "registers": built["registers"],
        "slots": built["slots"],
        "blocks_per_sm": resident,
        "occupancy": round(built["occupancy"] * resident / built["blocks_per_sm"], 6),
        "local_bytes": built["local_bytes"],
        "instructions": built["instructions"],
        "instruction_change": round(built["instructions"] / original["instructions"], 4),
        "dispatch_interval": round(built["dispatch_interval"], 4),
        "proven": built["proven"],
    }


def _ran(ran: Outcome, first: Outcome | None) -> Row:
    """What its run says."""
    whole = ran["issue_slots"]
    faster = None if first is None or first["status"] != OK else round(first["cycles"] / ran["cycles"], 4)
    return {
        "cycles": ran["cycles"],
        "speedup": faster,
        "spill_accesses": ran["spill_accesses"],
        "local_accesses": ran["local_accesses"],
        "slot_accesses": ran["slot_accesses"],
        "l1_accesses": ran["l1_accesses"],
        "l1_misses": ran["l1_misses"],
        **{column: round(ran["stalls"][name] / whole, 6) for column, name in _STALLS.items()},
    }
