"""What instructions are said to make of their operands is what the emulator does with them, for every opcode and form.

An operand that comes into the result whole is the result where it is chosen; one that is added moves it by as much as
it is moved itself; one that does not come into it changes nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.isa.instruction import Instr
from binalloc.isa.interface.roles import Number, ReadOperand, Roles, Way
from binalloc.isa.interface.view import Ref
from binalloc.isa.loom.roles import roles
from binalloc.isa.loom.view import view
from binalloc.isa.table.opcodes import BY_NAME, OPCODES
from binalloc.models.machines.reader import load_machine
from tests.property.isa.test_interface import cases, state
from tests.support.kits.emulator.single_step import SingleStep, WarpState

MACHINE = load_machine("gtx680")
CONSTANT = 0x40490FDB
LANES = ["SHFL"]
"""Results are another lane's operand."""
HALVES = ["HMNMX2"]
"""Each half of a word is chosen by itself."""


def moved(before: WarpState, ref: Ref) -> WarpState:
    """The state with an operand's lowest word one more."""
    registers = before.registers.copy()
    registers[ref.index] += np.uint32(1)
    return WarpState(registers, before.predicates, before.global_, before.shared, before.local)


def run(instr: Instr, before: WarpState) -> WarpState:
    words = np.full(64, CONSTANT, np.uint32)
    words[8] = 32
    return SingleStep(instr, MACHINE, words.tobytes()).run(before)


def whole(instr: Instr, found: Roles, before: WarpState) -> np.ndarray:
    """The lowest words of the operands that may be the result, one row each."""
    rows = []
    for t in found.taken:
        if t.way == Way.WHOLE:
            row = before.registers[t.what.index] if isinstance(t.what, Ref) else np.full(32, constant(t), np.uint32)
            rows.append(np.sort(row) if instr.name in LANES else row)
    return np.array(rows, np.uint32)


def constant(taken: ReadOperand) -> int:
    """The lowest word: an immediate is the highest one of a pair."""
    if isinstance(taken.what, int):
        return 0 if taken.wide else taken.what
    return CONSTANT


@pytest.mark.parametrize("name", [op.name for op in OPCODES.values()])
def test_ways_into_the_result(name: str) -> None:
    op = BY_NAME[name]
    for number, instr in enumerate(cases(op)):
        found, seen = roles(instr), view(instr)
        assert all(t.what in seen.uses for t in found.taken if isinstance(t.what, Ref))
        target = next((d for d in seen.defs if d.file == "R"), None)
        if target is None or (op.access and op.space != "texture"):
            continue
        for i in range(3):
            rng = np.random.default_rng([op.code, number, i])
            before = state(rng, instr, small=i % 2 == 0)
            before.predicates[6] = 0xFFFFFFFF
            result = run(instr, before).registers[target.index]
            chosen = whole(instr, found, before)
            if len(chosen) and name not in LANES:
                halves = np.uint16 if name in HALVES else np.uint32
                assert (result.view(halves) == chosen.view(halves)).any(axis=0).all(), instr
            elif len(chosen):
                assert set(result) <= set(chosen[0])
            for t in found.taken:
                if not isinstance(t.what, Ref) or t.what.file != "R":
                    continue
                after = run(instr, moved(before, t.what)).registers[target.index]
                if t.way == Way.SUM:
                    assert set(np.unique(after - result)) <= {1, 0xFFFFFFFF}, (instr, t)
                elif t.way == Way.NONE:
                    assert (after == result).all(), (instr, t)


def test_every_opcode_with_operands_has_a_row() -> None:
    """But for those that move nothing: control flow and what has no register operand."""
    from binalloc.isa.loom.roles import _TABLE

    bare = {op.name for op in OPCODES.values() if op.access and op.space != "texture"}
    bare |= {op.name for op in OPCODES.values() if op.control}
    assert set(BY_NAME) - bare - set(_TABLE) == {"PLOP3", "S2R", "CS2R", "NOP"}


@pytest.mark.parametrize("name", ["FADD", "DFMA", "MUFU", "FMNMX", "DSETP"])
def test_floats_are_floats(name: str) -> None:
    for instr in cases(BY_NAME[name]):
        assert {t.number for t in roles(instr).taken} == {Number.FLOAT}
