"""This module records which block touches which page of global memory in a run.

Loads, stores and atomic operations of global memory count, with generic addresses and those of surfaces too: of each
lane that executes, all bytes. Fetches of textures, constants and local memory are left out. Pages are counted from the
beginning of each buffer, as if it began with a page.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from binalloc.emulator.runs.issue_log import Batch, Listener
from binalloc.emulator.state.layout import LANES, Column
from binalloc.emulator.state.parts.log import LogColumn
from binalloc.errors import LimitHit
from binalloc.models.batches.reuse import sampled
from binalloc.models.batches.touches import Flags, Ints, PageTouches, distinct

if TYPE_CHECKING:
    from binalloc.emulator.host.device import LaunchedDevice

SMALLEST, LARGEST = 4 << 10, 2 << 20
"""Bytes of the smallest and the largest page: those of CPUs, and the large ones of GPUs."""
LINE = 128  # bytes of a line, of which a sample may be taken
MOST_TOUCHES = 1 << 26
"""Pairs of page and block that are kept: half a gigabyte. More is an error, before the host runs out of memory."""


class PageRecorder:
    """A recorder listens to a run, and keeps each pair of a page and a block once."""

    def __init__(self, blocks: int, page_bytes: int = SMALLEST, most_lines: int | None = None) -> None:
        """blocks: number of blocks of the grid. page_bytes: of a page, a power of two from 32. most_lines: about so
        many lines of all buffers are looked at, a sample of them; None for all."""
        self.buffers: list[tuple[str, int, int]] = []  #: name, first address and address behind, in order of addresses
        self.first_pages: Ints = np.zeros(0, np.int64)  #: number of each buffer's first page
        self.bits = 0  #: one line in 2^bits is looked at
        self._blocks, self._page_bytes, self._most_lines = blocks, page_bytes, most_lines
        self._table: Ints = np.zeros((0, 0), np.int64)
        self._starts = self._keys = np.zeros(0, np.int64)
        self._waiting: list[Ints] = []

    def __enter__(self) -> PageRecorder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Do nothing: there is nothing to close."""

    @property
    def listener(self) -> Listener:
        """Return the listener for the run's log."""
        return Listener(self._receive, addresses=True, begin=self._begin, everything=False)

    def keep(self) -> None:
        """Do nothing: the pairs are in memory, and the caller asks for them at the run's end."""

    def touches(self) -> PageTouches:
        """Return the pairs. A buffer begins with a page of any size."""
        self._merge()
        return PageTouches(self._blocks, self._keys // self._blocks, self._keys % self._blocks)

    def _begin(self, device: LaunchedDevice) -> None:
        """Watch all buffers and variables."""
        self._table = device.program.table
        self.buffers = sorted(device.places(), key=lambda place: place[1])
        self._starts = np.array([start for _, start, _ in self.buffers], np.int64)
        ends = np.array([end for _, _, end in self.buffers], np.int64)
        sizes = -(-(ends - self._starts) // LARGEST) * (LARGEST // self._page_bytes)
        self.first_pages = np.cumsum(sizes) - sizes
        if self._most_lines is not None:
            lines = int((ends - self._starts).sum()) // LINE
            self.bits = max(lines // self._most_lines, 1).bit_length() - 1
        if self.buffers:
            device.put("watches", 1)
            device.put("watch_from", [int(self._starts[0])])
            device.put("watch_to", [int(ends.max())])

    def _receive(self, batch: Batch) -> None:
        """Keep the pairs of a batch."""
        rows = batch.rows[batch.column(LogColumn.LANES) >= 0]
        low = batch.addresses[rows[:, LogColumn.LANES]]
        high = low + self._table[rows[:, LogColumn.PC], Column.SIZE][:, None] - 1
        runs = (rows[:, LogColumn.MASK][:, None] >> np.arange(LANES) & 1) == 1
        buffer = np.searchsorted(self._starts, low, "right") - 1
        runs &= buffer >= 0  # the windows of shared and local memory are in front of all buffers
        blocks = np.broadcast_to(rows[:, LogColumn.BLOCK][:, None], low.shape)
        for address in (low, high):  # at most 16 bytes, so no page lies between the two
            pages = self.first_pages[buffer] + (address - self._starts[buffer]) // self._page_bytes
            wanted = runs & sampled(pages * self._page_bytes // LINE, self.bits) if self.bits else runs
            self._add(np.where(wanted, pages * self._blocks + blocks, -1))
        if sum(map(len, self._waiting)) > max(len(self._keys), len(low) * LANES):
            self._merge()

    def _add(self, keys: Ints) -> None:
        """Keep the pairs of accesses. keys: of each lane, -1 for none. Most lanes have that of the lane before."""
        new: Flags = np.ones(keys.shape, bool)
        new[:, 1:] = keys[:, 1:] != keys[:, :-1]
        found = distinct(keys[new & (keys >= 0)])
        if len(found):
            self._waiting.append(found)

    def _merge(self) -> None:
        """Put the pairs that wait to the others. Raises LimitHit where there are too many."""
        self._keys = distinct(np.concatenate([self._keys, *self._waiting]))
        self._waiting.clear()
        if len(self._keys) > MOST_TOUCHES:
            raise LimitHit(
                "the blocks touch too many pages to be profiled", found=f"{len(self._keys)} pairs of page and block",
                expected=f"at most {MOST_TOUCHES}", remedy="Profile a smaller size of the launch.",
            )  # fmt: skip
