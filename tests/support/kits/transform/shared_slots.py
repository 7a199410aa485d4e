"""Random kernels whose threads have slots, on machines with room for some blocks and a part of one more."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from binalloc.errors import BinallocError
from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from tests.support.generator.transform.exchanges import exchanging
from tests.support.generator.transform.wide_exchanges import widely_exchanging
from tests.support.kits.transform.pairs_of_blocks import narrow, with_variables
from tests.support.programs.builder import program

LEAST_REGISTERS, MOST_REGISTERS = 4, 30
SLOT_COUNTS = (4, 8)


@dataclass(frozen=True)
class Slotted:
    """A kernel `k` with slots."""

    module: Module
    launch: Launch
    machine: Machine
    slots: int
    row: int  #: bytes of one slot of a block
    left: int  #: bytes of the SM beside the blocks that fit

    @property
    def own(self) -> list[int]:
        """The numbers of private slots to try: none, some, all but one, and all, as far as their bytes fit."""
        counts = sorted({0, self.slots // 2, self.slots - 1, self.slots})
        return [count for count in counts if count * self.row <= self.left]

    def sharing(self, own: int) -> str:
        """The option of a run in which one pair shares all but so many slots."""
        private = min(self.left, own * self.row + self.module.function("k").info.shared_bytes) // 16 * 16
        return f"1:{private}:{own}"


def slotted(seed: int) -> Slotted | None:
    """A random kernel in the fewest registers in which it fits with some slots, None where it then has none."""
    rng = random.Random(f"slots {seed}")
    text, launch = widely_exchanging(seed // 2) if seed % 2 else exchanging(seed // 2)
    module = with_variables(program(text), rng)
    prepared = prepare(module, "k")
    for registers in range(LEAST_REGISTERS, MOST_REGISTERS):
        for slots in SLOT_COUNTS:
            try:
                made = rewrite_to_budget(prepared, registers, slots).module
            except BinallocError:
                continue
            info = made.function("k").info
            if not info.slots:
                return None
            warps = -(-math.prod(launch.block) // 32)
            size = -(-info.shared_bytes // 128) * 128 + info.slot_bytes * warps
            left = rng.randrange(16, size // 16 + 1) * 16 % size
            return Slotted(made, launch, narrow(size, rng.randrange(1, 4), left), info.slots, 128 * warps, left)
    return None
