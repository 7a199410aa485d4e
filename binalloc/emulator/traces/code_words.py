"""This module has what a trace says of a code word: its place, its text, and how long its warp sleeps after it."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.state import layout as L
from binalloc.emulator.stops.context import StoppedContext
from binalloc.emulator.traces.event_file import Fragment, fragment


@dataclass(frozen=True)
class CodeWord:
    """A code word is an instruction as a trace shows it."""

    place: str  #: function and index
    mnemonic: str
    text: str
    source: str | None  #: file and line, where the binary knows them
    sleeps: int  #: cycles from its issue until its warp may go on, if it does not wait at a barrier
    sets: tuple[int, ...]  #: scoreboards that it sets
    fields: Fragment  #: the constant fields of its events


class CodeWords:
    """The code words of a device's program are a mapping by number. Each is made when it is first asked for."""

    def __init__(self, device: LaunchedDevice) -> None:
        self._device, self._context = device, StoppedContext(device)
        self._latency = device.engine.view(device.g, 0, "unit_latency")
        self._known: dict[int, CodeWord] = {}

    def __getitem__(self, pc: int) -> CodeWord:
        if pc not in self._known:
            self._known[pc] = self._make(pc)
        return self._known[pc]

    def _make(self, pc: int) -> CodeWord:
        function, index, text, source = self._context.parts(pc)
        place = f"{function}+{index}"
        unguarded = text.split(" ", 1)[1] if text.startswith("@") else text
        mnemonic = unguarded.split(" ", 1)[0].rstrip(";")
        arguments = {"pc": place, "instruction": text} | ({} if source is None else {"source": source})
        fields = fragment(mnemonic, "instruction", arguments)
        row = self._device.program.table[pc]
        sets = tuple(int(b) for b in (row[L.Column.RBAR], row[L.Column.WBAR]) if b < L.SCOREBOARDS)
        return CodeWord(place, mnemonic, text, source, self._sleeps(pc), sets, fields)

    def _sleeps(self, pc: int) -> int:
        """Return the cycles that the warp sleeps, as in `issue.end_issue`."""
        row = self._device.program.table[pc]
        stall = max(int(row[L.Column.STALL]), 1)
        if row[L.Column.CONTROL] == L.NO_CONTROL:
            return stall
        return max(stall, int(self._latency[row[L.Column.UNIT]]))
