"""Which operands the scheduling pass has the operand cache keep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.isa.instruction import Instr
from binalloc.isa.text.assembler import assemble
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule


def flags(body: str, machine: str = "v100") -> list[int]:
    """The flags of a kernel's instructions when it has been scheduled."""
    text = f".kernel k\n.registers 40\n{body}\nEXIT\n.end\n"
    return [instr.ctrl.reuse for instr in instrs(text, machine)][:-1]


def instrs(text: str, machine: str) -> list[Instr]:
    return schedule(assemble(text, "test"), load_machine(machine)).functions[0].instrs


@pytest.mark.parametrize(
    ("first", "second", "reuse"),
    [
        ("FFMA R6, R7, R8, R9", "FFMA R10, R7, R8, R9", 7),
        ("FFMA R6, R7, R8, R9", "FFMA R10, R8, R7, R9", 4),
        ("FFMA R7, R7, R8, R9", "FFMA R10, R7, R8, R11", 2),  # R7 is another one by then
        ("FFMA R6, R7, R8, R9", "IADD3 R10, R7, R12, R9", 5),
        ("FADD R6, R7, R8", "MOV R10, R8", 2),
        ("FFMA R6, R7, R8, R9", "MOV R10, 1", 0),
        ("IADD3 R6, R7, RZ, RZ", "IADD3 R10, R7, RZ, RZ", 1),
        ("FFMA R6, R7, R8, 1.0", "FFMA R10, R7, R8, R9", 3),
        ("DADD R6, R8, R10", "DADD R12, R8, R14", 1),
        ("DADD R8, R8, R10", "DADD R12, R8, R10", 2),
        ("DADD R6, R8, R10", "FADD R12, R8, R14", 0),  # a pair is not one of its words
        ("MUFU.RCP R6, R7", "MOV R8, R7", 0),  # reads late
        ("MOV R8, R7", "MUFU.RCP R6, R7", 0),
        ("@P0 FFMA R6, R7, R8, R9", "@!P0 FFMA R10, R7, R8, R9", 7),
    ],
)
def test_what_the_next_instruction_reads_at_the_same_operand_is_kept(first: str, second: str, reuse: int) -> None:
    assert flags(f"{first}\n{second}") == [reuse, 0]


def test_nothing_is_kept_across_blocks() -> None:
    body = """FADD R6, R7, R8
        again: FADD R9, R7, R8
        ISETP.LT.AND P0, PT, R7, R8, PT
        @P0 BRA again, uniform
        FADD R9, R7, R8"""
    assert flags(body) == [0, 3, 0, 0, 0]


def test_flags_that_code_came_with_go() -> None:
    assert flags("FADD R6, R7, R8 {reuse:0123}\nFADD R9, R8, R7") == [0, 0]


def test_machines_without_an_operand_cache_get_no_flags() -> None:
    body = "FADD R6, R7, R8\nFADD R9, R7, R8"
    assert flags(body, "gtx680") == [0, 0]
    machine = load_machine("v100")
    assert machine.register_file is not None
    without = replace(machine, register_file=replace(machine.register_file, operand_cache=False))
    module = schedule(assemble(f".kernel k\n.registers 40\n{body}\nEXIT\n.end\n", "test"), without)
    assert [instr.ctrl.reuse for instr in module.functions[0].instrs] == [0, 0, 0]
