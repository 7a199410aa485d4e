"""The host's side of the device runtime makes room for printf's output and for the heap, and reads what a launch left
there.

A binary has the runtime if it has its variable (`isa.runtime`). Output and heap are placed behind the launch's buffers.
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
from binalloc.isa.runtime import ARGUMENT_BYTES, GRANULE, MAP_BYTES, STATE_MASK, VARIABLE, GranuleState
from binalloc.launch.placing import BUFFER_ALIGN, BUFFER_GAP
from binalloc.launch.types import Launch
from binalloc.printable import quoted


def _dtype(fields: isa.Fields) -> np.dtype[np.void]:
    return np.dtype([(name, f"<u{size}", count) if count > 1 else (name, f"<u{size}") for name, size, count in fields])


LAYOUT, BLOCK, RECORD = _dtype(isa.LAYOUT), _dtype(isa.BLOCK), _dtype(isa.RECORD)
"""Layouts of the runtime's variable, of an entry of the table of blocks, and of a record's head."""
OUTPUT, HEAP, BLOCKS, MAP = "printf's output", "the heap", "the heap's blocks", "the heap's map"
"""The runtime's parts in memory, by their names in messages."""
MOST_LEAKS = 10  # leaks that are listed one by one; more would fill a screen; chosen by hand


@dataclass(frozen=True)
class Printed:
    """Printed is the output of printf in one launch."""

    #: (block, thread, text) in the order of blocks, of threads in each, and of a thread's own calls; consecutive calls
    #: make one text
    texts: tuple[tuple[int, int, str], ...] = ()
    lost: int = 0  #: calls that found no room

    @property
    def text(self) -> str:
        """Return all texts together."""
        return "".join(text for _, _, text in self.texts)

    def differs(self, other: Printed) -> str | None:
        """Return a sentence on the first line that another run printed otherwise than this one, or None where both
        printed the same. It is also None where either run lost something: the order of threads decides what is lost."""
        if self.lost or other.lost or self.texts == other.texts:
            return None
        mine, others = self.text.split("\n"), other.text.split("\n")
        for number, (want, got) in enumerate(zip_longest(mine, others), 1):
            if want != got:
                return f"line {number} of what is printed: {_quoted(want)}, expected; {_quoted(got)}, found"
        return "the same is printed, but by other threads"


@dataclass(frozen=True)
class Leak:
    """A leak is a block of the heap that nobody freed."""

    address: int  #: its first byte
    size: int  #: bytes asked for
    block: int  #: number of the thread block that asked for it
    thread: int  #: number of the thread that asked for it


@dataclass(frozen=True)
class HeapUse:
    """Heap use says how much of the heap was used, and what nobody freed, when the grid has ended."""

    size: int  #: bytes of the heap
    used: int  #: bytes of it that blocks have ever been in
    leaks: int  #: blocks that nobody freed
    leaked: int  #: bytes of these blocks
    first: tuple[Leak, ...]  #: the first of these blocks, by thread block and thread


class Runtime:
    """`Runtime` has the device runtime's memory in one launch. spans: name -> first address and the one behind the
    last. end: the address behind all spans."""

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
        """Return the runtime placed from address `start` on; None where the binary has none."""
        return Runtime(module, launch, start) if any(v.name == VARIABLE for v in module.globals) else None

    def fill(self, raw: Array, base: int) -> None:
        """Set the variable as it is before the first launch, in memory `raw`, bytes from address `base` on."""
        (output, end), (heap, heap_end), (blocks, _), (live, _) = self.spans.values()
        values = self.values(raw, base)
        values["output"], values["output_bytes"] = output, end - output
        values["heap"], values["heap_bytes"] = heap, heap_end - heap
        values["blocks"], values["live"] = blocks, live

    def begin(self, raw: Array, base: int) -> None:
        """Clear what an earlier launch printed, in front of a launch. The heap stays."""
        self._output(raw, base)[...] = 0
        values = self.values(raw, base)
        for name in ("output_used", "output_lost", "stopped"):
            values[name] = 0

    def heap(self) -> tuple[int, int]:
        """Return the first address of the heap and of its map."""
        return self.spans[HEAP][0], self.spans[MAP][0]

    def values(self, raw: Array, base: int) -> Array:
        """Return the variable in memory `raw`, bytes from address `base` on, in place."""
        at = self.variable - base
        return raw[at : at + LAYOUT.itemsize].view(LAYOUT).reshape(())

    def printed(self, raw: Array, base: int) -> Printed:
        """Return what printf has written so far."""
        records = sorted(_records(self._output(raw, base).tobytes()), key=lambda record: record[:2])
        threads = groupby(records, key=lambda record: record[:2])
        texts = tuple((*who, "".join(text for _, _, text in of)) for who, of in threads)
        return Printed(texts, int(self.values(raw, base)["output_lost"]))

    def _output(self, raw: Array, base: int) -> Array:
        """Return the part of the output that records have taken, in place."""
        first, end = self.spans[OUTPUT]
        used = min(int(self.values(raw, base)["output_used"]), end - first)
        return raw[first - base : first - base + used]

    def heap_use(self, raw: Array, base: int) -> HeapUse:
        """Return the heap's state now."""
        start, end = self.spans[HEAP]
        used = int(self.values(raw, base)["heap_used"])
        table = self.blocks(raw, base)[: used // GRANULE]
        live = np.flatnonzero(table["state"] & STATE_MASK == GranuleState.LIVE)
        order = np.lexsort((live, table["thread"][live], table["block"][live]))[:MOST_LEAKS]
        first = tuple(
            Leak(start + int(i) * GRANULE, *(int(table[name][i]) for name in ("size", "block", "thread")))
            for i in live[order]
        )
        return HeapUse(end - start, used, len(live), int(table["size"][live].sum(dtype=np.uint64)), first)

    def blocks(self, raw: Array, base: int) -> Array:
        """Return the table of blocks, an entry for each granule, in place."""
        start, end = self.spans[BLOCKS]
        return raw[start - base : end - base].view(BLOCK)


def _quoted(line: str | None) -> str:
    return "none" if line is None else quoted(line)


def _records(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield (block, thread, text) of every record, in their order in memory. A record that had no room is zeros."""
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
    """Return the text that a format and its arguments make, a character for a byte."""
    out = []
    for directive in directives(form):
        stars = [arguments.number() for _ in range(directive.stars)]
        value: int | bytes | None = None
        if directive.has_argument:
            value = arguments.string() if directive.conversion == "s" else arguments.number()
        out.append(converted(directive, stars, value))
    return "".join(out)


def _decoded(text: str) -> str:
    """Return bytes decoded as UTF-8. Bytes that are not UTF-8 are shown by their numbers."""
    return text.encode("latin-1").decode("utf-8", "backslashreplace")


class _Arguments:
    """A record's arguments are taken from here one after the other."""

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
