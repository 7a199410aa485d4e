"""This module makes a kernel's access regions shorter (multiplex paper, section 3: the part of a block's life in which
its shared memory is in use).

Needs a laid-out module; leaves one with the steps on the way to it, each of which has a proof of its own
(`verify.shorten`):

1. Loops with accesses and a known number of rounds are written out (`unroll`).
2. Stores wait in registers until the next barrier, across control flow (`late_stores`).
3. Within basic blocks, loads come early and stores late (`arrange`); what nobody reads any more goes. Registers are
   allocated anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from binalloc.analysis.shared.memory import SharedMemory, Three, shared_memory_of
from binalloc.isa.instruction import Module
from binalloc.transform.shorten.arrange import arranged
from binalloc.transform.shorten.late_stores import with_late_stores
from binalloc.transform.shorten.unroll import MOST_WORDS, written_out

_PASSES = 3
"""Most passes over loops. Chosen by hand: the rounds of a loop are known once loops around it are written out."""


@dataclass(frozen=True)
class Step:
    """A step leads from one module to the next."""

    module: Module  #: what it leaves
    #: of loops written out: by the first word of a loop's head the round, from 0, in which all threads leave it
    last: tuple[tuple[int, int], ...] = ()
    late: bool = False  #: stores came later; else, without loops, instructions were arranged and allocated


def shortened(module: Module, kernel: str, block: Three) -> list[Step]:
    """Return the steps to the module with shorter access regions. block: threads of a block along each axis.

    Raises Refused if the kernel cannot be rewritten, or registers do not suffice.
    """
    steps: list[Step] = []
    for _ in range(_PASSES):
        memory = shared_memory_of(module, kernel, block)
        last = _loops(memory)
        if not last:
            break
        cfg = memory.program.kernel.cfg
        loops = memory.program.kernel.loops.loops
        heads = tuple(sorted((cfg.blocks[loops[k].header].start, round_) for k, round_ in last.items()))
        module = written_out(module, memory.program.kernel, last)
        steps.append(Step(module, heads))
    module = with_late_stores(module, kernel, block)
    steps.append(Step(module, late=True))
    return [*steps, Step(arranged(module, kernel))]


def _loops(memory: SharedMemory) -> dict[int, int]:
    """Return the loops to write out, with their last rounds: those with accesses, the smallest ones first."""
    kernel = memory.program.kernel
    rounds = dict(_counted(memory))
    found: dict[int, int] = {}
    total = len(kernel.cfg.views)
    for k in sorted(rounds, key=lambda k: (_size(memory, k) * rounds[k], k)):
        times = 1
        parent = kernel.loops.loops[k].parent
        while parent >= 0:
            times *= found.get(parent, 0) + 1
            parent = kernel.loops.loops[parent].parent
        total += _size(memory, k) * rounds[k] * times
        if total > MOST_WORDS:
            break
        found[k] = rounds[k]
    return found


def _counted(memory: SharedMemory) -> Iterator[tuple[int, int]]:
    """Yield the loops with accesses, and the round in which all threads leave, where it is one."""
    kernel = memory.program.kernel
    blocks = {
        kernel.cfg.block_of[access.place.word]
        for access in memory.reach.accesses
        if access.place.function == kernel.name and access.may & ~memory.common.bytes
    }
    for k, last in sorted(memory.ranges.functions[kernel.name].grown.last.items()):
        if np.ptp(last) == 0 and blocks & set(kernel.loops.loops[k].blocks):
            yield k, int(np.min(last))


def _size(memory: SharedMemory, k: int) -> int:
    """Return the words of a loop."""
    kernel = memory.program.kernel
    return sum(len(kernel.cfg.blocks[block]) for block in kernel.loops.loops[k].blocks)
