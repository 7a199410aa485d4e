"""This module proves kernels whose blocks use shared memory in turns, as far as their scheme goes.

Needs an original and a binary whose record says how a kernel was made. The steps between the two are made again, and
the checker of each step judges it: nothing is taken on trust, neither the record nor what makes the steps. Leaves the
module in front of allocation, against which the ordinary checker judges the binary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.launch.merged import dynamic_of, merge_of
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.multiplex.build import ALONE, Wanted, build
from binalloc.pipeline.multiplex.multiplexing import unproven_step
from binalloc.pipeline.multiplex.record import was_made
from binalloc.pipeline.multiplex.shorter import own_words, shorter_regions
from binalloc.pipeline.request import Request

Recorded = TypeVar("Recorded")

Three = tuple[int, int, int]
"""Threads of a block along x, y and z."""


@dataclass(frozen=True)
class TurnsProof:
    """A proof says what is known of a kernel's scheme."""

    kernel: str
    scheme: str  #: the version's name, as in reports
    block: Three  #: threads of the original's blocks: for others there is no proof
    missing: str  #: what could not be proven, "" for nothing
    #: the original with the scheme, in front of allocation; None if it cannot be made again
    module: Module | None
    sharing: str = ""  #: pairs and private bytes where blocks share memory two by two, "" for schemes in turns
    by_symbol: int = 0  #: accesses that the proof takes C's rule of
    order: str = ""  #: the order in which blocks work, "" for the order as it is
    grid: Three | None = None  #: blocks of the only grid on which they do so; None without an order

    @property
    def proven(self) -> bool:
        """Return whether the scheme is proven."""
        return self.module is not None and not self.missing


def prove_turns(old: Module, new: Module, names: list[str], machine: Machine) -> tuple[Module, list[TurnsProof]]:
    """Return the original with the schemes of the named kernels, and what is proven of each. Kernels whose scheme `old`
    records, too, are left alone. Raises MalformedInput if a record contradicts its kernel."""
    return each_recorded(old, new, names, was_made, lambda old, name, wanted: _prove(old, new, name, wanted, machine))


def each_recorded(
    old: Module, new: Module, names: list[str], recorded: Callable[[Module, str], Recorded | None],
    prove: Callable[[Module, str, Recorded], TurnsProof],
) -> tuple[Module, list[TurnsProof]]:
    """Return the original with the named kernels as their records say, and what is proven of each.

    recorded: returns the record of a kernel. Kernels of which `old` has the same one are left alone. prove: proves a
    kernel of the module so far by its record; the proof has the module behind it.
    """
    found = []
    for name in names:
        record = recorded(new, name)
        if record is None or recorded(old, name) == record:
            continue
        proof = prove(old, name, record)
        old = old if proof.module is None else proof.module
        found.append(proof)
    return old, found


def _prove(old: Module, new: Module, name: str, wanted: Wanted, machine: Machine) -> TurnsProof:
    """Make the steps to one kernel's scheme again, and have each judged."""
    merge, block = merge_of(new, name), new.function(name).info.block
    x, y, z = block if merge is None else merge.block
    sides = [1, 1, 1]
    if merge is not None:
        sides[merge.axis] = merge.count  # the longest side is the one along which blocks are merged
    dynamic = dynamic_of(new, name) or 0
    launch = Launch(name, (sides[0], sides[1], sides[2]), (x or 1, y or 1, z or 1), dynamic, ())
    request = Request(name, machine, launch)
    try:
        module, missing = old, ""
        if wanted.shorter or wanted.own:
            shorter = shorter_regions(old, request) if wanted.shorter else own_words(old, request)
            module, missing = shorter.module, shorter.unproven
        if wanted.scheme not in ALONE:
            built = build(module, request, wanted)
            missing = missing or unproven_step(module, built, name)
            module = built.module
        missing = missing or _changed_beside(old, module, name)
    except BinallocError as error:
        text = f"{name}: the scheme cannot be made again of the original: {error}"
        return TurnsProof(name, wanted.name, launch.block, text, None)
    return TurnsProof(name, wanted.name, launch.block, missing, for_blocks(module, name, block))


def _changed_beside(old: Module, made: Module, name: str) -> str:
    """Return what the steps changed beside a kernel, of which their checkers say nothing; "" for nothing."""
    from binalloc.verify.resources import check_data
    from binalloc.verify.surroundings import check_surroundings

    found = check_surroundings(old, made, name) + check_data(old, made)
    return str(found[0]) if found else ""


def for_blocks(module: Module, name: str, block: Three) -> Module:
    """Return the module with the required size of a kernel's blocks, and without a map to the original: the binary's
    map leads to this module."""
    functions = [
        replace(fn, info=replace(fn.info, block=block), origin=None) if fn.name == name else fn
        for fn in module.functions
    ]  # fmt: skip
    return replace(module, functions=functions)
