"""Callees make do with fewer registers where their callers gain by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from binalloc.analysis.program import ProgramAnalysis, analyse
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.models.allocation.terms import Register
from binalloc.models.machines import local_price
from binalloc.models.machines.reader import load_machine
from binalloc.transform.allocate import budgets
from binalloc.transform.allocate.attempt import allocate
from binalloc.transform.allocate.budgets import allocate_with_budgets, with_budgets
from binalloc.transform.allocate.cheaper import by_regions_or_whole
from binalloc.transform.allocate.functions.function import OneFunction
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.allocate.known import Callees, ResultStore
from binalloc.transform.allocate.passing import allocate_passing
from binalloc.transform.order.clock import LatencyClock
from binalloc.transform.rewrite.rewrite import prepare, rewrite, rewrite_to_budget
from binalloc.transform.spill.prices import LOCAL_COST
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.contract import Contract
from binalloc.verify.checker import check
from tests.support.generator.programs import random_program
from tests.support.generator.transform.arguments import argument_program, handed_on
from tests.support.paths import sample_file
from tests.support.programs.builder import program


@pytest.mark.rotates("long")
def test_callees_do_not_hide_latencies_at_the_cost_of_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_price, "local_price", lambda _: LOCAL_COST)  # costs with a machine and without it
    ptx = sample_file("heartwall.ptx")
    module = import_ptx(ptx.read_text(), "heartwall", machine="gtx680").module
    kernel = module.kernels()[0].name
    machine = load_machine("gtx680")
    hidden, plain = (rewrite_to_budget(prepare(module, kernel), 24, 0, machine=m) for m in (machine, None))
    assert plain.cost.cost > 0
    assert hidden.cost.cost <= plain.cost.cost


def called(values: int, loads: int, often: int) -> Module:
    """A kernel with so many values live across a call in a loop, of a function whose loads stand in front of their sum;
    often: how many times it adds them all up, one sum behind the other."""
    held = range(10, 10 + values)
    loop = "\n".join(f"FADD R4, R4, R{k}" for k in held)
    sums = "\n".join(f"FADD R5, R5, R{30 + k}" for _ in range(often) for k in range(loads))
    return program(f"""
.kernel k registers=60
MOV R2, c[0][p]
MOV R3, c[0][p+4]
MOV R4, 0
MOV R6, 9
{"".join(f"LDG R{k}, [R2+{4 * k}]" + chr(10) for k in held)}
loop:
CALL f
FADD R4, R4, R5
{loop}
IADD3 R6, R6, -1, RZ
ISETP.NE P0, PT, R6, 0, PT
@P0 BRA loop, done
done:
STG [R2], R4
EXIT
.func f
MOV R5, 0
{"".join(f"LDS R{30 + k}, [RZ+{4 * k}]" + chr(10) for k in range(loads))}
{sums}
RET
""")


def costs(module: Module, registers: int, slots: int = 0) -> tuple[float, float]:
    first = allocate(analyse(module, "k", lift=True), registers, slots)
    return first.cost, with_budgets(first).cost


def test_a_callee_gives_up_what_it_does_not_need() -> None:
    before, after = costs(called(8, 8, 1), 16)
    assert before > 0
    assert after == 0


def test_a_callee_that_needs_them_keeps_most() -> None:
    """It would have to reload in its turn: whatever is given up, the whole costs no more."""
    before, after = costs(called(4, 8, 5), 12)
    assert 0 < after <= before


def test_the_rewritten_program_is_proven() -> None:
    for values, loads, often, registers in ((8, 8, 1, 16), (4, 8, 5, 12), (10, 8, 2, 18)):
        module = called(values, loads, often)
        assert check(module, rewrite(module, "k", registers, 2), "k").ok


def test_a_function_between_keeps_the_registers_of_what_it_calls() -> None:
    """Its limit is below where the callee below has its argument."""
    inner = program(f"""
.kernel k registers=60
MOV R2, c[0][p]
MOV R3, c[0][p+4]
MOV R4, 0
MOV R6, 9
{"".join(f"LDG R{k}, [R2+{4 * k}]" + chr(10) for k in range(10, 20))}
loop:
MOV R9, R6
CALL f
{"".join(f"FADD R4, R4, R{k}" + chr(10) for k in (5, *range(10, 20)))}
IADD3 R6, R6, -1, RZ
ISETP.NE P0, PT, R6, 0, PT
@P0 BRA loop, done
done:
STG [R2], R4
EXIT
.func f
LDS R8, [RZ]
CALL g
FADD R5, R5, R8
RET
.func g
MOV R5, 0
{"".join(f"LDS R{30 + k}, [RZ+{4 * k}]" + chr(10) for k in range(8))}
{"".join(f"FADD R5, R5, R{30 + k % 8}" + chr(10) for k in range(16))}
FADD R5, R5, R9
RET
""")
    for registers in (8, 10, 12, 16, 20):
        for slots in (0, 3):
            assert check(inner, rewrite(inner, "k", registers, slots), "k").ok


def test_nothing_changes_where_nobody_spills() -> None:
    first = allocate(analyse(called(2, 4, 1), "k", lift=True), 60, 0)
    assert with_budgets(first) is first


class Forgetful(ResultStore):
    """Finds everything anew."""

    def code(self, name: str, callees: Callees, make: Callable[[], Analysed]) -> Analysed:
        return make()

    def function(
        self, given: Analysed, callees: Callees, available: int, contracts: Mapping[str, Contract]
    ) -> OneFunction:
        return OneFunction(given, available, dict(contracts))


@pytest.mark.rotates
@pytest.mark.parametrize("slots", [0, 3])
def test_what_attempts_share_changes_nothing(slots: int) -> None:
    modules = [called(8, 8, 1), called(4, 8, 5), *(random_program(seed, size=60, callees=3)[0] for seed in range(2))]
    for module in modules:
        program = analyse(module, module.kernels()[0].name, lift=True)
        clock = LatencyClock(load_machine("gtx680"))
        for registers in (10, 14):
            found = [allocated(program, registers, slots, clock, known) for known in (ResultStore(), Forgetful())]
            assert found[0] == found[1], registers


def allocated(
    program: ProgramAnalysis, registers: int, slots: int, clock: LatencyClock, known: ResultStore
) -> dict[str, tuple[str, list[Register], Contract]] | str:
    """Code, registers and contract of each function, or why there are none."""
    try:
        attempt = allocate_with_budgets(program, registers, slots, clock, by_regions_or_whole, known=known)
    except Infeasible as error:
        return str(error)
    return {name: (a.code.dump(), a.colour, a.contract) for name, a in attempt.allocations.items()}


def test_a_limit_counts_what_a_callee_is_handed_over() -> None:
    """particles' `meet` overwrites 15 registers and has its arguments in three more: with 17 in all it spills nothing,
    and the function above it, which does not spill, needs fewer, for the kernel, which does."""
    module = import_ptx(sample_file("particles.ptx").read_text(), "particles", machine="gtx680").module
    kernel = module.kernels()[0].name
    first = allocate(prepare(module, kernel).program, 32, 0)
    found = with_budgets(first)
    assert found.cost < 0.7 * first.cost
    assert [name for name in found.limits if found.allocations[name].memory] == []


def test_whoever_is_above_may_be_the_one_that_spills() -> None:
    """f calls g and spills nothing, k calls f and does; g has registers that it does not need."""
    module = program(f"""
.kernel k registers=60
MOV R2, c[0][p]
MOV R3, c[0][p+4]
MOV R4, 0
{"".join(f"LDG R{k}, [R2+{4 * k}]" + chr(10) for k in range(10, 18))}
CALL f
{"".join(f"FADD R4, R4, R{k}" + chr(10) for k in (5, *range(10, 18)))}
STG [R2], R4
EXIT
.func f
CALL g
FADD R5, R5, R5
RET
.func g
MOV R5, 0
{"".join(f"LDS R{30 + k}, [RZ+{4 * k}]" + chr(10) for k in range(8))}
{"".join(f"FADD R5, R5, R{30 + k}" + chr(10) for k in range(8))}
RET
""")
    before, after = costs(module, 16)
    assert before > 0
    assert after == 0


def test_of_equal_ways_a_callee_takes_the_one_that_leaves_its_callers_arguments_in_place() -> None:
    """f is short of one register, of its own values or of an argument that it no longer reads: its reloads stand at
    their uses either way. What its callers hold across three calls is in the same registers then."""
    allocation = allocate_passing(prepare(handed_on(), "k").program, 12, 0).allocations["f"]
    arguments = sum(1 << r for r in allocation.contract.arguments.values())
    assert (allocation.contract.clobbers & arguments).bit_count() == 2  # R0, which it changes, and one for reloads


def test_a_callee_leaves_arguments_in_place_where_that_costs_it_something() -> None:
    first = allocate(prepare(argument_program(37), "k").program, 13, 0)
    found = with_budgets(first)
    assert found.modest == {"f"}
    assert found.costs("f") > first.costs("f")
    assert found.cost < first.cost


def test_copies_count_where_costs_are_close(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what a copy counts, callees of particles take registers that cost less memory and more copies, or not."""
    module = import_ptx(sample_file("particles.ptx").read_text(), "particles", machine="gtx680").module
    first = allocate(prepare(module, "particles").program, 40, 10, clock=LatencyClock(load_machine("gtx680")))
    found = []
    for price in (0.0, 0.1):
        monkeypatch.setattr(budgets, "COPY", price)
        found.append(with_budgets(first))
    blind, wary = found
    assert blind.cost < wary.cost
    assert blind.copies > wary.copies
