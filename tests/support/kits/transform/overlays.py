"""Random kernels with several variables in shared memory, and the same with their variables in other places."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from binalloc.analysis.shared.memory import SharedMemory, shared_memory_of
from binalloc.analysis.sharing.units import Units, units_of
from binalloc.isa.instruction import Instr, Module, make
from binalloc.isa.kinds import Space
from binalloc.isa.sets.table import set_of
from binalloc.launch.types import Launch
from binalloc.transform.sharing.overlay import overlay_memory
from tests.support.generator.transform.exchanges import exchanging
from tests.support.generator.transform.wide_exchanges import widely_exchanging
from tests.support.kits.transform.pairs_of_blocks import with_variables
from tests.support.programs.builder import program


@dataclass(frozen=True)
class Kernel:
    """A random kernel `k` with its launch, and what is known of its shared memory."""

    module: Module
    launch: Launch
    memory: SharedMemory
    units: Units

    def placed(self, places: list[int]) -> Module:
        """The kernel with its units at some addresses."""
        distances = [at - extent.first for at, extent in zip(places, self.units.extents, strict=True)]
        ends = [at + extent.size for at, extent in zip(places, self.units.extents, strict=True)]
        return overlay_memory(self.module, self.memory, self.units, distances, max(ends))


def kernel(seed: int) -> Kernel:
    """A kernel of one of two generators, in turn."""
    rng = random.Random(f"overlays {seed}")
    text, launch = widely_exchanging(seed // 2) if seed % 2 else exchanging(seed // 2)
    module = with_variables(program(text), rng)
    memory = shared_memory_of(module, "k", launch.block)
    return Kernel(module, launch, memory, units_of(memory))


def scattered(given: Kernel, rng: random.Random) -> list[int]:
    """Random addresses for the units, so that some lie over others."""
    extents = given.units.extents
    room = given.memory.reach.size
    return [
        extent.first if rng.random() < 0.3 else rng.randrange(0, max(room - extent.size, 0) // 16 + 1) * 16
        for extent in extents
    ]


def without(module: Module, number: int) -> Module | None:
    """The module without a barrier of kernel `k`, which becomes a NOP; None where it has no such barrier."""
    fn = module.function("k")
    words = [n for n, instr in enumerate(fn.instrs) if set_of(instr).barrier(instr) is not None]
    if number >= len(words):
        return None
    return with_word(module, words[number], make("NOP"))


def with_word(module: Module, word: int, instr: Instr) -> Module:
    """The module with another word of kernel `k`."""
    fn = module.function("k")
    instrs = [instr if n == word else old for n, old in enumerate(fn.instrs)]
    return replace(module, functions=[replace(f, instrs=instrs) if f is fn else f for f in module.functions])


def accesses(module: Module) -> list[int]:
    """The words of kernel `k` that access shared memory."""
    views = [set_of(instr).view(instr) for instr in module.function("k").instrs]
    return [n for n, view in enumerate(views) if view.memory is not None and view.memory.space == Space.SHARED]


def shifted(module: Module, word: int, distance: int) -> Module:
    """The module with one access of kernel `k` somewhere else."""
    instr = module.function("k").instrs[word]
    memory = set_of(instr).view(instr).memory
    assert memory is not None
    base = None if memory.base is None else memory.base.index
    return with_word(module, word, set_of(instr).readdress(instr, base, memory.offset + distance))
