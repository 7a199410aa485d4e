"""This module reports what a kernel printed, and what it left in the heap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.emulator.host.runtime import HeapUse
    from binalloc.emulator.runs.program import Ran
    from binalloc.emulator.runs.run import Result
    from binalloc.report.shapes.parts.left import HeapJson, LeakJson, Left, PrintedText, ProgramLeft, ProgramText

LINES = 1000
"""Lines of a kernel's output that are shown as text: enough for most kernels; chosen by hand. The JSON has all."""


def left_json(result: Result) -> Left:
    """Return the fields `printed` and `heap` of a run; none where the binary has no device runtime."""
    if result.heap is None:
        return {}
    texts: list[PrintedText] = [
        {"block": block, "thread": thread, "text": text} for block, thread, text in result.printed.texts
    ]
    return {"printed": {"texts": texts, "lost": result.printed.lost}, "heap": _heap(result.heap)}


def program_left_json(ran: Ran) -> ProgramLeft:
    """Return the fields `printed` and `heap` of a program: texts by launch, and the heap at its end."""
    if not ran.printed and ran.heap is None:
        return {}
    texts: list[ProgramText] = [
        {"launch": number, "block": block, "thread": thread, "text": text}
        for number, printed in ran.printed
        for block, thread, text in printed.texts
    ]
    found: ProgramLeft = {"printed": {"texts": texts, "lost": sum(printed.lost for _, printed in ran.printed)}}
    if ran.heap is not None:
        found["heap"] = _heap(ran.heap)
    return found


def _heap(heap: HeapUse) -> HeapJson:
    leaks: list[LeakJson] = [
        {"address": leak.address, "bytes": leak.size, "block": leak.block, "thread": leak.thread}
        for leak in heap.first
    ]  # fmt: skip
    return {
        "bytes": heap.size, "used": heap.used, "leaks": heap.leaks, "leaked_bytes": heap.leaked, "first_leaks": leaks,
    }  # fmt: skip


def render_output(text: str, lost: int = 0) -> str:
    """Return the first LINES lines of a kernel's output, and how much is not shown. lost: calls of printf whose text
    was lost."""
    if not text and not lost:
        return ""
    lines = text.removesuffix("\n").split("\n")
    shown = "\n".join(lines[:LINES])
    more = f"({count(len(lines) - LINES, 'line')} more; --json has all)\n" if len(lines) > LINES else ""
    if lost:
        calls = count(lost, "call")
        more += f"({calls} of printf found no room: the launch file's printf_buffer says how much there is)\n"
    return f"Printed by the kernel:\n{shown}\n{more}\n"


def render_printed(found: Left | ProgramLeft) -> str:
    """Return the output of a run's kernels as `render_output` shows it; "" where the binary has no device runtime."""
    if "printed" not in found:
        return ""
    printed = found["printed"]
    return render_output("".join(part["text"] for part in printed["texts"]), printed["lost"])


def render_heap(found: Left | ProgramLeft) -> str:
    """Return the use of the heap in a line, and the first allocations that were not freed; "" for an unused heap."""
    heap = found.get("heap")
    if heap is None or not heap["used"]:
        return ""
    used = f"Heap: {heap['used']:,} of {count(heap['bytes'], 'byte')} used"
    if not heap["leaks"]:
        return f"{used}, all blocks freed.\n"
    lines = [f"{used}, {count(heap['leaks'], 'block')} of {count(heap['leaked_bytes'], 'byte')} not freed:"]
    lines += [
        f"  {count(leak['bytes'], 'byte')} at {leak['address']:#x}, allocated by block {leak['block']}, "
        f"thread {leak['thread']}"
        for leak in heap["first_leaks"]
    ]
    if heap["leaks"] > len(heap["first_leaks"]):
        lines.append(f"  and {count(heap['leaks'] - len(heap['first_leaks']), 'more', 'more')}")
    return "".join(f"{line}\n" for line in lines)
