"""Registers in other banks of the register file."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import disassemble, read_module, write_module
from binalloc.isa.sets.table import set_of
from binalloc.isa.text.assembler import assemble
from binalloc.models.machines.reader import load_machine
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.schedule.banks import spread_over_banks
from binalloc.transform.schedule.schedule import schedule
from binalloc.verify.checker import check
from tests.support.generator.programs import random_program
from tests.support.kits.machines import with_register_banks
from tests.support.kits.transform.rewrite_judge import MACHINE, Original, rewritten_names

V100 = load_machine("v100")


def kernel(body: str, registers: int = 12, functions: str = "") -> Module:
    return assemble(f".kernel k\n.registers {registers}\n{body}\nEXIT\n.end\n{functions}", "test")


def words(module: Module) -> list[str]:
    """The instructions after the pass, without their control codes."""
    spread = spread_over_banks(module, V100)
    lines = [line.split("{")[0].strip() for line in disassemble(spread).splitlines()]
    return [line for line in lines if line[:1].isupper() and line != "EXIT"]


def test_three_operands_of_one_bank_are_divided() -> None:
    (word,) = words(kernel("FFMA R6, R1, R3, R5"))
    registers = [int(name[1:]) for name in word.replace(",", "").split()[2:]]
    assert sorted(r % 2 for r in registers) in ([0, 0, 1], [0, 1, 1])


def test_what_runs_more_often_counts_more() -> None:
    body = """FFMA R7, R1, R2, R4
        again: FADD R6, R1, R3
        ISETP.LT.AND P0, PT, R8, R9, PT
        @P0 BRA again, uniform"""
    loop = next(word for word in words(kernel(body)) if word.startswith("FADD"))
    one, other = (int(name[1:]) for name in loop.replace(",", "").split()[2:])
    assert one % 2 != other % 2


@pytest.mark.parametrize(
    "body",
    [
        "FFMA R6, R1, R2, R4",  # divided already
        "FFMA R6, R1, R1, R1",  # read once
        "DFMA R6, R2, R4, R8",  # pairs lie in both banks
        "IADD3 R6, R1, RZ, 7",  # constants are in none
        "MUFU.RCP R6, R1\nMUFU.RCP R8, R3",  # of variable latency
        "FFMA R6, R1, R3, R2\nFADD R7, R8, R3\nFADD R9, R10, R3",  # R3 is kept, so it need not move
    ],
)
def test_what_cannot_gain_stays_as_it_is(body: str) -> None:
    module = kernel(body)
    assert spread_over_banks(module, V100) is module


def test_pairs_the_stack_register_and_the_slot_pointer_keep_their_numbers() -> None:
    module = kernel("DADD R2, R4, R6\nFFMA R8, R3, R5, R1\nFFMA R8, R9, R11, R3")
    fn = module.function("k")
    fn.info.local_stack, fn.info.slot_pointer = 9, 11
    first, second, third = words(module)
    assert first == "DADD R2, R4, R6"
    assert second.startswith("FFMA")
    assert "R3, R5" in second
    assert "R9, R11, R3" in third


def test_a_callee_whose_info_names_a_register_that_the_rewrite_has_no_more() -> None:
    callee = ".func f\n.registers 70\n.local_stack R66\nFFMA R4, R1, R60, R62\nSTG.32 [R2], R4\nRET\n.end\n"
    body = "S2R R60, SR_TID.X\nMOV R1, R60\nMOV R62, R60\nMOV R2, RZ\nMOV R3, RZ\nCALL f"
    rewritten = rewrite(kernel(body, 70, callee), "k", 12, 0)
    assert rewritten.function("f").info.local_stack >= rewritten.function("k").info.registers
    spread_over_banks(rewritten, V100)


def test_no_function_gets_a_higher_register() -> None:
    module = kernel("FFMA R6, R1, R3, R5\nCALL f", 12, ".func f\n.registers 6\nFFMA R0, R1, R3, R5\nRET\n.end\n")
    spread = spread_over_banks(module, V100)
    assert spread is not module
    for fn in spread:
        assert set_of(fn.instrs[0]).highest_register(fn.instrs) < fn.info.registers


def test_machines_without_banks_leave_all_as_it_is() -> None:
    module = kernel("FFMA R6, R1, R3, R5")
    assert spread_over_banks(module, load_machine("gtx680")) is module
    one = replace(V100, register_file=replace(V100.register_file, banks=1))  # type: ignore[type-var]
    assert spread_over_banks(module, one) is module


def test_functions_that_are_not_named_stay() -> None:
    module = assemble(
        "".join(f".kernel {k}\n.registers 12\nFFMA R6, R1, R3, R5\nEXIT\n.end\n" for k in ("one", "two")), "test"
    )
    spread = spread_over_banks(module, V100, {"two"})
    assert spread.function("one").instrs == module.function("one").instrs
    assert spread.function("two").instrs != module.function("two").instrs


def _case(seed: int) -> tuple[Original, Module, Module, int, int]:
    """A random program, its rewrite, that in other banks, and the budget."""
    module, launch = random_program(seed, wide=False)
    original = Original(module, [launch])
    rng = Random(f"register banks {seed}")
    registers, slots = max(24, original.demand - rng.randrange(8)), rng.choice((0, 2, 6))
    rewritten = rewrite(module, "kernel", registers, slots)
    spread = spread_over_banks(rewritten, with_register_banks(MACHINE, rng), rewritten_names(rewritten))
    return original, rewritten, spread, registers, slots


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(24))
def test_rewrites_in_other_banks_are_proven_and_leave_the_same(seed: int) -> None:
    original, _, spread, registers, slots = _case(seed)
    assert not original.judge(spread, registers, slots).failures


def test_of_these_programs_a_half_has_something_to_gain() -> None:
    cases = [_case(seed) for seed in range(24)]
    assert sum(spread is not rewritten for _, rewritten, spread, _, _ in cases) >= 12


def test_a_result_that_went_elsewhere_in_one_word_alone_is_not_proven() -> None:
    module, _ = random_program(3, wide=False)
    rewritten = rewrite(module, "kernel", 24, 0)
    spread = spread_over_banks(rewritten, V100, rewritten_names(rewritten))
    before, after = rewritten.function("kernel"), spread.function("kernel")
    moved = [k for k, word in enumerate(after.instrs) if word.f.get("rd") != before.instrs[k].f.get("rd")]
    assert moved
    for k in moved:
        mixed = replace(after, instrs=[*after.instrs[:k], before.instrs[k], *after.instrs[k + 1 :]])
        functions = [mixed if fn.name == "kernel" else fn for fn in spread]
        final = read_module(write_module(schedule(replace(rewritten, functions=functions), MACHINE)))
        assert not check(module, final, "kernel").ok
