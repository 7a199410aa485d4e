"""What instructions are said to sum up is what the emulator leaves, for every opcode and form; and which say so."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.sums import Sum
from binalloc.isa.loom.sums import sums
from binalloc.isa.loom.view import view
from binalloc.isa.table.fields import RZ
from binalloc.isa.table.opcodes import BY_NAME, OPCODES
from binalloc.models.machines.reader import load_machine
from tests.property.isa.test_interface import cases, state
from tests.support.kits.emulator.single_step import SingleStep, WarpState

MACHINE = load_machine("gtx680")
WORDS = np.arange(0x1234567, 0x1234567 + 64 * 7, 7, np.uint32)
SUMMED = {"MOV", "IADD3", "IMAD", "IMAD.WIDE", "LEA", "SHF", "LDC", "S2R", "CS2R"}


def total(instr: Instr, found: Sum, before: WarpState) -> np.ndarray:
    """The sum in every lane, special registers apart."""
    words = [n for ref in view(instr).uses for n in ref.registers()]
    out = np.full(32, found.constant & 0xFFFFFFFF, np.uint64)
    for place, factor in found.uses:
        out += before.registers[words[place]].astype(np.uint64) * np.uint64(factor & 0xFFFFFFFF)
    for _, offset, factor in found.reads:
        out += np.uint64(int(WORDS[offset // 4]) * (factor & 0xFFFFFFFF))
    return (out & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def executing(instr: Instr, before: WarpState) -> np.ndarray:
    """The lanes in which the guard holds."""
    guard = view(instr).guard
    if guard is None:
        return np.ones(32, bool)
    return (before.predicates[guard[0]] >> np.arange(32) & 1 == 1) ^ guard[1]


def plain(instr: Instr, number: int) -> Instr:
    """The instruction without what keeps it from being a sum, its operands negated by the bits of `number`."""
    f = {name: 0 for name in ("x", "hi", "dir") if name in instr.f}
    if instr.name == "LDC":
        f["ra"] = RZ
    signs = [name for name in ("nega", "negb", "negc") if name in instr.f]
    return instr.replace(**f, **{name: number >> k & 1 for k, name in enumerate(signs)})


@pytest.mark.parametrize("name", [op.name for op in OPCODES.values()])
def test_sums(name: str) -> None:
    told = 0
    given = [x for case in cases(BY_NAME[name]) for x in (case, *(plain(case, number) for number in range(8)))]
    for number, instr in enumerate(given):
        defs = [n for ref in view(instr).defs for n in ref.registers()]
        found = sums(instr)
        assert len({s.result for s in found}) == len(found)
        for i in range(2 if found else 0):
            before = state(np.random.default_rng([number, i]), instr, small=i % 2 == 0)
            after = SingleStep(instr, MACHINE, WORDS.tobytes()).run(before)
            for s in found:
                if not s.special and not after.fault:
                    same = after.registers[defs[s.result]] == total(instr, s, before)
                    assert same[executing(instr, before)].all(), (instr, s)
                told += s.special != () or not after.fault
    assert (told > 0) is (name in SUMMED)
