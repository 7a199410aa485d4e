"""This module describes faults of functions that have called themselves too often: local memory has no room for another
frame, or the reconvergence stack none for another call."""

from __future__ import annotations

from binalloc.emulator.state import layout as L
from binalloc.emulator.stops.context import StoppedContext
from binalloc.errors import Hint, KernelFault
from binalloc.isa.runtime import STACK_TRAP
from binalloc.isa.table.fields import RZ
from binalloc.printable import count


def is_overflow(c: StoppedContext, word: int) -> bool:
    """Return whether the instruction at a code word is the trap of a function whose frame does not fit."""
    place = c.program.place(word)
    assert place is not None
    instr = place[0].instrs[place[1]]
    return instr.op.name == "ST" and (instr.f["ra"], instr.f["moff"]) == (RZ, STACK_TRAP)


def overflow_fault(c: StoppedContext, place: str) -> KernelFault:
    """Return the fault of a function that found no room for its frame."""
    function = c.program.place(c.of("fault_pc"))
    assert function is not None
    frame = count(function[0].info.local_frame, "byte")
    given = next((record["stack_bytes"] for record in c.device.module.provenance if "stack_bytes" in record), None)
    found = f"{function[0].name} needs a frame of {frame}, {calls_deep(c)} deep"
    expected = "frames that fit the stack" + (f" of {given:,} bytes per thread" if isinstance(given, int) else "")
    remedy = Hint("Import the PTX with more {stack_bytes}, or end the recursion sooner (does it end at all?).")
    return KernelFault("stack overflow", place=place, found=found, expected=expected, remedy=remedy)


def too_many_entries(c: StoppedContext, entries: int) -> tuple[str, str, str]:
    """Return (found, expected, remedy) of a full reconvergence stack."""
    found = f"more than {entries} entries, {calls_deep(c)} deep"
    return found, f"at most {entries}", "Recursion or divergence nests too deep: does it end?"


def calls_deep(c: StoppedContext) -> str:
    """Return in words how many calls the faulting warp is in."""
    sm, w = c.of("fault_sm"), c.of("fault_warp")
    entries = c.at(sm, "stack")[w, : int(c.at(sm, "sp")[w]) + 1]
    return count(int((entries[:, L.StackColumn.KIND] == L.EntryKind.CALL).sum()), "call")
