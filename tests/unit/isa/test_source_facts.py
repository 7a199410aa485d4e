"""What a binary says of its source: kept through every format, and none of it in a record of version 1."""

from __future__ import annotations

import dataclasses
import random

import pytest

from binalloc.errors import MalformedInput
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Function, FunctionInfo, Module
from binalloc.isa.source_facts import MOST, SourceFacts
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.elf_edit import take_apart
from tests.support.programs.words import random_source_facts

MACHINE = load_machine("a100")
PLAIN = ".kernel k\n.registers 4\n.max_threads 256\nEXIT\n.end\n"
SAID = """
.target sm_80
.memory_model ptx
.kernel k
  .max_registers 24
  .min_blocks 4294967295
  .smem_spilling
  EXIT
.end
.func f
  .target "sm_90 a"
  .memory_model loom
  RET
.end
"""


def _record(module: Module, function: str = "k") -> bytes:
    sections = take_apart(write_module(module))
    return next(s.data for s in sections if s.name == f".loom.info.{function}")


def test_directives_give_the_facts_and_hold_outside_of_functions_for_what_follows() -> None:
    module = assemble(SAID)
    k, f = module.functions
    assert (k.info.target, k.info.memory_model, k.info.max_registers) == ("sm_80", "ptx", 24)
    assert (k.info.min_blocks, k.info.smem_spilling) == (MOST, True)
    assert (f.info.target, f.info.memory_model, f.info.smem_spilling) == ("sm_90 a", "loom", False)
    assert read_module(write_module(module)) == module
    assert write_module(assemble(disassemble(module))) == write_module(module)


def test_what_says_nothing_is_a_record_of_the_first_version_and_each_fact_makes_it_the_second() -> None:
    plain = assemble(PLAIN)
    record = _record(plain)
    assert record[:2] == b"\1\0"
    assert len(record) == 42
    said = SourceFacts(memory_model="ptx", target="x", max_registers=1, min_blocks=1, smem_spilling=True)
    for name, value in vars(said).items():
        module = assemble(PLAIN)
        setattr(module.functions[0].info, name, value)
        assert _record(module)[:2] == b"\2\0", name
        assert getattr(read_module(write_module(module)).functions[0].info, name) == value
    assert _record(plain) == record


def test_scheduling_and_the_text_keep_every_fact() -> None:
    for seed in range(100):
        module = assemble(PLAIN)
        facts = random_source_facts(random.Random(seed))
        fn = module.functions[0]
        fn.info = dataclasses.replace(fn.info, **vars(facts))
        for other in (read_module(write_module(module)), assemble(disassemble(module)), schedule(module, MACHINE)):
            info = other.functions[0].info
            assert {name: getattr(info, name) for name in vars(facts)} == vars(facts)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("memory_model", "x86", "info, memory_model: unknown memory model"),
        ("target", "sm\n80", "info, target: not a target"),
        ("target", "s" * 256, "info, target: not a target"),
        ("max_registers", -1, "info, max_registers: out of range"),
        ("min_blocks", MOST + 1, "info, min_blocks: out of range"),
    ],
)
def test_a_fact_that_no_record_holds_is_refused(field: str, value: object, expected: str) -> None:
    fn = assemble(PLAIN).functions[0]
    info: FunctionInfo = dataclasses.replace(fn.info, **{field: value})
    with pytest.raises(MalformedInput, match=expected):
        write_module(Module([Function("k", fn.instrs, info)]))
