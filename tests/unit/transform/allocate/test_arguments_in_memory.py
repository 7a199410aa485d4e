"""Arguments that travel in memory: where registers do not hold them, and where that costs less."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.isa.instruction import Module, make
from binalloc.isa.text.assembler import assemble
from binalloc.report.explain import explanation, render_explanation
from binalloc.transform.allocators.table import ALLOCATORS
from binalloc.transform.rewrite.rewrite import Rewrite, fewest_registers, prepare, rewrite_to_budget
from binalloc.verify.checker import check


def many_arguments(count: int, *, written: bool = False) -> Module:
    """A call of a function that reads so many registers, and with `written` changes each where a guard holds."""
    lines = [".kernel k", ".param out, 8", ".block 64, 1, 1", "S2R R0, SR_TID.X"]
    lines += [f"IMAD R{k}, R0, {k + 2}, RZ" for k in range(1, count)]
    lines += ["CALL f", "MOV R2, c[0][out]", "MOV R3, c[0][out+4]", "STG [R2], R0", "EXIT", ".end", ".func f"]
    if written:
        lines += ["ISETP.LT P0, PT, R0, 7, PT", *(f"@P0 IADD3 R{k}, R{k}, R0, RZ" for k in range(1, count))]
    lines += [f"IADD3 R0, R0, R{k}, RZ" for k in range(1, count)]
    return assemble("\n".join([*lines, "RET", ".end"]))


def arguments_from_memory(count: int, others: int, calls: int) -> Module:
    """Arguments, and others that live across the call, come from another block, so that where registers are few they
    lie in memory until they are passed; again and again, and half of the arguments are wanted behind the last call."""
    end = 1 + count + others
    lines = [".kernel k", ".param out, 8", ".block 64, 1, 1", "S2R R0, SR_TID.X"]
    lines += [f"IMAD R{k}, R0, {k + 2}, RZ" for k in range(1, end)]
    lines += ["ISETP.LT P0, PT, R0, 7, PT", "@P0 BRA over, over", f"IADD3 R{end - 1}, R{end - 1}, R0, RZ", "over:"]
    lines += ["CALL f"] * calls
    lines += [f"IADD3 R0, R0, R{k}, RZ" for k in range(1 + count // 2, end)]
    lines += ["MOV R2, c[0][out]", "MOV R3, c[0][out+4]", "STG [R2], R0", "EXIT", ".end", ".func f"]
    lines += [f"IADD3 R0, R0, R{k}, RZ" for k in range(1, 1 + count)]
    return assemble("\n".join([*lines, "RET", ".end"]))


@pytest.mark.rotates("long")
@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize(("count", "others"), [(6, 0), (6, 5), (9, 3), (4, 9)])
def test_what_lies_in_memory_while_others_are_passed(count: int, others: int, calls: int) -> None:
    """Not even slots that the callee will have are free while a value lies there that is still to be passed; and what
    lives across the call is not moved under the callee's arguments."""
    module = arguments_from_memory(count, others, calls)
    prepared = prepare(module, "k")
    least = fewest_registers(prepared)
    assert least is not None
    passed = set()
    for registers in (least + 1, least + 2):
        for slots in range(1, 2 * count + others + 2):
            for allocator in ("best", "unified", "ptxas-smem"):
                found = rewrite_to_budget(prepared, registers, slots, allocator)
                assert proven(module, found), (registers, slots, allocator)
                if found.plan.attempt.stored:
                    passed.add(allocator)
    assert passed == {"best", "unified", "ptxas-smem"}


def proven(module: Module, found: Rewrite) -> bool:
    return check(module, found.module, found.prepared.kernel).ok


@pytest.mark.rotates("long")
@pytest.mark.parametrize("allocator", [name for name in ALLOCATORS if name != "regdem"])
@pytest.mark.parametrize("written", [False, True])
def test_registers_need_not_hold_all_arguments(allocator: str, written: bool) -> None:
    """A budget of four: every argument beyond those goes through memory, in slots and without."""
    module = many_arguments(40, written=written)
    prepared = prepare(module, "k")
    least = fewest_registers(prepared, 0, allocator)
    assert least == 3
    for registers, slots in ((least, 0), (least + 1, 0), (least + 1, 8), (least + 1, 48)):
        found = rewrite_to_budget(prepared, registers, slots, allocator, solver_limit=0.2)
        assert proven(module, found), (registers, slots)
        assert found.plan.attempt.stored["f"]


def test_it_is_told_which_arguments_are_in_memory() -> None:
    module = many_arguments(5)
    found = rewrite_to_budget(prepare(module, "k"), 4, 8)
    assert proven(module, found)
    told = explanation(module, found.explain())
    passed = {f"R{register}" for register in found.plan.attempt.contracts["f"].stored}
    assert passed
    assert {v["value"].partition(".")[0] for v in told if v["passed_in_memory"]} == passed
    assert all(v["stores"] == 1 for v in told if v["passed_in_memory"])
    assert "where its callers store it" in render_explanation(told, 0)


@pytest.mark.rotates
@pytest.mark.parametrize("allocator", [name for name in ALLOCATORS if name != "regdem"])
def test_nobody_stores_what_the_kernel_starts_with(allocator: str) -> None:
    """Its stack register is 0 at launch, data where there is no stack. Nobody calls a kernel."""
    module = many_arguments(12)
    kernel = module.function("k")
    kernel.info = replace(kernel.info, registers=24, local_stack=20)
    kernel.instrs.insert(-1, make("STG", ra=2, rb=20))
    prepared = prepare(module, "k")
    for registers in (4, 5, 6):
        assert proven(module, rewrite_to_budget(prepared, registers, 0, allocator, solver_limit=0.2))
