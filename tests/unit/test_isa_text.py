"""Assembler and disassembler: what they accept, what they refuse and how, and that they invert each other."""

from __future__ import annotations

import random

from binalloc.isa.assembler import assemble
from binalloc.isa.disassembler import disassemble
from tests.isa_random import random_module


def test_assembling_the_disassembly_gives_the_same_module() -> None:
    for seed in range(300):
        module = random_module(random.Random(seed))
        again = assemble(disassemble(module))
        assert again == module, seed
