"""A warp that has stopped in front of an instruction is described here. The description has its registers, predicates
and stack, the words of memory that the instruction is about to access, and the state of the other warps of its
block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.policies.waits import SAYS
from binalloc.emulator.state import layout as L
from binalloc.emulator.stops.context import StoppedContext
from binalloc.emulator.stops.places import word_at


@dataclass(frozen=True)
class ReconvergenceEntry:
    """A reconvergence entry says which lanes of the warp go on together, where, and up to which word."""

    kind: str  #: a name of `EntryKind` in small letters
    pc: int  #: code word at which it goes on
    reconverges: int | None  #: code word at which it ends; None: none
    mask: int  #: its lanes


@dataclass(frozen=True)
class Standing:
    """A standing says what another warp of the stopped warp's block does, and where."""

    warp: int  #: number in the block
    doing: str  #: what it does, in words
    pc: int  #: code word that it issues next, or issued last if it has ended


@dataclass(frozen=True)
class WarpState:
    """A warp state describes a warp that has stopped in front of an instruction."""

    cycle: int  #: cycle in which it stopped
    sm: int  #: number of its SM
    slot: int  #: its warp slot there
    block: int  #: number of its block in the grid
    warp: int  #: its number in the block
    pc: int  #: code word of the instruction
    active: int  #: lanes in front of the instruction's guard
    mask: int  #: lanes that execute it, by its guard
    touched: int  #: lanes that access watched bytes
    registers: NDArray[np.uint32]  #: u32 [register, lane], as many as the kernel has
    predicates: list[int]  #: lanes in which each of P0 to P6 is true
    busy: list[int]  #: numbers of the scoreboards that are armed
    stack: list[ReconvergenceEntry]  #: the reconvergence stack, the running entry first
    space: str | None  #: space of the memory instruction; None if it is none
    addresses: dict[int, int]  #: by lane, the address that it accesses
    words: dict[int, list[int]]  #: by lane, the words at that address
    others: list[Standing]  #: the other warps of the block


def stopped_warp(device: LaunchedDevice) -> WarpState:
    """Return the state of the warp that a `Stopped` run is about."""
    c = StoppedContext(device)
    sm, w, pc = c.of("fault_sm"), c.of("fault_warp"), c.of("fault_pc")
    block_slot = int(c.at(sm, "block_of")[w])
    row = int(c.at(sm, "warp_base")) + w
    stack, sp = c.at(sm, "stack")[w], int(c.at(sm, "sp")[w])
    busy, mask = int(c.at(sm, "busy")[w]), c.of("fault_a")
    space, addresses, words = _memory(c, sm, w, pc, mask)
    return WarpState(
        c.of("cycle"), sm, w, int(c.at(sm, "block_id")[block_slot]), int(c.at(sm, "in_block")[w]), pc,
        int(stack[sp, L.StackColumn.MASK]), mask, c.of("fault_b"),
        device.memories.regs[row, : c.of("registers")].copy(),
        [int(lanes) for lanes in c.at(sm, "pred")[w][: L.PT]],
        [b for b in range(L.SCOREBOARDS) if busy >> b & 1],
        [_entry(stack[i]) for i in range(sp, -1, -1)],
        space, addresses, words, _others(c, sm, block_slot, w),
    )  # fmt: skip


def _entry(row: NDArray[np.int64]) -> ReconvergenceEntry:
    rpc = int(row[L.StackColumn.RPC])
    kind = L.EntryKind.names[row[L.StackColumn.KIND]]
    return ReconvergenceEntry(kind, int(row[L.StackColumn.PC]), None if rpc < 0 else rpc, int(row[L.StackColumn.MASK]))


def _memory(
    c: StoppedContext, sm: int, w: int, pc: int, mask: int
) -> tuple[str | None, dict[int, int], dict[int, list[int]]]:
    """Return (space, addresses by lane, words at them by lane). A lane has no words where its address is outside of
    memory."""
    instruction = c.program.table[pc]
    if instruction[L.Column.GROUP] != L.ExecGroup.MEM:
        return None, {}, {}
    space = L.SpaceCode.names[instruction[L.Column.SPACE]]
    at = c.at(sm, "addr")
    addresses = {t: int(at[t]) for t in range(L.LANES) if mask >> t & 1}
    size, spill = int(instruction[L.Column.SIZE]), bool(instruction[L.Column.SPILL])
    bank = int(instruction[L.Column.CBANK]) if space == "const" else 0
    words = {t: _words(c, sm, w, t, space, bank, address, size, spill) for t, address in addresses.items()}
    return space, addresses, words


def _words(
    c: StoppedContext, sm: int, w: int, lane: int, space: str, bank: int, address: int, size: int, spill: bool
) -> list[int]:
    """Return the words that hold `size` bytes from `address` on."""
    mem = c.device.memories
    if space == "generic":
        if L.SHARED_WINDOW <= address < L.SHARED_WINDOW + L.WINDOW_SIZE:
            space, address = "shared", address - L.SHARED_WINDOW
        elif L.LOCAL_WINDOW <= address < L.LOCAL_WINDOW + L.WINDOW_SIZE:
            space, address = "local", address - L.LOCAL_WINDOW
        else:
            space = "global"
    if space == "shared":
        limit = c.of("shared_total")
        if address < 0 or address + size > limit:
            return []
        first = word_at(c, sm, w, address, spill)
        return [int(word) for word in mem.shared[sm, first : first + (address % L.WORD + size + 3) // L.WORD]]
    elif space == "local":
        array, limit = mem.local[int(c.at(sm, "warp_base")) + w, :, lane], c.of("local_total")
    elif space == "const":
        first = int(c.engine.get(c.g, 0, "const_start")[bank])
        limit = int(c.engine.get(c.g, 0, "const_size")[bank])
        array = mem.const[first // L.WORD :]
    else:
        array, limit, address = mem.global_, mem.global_.nbytes, address - c.device.base
    if address < 0 or address + size > limit:
        return []
    return [int(array[i]) for i in range(address // L.WORD, (address + size - 1) // L.WORD + 1)]


def _others(c: StoppedContext, sm: int, block_slot: int, stopped: int) -> list[Standing]:
    """Return the other warps of the block."""
    each = c.of("warps_per_block")
    state, sp, stack, at = (c.at(sm, name) for name in ("state", "sp", "stack", "at"))
    bar_id, bar_pc = c.at(sm, "bar_id"), c.at(sm, "bar_pc")
    found = []
    for w in range(block_slot * each, (block_slot + 1) * each):
        if w == stopped:
            continue
        doing, pc = SAYS[int(state[w])], int(at[w]) if sp[w] < 0 else int(stack[w, sp[w], L.StackColumn.PC])
        if state[w] == L.Warp.BARRIER:
            closed = bar_id[w] >= 0
            doing = f"waits at barrier {bar_id[w]}" if closed else "goes on behind a barrier"
            pc = int(bar_pc[w]) if closed else pc
        found.append(Standing(w - block_slot * each, doing, pc))
    return found
