"""A trace has one line per warp instruction, `PC mask dests opcode sources width [addresses] immediate`.

Addresses are written in the shortest way of the format. Where the lanes follow each other without a gap at one stride,
they are the first address and the stride. Else they are the first address and each lane's distance from the lane before
it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from binalloc.emulator.state.memories import Array
from binalloc.isa.instruction import LOCAL_WINDOW, SHARED_WINDOW
from binalloc.isa.interface.places import LANES
from binalloc.laboratory.accelsim.sass import BINARY_VERSION, SassLine
from binalloc.launch.types import Launch
from binalloc.printable import one_line
from binalloc.version import VERSION

WORD_BYTES = 16  # bytes of an instruction of Volta: a trace's PCs count bytes
TRACER_VERSION = 4
"""The tracer's version with lines of this form: without the block's numbers in front, with an immediate at the end."""
_FORMAT = "#traces format = PC mask destinations opcode sources bytes [addresses] immediate"
_STRIDE, _DISTANCES = 1, 2  # the format's numbers for the two ways of writing addresses
NO_LANE = f" {_STRIDE} 0x0 0"  # the addresses of an access that no lane executes
_BITS = np.arange(LANES, dtype=np.int64)  # numbers of the lanes


def head(kernel: str, launch: Launch, registers: int, shared: int) -> bytes:
    """Return the lines in front of the first block.

    registers: per thread, shared: bytes per block; both as occupancy counts them.
    """
    said = {
        "kernel name": one_line(kernel),
        "kernel id": 1,
        "grid dim": "({},{},{})".format(*launch.grid),
        "block dim": "({},{},{})".format(*launch.block),
        "shmem": shared,
        "nregs": registers,
        "binary version": BINARY_VERSION,
        "cuda stream id": 0,
        "shmem base_addr": f"0x{SHARED_WINDOW:016x}",
        "local mem base_addr": f"0x{LOCAL_WINDOW:016x}",
        "nvbit version": f"none, binalloc {VERSION}",
        "accelsim tracer version": TRACER_VERSION,
        "enable lineinfo": 0,
    }
    lines_of_head = [f"-{key} = {value}" for key, value in said.items()]
    return "\n".join([*lines_of_head, "", _FORMAT, "", ""]).encode("ascii", "backslashreplace")


def lines(
    words: Array, masks: Array, places: Array, addresses: Array, line_of: Callable[[int, int], SassLine]
) -> list[bytes]:
    """Return the lines of warp instructions.

    words: int64 [instruction], code words. masks: int64 [instruction], the lanes that execute each. addresses: int64
    [access, lane]. places: int64 [instruction], each instruction's row in `addresses`, or -1. line_of: returns the
    common part of a code word's lines, from the word and a mask.
    """
    entries = [line_of(word, mask) for word, mask in zip(words.tolist(), masks.tolist(), strict=True)]
    masks = masks & np.array([e.lanes for e in entries], np.int64)
    at = np.flatnonzero([e.memory and mask != 0 for e, mask in zip(entries, masks.tolist(), strict=True)])
    written = dict(zip(at.tolist(), _addresses(masks[at], addresses[places[at]]), strict=True)) if len(at) else {}
    return [
        f"{word * WORD_BYTES:04x} {mask:08x} {e.text}{written.get(i, NO_LANE) if e.memory else ''} 0\n".encode("ascii")
        for i, (word, mask, e) in enumerate(zip(words.tolist(), masks.tolist(), entries, strict=True))
    ]


def _addresses(masks: Array, addresses: Array) -> list[str]:
    """Return the addresses of accesses as text with a blank in front. masks: executing lanes, at least one for each."""
    lanes = (masks[:, None] >> _BITS) & 1 == 1
    steps = np.diff(addresses, axis=1)
    pairs = lanes[:, 1:] & lanes[:, :-1]
    first, rows = lanes.argmax(axis=1), np.arange(len(masks))
    base, stride = addresses[rows, first], steps[rows, np.minimum(first, LANES - 2)]
    even = ~(pairs & (steps != stride[:, None])).any(axis=1)
    without_gap = pairs.sum(axis=1) == lanes.sum(axis=1) - 1
    plain = even & without_gap & pairs.any(axis=1) & (stride < 1 << 31) & (stride > -(1 << 31))
    out = []
    for i in rows.tolist():
        start = _hex(int(base[i]))
        if plain[i]:
            out.append(f" {_STRIDE} {start} {stride[i]}")
        else:
            distances = "".join(f" {d}" for d in np.diff(addresses[i][lanes[i]]).tolist())
            out.append(f" {_DISTANCES} {start}{distances}")
    return out


def _hex(address: int) -> str:
    """Return an address in the form that the format's reader takes: 64 bits without a sign."""
    return f"0x{address & (1 << 64) - 1:x}"
