"""After a colouring that failed, every failed group gets room where it is live, in one round."""

from __future__ import annotations

from binalloc.isa.instruction import Function, FunctionInfo, make
from binalloc.models.colouring import Colouring
from binalloc.transform.registers import _relieve
from binalloc.transform.vcode import INSTR, Block, Item, Operand, Values, VCode
from binalloc.transform.vliveness import liveness

CROWD = 3
THREE_REGISTERS = 0b111


def crowds(count: int) -> VCode:
    """Crowds of three values each, one after another: all made, an instruction that reads none of them, all used."""
    values = Values()
    items: list[Item] = []
    for _ in range(count):
        crowd = [values.value(values.group(spillable=True)) for _ in range(CROWD)]
        items += [Item(INSTR, make("MOV", form=1, imm=1), 0, defs=(Operand("rd", (v,)),)) for v in crowd]
        items.append(Item(INSTR, make("NOP"), 0))
        items += [Item(INSTR, make("STG", width=4), 0, uses=(Operand("rb", (v,)),)) for v in crowd]
    return VCode(Function("k", [], FunctionInfo()), [Block(0, items)], values)


def relieved(code: VCode, failed: list[int]) -> list[int]:
    """Crowds of the groups that are spilled for the failed ones."""
    colouring = Colouring([-1] * len(code.values), failed, [])
    return sorted(g // CROWD for g in _relieve(code, liveness(code), colouring, THREE_REGISTERS, {}))


def test_failed_groups_at_different_places_are_all_relieved_at_once() -> None:
    assert relieved(crowds(4), [0, 4, 11]) == [0, 1, 3]


def test_groups_that_failed_at_one_place_share_the_room_made_there() -> None:
    assert relieved(crowds(4), [3, 4, 5]) == [1]


def test_a_failed_group_that_is_live_nowhere_asks_for_nothing() -> None:
    code = crowds(1)
    code.values.value(code.values.group(spillable=True))
    assert relieved(code, [3]) == []
