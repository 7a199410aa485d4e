"""The checker of kernels whose blocks work in another order: what is right, and what is wrong in one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from binalloc.isa.instruction import Function, Instr, Module, Origin, make
from binalloc.isa.table.opcodes import FORM_IMM
from binalloc.verify.block_order.check import check_order
from tests.support.kits.block_order import CALLED, PLACES, Three, judged, renumbered
from tests.support.programs.builder import program

GRID = (7, 5, 1)
"""No tile of 2 x 2 blocks fits it without a rest, along neither axis."""
ORDERS = ["tile:2x2", "tile:3x2", "tile:7x2", "tile:16x16", "mod:4", "mod:5", "stride:2", "stride:3"]


def changed(module: Module, of: str, words: dict[int, Instr]) -> Module:
    """The module with other words of one function."""

    def of_function(fn: Function) -> Function:
        if fn.name != of:
            return fn
        return replace(fn, instrs=[words.get(n, instr) for n, instr in enumerate(fn.instrs)])

    return replace(module, functions=[of_function(fn) for fn in module.functions])


def inserted(fn: Function) -> list[int]:
    assert fn.origin is not None
    return [n for n, m in enumerate(fn.origin.index) if m < 0]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("grid", [GRID, (7, 5, 3), (35, 1, 1), (1, 35, 1), (1, 1, 35)])
def test_what_is_right_is_proven(order: str, grid: Three) -> None:
    for text in (PLACES, CALLED):
        report = judged(text, order, grid)
        assert report.ok, str(report)


@pytest.mark.parametrize("other", ["tile:2x3", "tile:3x2", "mod:2", "stride:2", "tile:2x1", "nonsense", ""])
def test_another_order_is_not(other: str) -> None:
    report = judged(PLACES, "tile:2x2", GRID, other=other or "tile:1x1")
    assert {e.kind for e in report.errors} == {"order"}


@pytest.mark.parametrize("on", [(5, 7, 1), (7, 4, 1), (7, 5, 2), (35, 1, 1)])
def test_another_grid_is_not(on: Three) -> None:
    assert not judged(PLACES, "tile:2x2", GRID, on=on).ok


def test_another_number_of_sms_is_not() -> None:
    module = program(PLACES)
    made = renumbered(module, "stride:2", (32, 1, 1), sms=4).module
    assert check_order(module, made, "k", "stride:2", (32, 1, 1), 4).ok
    assert not check_order(module, made, "k", "stride:2", (32, 1, 1), 8).ok


@pytest.mark.parametrize(("grid", "sms"), [((0, 5, 1), 4), ((1 << 12, 1 << 12, 1), 4), ((7, 5, 1), 0), ((7, 5, -1), 4)])
def test_numbers_that_make_no_sense_are_not(grid: Three, sms: int) -> None:
    module = program(PLACES)
    made = renumbered(module, "tile:2x2", GRID).module
    report = check_order(module, made, "k", "tile:2x2", grid, sms)
    assert {e.kind for e in report.errors} == {"limit"}


def mutants(fn: Function) -> Iterator[tuple[str, int, Instr]]:
    """Inserted words that are left out, or have another number or another register."""
    for n in inserted(fn):
        instr = fn.instrs[n]
        yield "left out", n, make("NOP")
        if instr.form == FORM_IMM and instr.name != "S2R":
            for step in (1, -1):
                yield f"number {step:+}", n, instr.replace(imm=(instr.f["imm"] + step) & 0xFFFFFFFF)
        if "lut" in instr.f:
            yield "another table", n, instr.replace(lut=instr.f["lut"] ^ 0x80)
        if instr.name == "S2R":
            yield "another special register", n, instr.replace(sreg=instr.f["sreg"] ^ 1)


HARMLESS = 8
"""Most mutants of one kernel that do the same: a greater limit of what never comes to it, a quotient that is exact with
the next factor, too, a bit of a table for bits that are never so."""


@pytest.mark.parametrize("order", [order for order in ORDERS if order != "tile:16x16"])  # it moves nothing on this grid
def test_wrong_words_are_found(order: str) -> None:
    module = program(PLACES)
    made = renumbered(module, order, GRID, sms=2).module
    accepted = []
    total = 0
    for what, n, instr in mutants(made.function("k")):
        report = check_order(module, changed(made, "k", {n: instr}), "k", order, GRID, 2)
        total += 1
        if report.ok:
            accepted.append((what, n, str(instr)))
    assert len(accepted) <= HARMLESS < total / 3, accepted


def _swapped(fn: Function) -> dict[int, Instr]:
    """Reads of x and y, exchanged."""
    x, y = (n for n, m in enumerate(fn.origin.index if fn.origin else ()) if m in (0, 1))
    one, other = fn.instrs[x], fn.instrs[y]
    return {x: one.replace(rb=other.f["rb"]), y: other.replace(rb=one.f["rb"])}


def _one_block(fn: Function) -> dict[int, Instr]:
    """The read of x, always 0."""
    x = next(n for n, m in enumerate(fn.origin.index if fn.origin else ()) if m == 0)
    return {x: make("MOV", form=FORM_IMM, rd=fn.instrs[x].f["rd"], imm=0)}


def _no_guard(fn: Function) -> dict[int, Instr]:
    """The mask has all bits on every grid."""
    n = max(n for n in inserted(fn) if fn.instrs[n].name == "IMNMX" and fn.instrs[n].f["imm"] == 1)
    return {n: fn.instrs[n].replace(imm=0)}


def _own_register(fn: Function) -> dict[int, Instr]:
    """An inserted word writes a register of the kernel."""
    n = inserted(fn)[-1]
    return {n: fn.instrs[n].replace(rd=8)}


def _as_it_came(fn: Function) -> dict[int, Instr]:
    """One read is the original's."""
    y = next(n for n, m in enumerate(fn.origin.index if fn.origin else ()) if m == 1)
    return {y: program(PLACES).function("k").instrs[1]}


def _guarded(fn: Function) -> dict[int, Instr]:
    n = inserted(fn)[-1]
    return {n: fn.instrs[n].replace(guard=(0, False))}


def _another_target(fn: Function) -> dict[int, Instr]:
    x = next(n for n, m in enumerate(fn.origin.index if fn.origin else ()) if m == 0)
    return {x: fn.instrs[x].replace(rd=9)}


def _another_word(fn: Function) -> dict[int, Instr]:
    n = next(n for n, instr in enumerate(fn.instrs) if instr.name == "IMAD.WIDE")
    return {n: fn.instrs[n].replace(imm=8)}


@pytest.mark.parametrize(("wrong", "kind"), [
    (_swapped, "order"), (_one_block, "instruction"), (_no_guard, "order"), (_own_register, "inserted"),
    (_as_it_came, "order"), (_guarded, "inserted"), (_another_target, "instruction"), (_another_word, "instruction"),
])  # fmt: skip
def test_one_wrong_thing_is_found(wrong: Callable[[Function], dict[int, Instr]], kind: str) -> None:
    grid = (6, 6, 1)  # a square, on which exchanged axes are a permutation, too
    module = program(PLACES)
    made = renumbered(module, "tile:2x2", grid).module
    assert check_order(module, made, "k", "tile:2x2", grid, 4).ok
    report = check_order(module, changed(made, "k", wrong(made.function("k"))), "k", "tile:2x2", grid, 4)
    assert kind in {e.kind for e in report.errors}, str(report)


PASSES = """
.kernel k
.param out, 8
{first}0| MOV R0, R20
1| S2R R1, SR_TID.X
2| MOV R6, c[0][out]
3| MOV R7, c[0][out+0x4]
4| IMAD.WIDE R6, R1, 0x4, R6
5| STG.32 [R6], R0
6| EXIT
.end
"""


@pytest.mark.parametrize(("first", "right"), [
    ("-| S2R R20, SR_CTAID.X\n", True), ("-| S2R R21, SR_CTAID.X\n-| MOV R20, R21\n", True),
    ("-| MOV R20, R21\n-| S2R R21, SR_CTAID.X\n", False),
])  # fmt: skip
def test_what_only_a_second_pass_would_know_is_not_known(first: str, right: bool) -> None:
    """In the last of them the first run reads a register that only its own end writes: it holds anything at first."""
    words = PASSES.format(first="").replace("MOV R0, R20", "S2R R0, SR_CTAID.X")
    original = program(re.sub(r"\n\d\| ", "\n", words))
    report = check_order(original, program(PASSES.format(first=first)), "k", "tile:1x1", (6, 1, 1), 1)
    assert report.ok == right, str(report)


@pytest.mark.parametrize("index", [None, [], [0, 1], "shifted", "back"])
def test_maps_that_do_not_fit_are_refused(index: object) -> None:
    module = program(PLACES)
    made = renumbered(module, "tile:2x2", GRID).module
    fn = made.function("k")
    assert fn.origin is not None
    given = fn.origin.index
    wrong = {"shifted": [m + 1 if m >= 0 else m for m in given], "back": given[::-1]}.get(str(index), index)
    origin = None if wrong is None else Origin("k", wrong)  # type: ignore[arg-type]
    again = replace(made, functions=[replace(fn, origin=origin)])
    assert "map" in {e.kind for e in check_order(module, again, "k", "tile:2x2", GRID, 4).errors}


def test_a_called_function_that_was_forgotten_is_found() -> None:
    module = program(CALLED)
    made = renumbered(module, "tile:2x2", GRID).module
    old = module.function("where")
    again = replace(made, functions=[replace(old, address=fn.address) if fn.name == "where" else fn for fn in made])
    errors = check_order(module, again, "k", "tile:2x2", GRID, 4).errors
    assert {(e.kind, e.function) for e in errors} == {("order", "where")}


def test_a_called_function_that_spoils_the_kernels_place_is_found() -> None:
    """It writes the register from which the kernel copies behind the call, and is right itself."""
    module = program(CALLED.replace("S2R R0, SR_CTAID.Y\nCALL where", "CALL where\nS2R R0, SR_CTAID.Y"))
    made = renumbered(module, "tile:2x2", GRID).module
    assert check_order(module, made, "k", "tile:2x2", GRID, 4).ok
    kernel, called = made.function("k"), made.function("where")
    copied = next(kernel.instrs[n] for n, m in enumerate(kernel.origin.index if kernel.origin else ()) if m == 1)
    for register, right in ((copied.f["rb"], False), (100, True)):
        spoils = make("MOV", form=FORM_IMM, rd=register, imm=0)
        assert called.origin is not None
        more = replace(called, instrs=[spoils, *called.instrs], origin=Origin("where", [-1, *called.origin.index]))
        most = replace(kernel, info=replace(kernel.info, registers=101))
        other = replace(made, functions=[most, more])
        assert check_order(module, other, "k", "tile:2x2", GRID, 4).ok == right


def test_a_branch_past_the_computation_is_found() -> None:
    text = PLACES.replace(".param out, 8", ".param out, 8\nS2R R9, SR_TID.X\nISETP.LT P2, PT, R9, 0x8, PT\n"
                          "@P2 BRA on, on\nMOV R9, 0x1\non:")  # fmt: skip
    module = program(text)
    made = renumbered(module, "tile:2x2", GRID).module
    assert check_order(module, made, "k", "tile:2x2", GRID, 4).ok
    fn = made.function("k")
    n = next(n for n, instr in enumerate(fn.instrs) if instr.name == "BRA")
    jumps = changed(made, "k", {n: fn.instrs[n].replace(target=fn.instrs[n].f["target"] + 1)})
    assert "instruction" in {e.kind for e in check_order(module, jumps, "k", "tile:2x2", GRID, 4).errors}


def test_other_records_are_found() -> None:
    module = program(PLACES)
    made = renumbered(module, "tile:2x2", GRID).module
    fn = made.function("k")
    for other in (replace(fn, info=replace(fn.info, shared_bytes=4)), replace(fn, info=replace(fn.info, registers=9))):
        report = check_order(module, replace(made, functions=[other]), "k", "tile:2x2", GRID, 4)
        assert {e.kind for e in report.errors} == {"resources"}
