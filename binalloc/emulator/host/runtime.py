"""The host's side of the device runtime: room for printf's output and for the heap, and what a launch left in them.

A binary has the runtime if it has its variable (`isa.runtime`). Output and heap lie behind the launch's buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest

import numpy as np

from binalloc.emulator.host.c_format import converted, directives
from binalloc.emulator.state.memories import Array
from binalloc.isa import runtime as isa
from binalloc.isa.instruction import Module
from binalloc.isa.runtime import ARGUMENT_BYTES, GRANULE, MAP_BYTES, STATE_MASK, VARIABLE, State
from binalloc.launch.placing import BUFFER_ALIGN, BUFFER_GAP
from binalloc.launch.types import Launch
from binalloc.printable import quoted


def _dtype(fields: isa.Fields) -> np.dtype[np.void]:
    return np.dtype([(name, f"<u{size}", count) if count > 1 else (name, f"<u{size}") for name, size, count in fields])


LAYOUT, BLOCK, RECORD = _dtype(isa.LAYOUT), _dtype(isa.BLOCK), _dtype(isa.RECORD)
"""Of the runtime's variable, of an entry of the table of blocks, of a record's head."""
OUTPUT, HEAP, BLOCKS, MAP = "printf's output", "the heap", "the heap's blocks", "the heap's map"
"""What lies in memory for the runtime, as messages name it."""
MOST_LEAKS = 10


@dataclass(frozen=True)
class Printed:
    """What printf wrote. texts: (block, thread, text) in the order of blocks, of threads in each, and of a thread's own
    calls; of calls behind one another one text. lost: calls that found no room."""

    texts: tuple[tuple[int, int, str], ...] = ()
    lost: int = 0

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(text for _, _, text in self.texts)

    def differs(self, other: Printed) -> str | None:
        """A sentence on the first line that another run printed otherwise than this one; None where both printed the
        same, and where of either something was lost: what there was room for depends on the order of threads."""
        if self.lost or other.lost or self.texts == other.texts:
            return None
        mine, others = self.text.split("\n"), other.text.split("\n")
        for number, (want, got) in enumerate(zip_longest(mine, others), 1):
            if want != got:
                return f"line {number} of what is printed: {_quoted(want)}, expected; {_quoted(got)}, found"
        return "the same is printed, but by other threads"


@dataclass(frozen=True)
class Leak:
    """A block of the heap that nobody freed: its address, the bytes asked for, the block and thread that did."""

    address: int
    size: int
    block: int
    thread: int


@dataclass(frozen=True)
class HeapUse:
    """The heap when the grid has ended. size: bytes of it. used: bytes that blocks have ever lain on. leaks: how many
    blocks nobody freed, `leaked` their bytes; the first of them, by block and thread, `first`."""

    size: int
    used: int
    leaks: int
    leaked: int
    first: tuple[Leak, ...]


class Runtime:
    """Of one launch. spans: name -> first address and the one behind the last; end: behind all of them."""

    def __init__(self, module: Module, launch: Launch, start: int) -> None:
        (self.variable,) = [v.address for v in module.globals if v.name == VARIABLE]
        heap = launch.heap // MAP_BYTES * MAP_BYTES
        sizes = {
            OUTPUT: launch.printf_buffer // ARGUMENT_BYTES * ARGUMENT_BYTES,
            HEAP: heap,
            BLOCKS: heap // GRANULE * BLOCK.itemsize,
            MAP: heap // MAP_BYTES,
        }
        self.spans: dict[str, tuple[int, int]] = {}
        for name, size in sizes.items():
            start = -(-start // BUFFER_ALIGN) * BUFFER_ALIGN
            self.spans[name] = (start, start + size)
            start += size + BUFFER_GAP
        self.end = start

    @staticmethod
    def of(module: Module, launch: Launch, start: int) -> Runtime | None:
        """The runtime's places from an address on; None where the binary has none."""
        return Runtime(module, launch, start) if any(v.name == VARIABLE for v in module.globals) else None

    def fill(self, raw: Array, base: int) -> None:
        """The variable as it is before the first launch, in memory `raw`, bytes from address `base` on."""
        (output, end), (heap, heap_end), (blocks, _), (live, _) = self.spans.values()
        values = self.values(raw, base)
        values["output"], values["output_bytes"] = output, end - output
        values["heap"], values["heap_bytes"] = heap, heap_end - heap
        values["blocks"], values["live"] = blocks, live

    def begin(self, raw: Array, base: int) -> None:
        """In front of a launch: what another one printed goes. The heap stays."""
        self._output(raw, base)[...] = 0
        values = self.values(raw, base)
        for name in ("output_used", "output_lost", "stopped"):
            values[name] = 0

    def heap(self) -> tuple[int, int]:
        """First address of the heap and of its map."""
        return self.spans[HEAP][0], self.spans[MAP][0]

    def values(self, raw: Array, base: int) -> Array:
        """The variable, of memory `raw`, bytes from address `base` on."""
        at = self.variable - base
        return raw[at : at + LAYOUT.itemsize].view(LAYOUT).reshape(())

    def printed(self, raw: Array, base: int) -> Printed:
        """What printf has written so far."""
        records = sorted(_records(self._output(raw, base).tobytes()), key=lambda record: record[:2])
        threads = groupby(records, key=lambda record: record[:2])
        texts = tuple((*who, "".join(text for _, _, text in of)) for who, of in threads)
        return Printed(texts, int(self.values(raw, base)["output_lost"]))

    def _output(self, raw: Array, base: int) -> Array:
        """What records have taken of the output, in place."""
        first, end = self.spans[OUTPUT]
        used = min(int(self.values(raw, base)["output_used"]), end - first)
        return raw[first - base : first - base + used]

    def heap_use(self, raw: Array, base: int) -> HeapUse:
        """What the heap is like now."""
        start, end = self.spans[HEAP]
        used = int(self.values(raw, base)["heap_used"])
        table = self.blocks(raw, base)[: used // GRANULE]
        live = np.flatnonzero(table["state"] & STATE_MASK == State.LIVE)
        order = np.lexsort((live, table["thread"][live], table["block"][live]))[:MOST_LEAKS]
        first = tuple(
            Leak(start + int(i) * GRANULE, *(int(table[name][i]) for name in ("size", "block", "thread")))
            for i in live[order]
        )
        return HeapUse(end - start, used, len(live), int(table["size"][live].sum(dtype=np.uint64)), first)

    def blocks(self, raw: Array, base: int) -> Array:
        """The table of blocks, an entry for each granule."""
        start, end = self.spans[BLOCKS]
        return raw[start - base : end - base].view(BLOCK)


def _quoted(line: str | None) -> str:
    return "none" if line is None else quoted(line)


def _records(data: bytes) -> Iterator[tuple[int, int, str]]:
    """(block, thread, text) of every record, in the order in which they lie there; one that had no room is zeros."""
    at = 0
    while at + RECORD.itemsize <= len(data):
        head = np.frombuffer(data, RECORD, 1, at)[0]
        size = int(head["bytes"])
        if size < RECORD.itemsize or at + size > len(data):
            return
        length = int(head["format"])
        body = data[at + RECORD.itemsize : at + size]
        arguments = _Arguments(body[-(-length // ARGUMENT_BYTES) * ARGUMENT_BYTES :])
        yield int(head["block"]), int(head["thread"]), _decoded(_text(body[:length], arguments))
        at += size


def _text(form: bytes, arguments: _Arguments) -> str:
    """The text that a format and its arguments make, a character for a byte."""
    out = []
    for directive in directives(form):
        stars = [arguments.number() for _ in range(directive.stars)]
        value: int | bytes | None = None
        if directive.has_argument:
            value = arguments.string() if directive.conversion == "s" else arguments.number()
        out.append(converted(directive, stars, value))
    return "".join(out)


def _decoded(text: str) -> str:
    """Bytes as UTF-8; what is none is told by its number."""
    return text.encode("latin-1").decode("utf-8", "backslashreplace")


class _Arguments:
    """A record's arguments, taken one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        value = int.from_bytes(self.data[self.at : self.at + ARGUMENT_BYTES], "little")
        self.at += ARGUMENT_BYTES
        return value

    def string(self) -> bytes | None:
        length = self.number()
        if length >> 63:  # a null pointer
            return None
        text = self.data[self.at : self.at + length]
        self.at += -(-length // ARGUMENT_BYTES) * ARGUMENT_BYTES
        return text
