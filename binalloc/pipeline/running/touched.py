"""This module records the accesses to watched memory in a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binalloc.emulator.host.device import LaunchedDevice
    from binalloc.emulator.runs.watch import ByteSpan, WatchedTouch

_KINDS = ("load", "store", "atomic")  # by `AccessCode`


@dataclass(frozen=True)
class WatchedAccess:
    """This record is one lane's access to a watched piece of memory."""

    cycle: int  #: cycle in which its instruction issued
    sm: int
    block: int  #: number in the grid
    warp: int  #: number in the block
    lane: int
    thread: int  #: number in the block
    function: str
    index: int  #: of the instruction in its function
    instruction: str  #: as text
    source: str | None  #: file and line; None if the binary has no line table
    kind: str  #: `load`, `store` or `atomic`
    buffer: str  #: name of the buffer or variable
    offset: int  #: first byte of the buffer that is watched and accessed
    bytes: int  #: number of bytes that are watched and accessed
    before: str  #: contents before: numbers of the buffer's type, or `bytes` and their values
    after: str | None  #: contents afterwards; None for a load


@dataclass
class Watched:
    """This record has the accesses to watched memory in a run."""

    spans: Sequence[ByteSpan] = ()  #: the watched pieces; overlapping pieces are joined
    total: int = 0  #: accesses by lanes; an access to several pieces counts once for each
    accesses: list[WatchedAccess] = field(default_factory=list)  #: the first accesses, in the order of time

    @property
    def left_out(self) -> int:
        """Return how many accesses are not listed."""
        return self.total - len(self.accesses)


class Touched:
    """This listener counts the accesses to watched memory, and keeps the first ones."""

    def __init__(self, most: int, say: Callable[[WatchedAccess], None], live: bool) -> None:
        """Keep the first `most` accesses. say: is called with each of them, during the run if `live`."""
        self._most, self._say, self._live = most, say, live
        self._device: LaunchedDevice | None = None
        self.found = Watched()

    def begin(self, device: LaunchedDevice, spans: Sequence[ByteSpan]) -> Sequence[ByteSpan]:
        """Take the device and the watched pieces of a run that begins."""
        self._device, self.found.spans = device, spans
        return spans

    def add(self, touch: WatchedTouch) -> None:
        """Count another access, and keep it while there is room."""
        self.found.total += 1
        if self.found.total > self._most:
            return
        access = self._describe(touch)
        self.found.accesses.append(access)
        if self._live:
            self._say(access)

    def say_late(self) -> None:
        """Report the kept accesses if they were not reported live: after a fault there is no other record of them."""
        if not self._live:
            for access in self.found.accesses:
                self._say(access)

    def _describe(self, touch: WatchedTouch) -> WatchedAccess:
        """Return an access of the log as a record."""
        from binalloc.emulator.state.layout import LANES
        from binalloc.emulator.stops.context import StoppedContext

        assert self._device is not None
        function, index, instruction, source = StoppedContext(self._device).parts(touch.pc)
        loads = _KINDS[touch.access] == "load"
        before, after = (_values(self._device, touch, data) for data in (touch.before, touch.after))
        return WatchedAccess(
            touch.cycle, touch.sm, touch.block, touch.in_block, touch.lane, touch.in_block * LANES + touch.lane,
            function, index, instruction, source, _KINDS[touch.access], touch.span.name,
            touch.address - touch.span.start + touch.span.offset, len(touch.before), before, None if loads else after,
        )  # fmt: skip


def _values(device: LaunchedDevice, touch: WatchedTouch, data: bytes) -> str:
    """Return the accessed data as text: whole elements and numbers in structs as numbers, anything else as bytes."""
    import numpy as np

    from binalloc.emulator.debug.watches import element_of
    from binalloc.launch.elements.layout import number_at

    element = element_of(device, touch.span.name)
    offset = touch.address - touch.span.start + touch.span.offset
    number = number_at(element, offset, len(data))
    if number is not None:
        return str(np.frombuffer(data, number)[0])
    if offset % element.itemsize or len(data) % element.itemsize:
        return f"bytes {data.hex(' ')}"
    return ", ".join(str(value) for value in np.frombuffer(data, element))
