"""The symbolic checker accepts right rewrites of every kind a rewriter makes, made by hand."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from binalloc.isa.instruction import make
from binalloc.verify.checker import check
from tests.support.pairs.hand_made import PAIRS, pair
from tests.support.pairs.random_pairs import random_original, random_rewrite
from tests.support.programs.builder import identity, program
from tests.support.programs.calls import calls_of, link


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_accepts_right_rewrite(name: str) -> None:
    original, rewritten = pair(name)
    report = check(original, rewritten, "k")
    assert report.ok, str(report)
    assert not report.notes
    assert report.stats["words"] > 0


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_accepts_identity(name: str) -> None:
    original, _ = pair(name)
    report = check(original, identity(original), "k")
    assert report.ok, str(report)


def test_hint_is_not_trusted() -> None:
    original, rewritten = pair("loop")
    fn = rewritten.functions[0]
    assert fn.origin is not None
    for index in ([], [-1] * len(fn.instrs), [10**9] * len(fn.instrs), [0] * len(fn.instrs), fn.origin.index[::-1]):
        fn.origin.index = index
        assert not check(original, rewritten, "k").ok
    fn.origin = None
    assert not check(original, rewritten, "k").ok


def test_names_place_operand_and_values() -> None:
    original, rewritten = pair("renamed")
    fn = rewritten.functions[0]
    fn.instrs[4] = fn.instrs[4].replace(rb=3)
    (error,) = check(original, rewritten, "k").errors
    assert (error.function, error.index, error.origin_function, error.origin_index) == ("k", 4, "k", 4)
    assert error.operand == "rb = R3"
    assert error.expected == "the value of R1"
    assert error.found.startswith("R0")


def test_finding_reads_as_one_line() -> None:
    original, rewritten = pair("renamed")
    fn = rewritten.functions[0]
    fn.instrs[4] = fn.instrs[4].replace(rb=3)
    assert str(check(original, rewritten, "k")) == (
        "k+4: does not hold the value the original reads in `FADD R5, R3, R3`, rb = R3; expected the value of R1; "
        "found R0 (original k+4)"
    )


OTHERS = """
.kernel other registers=4
MOV R0, 0x1
CALL h
EXIT
.func h
MOV R1, R0
RET
"""


def test_functions_of_other_kernels_must_stay_as_they_are() -> None:
    text, rewritten_text = PAIRS["renamed"]
    original = program(text + OTHERS)
    rewritten = program(rewritten_text)
    rewritten.functions += program(OTHERS).functions
    link(rewritten, {"other": {1: "h"}})
    assert check(original, rewritten, "k").ok
    fn = rewritten.function("other")
    fn.instrs[0] = fn.instrs[0].replace(imm=2)
    assert [e.function for e in check(original, rewritten, "k").errors] == ["other"]
    rewritten.functions.remove(fn)
    assert [e.kind for e in check(original, rewritten, "k").errors] == ["kernel"]


def test_recursion_and_indirect_calls_are_refused() -> None:
    original = program(".kernel k\nCALL f\nEXIT\n.func f\nCALL g\nRET\n.func g\nCALL f\nRET")
    report = check(original, identity(original), "k")
    assert "recursion" in str(report)
    original = program(".kernel k\nCALL.IND R2\nEXIT")
    assert "indirect" in str(check(original, identity(original), "k"))


def test_undefined_reads_are_noted_and_may_read_anything() -> None:
    original = program(".kernel k registers=8\nMOV R2, 0x1\nMOV R3, 0x1\nSTG.32 [R2], R0\nEXIT")
    rewritten = identity(original)
    fn = rewritten.functions[0]
    fn.instrs[2] = fn.instrs[2].replace(rb=7)
    report = check(original, rewritten, "k")
    assert report.ok
    assert [n.origin_index for n in report.notes] == [2]


def test_never_executed_guard_is_no_undefined_predicate() -> None:
    original = program(".kernel k\nMOV R2, 0x1\nMOV R3, 0x1\n@!PT STG.32 [R2], R2\nEXIT")
    assert check(original, identity(original), "k").ok
    rewritten = identity(original)
    fn = rewritten.functions[0]
    fn.instrs[2] = fn.instrs[2].replace(guard=(0, True))
    assert not check(original, rewritten, "k").ok


def test_registers_that_slots_change_may_not_be_read() -> None:
    original = program(".kernel k\nS2R R2, SR_TOTAL_SMEM\nMOV R3, 0x0\nSTG.32 [R2], R2\nEXIT")
    rewritten = identity(original)
    assert check(original, rewritten, "k").ok
    fn = rewritten.functions[0]
    fn.info = replace(fn.info, slot_bytes=128)
    assert not check(original, rewritten, "k").ok


def test_lifting_is_refused_where_a_computed_address_may_reach_the_word() -> None:
    text, rewritten_text = PAIRS["lifted_locals"]
    extra = "LDL.32 R10, [R4]\nEXIT\n.func"
    original = program(text.replace("EXIT\n.func", extra))
    changed = rewritten_text.replace("12| EXIT", "12| LDL.32 R2, [R5]\n13| EXIT")
    report = check(original, program(changed), "k")
    assert {e.kind for e in report.errors} == {"local"}
    assert check(original, identity(original), "k").ok


def test_endless_loops_of_added_or_left_out_jumps_are_refused() -> None:
    original = program(".kernel k\nNOP\nEXIT")
    looping = program(".kernel k\n0| NOP\nhere:\n-| BRA here\n1| EXIT")
    assert not check(original, looping, "k").ok
    original = program(".kernel k\nNOP\nhere:\nBRA here\nEXIT")
    assert not check(original, program(".kernel k\n0| NOP\n2| EXIT"), "k").ok


def test_many_call_sites_of_one_function_stay_cheap() -> None:
    original = random_original(1, size=30)
    rng = random.Random(1)
    kernel = original.function("k")
    body = kernel.instrs[:-1]
    for _ in range(60):
        body += [make("MOV", rd=rng.randrange(8), rb=rng.randrange(8)), make("CALL")]
    kernel.instrs = [*body, make("EXIT")]
    sites = {i: "f0" for i in range(len(body)) if body[i].op.control == "call"}
    link(original, {**calls_of(original), "k": sites})
    rewritten = random_rewrite(original, 2)
    report = check(original, rewritten, "k")
    assert report.ok, str(report)
    assert report.stats["steps"] < 12 * report.stats["words"]
