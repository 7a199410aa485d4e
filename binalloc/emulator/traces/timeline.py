"""This module draws the log of a run as stretches of time: the activity of each warp slot, the resident blocks, the
shared memory that they have got by BAR.ALLOC, and the times of a closed path to memory.

An instruction lasts from its issue until its warp may go on: for its stall count, or the latency of a control
instruction. Several instructions of one cycle divide the cycle among them. A gap between two instructions is a wait;
the log has its end. The time from when a warp may issue until it does is called `ready`: its scheduler chose others, or
all ports were taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.issue_log import Batch
from binalloc.emulator.state.layout import SCOREBOARDS
from binalloc.emulator.state.parts.log import LogColumn, LogKind
from binalloc.emulator.traces.code_words import CodeWords
from binalloc.emulator.traces.event_file import CYCLE, EventFile, Fragment, fragment, with_arguments
from binalloc.emulator.traces.windows import Windows

FIRST_WARP, FIRST_BLOCK, PATH, FIRST_SHARED = 1, 1001, 2001, 3001
"""First thread numbers in an SM's process of warp slots, block slots, the path to memory and the shared memory of block
slots. The numbers are far enough apart for all slots of an SM."""
_READY = fragment("ready", "wait", {})
_ENDED = fragment("ended", "wait", {})
_CLOSED = fragment("path to memory closed", "memory", {})
UNKNOWN = -1  # in the place of a cycle or of a window


@dataclass(slots=True)
class _Warp:
    """The track of a warp slot is drawn from this state."""

    block: int = 0
    in_block: int = 0
    #: words and lanes of the instructions issued in cycle `at`, which are not drawn yet
    group: list[tuple[int, int]] = field(default_factory=list)
    at: int = 0
    brief: bool = False  #: whether the last of them ends with that cycle
    drawn: int = UNKNOWN  #: the cycle up to which the track is drawn
    wait: Fragment | None = None  #: what the warp has waited for
    since: int = 0  #: the cycle since which it waits
    #: for each scoreboard the word that set it last; the latest entry is the last one
    setters: dict[int, int] = field(default_factory=dict)


class Timeline:
    """A timeline draws the batches of a log.

    issued, drawn: instructions seen, and drawn. cut: the cycle in which the file was full, None if it never was.
    """

    def __init__(self, device: LaunchedDevice, out: EventFile, windows: Windows) -> None:
        self._out, self._windows = out, windows
        self._words = CodeWords(device)
        self._warps_per_block = device.get("warps_per_block")
        self._warps: dict[tuple[int, int], _Warp] = {}
        self._blocks: dict[tuple[int, int], tuple[int, int]] = {}
        self._closed: dict[int, int] = {}
        self._device = device
        #: by SM and block slot: the cycle since which a block holds shared memory or waits for it, and what to draw
        self._shared: dict[tuple[int, int], tuple[int, Fragment]] = {}
        self._named: set[tuple[int, int]] = set()
        self._window = UNKNOWN
        self.issued = self.drawn = 0
        self.cut: int | None = None

    def receive(self, batch: Batch) -> None:
        """Draw what is in the windows, as far as there is room."""
        issues = batch.column(LogColumn.KIND) == LogKind.ISSUE
        self.issued += int(issues.sum())
        if self.cut is not None:
            return
        windows = self._windows.numbers(batch.column(LogColumn.CYCLE))
        wanted = ~issues | (windows >= 0)
        for row, window in zip(batch.rows[wanted].tolist(), windows[wanted].tolist(), strict=True):
            if self._out.full:
                self.cut = row[LogColumn.CYCLE]
                self.end(self.cut)
                return
            if window != self._window:
                self._enter(window)
            self._row(row)

    def end(self, cycle: int) -> None:
        """Draw what is under way, as the run or the trace ends."""
        for key, warp in self._warps.items():
            self._draw_group(key, warp)
            self._draw_wait(key, warp, cycle)
        for (sm, slot), (block, start) in self._blocks.items():
            self._draw_block(sm, slot, block, start, cycle)
        for sm, start in self._closed.items():
            self._draw(sm, PATH, "path to memory", start, cycle, _CLOSED)
        for sm, slot in list(self._shared):
            self._end_shared(sm, slot, cycle)
        self._warps, self._blocks, self._closed = {}, {}, {}

    def _enter(self, window: int) -> None:
        """Begin another window, or a gap: the instructions that warps have issued since the last window are unknown."""
        self._window = window
        for key, warp in self._warps.items():
            self._draw_group(key, warp)
            warp.setters.clear()
            warp.drawn = UNKNOWN

    def _row(self, row: list[int]) -> None:
        kind, cycle, sm, w, block, in_block, pc, mask, detail, _ = row
        key = sm, w
        if kind == LogKind.BLOCK:
            self._begin_block(row)
            return
        if kind in (LogKind.HOLD, LogKind.GO_ON):
            self._path(kind, cycle, sm)
            return
        if kind == LogKind.BLOCK_END:
            self._end_block(sm, detail, cycle)
            return
        if kind in (LogKind.FULL, LogKind.TAKE, LogKind.GIVE):
            self._share(row)
            return
        warp = self._warps.setdefault(key, _Warp(block, in_block))
        if kind == LogKind.ISSUE:
            self._issue(key, warp, cycle, pc, mask)
        elif kind == LogKind.SCOREBOARD:
            self._draw_group(key, warp)
            self._draw_ready(key, warp, cycle)
            warp.wait, warp.since = self._scoreboards(warp, pc, detail), cycle
        elif kind == LogKind.RESUME:
            self._draw_wait(key, warp, cycle)
        elif kind == LogKind.BARRIER:
            warp.brief = True
            waits = {"barrier": detail, "in": self._words[pc].place}
            warp.wait, warp.since = fragment("wait: barrier", "wait", waits), cycle + 1
        elif kind == LogKind.OPEN:
            self._draw_group(key, warp)
            self._draw_wait(key, warp, detail)
        elif kind == LogKind.WARP_END:
            warp.brief, warp.wait, warp.since = True, _ENDED, cycle + 1

    def _issue(self, key: tuple[int, int], warp: _Warp, cycle: int, pc: int, mask: int) -> None:
        if not warp.group or warp.at != cycle:
            self._draw_group(key, warp)
            self._draw_ready(key, warp, cycle)
        warp.group.append((pc, mask))
        warp.at = cycle
        for board in self._words[pc].sets:
            warp.setters.pop(board, None)
            warp.setters[board] = pc

    def _scoreboards(self, warp: _Warp, pc: int, boards: int) -> Fragment:
        """Return the wait for scoreboards, named after the latest instruction that set one of them."""
        numbers = [b for b in range(SCOREBOARDS) if boards >> b & 1]
        setters = [self._words[setter] for b, setter in warp.setters.items() if b in numbers]
        what = setters[-1].mnemonic if setters else "scoreboard"
        arguments = {
            "scoreboards": ", ".join(map(str, numbers)),
            "last set by": ", ".join(f"{setter.place} {setter.text}" for setter in setters),
            "in front of": self._words[pc].place,
        }
        return fragment(f"wait: {what}", "wait", arguments)

    def _begin_block(self, row: list[int]) -> None:
        """Begin a block, whose warps are ready."""
        _, cycle, sm, first, block, _, _, warps, slot, _ = row
        self._blocks[sm, slot] = block, cycle
        for i in range(warps):
            self._warps[sm, first + i] = _Warp(block, i, drawn=cycle)

    def _end_block(self, sm: int, slot: int, cycle: int) -> None:
        """End a block. Its last EXIT may have taken this very cycle."""
        end = cycle
        for w in range(slot * self._warps_per_block, (slot + 1) * self._warps_per_block):
            warp = self._warps.pop((sm, w), None)
            if warp is not None:
                end = max(end, warp.at + 1 if warp.group else cycle)
                self._draw_group((sm, w), warp)
                self._draw_wait((sm, w), warp, cycle)
        block, start = self._blocks.pop((sm, slot))
        self._draw_block(sm, slot, block, start, end)
        self._end_shared(sm, slot, end)

    def _share(self, row: list[int]) -> None:
        """Enter that a block waits for shared memory, has got some, or has given it back."""
        kind, cycle, sm, _, block, _, pc, base, slot, _ = row
        self._end_shared(sm, slot, cycle)
        shown: dict[str, object] = {"block": block, "in": self._words[pc].place}
        if kind == LogKind.TAKE:
            shown |= {"address": f"{base:#x}", "bytes": self._device.get("public_bytes")}
            self._shared[sm, slot] = cycle, fragment(f"block {block} holds {base:#x}", "memory", shown)
        elif kind == LogKind.FULL:
            self._shared[sm, slot] = cycle, fragment(f"block {block} waits", "memory", shown)
            for w in range(slot * self._warps_per_block, (slot + 1) * self._warps_per_block):
                warp = self._warps.get((sm, w))
                if warp is not None and warp.wait not in (None, _ENDED):
                    self._draw_group((sm, w), warp)
                    self._draw_wait((sm, w), warp, cycle + 1)
                    warp.wait, warp.since = fragment("wait: shared memory", "wait", shown), cycle + 1

    def _end_shared(self, sm: int, slot: int, cycle: int) -> None:
        """Draw what the block slot has held or waited for up to `cycle`, if there is anything."""
        if (sm, slot) in self._shared:
            since, what = self._shared.pop((sm, slot))
            self._draw(sm, FIRST_SHARED + slot, f"shared memory of block slot {slot}", since, cycle, what)

    def _path(self, kind: int, cycle: int, sm: int) -> None:
        """Enter that the SM's path to memory is closed, or open again."""
        if kind == LogKind.HOLD:
            self._closed[sm] = cycle
        elif sm in self._closed:
            self._draw(sm, PATH, "path to memory", self._closed.pop(sm), cycle, _CLOSED)

    def _draw_group(self, key: tuple[int, int], warp: _Warp) -> None:
        """Draw the instructions issued in one cycle. The last one lasts until its warp may go on."""
        n = len(warp.group)
        for i, (pc, mask) in enumerate(warp.group):
            word = self._words[pc]
            start = warp.at * CYCLE + CYCLE * i // n
            end = warp.at * CYCLE + CYCLE * (i + 1) // n
            warp.drawn = warp.at + 1
            if i == n - 1 and not warp.brief:
                warp.drawn = warp.at + word.sleeps
                end = warp.drawn * CYCLE
            more = f'"mask":"{mask:08x}","block":{warp.block},"warp":{warp.in_block}'
            if self._on_warp(key, start, end, with_arguments(word.fields, more)):
                self.drawn += 1
        warp.group.clear()
        warp.brief = False

    def _draw_ready(self, key: tuple[int, int], warp: _Warp, cycle: int) -> None:
        """Draw that the warp might have issued since its last stretch, but has not up to `cycle`."""
        if 0 <= warp.drawn < cycle:
            self._on_warp(key, warp.drawn * CYCLE, cycle * CYCLE, _READY)
            warp.drawn = cycle

    def _draw_wait(self, key: tuple[int, int], warp: _Warp, cycle: int) -> None:
        """End the wait, if there is one, and draw it."""
        if warp.wait is not None:
            if warp.since < cycle:
                self._on_warp(key, warp.since * CYCLE, cycle * CYCLE, warp.wait)
            warp.drawn = cycle
        warp.wait = None

    def _draw_block(self, sm: int, slot: int, block: int, start: int, end: int) -> None:
        fields = fragment(f"block {block}", "block", {"block": block, "warps": self._warps_per_block})
        self._draw(sm, FIRST_BLOCK + slot, f"block slot {slot}", start, end, fields)

    def _on_warp(self, key: tuple[int, int], start: int, end: int, fields: Fragment) -> bool:
        """Draw a stretch of a warp slot's track, in thousandths, if a window shows some of it. Return whether it is
        drawn."""
        if not self._windows.touch(start // CYCLE, -(-end // CYCLE)):
            return False
        self._track(key[0], FIRST_WARP + key[1], f"warp slot {key[1]}")
        self._out.slice(key[0] + 1, FIRST_WARP + key[1], start, end, fields)
        return True

    def _draw(self, sm: int, thread: int, name: str, start: int, end: int, fields: Fragment) -> None:
        """Draw a stretch of cycles on another track, whatever the windows are."""
        if start < end:
            self._track(sm, thread, name)
            self._out.slice(sm + 1, thread, start * CYCLE, end * CYCLE, fields)

    def _track(self, sm: int, thread: int, name: str) -> None:
        """Name the track, if it has no name. Blocks and the path are above the warps."""
        if (sm, thread) not in self._named:
            self._named.add((sm, thread))
            self._out.name(sm + 1, thread, name, thread if thread < FIRST_BLOCK else thread - 2 * PATH)
