"""This module has what a message about a run needs: the state, the program, and the places of threads and
instructions."""

from __future__ import annotations

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.state.memories import Array
from binalloc.isa.text.disassembler import format_instr


class StoppedContext:
    """A context is a device that has stopped, with its instructions and threads in words."""

    def __init__(self, device: LaunchedDevice) -> None:
        self.device = device
        self.engine, self.g, self.sms, self.program = device.engine, device.g, device.sms, device.program

    def of(self, name: str) -> int:
        """Return an integer field of the device record."""
        return int(self.engine.get(self.g, 0, name))

    def at(self, sm: int, name: str) -> Array:
        """Return a copy of an array field of an SM's record."""
        return self.engine.view(self.sms, sm, name).copy()

    def where(self, word: int) -> str:
        """Return function, index and text of the instruction at a code word, with its source line if that is known."""
        if self.program.place(word) is None:
            return f"word {word}"
        function, index, text, source = self.parts(word)
        where = f"{function}+{index} `{text}`"
        return where if source is None else f"{where} ({source})"

    def parts(self, word: int) -> tuple[str, int, str, str | None]:
        """Return function, index, text and source position (None if unknown) of the instruction at a code word."""
        place = self.program.place(word)
        assert place is not None, word
        fn, index = place
        line = fn.source_line(index)
        text = format_instr(fn.instrs[index], fn, index, self.device.module)
        return fn.name, index, text, None if line is None else f"{line[0]}:{line[1]}"

    def thread(self, sm: int, w: int, lane: int) -> str:
        """Return SM, block and warp of a warp slot in words, and the thread of a lane of it (-1: none)."""
        block = int(self.at(sm, "block_id")[self.at(sm, "block_of")[w]])
        warp = int(self.at(sm, "in_block")[w])
        text = f"SM {sm}, block {block}{_axes(block, self.device.launch.grid)}, warp {warp}"
        if lane < 0:
            return text
        number = warp * self.of("lanes") + lane
        return f"{text}, lane {lane}, thread {number}{_axes(number, self.device.launch.block)}"

    def numbers(self, block: int, thread: int) -> str:
        """Return a block and one of its threads in words."""
        launch = self.device.launch
        return f"block {block}{_axes(block, launch.grid)}, thread {thread}{_axes(thread, launch.block)}"

    def nearest(self, address: int, size: int = 1) -> str:
        """Return in words how far the bytes at `address` are from the nearest buffer or variable, and where that is."""
        places = self.device.places()
        if not places:
            return "; the launch has no buffer"

        def apart(place: tuple[str, int, int]) -> int:
            return max(place[1] - address, address + size - place[2])

        name, start, end = min(places, key=apart)
        lies = f"{name} ({start:#x} to {end - 1:#x}, {end - start:,} bytes)"
        if start <= address < end or start < address + size <= end:
            return f", across the {'end' if start <= address else 'start'} of {lies}"
        if address >= end:
            return f", {f'{address - end:,} bytes' if address > end else 'right'} behind {lies}"
        return f", {start - address:,} bytes in front of {lies}"


def _axes(number: int, shape: tuple[int, int, int]) -> str:
    """Return " (x, y, z)" for a block or thread number, or "" where the shape has only one axis."""
    x, y, z = shape
    return "" if y == z == 1 else f" ({number % x}, {number // x % y}, {number // (x * y)})"
