"""Which values can be made once more where they are wanted, and from what."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.transform.spill.expressions import MOST, Expressions
from binalloc.transform.virtual.analysed import Analysed, analysed
from binalloc.transform.virtual.code import COPY, INSTR
from binalloc.transform.virtual.virtualise import virtualise
from tests.support.programs.builder import program

HEAD = """
        MOV R4, c[0][p]
        MOV R5, c[0][p+4]
        LDG R0, [R4]
        LDG R1, [R4+4]
"""
TAIL = """
        STG [R4], R8
        STG [R4+4], R0
        STG [R4+8], R1
        EXIT
"""


def code(body: str) -> Analysed:
    return analysed(virtualise(analyse(program(f".kernel k registers=40\n{HEAD}{body}{TAIL}"), "k"), "k", {}))


def found(body: str, wanted: str = "R8", reader: int = -1) -> list[str] | None:
    """Mnemonics that make the value of the store's operand (or of the n-th reader) again just before it."""
    given = code(body)
    flat = given.flat
    readers = [
        (k, v)
        for k in range(len(flat.items))
        for v in flat.uses[k]
        if given.code.names[v].partition(".")[0] == wanted
    ]
    k, v = readers[reader]
    expression = Expressions(given.code, flat, given.live).find(v, k)
    if expression is None:
        return None
    said = []
    for n in expression.items:
        item = flat.items[n]
        assert item.kind in (INSTR, COPY)
        said.append(item.instr.name if item.instr is not None else "copy")
    leaves = [given.code.names[leaf].partition(".")[0] for leaf in expression.leaves]
    return [*said, *leaves, *(["constant"] * len(expression.constants)), *(["carry"] * len(expression.predicates))]


def test_one_instruction_of_values_that_live() -> None:
    assert found("IADD3 R8, R0, R1, RZ") == ["IADD3", "R0", "R1"]


def test_a_load_is_not_made_again() -> None:
    assert found("LDG R8, [R4+8]") is None


def test_constants_at_a_computed_place_are_not_read_again() -> None:
    """The place may be beyond their end; the checker has to know that the original read there, and forgets."""
    assert found("LDC.32 R8, c[0][R0+0x20]") is None


def test_a_clock_is_not_read_again() -> None:
    assert found("S2R R8, SR_CLOCKLO") is None


def test_a_constant_stands_for_itself() -> None:
    assert found("MOV R9, 7\nIADD3 R8, R0, R9, RZ") == ["IADD3", "R0", "constant"]


@pytest.mark.parametrize("length", [MOST, MOST + 1])
def test_chains_of_so_many_instructions(length: int) -> None:
    made = [*range(20, 20 + length - 1), 8]
    chain = "\n".join(f"IADD3 R{to}, R{of}, R1, RZ" for to, of in zip(made, (0, *made), strict=False))
    assert found(chain) == (["IADD3"] * length + ["R0", "R1"] if length <= MOST else None)


def test_an_operand_that_is_written_anew_is_none() -> None:
    assert found("IADD3 R8, R0, R1, RZ\nLDG R0, [R4+8]") is None


def test_an_operand_that_nobody_needs_any_more_is_made_again_or_missing() -> None:
    assert found("IADD3 R9, R0, R1, RZ\nIADD3 R8, R9, R1, RZ") == ["IADD3", "IADD3", "R0", "R1"]
    assert found("LDG R9, [R4+8]\nIADD3 R8, R9, R1, RZ") is None


def test_a_guarded_definition_is_not_made_again() -> None:
    assert found("ISETP.LT P0, PT, R0, R1, PT\nIADD3 R8, R0, R1, RZ\n@P0 IADD3 R8, R0, 1, RZ") is None


def test_nor_is_one_that_only_stands_under_a_guard() -> None:
    assert found("ISETP.LT P0, PT, R0, R1, PT\nMOV R8, 1\n@P0 IADD3 R9, R0, R1, RZ\n@P0 STG [R4+12], R9", "R9") is None


def test_both_halves_of_a_wide_product() -> None:
    assert found("IMAD.WIDE R8, R0, R1, RZ\nSTG [R4+12], R9") == ["IMAD.WIDE", "R0", "R1"]
    assert found("IMAD.WIDE R8, R0, R1, RZ\nSTG [R4+12], R9", "R9") == ["IMAD.WIDE", "R0", "R1"]


LOOP = """
        MOV R7, 4
        IADD3 R9, R0, R1, RZ
loop:   IADD3 R8, R7, R1, RZ
        IADD3 R7, R7, -1, RZ
        STG [R4+12], R8
        STG [R4+16], R9
        ISETP.GT P0, PT, R7, 0, PT
        @P0 BRA loop, uniform
"""


def test_a_value_from_before_a_loop_is_made_again_inside() -> None:
    assert found(LOOP, "R9") == ["IADD3", "R0", "R1"]


def test_an_operand_that_the_loop_changes_is_none() -> None:
    assert found(LOOP, "R8", 0) is None


CARRY = """
        IADD3 R10, P1, R0, R1, RZ
        IADD3.X R8, R0, R1, RZ, P1
        STG [R4+12], R10
"""
WRITES = "ISETP.LT P{}, PT, R0, R1, PT\n"
READS = "@P{} STG [R4+16], R0\n"


def test_a_carry_is_made_again_by_what_wrote_it() -> None:
    assert found(CARRY) == ["IADD3", "IADD3", "R0", "R1", "carry"]


@pytest.mark.parametrize("live", [6, 7])
def test_a_carry_needs_a_predicate_that_nobody_reads(live: int) -> None:
    others = (0, 2, 3, 4, 5, 6, 1)[:live]
    body = CARRY + "".join(WRITES.format(p) for p in others)
    behind = "".join(READS.format(p) for p in others)
    given = found(body + "STG [R4+20], R8\n" + behind, "R8", 0)
    assert given == (["IADD3", "IADD3", "R0", "R1", "carry"] if live < 7 else None)


def test_a_carry_that_came_out_of_a_guarded_instruction_is_not_made_again() -> None:
    assert found("ISETP.LT P1, PT, R0, R1, PT\n@P0 IADD3 R10, P1, R0, R1, RZ\nIADD3.X R8, R0, R1, RZ, P1") is None
