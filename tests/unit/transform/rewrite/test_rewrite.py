"""The rewriter on cases that once went wrong, and what it refuses."""

from __future__ import annotations

import pytest

from binalloc.errors import Refused, UsageError
from binalloc.isa.sets.files import load, write_module
from binalloc.isa.text.assembler import assemble
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.rewrite.rewrite import minimum_registers, prepare, rewrite, rewrite_to_budget
from binalloc.verify.checker import check
from tests.support.pairs.random_pairs import random_original
from tests.support.paths import sample_file

CALLEE_RESULTS_ALIKE = """
.kernel k
.param out, 8
.local_bytes 8
.registers 12
        S2R R0, SR_TID.X
        CALL f
        LDL R2, [RZ+0]
        IADD3 R1, R1, R2, RZ
        MOV R4, c[0][out]
        MOV R5, c[0][out+4]
        STG [R4], R1
        EXIT
.end
.func f
        IADD3 R1, R0, 1, RZ
        STL [RZ+0], R1
        RET
.end
"""


def test_two_results_in_one_register():
    """R1 and the lifted local word are one value in the callee; the caller takes both from one register."""
    module = assemble(CALLEE_RESULTS_ALIKE)
    out = rewrite(module, "k", 12, 0)
    assert check(module, out, "k").ok
    assert out.function("k").info.local_bytes == 0


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("seed", "registers", "slots"), [(5, 31, 40), (13, 20, 40), (21, 22, 4), (33, 18, 0), (38, 22, 40)]
)
def test_results_that_are_copies_of_one_another(seed, registers, slots):
    module = random_original(seed)
    out = rewrite(module, "k", registers, slots, "best")
    assert check(module, out, "k").ok


def test_minimum_is_the_fewest_registers():
    module = random_original(3)
    least = minimum_registers(module, "k")
    assert check(module, rewrite(module, "k", least, 0), "k").ok
    with pytest.raises(Infeasible):
        rewrite(module, "k", least - 1, 0)


def test_the_input_is_left_alone():
    module = assemble(CALLEE_RESULTS_ALIKE)
    before = [list(fn.instrs) for fn in module], [fn.info.registers for fn in module], [fn.address for fn in module]
    rewrite(module, "k", 6, 4)
    assert before == (
        [list(fn.instrs) for fn in module], [fn.info.registers for fn in module], [fn.address for fn in module]
    )  # fmt: skip


def test_enough_registers_change_nothing_but_what_is_lifted():
    module = assemble(CALLEE_RESULTS_ALIKE.replace("STL [RZ+0], R1", "NOP").replace("LDL R2, [RZ+0]", "MOV R2, 7"))
    out = rewrite(module, "k", 63, 0)
    assert [fn.instrs for fn in out] == [fn.instrs for fn in module]


def test_what_was_rewritten_is_refused():
    module = random_original(3)
    out = rewrite(module, "k", minimum_registers(module, "k"), 0)
    if out.function("k").info.spill_local == 0:
        pytest.fail("the case should spill")
    with pytest.raises(Refused, match="rewritten before"):
        rewrite(out, "k", 32, 0)


@pytest.mark.parametrize(
    ("registers", "slots", "allocator"), [(0, 0, "best"), (256, 0, "best"), (8, -1, "best"), (8, 0, "magic")]
)
def test_nonsense_is_a_usage_error(registers, slots, allocator):
    with pytest.raises(UsageError):
        rewrite(assemble(CALLEE_RESULTS_ALIKE), "k", registers, slots, allocator)


@pytest.mark.rotates("long")
def test_cpsat_is_never_worse_and_reports_its_gap():
    module = random_original(8)
    least = minimum_registers(module, "k")
    best = rewrite_to_budget(prepare(module, "k"), least + 2, 2, "best").module
    exact = rewrite_to_budget(prepare(module, "k"), least + 2, 2, "cpsat", solver_limit=0.5)
    assert check(module, exact.module, "k").ok
    for report in exact.solver:
        assert report.bound <= report.value
        assert 0 <= report.gap <= 1
    spills = [
        sum("SPILL" in str(i.f) or i.f.get("spill", 0) for fn in m for i in fn.instrs) for m in (exact.module, best)
    ]
    assert spills[0] <= spills[1] or any(r.used for r in exact.solver)


CALLEE_NEVER_RETURNS = """
.kernel k
.param out, 8
        MOV R4, c[0][out]
        MOV R5, c[0][out+4]
        S2R R8, SR_TID.X
        CALL f
        STG [R4], R8
        EXIT
.end
.func f
        IADD3 R8, R8, 1, RZ
        STG [R4], R8
        EXIT
.end
"""


@pytest.mark.parametrize("allocator", ["best", "unified", "ptxas-smem", "regdem", "local", "cpsat"])
def test_a_callee_that_never_returns_has_no_results(allocator):
    module = assemble(CALLEE_NEVER_RETURNS)
    assert check(module, rewrite(module, "k", 4, 0, allocator), "k").ok


def test_what_never_executes_is_no_obstacle():
    """`@!PT` on a definition, a store and a call."""
    source = CALLEE_RESULTS_ALIKE.replace("CALL f\n", "CALL f\n        @!PT MOV R1, 5\n        @!PT CALL f\n")
    module = assemble(source.replace("LDL R2, [RZ+0]", "@!PT LDL R2, [RZ+4]\n        LDL R2, [RZ+0]"))
    for registers in (minimum_registers(module, "k"), 12):
        report = check(module, rewrite(module, "k", registers, 2), "k")
        assert report.ok, report.errors


def test_one_preparation_serves_every_budget() -> None:
    module = load(sample_file("callchain.loom"))
    prepared = prepare(module, "callchain")
    before = write_module(module)
    budgets = [(8, 2, "best"), (6, 0, "local"), (7, 3, "unified"), (8, 2, "best")]
    for registers, slots, allocator in budgets:
        again = rewrite_to_budget(prepared, registers, slots, allocator).module
        fresh = rewrite(module, "callchain", registers, slots, allocator)
        assert write_module(again) == write_module(fresh)
    assert write_module(module) == before
