"""This module reads the bounds on registers and blocks that a kernel's author has set, on one machine, as ptxas does.

Measured on ptxas 13.0, sm_75 to sm_120: `.maxnreg` below 24 is raised to 24, and it is ignored above the registers that
a thread can have. `.minnctapersm` has no effect without a block size (`.maxntid`, `.reqntid`), or where an SM has no
room for so many blocks or threads. A block size alone leaves as many registers as one block can have. The least of all
caps counts. Shared memory plays no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from binalloc.isa.instruction import FunctionInfo
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.models.machines.occupancy import registers_for_blocks

FEWEST_REGISTERS = 24
"""ptxas raises a cap below that many registers per thread to this number; see above."""


@dataclass(frozen=True)
class Directive:
    """A performance directive of a kernel bounds its registers per thread or its blocks per SM."""

    text: str  #: the directive as PTX writes it
    registers: int | None = None  #: upper limit on registers per thread; None: it sets none
    blocks: int | None = None  #: lower limit on blocks per SM; None: it sets none
    note: str = ""  #: what is used in place of the stated value, and why; "" if the value itself is used


def directives(machine: Machine, info: FunctionInfo) -> list[Directive]:
    """Return all directives that bound the kernel, with their effect on this machine."""
    out = []
    if info.max_registers:
        out.append(_max_registers(machine, info.max_registers))
    size, threads = block_size(info)
    if threads:
        most = _registers(machine, threads, 1)
        note = "" if most else f"{machine.name} holds no block of {threads} threads"
        out.append(Directive(size, most or None, note=note))
    if info.min_blocks:
        out.append(_min_blocks(machine, info.min_blocks, threads))
    return out


def block_size(info: FunctionInfo) -> tuple[str, int]:
    """Return the directive with the size of the kernel's blocks, and that many threads; "" and 0 without one."""
    if any(info.block):
        return f".reqntid {', '.join(map(str, info.block))}", prod(info.block)
    return (f".maxntid {info.max_threads}", info.max_threads) if info.max_threads else ("", 0)


def _max_registers(machine: Machine, number: int) -> Directive:
    """Return the effect of `.maxnreg`."""
    text, limit = f".maxnreg {number}", machine.limits.registers_per_thread
    if number > limit:
        return Directive(text, note=f"{machine.name} has {limit} registers per thread: it bounds nothing")
    if number < FEWEST_REGISTERS:
        return Directive(text, FEWEST_REGISTERS, note=f"{FEWEST_REGISTERS}, the fewest that ptxas keeps to")
    return Directive(text, number)


def _min_blocks(machine: Machine, blocks: int, threads: int) -> Directive:
    """Return the effect of `.minnctapersm` in a kernel with blocks of `threads`, 0 where the size is not known."""
    text, held = f".minnctapersm {blocks}", machine.sm.blocks_per_sm
    if not threads:
        return Directive(text, note="it bounds nothing without .maxntid or .reqntid, as in ptxas")
    if blocks > held:
        return Directive(text, note=f"{machine.name} holds {held} blocks at most: it bounds nothing, as in ptxas")
    most = _registers(machine, threads, blocks)
    if not most:
        found = f"{blocks} blocks of {threads} threads do not fit {machine.name}'s {machine.sm.threads_per_sm} threads"
        return Directive(text, note=f"{found} per SM: it bounds nothing, as in ptxas")
    return Directive(text, most, blocks)


def _registers(machine: Machine, threads: int, blocks: int) -> int | None:
    """Return the most registers per thread for that many blocks; None where the machine cannot hold them."""
    if threads > machine.limits.threads_per_block:
        return None
    return registers_for_blocks(machine, KernelUse(0, 0, threads), blocks)
