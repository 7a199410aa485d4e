"""Calls that a rewrite inlined: the checker inlines them itself where that is right, and proves the rest as always."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from binalloc.isa.instruction import Module, Origin, SharedVar
from binalloc.isa.sets.files import assemble, disassemble, read_module, write_module
from binalloc.isa.sets.table import set_of
from binalloc.transform.rewrite.inline import inlinable
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from binalloc.verify.checker import check
from binalloc.verify.reading.inlined import NotInlined, with_inlined
from tests.support.oracles.verify.hash_machine import same_traces
from tests.support.pairs.mutants import ALWAYS_WRONG, mutants
from tests.support.pairs.random_pairs import random_original
from tests.support.programs.builder import program

SEEDS = range(12)
PROGRAM = """
.kernel k registers=24
    MOV R2, c[0][p]
    MOV R3, c[0][p+4]
    LDG R4, [R2]
    LDG R5, [R2+4]
    MOV R6, 3
top:
    CALL f
    IADD3 R4, R4, R7, R6
    ISETP.LT.AND P0, PT, R4, 100, PT
    @P0 CALL g
    IADD3 R6, R6, -1, RZ
    ISETP.NE.AND P0, PT, R6, RZ, PT
    @P0 BRA top, below
below:
    CALL g
    STG [R2], R4
    STG [R2+4], R7
    EXIT
.func f
    ISETP.LT.AND P1, PT, R5, R4, PT
    @P1 BRA other, join
    IADD3 R7, R4, R5, RZ
    CALL g
    BRA join
other:
    IMAD R7, R4, R5, R6
join:
    STG [R2+8], R7
    RET
.func g
    IADD3 R5, R5, 1, RZ
    ISETP.EQ.AND P2, PT, R5, 77, PT
    @P2 EXIT
    RET
"""


def rewritten(module: Module, how: str, registers: int = 12, slots: int = 0) -> Module:
    return rewrite_to_budget(prepare(module, "k", inline=how), registers, slots).module


def with_words(module: Module, words: list[int]) -> Module:
    """The rewritten module with another hint."""
    out = replace(module, functions=[replace(fn, instrs=list(fn.instrs)) for fn in module])
    origin = out.function("k").origin
    assert origin is not None
    out.function("k").origin = Origin(origin.function, origin.index, words)
    return out


@pytest.mark.parametrize(("how", "words"), [("none", []), ("once", [5]), ("small", [5, 8, 20]), ("all", [5, 8, 20])])
@pytest.mark.parametrize(("registers", "slots"), [(12, 0), (7, 4), (7, 0)])
def test_what_is_inlined_is_proven(how: str, words: list[int], registers: int, slots: int) -> None:
    module = program(PROGRAM)
    new = rewritten(module, how, registers, slots)
    origin = new.function("k").origin
    assert origin is not None
    assert origin.inlined == words
    assert check(module, new, "k").ok, check(module, new, "k")
    assert same_traces(module, new, "k", SEEDS)
    assert {fn.name for fn in new} == ({"k", "g"} if how != "none" else {"k", "f", "g"})


@pytest.mark.rotates("long")
def test_mutants_of_inlined_code_are_rejected() -> None:
    module = program(PROGRAM)
    new = rewritten(module, "all", 7, 2)
    count = 0
    for mutant in mutants(new, "k"):
        count += 1
        report = check(module, mutant.module, "k")
        assert not any(error.kind == "internal" for error in report.errors), mutant.kind
        if report.ok and not report.notes:
            right = mutant.kind not in ALWAYS_WRONG and same_traces(module, mutant.module, "k", SEEDS)
            assert right, f"{mutant.kind} at {mutant.place} was accepted"
    assert count > 500


@pytest.mark.parametrize(
    "words", [[], [5], [5, 8], [8, 5], [5, 8, 19], [5, 8, 21], [5, 8, 20, 20], [4], [5, 8, 999], [-1]]
)
def test_another_hint_is_not_believed(words: list[int]) -> None:
    module = program(PROGRAM)
    new = rewritten(module, "all")
    assert check(module, with_words(new, [5, 8, 20]), "k").ok
    assert not check(module, with_words(new, words), "k").ok


@pytest.mark.parametrize("what", ["callee", "a word of it", "its call"])
def test_another_body_is_not_believed(what: str) -> None:
    """Inlined code proves nothing of an original that calls something else there."""
    module = program(PROGRAM)
    new = rewritten(module, "all")
    change = {
        "callee": ("    CALL f\n", "    CALL g\n"),
        "a word of it": ("IMAD R7, R4, R5, R6", "IMAD R7, R4, R6, R6"),
        "its call": ("    IADD3 R7, R4, R5, RZ\n    CALL g\n", "    IADD3 R7, R4, R5, RZ\n    CALL h\n"),
    }[what]
    text = PROGRAM + ".func h\n    IADD3 R5, R5, 2, RZ\n    RET\n"
    other = program(text.replace(*change))
    assert program(text) != other
    assert check(program(text), new, "k").ok
    assert not check(other, new, "k").ok
    assert not same_traces(other, new, "k", SEEDS)


CALLER = """
.kernel k registers=8
    MOV R2, c[0][p]
    MOV R3, c[0][p+4]
    LDG R1, [R2]
    ISETP.LT.AND P0, PT, R1, 5, PT
    {call}
    STG [R2], R1
    EXIT
"""
REFUSED = {
    "a guarded call": ("@P0 CALL f", "IADD3 R1, R1, 1, RZ\n RET", "no unguarded direct call"),
    "no call": ("IADD3 R1, R1, 1, RZ", "@P0 RET\n RET", "no unguarded direct call"),
    "a guarded return": ("CALL f", "@P0 RET\n IADD3 R1, R1, 1, RZ\n RET", "at its last word alone"),
    "an early return": ("CALL f", "@P0 BRA a, a\n RET\na:\n IADD3 R1, R1, 1, RZ\n RET", "at its last word alone"),
    "no return": ("CALL f", "IADD3 R1, R1, 1, RZ\n EXIT", "at its last word alone"),
    "a return alone": ("CALL f", "RET", "at its last word alone"),
    "a return before the end": (
        "CALL f", "BRA b\na:\n RET\nb:\n IADD3 R1, R1, 1, RZ\n BRA a", "at its last word alone"
    ),
    "lanes that meet on one side": (
        "CALL f", "@P0 BRA a, m\n IADD3 R1, R1, 1, RZ\nm:\n IADD3 R1, R1, 2, RZ\na:\n IADD3 R1, R1, 3, RZ\n RET",
        "may return apart",
    ),
    "lanes that meet on the branch's side": (
        "CALL f", "@P0 BRA m, m\n BRA a\nm:\n IADD3 R1, R1, 2, RZ\na:\n IADD3 R1, R1, 3, RZ\n RET", "may return apart"
    ),
    "lanes that meet where few come by": (
        "CALL f", "@P0 BRA a, m\n BRA a\nm:\n IADD3 R1, R1, 2, RZ\na:\n IADD3 R1, R1, 3, RZ\n RET", "may return apart"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_may_not_be_inlined_is_refused(name: str) -> None:
    """By the checker; and the rewriter does not ask."""
    call, body, said = REFUSED[name]
    module = program(CALLER.format(call=call) + f".func f\n {body}\n")
    with pytest.raises(NotInlined, match=said):
        with_inlined(module, {"k": [4]})
    new = rewritten(module, "all")
    assert all(fn.origin is None or fn.origin.inlined == [] for fn in new)
    report = check(module, with_words(new, [4]), "k")
    assert [error.kind for error in report.errors] == ["inlined"]
    assert inlinable(module.function("f")) == (name == "a guarded call")


def test_a_function_with_shared_variables_is_refused() -> None:
    module = program(CALLER.format(call="CALL f") + ".func f\n IADD3 R1, R1, 1, RZ\n RET\n")
    with_inlined(module, {"k": [4]})
    module.function("f").shared = [SharedVar("s", 0, 4, 4)]
    assert not inlinable(module.function("f"))
    with pytest.raises(NotInlined, match="plain function"):
        with_inlined(module, {"k": [4]})


def test_code_that_is_called_by_address_stays() -> None:
    text = CALLER.format(call="CALL f") + ".func f\n IADD3 R1, R1, 1, RZ\n RET\n"
    plain, called = program(text), program(text + ".kernel other\n MOV R1, &f\n CALL.IND R1\n EXIT\n")
    assert prepare(plain, "k", inline="all").inlined == {"k": [4]}
    assert prepare(called, "k", inline="all").inlined == {}


def test_other_kernels_keep_what_they_call() -> None:
    """Also what is inlined into something that they call."""
    text = CALLER.format(call="CALL f\n CALL f") + ".func f\n CALL g\n RET\n.func g\n IADD3 R1, R1, 1, RZ\n RET\n"
    module = program(text + ".kernel other\n CALL f\n EXIT\n")
    for how in ("once", "small"):
        new = rewritten(module, how)
        assert check(module, new, "k").ok
        assert {"f", "g", "other"} < {fn.name for fn in new}
        assert new.function("f").instrs[1:] == module.function("f").instrs[1:]


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(40))
def test_an_original_with_calls_inlined_does_what_it_did(seed: int) -> None:
    """Any calls that are not refused, in any order; and both ways of inlining come to the same code."""
    module, rng = random_original(seed), random.Random(seed)
    words: list[int] = []
    for _ in range(4):
        code = with_inlined(module, {"k": words}).function("k").instrs
        calls = [k for k, instr in enumerate(code) if instr.control == "call"]
        if not calls:
            break
        word = rng.choice(calls)
        try:
            with_inlined(module, {"k": [*words, word]})
        except NotInlined:
            continue
        words.append(word)
    assert same_traces(module, with_inlined(module, {"k": words}), "k", SEEDS)
    prepared = prepare(module, "k", inline="all")
    one, other = with_inlined(module, prepared.inlined).function("k"), prepared.module.function("k")
    assert len(one) == len(other)
    assert all(set_of(a).alike(a, b) for a, b in zip(one.instrs, other.instrs, strict=True))


def test_the_hint_goes_through_files_and_text() -> None:
    new = rewritten(program(PROGRAM), "all")
    for again in (read_module(write_module(new)), assemble(disassemble(new))):
        origin = again.function("k").origin
        assert origin is not None
        assert origin.inlined == [5, 8, 20]
