"""This module makes a kernel's skeleton from start to end: facts, sizes, entries, and the lengths of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from binalloc.analysis.program import analyse
from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.names import of_the_compiler
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import DTYPES, Launch
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.model import Machine
from binalloc.names.demangle import demangle
from binalloc.pipeline.block import Three
from binalloc.pipeline.skeleton.arguments import entries_of
from binalloc.pipeline.skeleton.extents import LONG, Extents, extents_of
from binalloc.pipeline.skeleton.parameters.blocks import block_sides
from binalloc.pipeline.skeleton.parameters.facts import KernelFacts, facts_of
from binalloc.pipeline.skeleton.reasons import where
from binalloc.pipeline.skeleton.signature import declared
from binalloc.pipeline.skeleton.sizes import Sizes, block_of, grid_of, others
from binalloc.pipeline.skeleton.types import ArgumentEntry, KernelSkeleton
from binalloc.printable import count

_ALIGN = 256
"""Dynamic shared memory is rounded up to a multiple of this number of bytes. Chosen by hand."""
_MARGIN = 4
"""Buffers are made longer by this part of their extent, since threads that are not walked may reach a little further.
Chosen by hand."""
_TOO_LONG = LONG // 4
"""Bytes of a buffer from which on smaller values of scalars are tried. It stays far below the buffers of the walks."""


def skeleton_of(
    module: Module, kernel: str, machine: Machine, *, block: Three | None = None, prefix: str = ""
) -> KernelSkeleton:
    """Return the launch that is suggested for a kernel.

    block: the user's block size; None to choose one. prefix: of the arguments' names. Raises what `analyse` raises.
    """
    fn = module.function(kernel)
    program = analyse(module, kernel, lift=True, recursive=True)
    facts, assumed = facts_of(program), block_sides(program)
    threads, why_block = block_of(facts, fn.info, block, assumed)
    together = machine.occupancy(KernelUse.of(fn.info, prod(threads), 0)).blocks_per_sm if facts.meets else 0
    blocks, why_grid = grid_of(facts, together)
    reasons = {"block": why_block, "grid": why_grid}
    best: KernelSkeleton | None = None
    for sizes in _tries(blocks, threads, block is None and not any(fn.info.block) and not any(assumed)):
        best, fits = _sized(module, fn, facts, sizes, machine, reasons, prefix)
        if fits:
            break
    assert best is not None
    best.notes = _notes(module, facts) + best.notes
    best.entries = _with_fronts(best.entries) + _symbols(module)
    return best


def suggested_launch(module: Module, kernel: str, machine: Machine, block: Three | None = None) -> Launch:
    """Return the launch that `launch-skeleton` would write for a kernel without a launch file, so that it can be run.

    block: the user's block size; None to choose one. Raises what `skeleton_of` raises.
    """
    return parse_launch(skeleton_of(module, kernel, machine, block=block).table())


def _tries(grid: Three, block: Three, free: bool) -> list[Sizes]:
    """Return the sizes to try, the wanted ones first. free: whether other block sizes may be tried."""
    found = [Sizes(grid, block), Sizes(grid, block, 4, 8), Sizes(grid, block, 1, 1)]
    return found + [Sizes(grid, other) for other in others(block) if free]


def _sized(
    module: Module, fn: Function, facts: KernelFacts, sizes: Sizes, machine: Machine, reasons: dict[str, str],
    prefix: str,
) -> tuple[KernelSkeleton, bool]:  # fmt: skip
    """Return a skeleton of these sizes, and whether shared memory suffices and no buffer is too long.

    reasons: for grid and block, in words.
    """
    names = _names(fn, prefix)
    entries = entries_of(facts, sizes, names, declared(fn.name, len(fn.info.params)))
    _shape(entries, Extents(), sizes)
    name = demangle(fn.name)
    made = KernelSkeleton(
        fn.name, "" if name is None else str(name), sizes.grid, sizes.block, 0, entries, dict(reasons), [], facts.meets
    )
    launch = parse_launch(made.table())
    extents = extents_of(module, launch, machine)
    _shape(entries, extents, sizes)
    static = fn.info.shared_bytes
    if facts.dynamic:
        needed = max(extents.shared - static, 4 * prod(sizes.block))
        made.dynamic_shared = -(-needed // _ALIGN) * _ALIGN
        made.reasons["dynamic_shared"] = "shared memory behind all variables is used (extern __shared__)"
    if facts.meets:
        made.reasons["cooperative"] = "all blocks of the grid meet (grid.sync()): they have to run at once"
    fits = extents.shared <= static + made.dynamic_shared
    return made, fits and all(high < _TOO_LONG for _, high in extents.buffers.values())


def _shape(entries: Sequence[ArgumentEntry], extents: Extents, sizes: Sizes) -> None:
    """Set the lengths of buffers: an element per thread of the grid, or more if accesses are known to reach further."""
    for entry in entries:
        if entry.is_buffer:
            size = DTYPES[entry.keys["dtype"]].itemsize
            low, high = extents.buffers.get(entry.name, (0, 0))
            reach = -(-min(high, _TOO_LONG) // size)
            reach += reach // _MARGIN
            sure = all(place in extents.known and place not in extents.unknown for place in entry.places)
            if extents.known and not sure:
                reach = max(reach, min(sizes.threads * 4 * sizes.row * entry.least, _TOO_LONG // size))
                entry.reasons.append("how far some accesses reach is not known: longer than seems needed")
            entry.keys["shape"] = max(reach, sizes.threads * entry.least)
            entry.front = max(0, -low)


def _with_fronts(entries: Sequence[ArgumentEntry]) -> list[ArgumentEntry]:
    """Return the entries, with room in front of buffers that need it.

    If accesses begin in front of a pointer's target, the pointer (a parameter or a struct's member) is made to point
    into a longer buffer.
    """
    found: list[ArgumentEntry] = []
    for entry in entries:
        margin = -(-entry.front // DTYPES[entry.keys["dtype"]].itemsize) if entry.front else 0
        if not margin:
            found.append(entry)
            continue
        margin += margin // _MARGIN
        at = margin * DTYPES[entry.keys["dtype"]].itemsize
        front = f"accesses begin {count(entry.front, 'byte')} in front of what the pointer is to, for these numbers"
        entry.keys["shape"] += margin
        if entry.parameter:
            pointer = {"name": entry.name, "kind": "pointer", "argument": f"{entry.name}_memory", "at": at}
            found.append(ArgumentEntry(pointer, [f"{front}: it is into a longer buffer"], entry.parameter))
            entry.keys["name"], entry.parameter = f"{entry.name}_memory", ""
        else:
            entry.reasons.append(f"{front}, {count(at, 'byte')} behind its beginning")
            for each in (f for other in found for f in other.keys.get("fields", ()) if f.get("argument") == entry.name):
                each["at"] = at
        found.append(entry)
    return found


def _names(fn: Function, prefix: str) -> list[str]:
    """Return the names of the arguments: the parameters' own names, or numbers for parameters without a name."""
    out = []
    for k, param in enumerate(fn.info.params):
        unnamed = param.name == f"{fn.name}_param_{k}" or "_param_" in param.name
        out.append(f"{prefix}param_{k}" if unnamed else f"{prefix}{param.name}")
    return out


def _notes(module: Module, facts: KernelFacts) -> list[str]:
    """Return a note on accesses by pointers in memory, if there are any."""
    if not facts.lost:
        return []
    at = where(facts.values, facts.lost)
    many = count(len(facts.lost), "access", "accesses")
    return [f"{many} by pointers in memory, whose targets are not known, at {at}"]


def _symbols(module: Module) -> list[ArgumentEntry]:
    """Return the entries of variables that a launch may fill, to be written as comments."""
    found = []
    variables = [(v.name, v.size, "__device__") for v in module.globals]
    variables += [(v.name, v.size, "__constant__") for v in module.constant_vars]
    for name, size, what in variables:
        if of_the_compiler(name) or not size:
            continue
        keys = {"name": name, "kind": "symbol", "dtype": "u8", "shape": size}
        reason = f"{what} variable of {size} bytes; without this it holds what the binary says"
        found.append(ArgumentEntry(keys, [reason], off=True))
    return found
