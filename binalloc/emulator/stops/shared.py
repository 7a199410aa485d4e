"""This module describes faults and waits of BAR.ALLOC and BAR.FREE, with the blocks that hold shared memory. It also
describes accesses outside of the variables that they should touch."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.emulator.host.resources import SIZE_REMEDY
from binalloc.emulator.state import layout as L
from binalloc.emulator.stops.context import StoppedContext
from binalloc.isa.instruction import DYNAMIC
from binalloc.printable import count

_U64 = (1 << 64) - 1  # mask of 64 bits: addresses are signed in the state

Details = tuple[str, str, str | None]
"""What was found, what was expected, and the remedy."""


@dataclass(frozen=True)
class HeldRegion:
    """A held region is shared memory of an SM that a block has got by BAR.ALLOC."""

    block: int  #: number of the block
    base: int  #: address of its first byte
    size: int  #: bytes
    word: int  #: code word of the BAR.ALLOC

    def says(self, c: StoppedContext) -> str:
        """Return the bytes in words, and where the block got them."""
        return f"{self.base:#x} to {self.base + self.size - 1:#x}, got in {c.where(self.word)}"


def held_regions(c: StoppedContext, sm: int) -> dict[int, HeldRegion]:
    """Return what the blocks of an SM hold, by block slot."""
    f = {name: c.at(sm, name) for name in ("block_active", "block_id", "allocated", "allocated_pc", "region_base")}
    found = {}
    for slot in range(c.of("resident_limit")):
        held = int(f["allocated"][slot])
        if f["block_active"][slot] and held:
            base, word = int(f["region_base"][held - 1]), int(f["allocated_pc"][slot])
            found[slot] = HeldRegion(int(f["block_id"][slot]), base, c.of("public_bytes"), word)
    return found


def holders(c: StoppedContext, sm: int) -> list[str]:
    """Return in words what the blocks of an SM hold."""
    return [
        f"block {held.block} holds {count(held.size, 'byte')}, {held.says(c)}" for held in held_regions(c, sm).values()
    ]


def waits_for_shared(c: StoppedContext, number: int, sm: int) -> str:
    """Return in words that a block waits for shared memory, and who holds it."""
    blocks = sorted(held.block for held in held_regions(c, sm).values())
    one = len(blocks) == 1
    whose = f"{'block' if one else 'blocks'} {', '.join(map(str, blocks))} never {'gives' if one else 'give'} back"
    return f"block {number} waits for {count(c.of('public_bytes'), 'byte')} of shared memory, which {whose}"


def access_details(c: StoppedContext, address: int, size: int, limit: int) -> Details:
    """Return the details of an access outside of the block's shared memory. limit: the end of what the block has from
    its start."""
    found = f"address {address:#x}, {size} bytes"
    end = f"below {limit:#x}, the end of the block's static and dynamic shared memory"
    if not c.of("smm"):
        return found, end, None
    sm, slot = _where(c)
    held = held_regions(c, sm)
    other = next((h for k, h in held.items() if k != slot and h.base <= address < h.base + h.size), None)
    if other is not None:
        found += f", in what block {other.block} holds ({other.says(c)})"
    if slot in held:
        return found, f"{end}, or {held[slot].says(c)}", None
    freed = int(c.at(sm, "freed_pc")[slot])
    if freed:
        base = int(c.at(sm, "freed_base")[slot])
        return found, f"{end}; {base:#x} was given back in {c.where(freed - 1)}", None
    return found, f"{end}; the block holds nothing more", None


def variable_details(c: StoppedContext, lane: int, address: int, size: int, to_shared: int) -> Details:
    """Return the details of an access outside of the variables that its address comes from. to_shared: lanes whose
    addresses are in shared memory."""
    place, kernel = c.program.place(c.of("fault_pc")), c.device.kernel
    assert place is not None
    fn, word = place
    known = {v.name: v for v in (*kernel.shared, *fn.shared)}
    found = f"address {address & _U64:#x}, {count(size, 'byte')}"
    if to_shared >> lane & 1:
        hit = [v.name for v in known.values() if v.offset < address + size and address < v.offset + v.size]
        dynamic = address + size > kernel.info.shared_bytes
        found += f", in {' and '.join(hit) or ('dynamic memory' if dynamic else 'no variable')}"
    else:
        found += ", outside of shared memory"
    wanted = []
    for name in fn.touches[word]:
        if name == DYNAMIC:
            wanted.append(f"dynamic memory, from {kernel.info.shared_bytes:#x} on")
        else:
            v = known[name]
            wanted.append(f"{name}, {v.offset:#x} to {v.offset + v.size - 1:#x}")
    return found, "; or ".join(wanted), "Does an index leave its array? By the rules of C it may not."


def allocation_details(c: StoppedContext, code: int, a: int, b: int, d: int) -> Details:
    """Return the details of a wrong BAR.ALLOC or BAR.FREE. a, b, d: see `policies.smm`."""
    if code == L.Fault.ALLOC_NESTED:
        found = f"the block holds {a:#x} to {a + b - 1:#x} since {c.where(d)}"
        return found, "a block that holds nothing", "Free it by BAR.FREE before the next BAR.ALLOC."
    if code == L.Fault.ALLOC_SIZE:
        if a == 0:
            return "0 bytes", "at least 1 byte", None
        expected = f"{count(b, 'byte')}, the one size of the launch"
        return count(a, "byte"), expected, "Ask for the larger size everywhere."
    if code == L.Fault.ALLOC_ROOM:
        found = f"{count(a, 'byte')}, where the private parts of the blocks take the first {d:,}"
        expected = f"at most {b:,}, the rest of the SM's shared memory"
        return found, expected, f"{SIZE_REMEDY} Fewer blocks are then resident."
    sm, slot = _where(c)
    held = held_regions(c, sm)
    other = next((h for k, h in held.items() if k != slot and h.base == a), None)
    found = f"address {a:#x}" + (f", which block {other.block} holds ({other.says(c)})" if other else "")
    if slot in held:
        return found, f"{held[slot].base:#x}, what the block got in {c.where(held[slot].word)}", None
    freed = int(c.at(sm, "freed_pc")[slot])
    if freed and int(c.at(sm, "freed_base")[slot]) == a:
        found += f", which the block gave back in {c.where(freed - 1)}"
    return found, "an address that BAR.ALLOC gave; the block holds nothing", None


def _where(c: StoppedContext) -> tuple[int, int]:
    """Return the SM and the block slot of the faulting warp."""
    sm = c.of("fault_sm")
    return sm, int(c.at(sm, "block_of")[c.of("fault_warp")])
