"""After a colouring that failed, failed groups get room where they are live, all in one round where code is long."""

from __future__ import annotations

import pytest

from binalloc.isa.instruction import Function, FunctionInfo, make
from binalloc.models.allocation.colouring import Colouring, ColouringProblem, colour
from binalloc.transform.allocate import registers
from binalloc.transform.allocate.registers import _relieve
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.virtual.code import INSTR, Item, Values, VBlock, VCode, VOperand
from binalloc.transform.virtual.live_values import live_values
from binalloc.verify.checker import check
from tests.support.generator.programs import random_program

CROWD = 3
THREE_REGISTERS = 0b111


def crowds(count: int) -> VCode:
    """Crowds of three values each, one after another: all made, an instruction that reads none of them, all used."""
    values = Values()
    items: list[Item] = []
    for _ in range(count):
        crowd = [values.value(values.group(spillable=True)) for _ in range(CROWD)]
        items += [Item(INSTR, make("MOV", form=1, imm=1), 0, defs=(VOperand("rd", (v,)),)) for v in crowd]
        items.append(Item(INSTR, make("NOP"), 0))
        items += [Item(INSTR, make("STG", width=4), 0, uses=(VOperand("rb", (v,)),)) for v in crowd]
    return VCode(Function("k", [], FunctionInfo()), [VBlock(0, items)], values)


def relieved(code: VCode, failed: list[int]) -> list[int]:
    """Crowds of the groups that are spilled for the failed ones."""
    return sorted(g // CROWD for g in _relieve(code, live_values(code), failed, THREE_REGISTERS, {}))


def test_failed_groups_at_different_places_are_all_relieved_at_once() -> None:
    assert relieved(crowds(4), [0, 4, 11]) == [0, 1, 3]


def rounds(monkeypatch: pytest.MonkeyPatch, careful: int) -> int:
    """Colourings that a rewrite takes if `careful` items count as short code."""
    count = 0

    def counted(problem: ColouringProblem, **options: bool) -> Colouring:
        nonlocal count
        count += 1
        return colour(problem, **options)

    monkeypatch.setattr(registers, "colour", counted)
    monkeypatch.setattr(registers, "CAREFUL", careful)
    module, _ = random_program(2, size=300, registers=40, callees=0, depth=1)
    out = rewrite(module, "kernel", 18, 0, "local")
    assert check(module, out, "kernel").ok
    return count


def test_long_code_takes_fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rounds(monkeypatch, 0) < rounds(monkeypatch, 10**6)


def test_groups_that_failed_at_one_place_share_the_room_made_there() -> None:
    assert relieved(crowds(4), [3, 4, 5]) == [1]


def test_a_failed_group_that_is_live_nowhere_asks_for_nothing() -> None:
    code = crowds(1)
    code.values.value(code.values.group(spillable=True))
    assert relieved(code, [3]) == []
