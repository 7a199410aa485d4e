"""This module describes a deadlock: the places and waits of the warps, block by block, and the most likely cause.

Needs a device that can never go on: nothing will happen in it any more, or its warps go round in loops without effect
(`spin`). Warps of a block in the same situation are described together, and so are such blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from binalloc.emulator.policies.dispatchers.serial import SERIAL
from binalloc.emulator.policies.dispatchers.table import DISPATCHERS
from binalloc.emulator.policies.gates.table import GATES
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.memories import Array
from binalloc.emulator.stops.context import StoppedContext
from binalloc.emulator.stops.pairs import kept_out
from binalloc.emulator.stops.shared import holders, waits_for_shared
from binalloc.errors import Hint, KernelFault
from binalloc.printable import count

MOST_LINES = 8
"""Groups of warps that a message describes. More would hide the cause; chosen by hand."""
REMEDY = "Every warp that a barrier expects must reach it; no lane may wait for another of its warp."
_FIELDS = (
    "state", "sp", "stack", "at", "in_block", "live", "bar_id", "bar_pc", "busy", "board_open", "block_id",
    "block_active", "bar_arrived", "bar_expected",
)  # fmt: skip
Fields = dict[str, Array]
"""Copies of fields of an SM's record, by name."""
_SPINNING = (L.Warp.READY, L.Warp.STALL, L.Warp.BRANCH)


@dataclass(frozen=True)
class WaitingWarp:
    """A waiting warp is a warp of a block that does not go on."""

    warp: int  #: number of the warp in its block
    state: int  #: a `Warp` state
    barrier: int  #: barrier at which the warp waits, -1 for none
    word: int  #: code word at which it waits, that it is about to issue, or that it issued last before it ended
    behind: int  #: lanes that wait until the lanes that spin are done
    boards: tuple[int, ...]  #: scoreboards that it waits for
    unanswered: bool  #: whether memory has yet to answer for one of these


@dataclass(frozen=True)
class Barrier:
    """A closed barrier waits for more warps than have come."""

    number: int  #: number of the barrier in its block
    arrived: int  #: warps that have come
    expected: int  #: warps that it takes to open


@dataclass(frozen=True)
class StuckBlock:
    """A resident block is described by its waiting warps and its closed barriers."""

    number: int
    sm: int
    warps: tuple[WaitingWarp, ...]
    barriers: dict[int, Barrier]  #: the barriers that have not opened, by number


def explain(c: StoppedContext) -> KernelFault:
    """Return the fault of a device that cannot go on: the likely cause, then the waits of its warps."""
    blocks = _blocks(c)
    cause = _cause(c, blocks)
    remedy: str | Hint = REMEDY
    if cause == kept_out(c):
        remedy = Hint("Blocks that wait for one another cannot share memory: run it without {sharing}.")
    return KernelFault(f"deadlock: {cause}", found=standing(c, blocks), remedy=remedy)


def standing(c: StoppedContext, blocks: list[StuckBlock] | None = None) -> str:
    """Describe where the warps of the resident blocks are, in at most `MOST_LINES` groups."""
    lines: dict[tuple[str, ...], list[StuckBlock]] = {}
    found = _blocks(c) if blocks is None else blocks
    for block in found:
        lines.setdefault(tuple(_groups(c, block)), []).append(block)
    lines_taken, left, out = 0, 0, []
    for groups, alike in lines.items():
        shown = groups[: max(0, MOST_LINES - lines_taken)]
        lines_taken += len(shown)
        left += (len(groups) - len(shown)) * len(alike)
        if shown:
            where = f" (SM {alike[0].sm})" if len(alike) == 1 else ""
            out.append(f"{_numbers('block', [b.number for b in alike])}{where}: " + "; ".join(shown))
    if left:
        out.append(f"and {left} more groups of warps")
    if any(w.state == L.Warp.SHARED for block in found for w in block.warps):
        out += [text for sm in sorted({block.sm for block in found}) for text in holders(c, sm)]
    waiting = c.of("blocks") - c.of("dispatched")
    if waiting:
        out.append(f"{waiting} blocks have not started" + _queued(c))
    return "; ".join(out)


def _queued(c: StoppedContext) -> str:
    """Describe the queues of SMs in which blocks wait, "" where SMs have none."""
    if list(DISPATCHERS)[c.of("dispatcher")] != SERIAL.name:
        return ""
    heads, tails = (c.engine.view(c.g, 0, f"queue_{end}") for end in ("head", "tail"))
    waits = [f"{tails[i] - heads[i]} in the queue of SM {i}" for i in range(c.of("sms")) if heads[i] < tails[i]]
    more = [f"and {len(waits) - MOST_LINES} more queues"] if len(waits) > MOST_LINES else []
    return f": {', '.join(waits[:MOST_LINES] + more)}"


def _blocks(c: StoppedContext) -> list[StuckBlock]:
    """Return the resident blocks in the order of their numbers."""
    found = []
    for sm in range(c.of("sms")):
        f = {name: c.at(sm, name) for name in _FIELDS}
        found += [_block(c, sm, f, slot) for slot in range(c.of("resident_limit")) if f["block_active"][slot]]
    return sorted(found, key=lambda block: block.number)


def _block(c: StoppedContext, sm: int, f: Fields, slot: int) -> StuckBlock:
    """Return the block in a slot of an SM."""
    each = c.of("warps_per_block")
    slots = range(slot * each, (slot + 1) * each)
    alive = sum(1 for w in slots if f["live"][w])
    barriers = {}
    for b in range(L.BARRIERS):
        arrived = int(f["bar_arrived"][slot, b])
        if arrived:
            barriers[b] = Barrier(b, arrived, int(f["bar_expected"][slot, b]) or alive)
    return StuckBlock(int(f["block_id"][slot]), sm, tuple(_warp(c, f, w) for w in slots), barriers)


def _warp(c: StoppedContext, f: Fields, w: int) -> WaitingWarp:
    """Return the warp in a slot."""
    state, sp = int(f["state"][w]), int(f["sp"][w])
    barrier, word, behind, wanted = -1, int(f["at"][w]), 0, 0
    if state == L.Warp.SHARED:
        word = int(f["bar_pc"][w])
    elif state == L.Warp.BARRIER and f["bar_id"][w] >= 0:
        barrier, word = int(f["bar_id"][w]), int(f["bar_pc"][w])
    elif sp >= 0:
        word, top = int(f["stack"][w, sp, L.StackColumn.PC]), int(f["stack"][w, sp, L.StackColumn.MASK])
        behind = int(f["live"][w]) & ~top
    if state == L.Warp.SCOREBOARD:
        wanted = int(f["busy"][w]) & int(c.program.table[word, L.Column.WAIT])
    boards = tuple(b for b in range(L.SCOREBOARDS) if wanted >> b & 1)
    unanswered = any(f["board_open"][w, b] for b in boards)
    return WaitingWarp(int(f["in_block"][w]), state, barrier, word, behind, boards, unanswered)


def _groups(c: StoppedContext, block: StuckBlock) -> list[str]:
    """Describe the warps of a block, with warps in the same situation together."""
    groups: dict[str, list[int]] = {}
    for waiting in block.warps:
        groups.setdefault(_doing(c, block, waiting), []).append(waiting.warp)
    return [f"{_numbers('warp', warps)} {doing}" for doing, warps in groups.items()]


def _doing(c: StoppedContext, block: StuckBlock, waiting: WaitingWarp) -> str:
    """Describe what a warp does or waits for, and where."""
    where = c.where(waiting.word)
    if waiting.barrier >= 0:
        barrier = block.barriers[waiting.barrier]
        return f"at barrier {waiting.barrier} ({barrier.arrived} of {barrier.expected} warps came) in {where}"
    if waiting.state == L.Warp.DONE:
        return f"ended in {where}"
    if waiting.state == L.Warp.SHARED:
        return f"waiting for {count(c.of('public_bytes'), 'byte')} of shared memory in {where}"
    if waiting.state == L.Warp.SCOREBOARD:
        what = "an answer from memory" if waiting.unanswered else "a result"
        return f"waiting for {what}, {_numbers('scoreboard', waiting.boards)}, at {where}"
    if waiting.state >= L.Warp.GATE:
        gate = list(GATES.values())[waiting.state - L.Warp.GATE]
        return f"waiting for {gate.awaited} at {where}"
    if waiting.state in _SPINNING:
        held = f", while lanes {waiting.behind:#x} wait until these are done" if waiting.behind else ""
        return f"spinning at {where}{held}"
    return f"behind a barrier at {where}"


def _cause(c: StoppedContext, blocks: list[StuckBlock]) -> str:
    """Describe the most likely cause, from the first block that shows one."""
    for found in (_lanes, _at_barriers):
        for block in blocks:
            if cause := found(block):
                return cause
    for block in blocks:
        if any(w.state == L.Warp.SHARED for w in block.warps):
            return waits_for_shared(c, block.number, block.sm)
    if cause := kept_out(c):
        return cause
    waiting = c.of("blocks") - c.of("dispatched")
    spinning = any(w.state in _SPINNING for block in blocks for w in block.warps)
    if spinning and waiting:
        return f"the warps spin for ever, and {waiting} blocks cannot start before one of these has ended"
    if spinning:
        return "the warps spin in loops that nothing changes any more"
    return "results that warps wait for never come"


def _lanes(block: StuckBlock) -> str:
    """Describe the lanes that spin while other lanes of their warp wait behind them, "" for none."""
    for w in block.warps:
        if w.state in _SPINNING and w.behind:
            of = f"lanes of warp {w.warp} of block {block.number}"
            return f"{of} spin for what others of the same warp have yet to do"
    return ""


def _at_barriers(block: StuckBlock) -> str:
    """Describe why a barrier of the block stays closed, "" if none does."""
    for b in sorted(block.barriers):
        barrier = block.barriers[b]
        come = [w for w in block.warps if w.barrier == b]
        others = [w for w in block.warps if w.barrier >= 0 and w.barrier != b]
        spinning = [w.warp for w in block.warps if w.state in _SPINNING]
        ended = [w.warp for w in block.warps if w.state == L.Warp.DONE]
        at = f"barrier {b}, which takes {barrier.expected} warps"
        if spinning:
            comes = "spins and never comes" if len(spinning) == 1 else "spin and never come"
            return f"{_numbers('warp', spinning)} of block {block.number} {comes} to {at}"
        if come and others:
            places = [f"{_numbers('warp', [w.warp for w in come])} at barrier {b}"]
            for other in sorted({w.barrier for w in others}):
                warps = [w.warp for w in others if w.barrier == other]
                places.append(f"{_numbers('warp', warps)} at barrier {other}")
            return f"warps of block {block.number} wait at different barriers, {' and '.join(places)}"
        if ended and barrier.arrived > len(come):  # some came without waiting, and which ones is unknown
            came = f"{barrier.arrived} came ({barrier.arrived - len(come)} without waiting)"
            return f"{at} of block {block.number}, {came}, and {_numbers('warp', ended)} ended"
        if ended:
            return f"{_numbers('warp', ended)} of block {block.number} ended without coming to {at}"
    return ""


def _numbers(what: str, numbers: Sequence[int]) -> str:
    """Return "warp 3" or "warps 0 to 3 and 5": the numbers in ascending order, with runs of them together."""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    shown = [str(a) if a == b else f"{a} to {b}" if b > a + 1 else f"{a}, {b}" for a, b in runs[:MOST_LINES]]
    if len(runs) > MOST_LINES:
        shown.append(f"{sum(b - a + 1 for a, b in runs[MOST_LINES:])} more")
    return f"{what}{'s' if len(numbers) > 1 else ''} {', '.join(shown)}"
