"""Reloads and stores travel to overlap latencies, but never over what shares their register."""

from __future__ import annotations

from binalloc.isa.instruction import Function, FunctionInfo, make
from binalloc.transform.allocate.overlap import overlap
from binalloc.transform.virtual.code import INSTR, RELOAD, STORE, Item, Values, VBlock, VCode, VOperand

ALL = (1 << 16) - 1


def use(value: int) -> Item:
    return Item(INSTR, make("STG", ra=0, rb=0, width=4), 0, uses=(VOperand("rb", (value,)),))


def define(value: int) -> Item:
    return Item(INSTR, make("MOV", rd=0, form=1, imm=1), 0, defs=(VOperand("rd", (value,)),))


def nothing() -> Item:
    return Item(INSTR, make("NOP"), 0)


def store(value: int, memory: int) -> Item:
    return Item(STORE, uses=(VOperand("rb", (value,)),), memory=memory)


def reload(value: int, memory: int) -> Item:
    return Item(RELOAD, defs=(VOperand("rd", (value,)),), memory=memory)


def two_of_one_place() -> tuple[Values, int, int, int]:
    """Values that are both the high half of one pair, as webs are whose pair was used twice; and a memory value."""
    values = Values()
    pair = values.group(2, align=2)
    first, second = values.value(pair, 1, "first"), values.value(pair, 1, "second")
    return values, first, second, values.value(values.group(), 0, "memory")


def moved(values: Values, *items: Item) -> list[Item]:
    code = VCode(Function("k", [], FunctionInfo()), [VBlock(0, list(items))], values)
    return overlap(code, ALL, {}, 0).blocks[0].items


def test_a_store_stops_at_a_definition_in_its_place_of_the_group() -> None:
    values, first, second, memory = two_of_one_place()
    a, b, c, d, e = define(first), store(first, memory), nothing(), define(second), use(second)
    out = moved(values, a, b, c, d, e)
    assert out.index(b) < out.index(d)


def test_a_reload_stops_at_a_use_in_its_place_of_the_group() -> None:
    values, first, second, memory = two_of_one_place()
    a, b, c, d, e = define(first), use(first), nothing(), reload(second, memory), use(second)
    out = moved(values, a, b, c, d, e)
    assert out.index(b) < out.index(d)


def test_a_store_passes_what_has_nothing_to_do_with_it() -> None:
    values, first, _, memory = two_of_one_place()
    other = values.value(values.group())
    a, b, c, d = define(other), store(other, memory), define(first), use(first)
    assert moved(values, a, b, c, d) == [a, c, d, b]
