"""Reloads and stores travel to overlap latencies, but never over what they have to stay behind or in front of."""

from __future__ import annotations

from binalloc.isa.instruction import Function, FunctionInfo, make
from binalloc.models.allocation.terms import Value
from binalloc.transform.spill.overlap import overlap
from binalloc.transform.virtual.analysed import analysed
from binalloc.transform.virtual.code import INSTR, MOVED, RELOAD, STORE, Item, VBlock, VCode, VOperand
from binalloc.transform.virtual.contract import Contract

ALL = (1 << 16) - 1
FIRST, OTHER, THIRD, MEMORY, ELSEWHERE = map(Value, range(5))
NAMES = ["first", "other", "third", "memory", "elsewhere"]
P0 = 0, False


def use(value: int) -> Item:
    return Item(INSTR, make("STG", ra=0, rb=0, width=4), 0, uses=(VOperand("rb", (Value(value),)),))


def define(value: int) -> Item:
    return Item(INSTR, make("MOV", rd=0, form=1, imm=1), 0, defs=(VOperand("rd", (Value(value),)),))


def nothing() -> Item:
    return Item(INSTR, make("NOP"), 0)


def call() -> Item:
    return Item(INSTR, make("CALL"), 0, callee="f")


def store(value: int, memory: int, guard: tuple[int, bool] | None = None) -> Item:
    return Item(STORE, uses=(VOperand(MOVED, (Value(value),)),), memory=Value(memory), guard=guard)


def reload(value: int, memory: int) -> Item:
    return Item(RELOAD, defs=(VOperand(MOVED, (Value(value),)),), memory=Value(memory))


def moved(*items: Item, available: int = ALL, slack: int = 0) -> list[Item]:
    code = VCode(Function("k", [], FunctionInfo()), [VBlock(0, list(items))], list(NAMES))
    return overlap(analysed(code), available, {"f": Contract()}, slack).code.blocks[0].items


def test_a_store_stops_at_a_new_definition_of_its_value() -> None:
    a, b, c, d, e = define(FIRST), store(FIRST, MEMORY), nothing(), define(FIRST), use(FIRST)
    assert moved(a, b, c, d, e) == [a, c, b, d, e]


def test_a_reload_stops_at_a_use_of_its_value() -> None:
    a, b, c, d, e = define(FIRST), use(FIRST), nothing(), reload(FIRST, MEMORY), use(FIRST)
    assert moved(a, b, c, d, e) == [a, b, d, c, e]


def test_a_store_passes_what_has_nothing_to_do_with_it() -> None:
    a, b, c, d = define(OTHER), store(OTHER, MEMORY), define(FIRST), use(FIRST)
    assert moved(a, b, c, d) == [a, c, d, b]


def test_a_reload_passes_what_has_nothing_to_do_with_it() -> None:
    a, b, c, d = define(OTHER), use(OTHER), reload(FIRST, MEMORY), use(FIRST)
    assert moved(a, b, c, d) == [c, a, b, d]


def test_a_reload_stops_at_a_store_of_its_place_and_at_no_other() -> None:
    a, b, c, d = define(OTHER), store(OTHER, MEMORY), reload(FIRST, MEMORY), use(FIRST)
    assert [x for x in moved(a, b, c, d) if x in (b, c)] == [b, c]
    e = store(OTHER, ELSEWHERE)
    assert moved(a, e, c, d)[0] == c


def test_neither_passes_a_call() -> None:
    a, b, c, d, e, f = nothing(), call(), nothing(), reload(FIRST, MEMORY), nothing(), use(FIRST)
    out = moved(a, b, c, d, e, f)
    assert out == [a, b, d, c, e, f]
    a, b, c = define(OTHER), store(OTHER, MEMORY), call()
    assert moved(a, b, c) == [a, b, c]


def test_a_guarded_store_stops_where_its_guard_changes() -> None:
    a, b, c = define(OTHER), store(OTHER, MEMORY, P0), nothing()
    d = Item(INSTR, make("NOP"), 0, predicate_defs=1)
    e = Item(INSTR, make("NOP"), 0, predicate_defs=2)
    assert moved(a, b, c, d) == [a, c, b, d]
    assert moved(a, b, c, e) == [a, c, e, b]


def test_a_store_stays_before_a_branch() -> None:
    a, b, c, d = define(OTHER), store(OTHER, MEMORY), nothing(), Item(INSTR, make("BRA"), 0)
    assert moved(a, b, c, d) == [a, c, b, d]


def test_a_reload_waits_where_no_register_is_free() -> None:
    """Two registers; at the first item both are taken, behind its use one is."""
    a, b, c, d, e, f = define(FIRST), define(OTHER), use(OTHER), nothing(), reload(THIRD, MEMORY), use(THIRD)
    g = use(FIRST)
    assert moved(a, b, c, d, e, f, g, available=0b11) == [a, b, c, e, d, f, g]
    assert moved(a, b, c, d, e, f, g, available=0b111)[0] == e
    assert moved(a, b, c, d, e, f, g, available=0b111, slack=1) == [a, b, c, e, d, f, g]
