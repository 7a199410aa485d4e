"""This module describes stops of the device runtime: failed assertions, blocks freed twice, accesses to blocks that do
not exist. The runtime's variable distinguishes them from traps of the program's own."""

from __future__ import annotations

import numpy as np

from binalloc.emulator.host.runtime import HEAP
from binalloc.emulator.state.memories import Array
from binalloc.emulator.stops.context import StoppedContext
from binalloc.errors import KernelFault
from binalloc.isa.runtime import GRANULE, GRID, MALLOC, PRINTF, STATE_MASK, GranuleState, RuntimeStop
from binalloc.isa.table.fields import RZ
from binalloc.printable import count

NEAR_NULL = 4096
"""An address below it counts as a null pointer with an offset. It is the size of a host's page; no buffer is placed so
low."""
MOST_TEXT = 1024
"""Characters that a message shows of a text in device memory. Chosen by hand."""


def is_trap(c: StoppedContext, word: int) -> bool:
    """Return whether the instruction at a code word is a trap: a generic store to address 0, whatever the registers
    hold."""
    place = c.program.place(word)
    assert place is not None
    instr = place[0].instrs[place[1]]
    return instr.op.name == "ST" and (instr.f["ra"], instr.f["moff"]) == (RZ, 0)


def in_printf(c: StoppedContext, word: int) -> bool:
    """Return whether the instruction at a code word belongs to printf."""
    place = c.program.place(word)
    return place is not None and place[0].name == PRINTF and c.device.memory.runtime is not None


def null_of_malloc(c: StoppedContext, address: int) -> str | None:
    """Return the advice for an access near address 0 by a program that allocates, None in other cases."""
    runtime = c.device.memory.runtime
    if runtime is None or address >= NEAR_NULL or all(fn.name != MALLOC for fn in c.device.module.functions):
        return None
    start, end = runtime.spans[HEAP]
    room = f"malloc gives a null pointer where the heap of {count(end - start, 'byte')} has no room"
    return f"{room}: is it one? `heap` in the launch file makes it larger."


def stop_fault(c: StoppedContext, place: str) -> KernelFault:
    """Return the fault of a kernel that trapped, by itself or because the runtime stopped it."""
    runtime = c.device.memory.runtime
    if runtime is None:
        return _trapped(c, place)
    raw = c.device.memories.global_.view(np.uint8)
    values = runtime.values(raw, c.device.memory.base)
    why = RuntimeStop(int(values["stopped"]))
    if why == RuntimeStop.NONE:
        return _trapped(c, place)
    block, thread = int(values["block"]), int(values["thread"])
    who = f"kernel {c.device.kernel.name}, {c.numbers(block, thread)}"
    stop = [int(word) for word in values["stop"]]
    if why == RuntimeStop.ASSERTION:
        message, file, function = (_text(c, raw, address) for address in stop)
        return KernelFault(f"assertion failed: {message}", place=f"{file}:{int(values['line'])}, {function}, {who}")
    if why == RuntimeStop.NOT_ALLOCATED:
        found = f"address {stop[0]:#x}{c.nearest(stop[0])}"
        expected = "an address that malloc gave"
        return KernelFault("what is freed was not allocated", place=who, found=found, expected=expected)
    assert why == RuntimeStop.FREED_TWICE
    found = heap_access(c, stop[0], 0)
    return KernelFault("a block is freed twice", place=who, found=found, expected="one free for each malloc")


def _trapped(c: StoppedContext, place: str) -> KernelFault:
    """Return the fault of the program's own trap. A grid that meets without a cooperative launch traps, too."""
    meets = any(v.name == GRID for v in c.device.module.globals) and not c.device.launch.cooperative
    remedy = "If it is grid.sync() that trapped: launch it with cooperative = true." if meets else None
    return KernelFault("the kernel trapped", place=place, remedy=remedy)


def heap_access(c: StoppedContext, address: int, size: int) -> str:
    """Describe an address in the heap, and the nearest block in front of it."""
    runtime = c.device.memory.runtime
    assert runtime is not None
    raw = c.device.memories.global_.view(np.uint8)
    start, end = runtime.spans[HEAP]
    table = runtime.blocks(raw, c.device.memory.base)
    granule = (address - start) // GRANULE
    known = np.flatnonzero(table["state"][: granule + 1] & STATE_MASK)
    text = f"address {address:#x}" + (f", {size} bytes" if size else "")
    if not len(known):
        return f"{text}, in the heap ({start:#x} to {end - 1:#x}), of which nothing there was ever allocated"
    entry = table[known[-1]]
    first, length = start + int(known[-1]) * GRANULE, int(entry["size"])
    who = c.numbers(int(entry["block"]), int(entry["thread"]))
    freed = int(entry["state"]) & STATE_MASK == GranuleState.FREED
    block = f"a block of {count(length, 'byte')}, {'freed' if freed else 'allocated'} by {who}"
    if address < first + length:
        return f"{text}, byte {address - first:,} of {block}"
    return f"{text}, {count(address - first - length, 'byte')} behind the end of {block}"


def _text(c: StoppedContext, raw: Array, address: int) -> str:
    """Return the text at an address of global memory, up to its end."""
    at = address - c.device.memory.base
    if not 0 <= at < len(raw):
        return f"(no text at {address:#x})"
    data = raw[at : at + MOST_TEXT].tobytes().split(b"\0")[0]
    return data.decode("utf-8", "backslashreplace")
