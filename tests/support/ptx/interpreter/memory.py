"""Memory of the interpreter: the global arena, a block's shared memory, threads' local memory, generic windows.

Global, constant and module variables lie in one arena from GLOBAL up, each allocation followed by a gap, so that an
access outside every allocation is caught. Shared and local addresses are offsets; generic addresses add the windows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx.interpreter.arithmetic.integers import UNSIGNED

Array = NDArray[Any]
Mask = NDArray[np.bool_]

GLOBAL = 0x20_0000_0000
SHARED_WINDOW = 0x11_0000_0000
LOCAL_WINDOW = 0x12_0000_0000
PARAM_WINDOW = 0x13_0000_0000
WINDOW = 1 << 32
FUNCTIONS = 0x7F_0000_0000
"""Addresses of functions: this, and 64 bytes for each in the order of the text."""
GAP = 256


class AccessError(Exception):
    """An access out of bounds or misaligned."""


class Arena:
    """Bytes at [base, base + size) of which only allocated ones may be touched."""

    def __init__(self, base: int, size: int = 0) -> None:
        self.base = base
        self.data = np.zeros(-(-size // 16) * 16, dtype=np.uint8)
        self.valid = np.zeros(len(self.data), dtype=np.bool_)
        self.valid[:size] = True
        self.end = len(self.data)

    def allocate(self, size: int, align: int = 256) -> int:
        """Address of `size` fresh zero bytes."""
        start = -(-(self.end + GAP) // align) * align
        self.end = start + size
        capacity = -(-(self.end + GAP) // 16) * 16
        if capacity > len(self.data):
            grow = max(capacity, 2 * len(self.data)) - len(self.data)
            self.data = np.concatenate([self.data, np.zeros(grow, dtype=np.uint8)])
            self.valid = np.concatenate([self.valid, np.zeros(grow, dtype=np.bool_)])
        self.valid[start : self.end] = True
        return self.base + start

    def release(self, address: int) -> None:
        """Give a block back that `allocate` gave: nothing may touch it any more."""
        start = end = address - self.base
        if not 0 <= start < len(self.valid) or not self.valid[start] or self.valid[start - 1]:
            raise AccessError(f"{address:#x} is freed, and is no block")
        while self.valid[end]:
            end += 1
        self.valid[start:end] = False

    def bytes_at(self, address: int, size: int) -> Array:
        return self.data[address - self.base : address - self.base + size]

    def locate(self, address: Array, width: int, mask: Mask) -> Array:
        """Checked byte positions of the active lanes' accesses."""
        at = (address[mask] - np.uint64(self.base)).astype(np.int64)
        if len(at) and (at.min() < 0 or at.max() > len(self.data) - width):
            raise AccessError(f"address {hex(int(address[mask][0]))} out of bounds")
        if (at % width).any():
            raise AccessError(f"misaligned access of {width} bytes: {[hex(a) for a in address[mask].tolist()[:4]]}")
        if not self.valid[at].all() or not self.valid[at + width - 1].all():
            bad = [hex(self.base + a) for a in at.tolist() if not self.valid[a]]
            raise AccessError(f"access outside every allocation: {bad[:4]}")
        return at

    def load(self, address: Array, width: int, mask: Mask) -> Array:
        dtype = UNSIGNED[8 * width]
        result = np.zeros(len(mask), dtype=dtype)
        result[mask] = self.data.view(dtype)[self.locate(address, width, mask) // width]
        return result

    def store(self, address: Array, value: Array, mask: Mask) -> None:
        """Lanes in ascending order: the highest lane wins where several write one place."""
        width = value.dtype.itemsize
        self.data.view(value.dtype)[self.locate(address, width, mask) // width] = value[mask]


class Local:
    """Local memory: one row of bytes per thread, grown as frames need it."""

    def __init__(self, threads: int) -> None:
        self.rows = np.zeros((threads, 0), dtype=np.uint8)
        self.used = 0

    def reserve(self, size: int) -> None:
        self.used = size
        if size > self.rows.shape[1]:
            more = -(-size // 16) * 16 - self.rows.shape[1]
            self.rows = np.concatenate([self.rows, np.zeros((len(self.rows), more), dtype=np.uint8)], axis=1)

    def locate(self, address: Array, width: int, mask: Mask) -> Array:
        at = address[mask].astype(np.int64)
        if (at % width).any() or (at < 0).any() or (at + width > self.used).any():
            raise AccessError(f"local access of {width} bytes at {at.tolist()[:4]}, frame {self.used}")
        return np.nonzero(mask)[0] * self.rows.shape[1] + at

    def load(self, address: Array, width: int, mask: Mask) -> Array:
        dtype = UNSIGNED[8 * width]
        result = np.zeros(len(mask), dtype=dtype)
        if mask.any():
            result[mask] = self.rows.reshape(-1).view(dtype)[self.locate(address, width, mask) // width]
        return result

    def store(self, address: Array, value: Array, mask: Mask) -> None:
        width = value.dtype.itemsize
        if mask.any():
            self.rows.reshape(-1).view(value.dtype)[self.locate(address, width, mask) // width] = value[mask]


class Generic:
    """Dispatch of generic addresses to the windows."""

    def __init__(self, memory: Arena, shared: Arena, local: Local) -> None:
        self.parts: list[tuple[int, Arena | Local]] = [(SHARED_WINDOW, shared), (LOCAL_WINDOW, local)]
        self.memory = memory

    def split(self, address: Array, mask: Mask) -> list[tuple[Arena | Local, Array, Mask]]:
        found: list[tuple[Arena | Local, Array, Mask]] = []
        rest = mask
        for window, part in self.parts:
            inside = rest & (address >= np.uint64(window)) & (address < np.uint64(window + WINDOW))
            if inside.any():
                found.append((part, address - np.uint64(window), inside))
                rest = rest & ~inside
        if rest.any():
            found.append((self.memory, address, rest))
        return found

    def load(self, address: Array, width: int, mask: Mask) -> Array:
        result = np.zeros(len(mask), dtype=UNSIGNED[8 * width])
        for part, where, lanes in self.split(address, mask):
            result |= part.load(where, width, lanes)
        return result

    def store(self, address: Array, value: Array, mask: Mask) -> None:
        for part, where, lanes in self.split(address, mask):
            part.store(where, value, lanes)
