"""Kinds of control: a function and a row each, from which the dispatch is written."""

from __future__ import annotations

from binalloc.emulator.execute.table import OPERATIONS
from binalloc.emulator.sm.control import CONTROLS, control_number, control_text
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.device import GENERATED
from binalloc.isa.table.opcodes import BY_NAME


def test_opcodes_of_a_kind_have_its_number_and_others_none_of_a_function() -> None:
    numbers = {name: control_number(op) for name, op in BY_NAME.items()}
    executed = {
        BY_NAME[name].control: n for name, n in numbers.items() if OPERATIONS[name].group == L.ExecGroup.CONTROL
    }
    assert sorted(executed.items()) == sorted((kind, n) for n, kind in enumerate(CONTROLS, L.NO_CONTROL + 1))
    assert {name for name, n in numbers.items() if n == L.NO_CONTROL} == {
        n for n, op in BY_NAME.items() if not op.control
    }


def test_the_dispatch_is_written_from_the_rows() -> None:
    assert control_text(["branch", "warpsync"]).splitlines() == [
        "def exec_control(g, s, program, regs, w, pc, mask):",
        f"    kind = program[pc, {L.Column.CONTROL}]",
        f"    if kind == {control_number(BY_NAME['BRA'])}:  # branch",
        "        branch(g, s, program, regs, w, pc, mask)",
        f"    elif kind == {control_number(BY_NAME['WARPSYNC'])}:  # warpsync",
        "        converge(g, s, program, regs, w, pc, mask)",
    ]
    assert GENERATED["binalloc.emulator.sm.control.exec_control"] == control_text(list(CONTROLS))
