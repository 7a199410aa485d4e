"""This module has watchpoints. They report every load, store and atomic operation of a run on watched bytes of global
memory: lane by lane, in the order of execution, with the bytes before and after.

The log of the run has the accesses and their data. The watched bytes are computed from it here, by the instructions'
own rules, and compared with memory when the run is over (`Watch.check`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.arithmetic.atomic import atomic32, atomic64
from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.issue_log import Batch, IssueLog, Listener
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.run import run_launch
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.parts.log import ATOM_BYTES, DATA_WORDS, MAX_WATCHES, LogColumn, LogKind
from binalloc.errors import KernelFault, LimitHit, UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.isa.text.disassembler import format_instr
from binalloc.launch.file import variable_name
from binalloc.launch.types import Launch

_WIDEST = 16  # bytes of the widest access: one that is that far in front of a span may touch it
_SPACES = (L.SpaceCode.GLOBAL, L.SpaceCode.GENERIC)


@dataclass(frozen=True)
class ByteSpan:
    """A span is a range of watched bytes."""

    name: str  #: name of the buffer or variable
    start: int  #: address of the first byte
    offset: int  #: offset of that byte in the buffer or variable
    size: int  #: number of bytes

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True)
class WatchedTouch:
    """A touch is an access of one lane to a span."""

    span: ByteSpan
    cycle: int
    sm: int
    block: int
    in_block: int  #: number of the warp in the block
    lane: int
    pc: int  #: code word
    access: int  #: an `AccessCode`
    address: int  #: address of the bytes of the span that the access touches
    before: bytes  #: these bytes before the access
    after: bytes  #: these bytes after it


class Watch:
    """A watch reports every access to some spans.

    find: returns the spans when the device is there. tell: is called for each access. stop: whether the run stops in
    front of the first instruction that accesses a span.
    """

    def __init__(
        self,
        find: Callable[[LaunchedDevice], Sequence[ByteSpan]],
        tell: Callable[[WatchedTouch], None],
        *,
        stop: bool = False,
    ) -> None:
        self._find, self._tell, self._stop = find, tell, stop
        self._device: LaunchedDevice | None = None
        self._known: list[_Known] = []

    def listener(self) -> Listener:
        """Return the listener for an `IssueLog`."""
        return Listener(self._receive, data=True, begin=self._begin)

    def check(self) -> None:
        """Assert that memory at the end of the run has the bytes computed here."""
        for known in self._known:
            span = known.span
            found = bytes(known.data[span.start - known.low :][: span.size])
            assert found == _bytes(self._require(), span.start, span.size), span

    def place(self, pc: int) -> tuple[Function, int] | None:
        """Return function and index of a code word."""
        return self._require().program.place(pc)

    def _require(self) -> LaunchedDevice:
        assert self._device is not None
        return self._device

    def _begin(self, device: LaunchedDevice) -> None:
        self._device = device
        spans = self._find(device)
        if len(spans) > MAX_WATCHES:
            raise UsageError("too many watches", found=len(spans), expected=f"at most {MAX_WATCHES}")
        device.put("watches", len(spans))
        device.put("watch_from", [span.start for span in spans])
        device.put("watch_to", [span.end for span in spans])
        device.put("watch_stops", int(self._stop))
        self._known = [_Known.of(span, device) for span in spans]

    def _receive(self, batch: Batch) -> None:
        device = self._require()
        table = device.program.table
        rows = self._executed(batch.of(LogKind.ISSUE).rows)
        rows = rows[rows[:, LogColumn.LANES] >= 0]
        rows = rows[np.isin(table[rows[:, LogColumn.PC], L.Column.SPACE], _SPACES)]
        addresses = batch.addresses[rows[:, LogColumn.LANES]]
        near = np.zeros(len(rows), bool)
        for known in self._known:
            near |= ((addresses < known.high) & (addresses > known.low - _WIDEST)).any(axis=1)
        for row, lanes in zip(rows[near], addresses[near], strict=True):
            self._access(row, lanes, batch.data[row[LogColumn.LANES]])

    def _executed(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows without the instruction that faulted: it is logged as it issues, and has changed nothing."""
        device = self._require()
        if device.get("fault") in (L.Fault.NONE, L.Fault.BREAK, L.Fault.DEADLOCK) or not len(rows):
            return rows
        last = [int(rows[-1, c]) for c in (LogColumn.SM, LogColumn.WARP, LogColumn.PC)]
        return rows[:-1] if last == [device.get(f"fault_{name}") for name in ("sm", "warp", "pc")] else rows

    def _access(self, row: NDArray[np.int64], addresses: NDArray[np.int64], data: NDArray[np.int64]) -> None:
        """Report the accesses of one instruction, lane by lane in their order."""
        cycle, sm, block, in_block, pc, mask = (
            int(row[c])
            for c in (
                LogColumn.CYCLE, LogColumn.SM, LogColumn.BLOCK, LogColumn.IN_BLOCK, LogColumn.PC, LogColumn.MASK,
            )
        )  # fmt: skip
        instruction = self._require().program.table[pc]
        access = int(instruction[L.Column.ACCESS])
        for lane in range(L.LANES):
            if mask >> lane & 1:
                for known in self._known:
                    touched = known.access(instruction, int(addresses[lane]), data[:, lane].tolist())
                    if touched is not None:
                        self._tell(WatchedTouch(known.span, cycle, sm, block, in_block, lane, pc, access, *touched))


@dataclass
class _Known:
    """The known bytes of a span include the bytes around it that an atomic operation on the span may access: from `low`
    up to `high`."""

    span: ByteSpan
    low: int
    high: int
    data: bytearray

    @staticmethod
    def of(span: ByteSpan, device: LaunchedDevice) -> _Known:
        low, high = span.start & -ATOM_BYTES, -(-span.end // ATOM_BYTES) * ATOM_BYTES
        return _Known(span, low, high, bytearray(_bytes(device, low, high - low)))

    def access(self, instruction: NDArray[np.int64], address: int, data: list[int]) -> tuple[int, bytes, bytes] | None:
        """Perform a lane's access at `address`. Return the first address in the span and the bytes there before and
        after, None if the access does not touch the span."""
        size = int(instruction[L.Column.SIZE])
        first, last = max(address, self.low), min(address + size, self.high)
        if first >= last:
            return None
        from_, to = max(address, self.span.start), min(address + size, self.span.end)
        before = bytes(self.data[from_ - self.low : to - self.low])
        stored = self._stored(instruction, address, size, data)
        if stored is not None:
            self.data[first - self.low : last - self.low] = stored[first - address : last - address]
        return (from_, before, bytes(self.data[from_ - self.low : to - self.low])) if from_ < to else None

    def _stored(self, instruction: NDArray[np.int64], address: int, size: int, data: list[int]) -> bytes | None:
        """Return the bytes that the instruction leaves at `address`, None for a load."""
        access = instruction[L.Column.ACCESS]
        if access == L.AccessCode.LOAD:
            return None
        if access == L.AccessCode.STORE:
            return b"".join(word.to_bytes(L.WORD, "little") for word in data)[:size]
        op, kind = int(instruction[L.Column.AOP]), int(instruction[L.Column.ATYP])
        at = address - self.low
        old = [int.from_bytes(self.data[i : i + L.WORD], "little") for i in range(at, at + size, L.WORD)]
        b, c = data[: DATA_WORDS // 2], data[DATA_WORDS // 2 :]
        with np.errstate(all="ignore"):
            new = (
                [atomic32(op, kind, old[0], b[0], c[0])]
                if size == L.WORD
                else atomic64(op, kind, old[0], old[1], b[0], b[1], c[0], c[1])
            )
        return b"".join(int(word).to_bytes(L.WORD, "little") for word in new)


def _bytes(device: LaunchedDevice, address: int, size: int) -> bytes:
    """Return bytes of global memory, zeros beyond its end."""
    at = address - device.base
    return device.memories.global_.view(np.uint8)[at : at + size].tobytes().ljust(size, b"\0")


@dataclass(frozen=True)
class Store:
    """The first store to a watched element is given by its instruction and its thread."""

    function: str  #: name of the function
    index: int  #: word index of the instruction in it
    instruction: str  #: text of the instruction
    block: int  #: block of the thread
    warp: int  #: warp of the thread in its block
    lane: int  #: lane of the thread

    def __str__(self) -> str:
        where = f"block {self.block}, warp {self.warp}, lane {self.lane}"
        return f"{self.function}+{self.index} `{self.instruction}`, {where}"


class _Found(Exception):
    """`_Found` is raised when the wanted store has happened, so that the run need not go on."""


def first_store(
    module: Module, kernel: str, launch: Launch, buffer: str, offset: int, size: int, options: RunOptions
) -> Store | None:
    """Return the first store to the bytes offset to offset + size - 1 of `buffer` (for a variable, its
    `variable_name`). Where a load comes before it, return the first store that changes them. Return None where there is
    none."""
    touches: list[WatchedTouch] = []

    def find(device: LaunchedDevice) -> list[ByteSpan]:
        names = (buffer, variable_name(buffer))  # the launch may name a variable of the binary
        return [ByteSpan(buffer, start + offset, offset, size) for name, start, _ in device.places() if name in names]

    def tell(touch: WatchedTouch) -> None:
        if touch.access != L.AccessCode.LOAD and (not touches or touch.before != touch.after):
            touches.append(touch)
            raise _Found
        touches[:] = touches or [touch]

    watch = Watch(find, tell)
    log = IssueLog([watch.listener()], everything=False)
    with suppress(_Found, KernelFault, LimitHit):
        run_launch(module, kernel, launch, replace(options, max_cycles=None, log=log, progress=None))
    if not touches or touches[-1].access == L.AccessCode.LOAD:
        return None
    last = touches[-1]
    place = watch.place(last.pc)
    assert place is not None
    fn, index = place
    text = format_instr(fn.instrs[index], fn, index, module)
    return Store(fn.name, index, text, last.block, last.in_block, last.lane)
