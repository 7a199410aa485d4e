"""What a run's kernel printed, and what it left in the heap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.emulator.host.runtime import HeapUse, Printed
    from binalloc.emulator.runs.program import Ran
    from binalloc.emulator.runs.run import Result
    from binalloc.report.shapes.commands.runs import HeapJson

LINES = 1000
"""Of a kernel's output that are shown as text."""


def printed_json(result: Result) -> dict[str, Any]:
    """The keys `printed` and `heap` of a run; none where the binary has no device runtime."""
    if result.heap is None:
        return {}
    return {"printed": _printed([({}, result.printed)]), "heap": _heap(result.heap)}


def program_printed_json(ran: Ran) -> dict[str, Any]:
    """The same of a program: texts by launch, the heap at its end."""
    if not ran.printed and ran.heap is None:
        return {}
    printed = {"printed": _printed([({"launch": number}, printed) for number, printed in ran.printed])}
    return printed if ran.heap is None else printed | {"heap": _heap(ran.heap)}


def _printed(parts: list[tuple[dict[str, Any], Printed]]) -> dict[str, Any]:
    """Texts, each with what there is to say of its part."""
    texts = [
        {**about, "block": block, "thread": thread, "text": text}
        for about, printed in parts
        for block, thread, text in printed.texts
    ]
    return {"texts": texts, "lost": sum(printed.lost for _, printed in parts)}


def _heap(heap: HeapUse) -> HeapJson:
    leaks = [
        {"address": leak.address, "bytes": leak.size, "block": leak.block, "thread": leak.thread}
        for leak in heap.first
    ]  # fmt: skip
    return {
        "bytes": heap.size, "used": heap.used, "leaks": heap.leaks, "leaked_bytes": heap.leaked, "first_leaks": leaks,
    }  # fmt: skip


def render_output(text: str, lost: int = 0) -> str:
    """A kernel's output, the first lines of it."""
    if not text and not lost:
        return ""
    lines = text.removesuffix("\n").split("\n")
    shown = "\n".join(lines[:LINES])
    more = f"({count(len(lines) - LINES, 'line')} more; --json has all)\n" if len(lines) > LINES else ""
    if lost:
        calls = count(lost, "call")
        more += f"({calls} of printf found no room: the launch file's printf_buffer says how much there is)\n"
    return f"Printed by the kernel:\n{shown}\n{more}\n"


def render_printed(found: dict[str, Any]) -> str:
    """What a run printed."""
    if "printed" not in found:
        return ""
    printed = found["printed"]
    return render_output("".join(part["text"] for part in printed["texts"]), printed["lost"])


def render_heap(found: dict[str, Any]) -> str:
    """Blocks of the heap that nobody freed, in a line, and the first of them; nothing of a heap that nobody used."""
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
