"""This module turns a fault code of the state into a KernelFault that a user can act on."""

from __future__ import annotations

from binalloc.emulator.arithmetic.atomic import atomic_legal
from binalloc.emulator.checks.history import Before
from binalloc.emulator.checks.poison import Sink
from binalloc.emulator.execute.surface import Amiss
from binalloc.emulator.sm.barriers import MODES
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.texture_layout import TextureColumn
from binalloc.emulator.stops.context import StoppedContext
from binalloc.emulator.stops.deadlock import explain
from binalloc.emulator.stops.pairs import release_remedy
from binalloc.emulator.stops.places import address_at
from binalloc.emulator.stops.runtime import heap_access, in_printf, is_trap, null_of_malloc, stop_fault
from binalloc.emulator.stops.shared import access_details, allocation_details, variable_details
from binalloc.errors import Hint, KernelFault
from binalloc.isa.runtime import STACK_TRAP
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import ATOMIC_OPS, ATOMIC_TYPES, BAR_MODES
from binalloc.launch.sampling import TextureLayers
from binalloc.printable import count

_NAMES = {
    L.Fault.GLOBAL: "global memory access out of bounds",
    L.Fault.SHARED: "shared memory access out of bounds",
    L.Fault.LOCAL: "local memory access out of bounds",
    L.Fault.LOCAL_ATOMIC: "atomic operation on local memory",
    L.Fault.ATOMIC: "no such atomic operation on that type",
    L.Fault.CONST: "constant access out of bounds",
    L.Fault.MISALIGNED: "misaligned access",
    L.Fault.SPILL: "spill access outside the thread's own slots",
    L.Fault.STACK: "reconvergence stack overflow",
    L.Fault.NO_RECONV: "divergent branch without a reconvergence point",
    L.Fault.RETURN: "RET outside of a call",
    L.Fault.PC: "execution left the code",
    L.Fault.TEXTURE: "no such texture",
    L.Fault.SURFACE: "surface access out of bounds",
    L.Fault.DEADLOCK: "deadlock",
    L.Fault.RAW: "hazard: read before the result is there",
    L.Fault.WAW: "hazard: overwritten before the earlier result is there",
    L.Fault.WAR: "hazard: overwritten before its earlier reader has read it",
    L.Fault.BAR_DIVERGED: "barrier in divergent code",
    L.Fault.BAR_COUNT: "wrong thread count at a barrier",
    L.Fault.BAR_MODE: "barrier modes that do not go together",
    L.Fault.WARPSYNC: "a named lane is not converged",
    L.Fault.MATRIX: "a lane that takes part in a load of matrices is not converged",
    L.Fault.POISON: "uninitialised value used",
    L.Fault.RACE: "shared-memory race",
    L.Fault.CALL_TARGET: "call of no function",
    L.Fault.HEAP: "access to heap memory that is not allocated",
    L.Fault.ALLOC_SIZE: "wrong size of an allocation of shared memory",
    L.Fault.ALLOC_NESTED: "shared memory is allocated by a block that holds some",
    L.Fault.ALLOC_ROOM: "more shared memory is allocated than the SM has",
    L.Fault.FREE_BASE: "shared memory is freed that the block does not hold",
    L.Fault.VARIABLE: "access outside of the variable that its address comes from",
    L.Fault.RELEASED: "access to shared memory that the thread has released",
}
_SINKS = {
    Sink.GUARD: "its guard",
    Sink.ADDRESS: "its address",
    Sink.DATA: "the data it stores to global memory",
    Sink.TARGET: "its operand",
}
_ALLOCATIONS = (L.Fault.ALLOC_SIZE, L.Fault.ALLOC_NESTED, L.Fault.ALLOC_ROOM, L.Fault.FREE_BASE)
_U64 = (1 << 64) - 1  # mask of 64 bits: addresses are signed in the state


def _texture(code: int) -> str:
    """Describe a geometry as the fault of TEX has it: dimensions, plus 4 times the code of the layers, plus 16 where
    texels are gathered."""
    dimensions, layers = code % 4, list(TextureLayers)[code // 4 % 4]
    text = f"of {dimensions} dimensions"
    if layers != TextureLayers.NONE:
        text += f', the last one its layers (layers = "{layers}")'
    return text + (" to gather from, two of them without layers" if code >= 16 else "")


def row_name(row: int) -> str:
    """Return the register or predicate of a row of the hazard table."""
    return f"P{row - L.PRED_ROW}" if row >= L.PRED_ROW else f"R{row}"


def kernel_fault(c: StoppedContext) -> KernelFault:
    """Return the KernelFault for the fault in the state."""
    code, sm, w, pc, lane = (c.of(n) for n in ("fault", "fault_sm", "fault_warp", "fault_pc", "fault_lane"))
    a, b, d = c.of("fault_a"), c.of("fault_b"), c.of("fault_c")
    if code == L.Fault.DEADLOCK:
        return explain(c)
    hazard_row = code in (L.Fault.RAW, L.Fault.WAW, L.Fault.WAR)
    place = f"kernel {c.device.kernel.name}, {c.where(pc)}, {c.thread(sm, w, -1 if hazard_row else lane)}"
    if code == L.Fault.GLOBAL and is_trap(c, pc):
        return stop_fault(c, place)
    if code == L.Fault.GLOBAL and is_overflow(c, pc):
        return overflow_fault(c, place)
    found, expected, remedy = detail(c, code, lane, a, b, d)
    if in_printf(c, pc):
        remedy = "Do the arguments fit the format of printf?"
    elif code == L.Fault.GLOBAL and remedy is None:
        remedy = null_of_malloc(c, a & _U64)
    return KernelFault(_NAMES[code], place=place, found=found, expected=expected, remedy=remedy)


def detail(
    c: StoppedContext, code: int, lane: int, a: int, b: int, d: int
) -> tuple[str | None, str | None, str | None]:
    """Return (found, expected, remedy) of a fault, from its three detail words. Addresses are shown unsigned."""
    if code in (L.Fault.RAW, L.Fault.WAW, L.Fault.WAR):
        return hazard(c, code, lane, a, b, d)
    if code == L.Fault.GLOBAL:
        found = f"address {a & _U64:#x}, {b} bytes{c.nearest(a & _U64, b)}"
        return found, "an address inside one buffer or variable", None
    if code == L.Fault.SHARED:
        return access_details(c, a & _U64, b, d)
    if code == L.Fault.RELEASED and b == 0:
        return f"slot {a}, behind RELSSP", f"one of the thread's {count(d, 'private slot')}", release_remedy(c)
    if code == L.Fault.RELEASED:
        found = f"address {a:#x}, {count(b, 'byte')}, behind RELSSP"
        return found, inside(0, d, "the block's private part"), release_remedy(c)
    if code == L.Fault.VARIABLE:
        return variable_details(c, lane, a, b, d)
    if code in _ALLOCATIONS:
        return allocation_details(c, code, a, b, d)
    if code == L.Fault.LOCAL:
        return f"address {a:#x}", inside(b, d, "the thread's local frames"), None
    if code == L.Fault.LOCAL_ATOMIC:
        return f"offset {a:#x} of the local window", "a generic address of shared or global memory", None
    if code == L.Fault.CONST:
        held = int(c.engine.get(c.g, 0, "const_size")[d])
        return f"offset {a:#x} of bank {d}, {b} bytes", inside(0, held, "what the bank holds"), None
    if code == L.Fault.MISALIGNED:
        return f"address {a & _U64:#x}", f"a multiple of {b}", None
    if code == L.Fault.SPILL:
        return f"address {a:#x}", inside(b, d, "of which the thread's own 4-byte words"), None
    if code == L.Fault.STACK:
        return too_many_entries(c, a)
    if code == L.Fault.NO_RECONV:
        return f"lanes {a:#x} of {b:#x} jump", "all lanes or none", "Name a reconvergence point: `BRA target, reconv`."
    if code == L.Fault.BAR_DIVERGED:
        return f"lanes {a:#x} arrive", f"all live lanes {b:#x}", None
    if code == L.Fault.BAR_COUNT:
        return barrier_count(lane, a, b, d)
    if code == L.Fault.BAR_MODE:
        return barrier_mode(a, b, d)
    if code == L.Fault.WARPSYNC:
        if d:
            found = f"lanes {a:#x} named, lanes {b:#x} among them name others"
            return found, "the same lanes named by all of them", None
        return f"lanes {a:#x} named, {b:#x} execute it", "every named live lane", None
    if code == L.Fault.MATRIX:
        return f"lanes {a:#x} execute it", f"lanes {b:#x}: all live ones, and those that give addresses", None
    if code == L.Fault.CALL_TARGET:
        return called(c, a), "the first word of a function", "Kernels are launched, not called."
    if code == L.Fault.PC:
        return f"code word {a}, which holds no instruction, as the next one", "an EXIT, RET or BRA at the end", None
    if code == L.Fault.TEXTURE:
        if b == 0:
            return f"handle {a:#x}", "the handle of a texture that the launch names", None
        return f"texture {a} {_texture(b)}", f"one {_texture(d)}", None
    if code == L.Fault.SURFACE:
        return surface(c, a, b, d)
    if code == L.Fault.POISON:
        return f"{_SINKS[a]} depends on a value that nobody wrote (lanes {b:#x})", "an initialised value", None
    if code == L.Fault.HEAP:
        return heap_access(c, a, b), "an address inside a block that malloc gave and nobody freed", None
    if code == L.Fault.ATOMIC:
        return atomic(a, b)
    if code == L.Fault.RACE:
        return race(c, address_at(c, c.of("fault_sm"), c.of("fault_warp"), a), b, d)
    return None, None, None


def inside(low: int, end: int, what: str) -> str:
    """Describe the bytes from `low` up to but not including `end`, and what they are."""
    return f"{low:#x} to {end - 1:#x}, {what}" if low < end else "no such access, as there are no bytes for it"


def atomic(aop: int, atyp: int) -> tuple[str | None, str | None, str | None]:
    """Return (found, expected, remedy) of an atomic operation on a type that it does not have."""
    types = ["U32", *ATOMIC_TYPES[1:]]
    if aop >= len(ATOMIC_OPS) or atyp >= len(types):
        return f"operation {aop} on type {atyp}", None, None
    legal = [name for n, name in enumerate(types) if atomic_legal(aop, n)]
    return f"{ATOMIC_OPS[aop]} on {types[atyp]}", f"{ATOMIC_OPS[aop]} on {' or '.join(legal)}", None


def surface(c: StoppedContext, a: int, b: int, d: int) -> tuple[str, str, str | None]:
    """Return (found, expected, remedy) of a surface access.

    `a` has the handle and the kind of error, an `Amiss`. `b` and `d` have the coordinates and what was wanted.
    """
    amiss, handle = a >> 32, a & L.FULL
    wanted, words = d >> 32, (b & L.FULL, b >> 32 & L.FULL, d & L.FULL)
    if amiss == Amiss.HANDLE:
        return f"handle {handle:#x}", "the handle of a surface that the launch names", None
    row = [int(x) for x in c.engine.get(c.g, 0, "texture")[handle - 1]]
    column = TextureColumn
    dimensions, layers = row[column.DIMENSIONS], row[column.LAYERS]
    if amiss == Amiss.GEOMETRY:
        return f"surface {handle} {_texture(dimensions + 4 * layers)}", f"one {_texture(wanted)}", None
    numbers = [(word ^ 0x80000000) - 0x80000000 for word in words[:dimensions]]
    at = ", ".join(f"{name} {x}" for name, x in zip("xyz", numbers, strict=False))
    sides = [row[column.WIDTH] * row[column.CHANNELS] * row[column.BYTES], row[column.HEIGHT], row[column.DEPTH]]
    within = ", ".join(f"{name} below {n}" for name, n in zip("xyz", sides[:dimensions], strict=False))
    return f"{wanted} bytes at {at} of surface {handle}", f"{within}, x in bytes, all of them inside", None


_MEETING = "a barrier or a WARPSYNC (bar.warp.sync)"


def race(c: StoppedContext, address: int, word: int, before: int) -> tuple[str, str, None]:
    """Return (found, expected, remedy) of a race on `address` with an earlier access by the instruction at `word`."""
    if before == Before.LANE:
        found = f"address {address:#x} is written by another lane with another value"
        return found, "one lane that writes it, or one value", None
    other = "written" if before in (Before.WRITTEN, Before.LANE_WRITTEN) else "read"
    whose, between = ("warp", "a barrier") if before in (Before.WRITTEN, Before.READ) else ("lane", _MEETING)
    found = f"address {address:#x} was {other} in {c.where(word)} by another {whose}"
    return found, f"{between} between the two accesses", None


def called(c: StoppedContext, word: int) -> str:
    """Describe the target of a call that enters no function."""
    place = c.program.place(word)
    if place is None or place[1]:
        return f"code word {word}"
    kind = "kernel" if place[0].info.is_kernel else "rewritten function"
    return f"code word {word}, the {kind} {place[0].name}"


def barrier_count(lane: int, a: int, b: int, d: int) -> tuple[str, str, str | None]:
    """Return (found, expected, remedy) of a wrong thread count `a` at barrier `d`. lane: the lane whose count differs
    from the first lane's, -1 if all have the same."""
    if lane >= 0:
        return f"{a} threads, the first lane {b}", "one count for all lanes", None
    if a == 0:
        return f"an arrival without a count at barrier {d}", f"a multiple of 32, up to {b} threads", None
    return f"{a} threads at barrier {d}", f"a multiple of 32, {b} threads", None


def barrier_mode(a: int, b: int, barrier: int) -> tuple[str, str, str | None]:
    """Return (found, expected, remedy) of an arrival in mode `a`. b: the kind of the arrivals before, -1 where there is
    no such mode."""
    if b < 0:
        return f"mode {a}", f"0..{len(BAR_MODES) - 1}", None
    found = f"{MODES[a]} at barrier {barrier}, where a warp came with {MODES[b] if b else 'SYNC or ARV'}"
    if max(a, b) >= len(BAR_MODES):
        return found, "one instruction of these for all warps", "ALLOC and FREE are barrier 0 of the whole block."
    return found, "one mode at one opening, or SYNC and ARV", "Give the reductions barriers of their own."


def hazard(c: StoppedContext, code: int, row: int, a: int, b: int, d: int) -> tuple[str, str, str]:
    """Return (found, expected, remedy) of a hazard: the other instruction, and what is missing."""
    if code == L.Fault.WAR:
        found = f"{row_name(row)} is still to be read by {c.where(a)}"
        return found, "a wait for its read scoreboard", Hint("Run {schedule}.")
    found = f"{row_name(row)} is being written by {c.where(a)}"
    if d:
        boards = ", ".join(str(i) for i in range(L.SCOREBOARDS) if d >> i & 1)
        expected = f"a wait for scoreboard {boards}" if boards else "a write scoreboard on it, and a wait for it"
    else:
        expected = f"{b} more cycles of stall counts between them" if code == L.Fault.RAW else "a later result"
    return found, expected, Hint("Run {schedule}.")


# -- functions that have called themselves too often


def is_overflow(c: StoppedContext, word: int) -> bool:
    """Return whether the instruction at a code word is the trap of a function whose frame does not fit."""
    place = c.program.place(word)
    assert place is not None
    instr = place[0].instrs[place[1]]
    return instr.op.name == "ST" and (instr.f["ra"], instr.f["moff"]) == (RZ, STACK_TRAP)


def overflow_fault(c: StoppedContext, place: str) -> KernelFault:
    """Return the fault of a function that found no room for its frame."""
    function = c.program.place(c.of("fault_pc"))
    assert function is not None
    frame = count(function[0].info.local_frame, "byte")
    given = next((record["stack_bytes"] for record in c.device.module.provenance if "stack_bytes" in record), None)
    found = f"{function[0].name} needs a frame of {frame}, {calls_deep(c)} deep"
    expected = "frames that fit the stack" + (f" of {given:,} bytes per thread" if isinstance(given, int) else "")
    remedy = Hint("Import the PTX with more {stack_bytes}, or end the recursion sooner (does it end at all?).")
    return KernelFault("stack overflow", place=place, found=found, expected=expected, remedy=remedy)


def too_many_entries(c: StoppedContext, entries: int) -> tuple[str, str, str]:
    """Return (found, expected, remedy) of a full reconvergence stack."""
    found = f"more than {entries} entries, {calls_deep(c)} deep"
    return found, f"at most {entries}", "Recursion or divergence nests too deep: does it end?"


def calls_deep(c: StoppedContext) -> str:
    """Return in words how many calls the faulting warp is in."""
    sm, w = c.of("fault_sm"), c.of("fault_warp")
    entries = c.at(sm, "stack")[w, : int(c.at(sm, "sp")[w]) + 1]
    return count(int((entries[:, L.StackColumn.KIND] == L.EntryKind.CALL).sum()), "call")
