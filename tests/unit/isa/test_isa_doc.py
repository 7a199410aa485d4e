"""ISA.md is current, complete, and its example is what it says."""

from __future__ import annotations

import re

from binalloc.isa.container.elf import E_MACHINE, INFO, SOURCE
from binalloc.isa.container.files import write_module
from binalloc.isa.table import doc
from binalloc.isa.table.opcodes import OPCODES, SPECIAL_REGISTERS
from binalloc.isa.text.assembler import _Assembler, assemble
from binalloc.isa.text.disassembler import disassemble
from binalloc.isa.validate import CODE_LIMIT

TEXT = doc.PATH.read_text(encoding="utf-8")


def test_the_generated_tables_are_current() -> None:
    assert doc.render(TEXT) == TEXT, "run python -m binalloc.isa.table.doc"


def test_a_stale_table_is_noticed() -> None:
    stale = TEXT.replace("| 0x010 |", "| 0x0ff |", 1)
    assert stale != TEXT
    assert doc.render(stale) == TEXT


def test_every_special_register_is_described() -> None:
    assert list(doc.SPECIAL_TEXT) == list(SPECIAL_REGISTERS)


def test_every_opcode_stands_in_the_table() -> None:
    for code, op in OPCODES.items():
        assert f"| {code:#05x} | `{op.name}` |" in TEXT


def test_every_directive_is_documented() -> None:
    names = [n.removeprefix("_do_") for n in dir(_Assembler) if n.startswith("_do_")]
    data = ["byte", "half", "word", "quad", "float", "double", "space", "align"]
    for name in [*names, "inlined", "origin", "provenance", *data]:
        assert re.search(rf"`\.{name}\b", TEXT), name


def test_the_example_assembles_and_survives_disassembly() -> None:
    chapter = TEXT.split("\n## Assembly\n")[1].split("```")[0]
    example = "\n".join(line[4:] for line in chapter.splitlines() if line.startswith("    "))
    module = assemble(example)
    assert [fn.name for fn in module] == ["axpy", "helper"]
    assert write_module(assemble(disassemble(module))) == write_module(module)


def test_numbers_in_the_prose_are_those_of_the_code() -> None:
    assert f"`e_machine` {E_MACHINE:#x}" in TEXT
    assert f"{CODE_LIMIT} words of code" in TEXT
    offset = 0
    record = TEXT.split("**`.loom.info.F`**")[1].splitlines()
    for sub in INFO.subcons:
        if sub.name == "machine":
            break
        if sub.name and sub.name != "reserved":
            line = next(row for row in record if re.match(rf"\| {offset} \| ", row))
            assert sub.name in line, (offset, sub.name)
        offset += sub.sizeof()
    assert "| 36 | string | machine" in TEXT
    assert offset == 36
    added = TEXT.split("in version 2 alone")[1].split("\n\n")[0].splitlines()
    named = [row.split("`")[1] for row in added if "`" in row]
    assert named == [sub.name for sub in SOURCE.subcons if sub.name != "reserved"]
