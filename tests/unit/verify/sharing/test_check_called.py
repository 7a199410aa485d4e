"""Kernels that call functions which release, or access what has moved."""

from __future__ import annotations

import pytest

from tests.support.pairs.sharing.lines import HEAD, judge, kinds

CALLS = """
    CALL f
    LDS.32 R3, [R1+0x100]
    CALL f
    -| RELSSP
    CALL g
    EXIT
    .end
    .func f
    o| STS.32 [R1], R0 => STS.32 [R1+0x0], R0
    RET
    .end
    .func g
    @P0 STG.32 [R8], R0
    RET
"""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", "", set()),
        ("    -| RELSSP\n", "", set()),
        ("=> STS.32 [R1+0x0], R0", "=> STS.32 [R1+0x40], R0", {"overlap"}),
        ("=> STS.32 [R1+0x0], R0", "=> STS.32 [R1+0x40], R0\nLDS.32 R4, [0xfc]", {"distance"}),
        ("=> STS.32 [R1+0x0], R0", "=> STS.32 [R1+0x100], R0", {"overlap"}),
        ("    RET\n    .end\n    .func g", "    -| RELSSP\n    RET\n    .end\n    .func g", {"behind", "repeated"}),
        ("STG.32 [R8], R0", "STG.32 [R8], R0\n-| RELSSP", {"repeated"}),
        ("STG.32 [R8], R0", "LDS.32 R4, [R1+0x100]\n", {"behind"}),
        ("STG.32 [R8], R0", "LDS.32 R4, [R1]\n", set()),
        ("-| RELSSP\n    CALL g", "o| CALL g => CALL f\n", {"instruction", "resources"}),
        ("@P0 STG.32 [R8], R0", "CALL g", {"not proven"}),
        ("@P0 STG.32 [R8], R0", "CALL.IND R5", {"not proven"}),
        ("@P0 STG.32 [R8], R0", "o| MOV R3, R0 => MOV R3, R1", {"instruction"}),
    ],
)
def test_one_change_of_called_functions(before: str, after: str, found: set[str]) -> None:
    assert before in CALLS
    assert kinds(judge(CALLS.replace(before, after))) == found


def test_a_function_may_release_behind_its_last_call() -> None:
    text = "CALL f\n{0}CALL g\nEXIT\n.end\n.func f\nLDS.32 R3, [R1+0x100]\n{1}RET\n.end\n.func g\n{2}RET"
    release = "-| RELSSP\n"
    for at in range(3):
        assert judge(text.format(*[release if k == at else "" for k in range(3)])).ok
    assert kinds(judge(text.format(release, release, ""))) == {"repeated"}


def test_guards_are_known_across_calls() -> None:
    text = """
        STS.32 [R1+0x100], R0
        -| @P0 RELSSP
        @!P0 CALL f
        {0}
        @!P0 CALL f
        -| @!P0 RELSSP
        EXIT
        .end
        .func f
        LDS.32 R3, [R1+0x100]
        @P1 RET
        {1}
        RET
    """
    other = "ISETP.LT.AND P0, PT, R0, 0x10, PT"
    assert judge(text.format("", "")).ok
    assert kinds(judge(text.format(other, ""))) == {"behind", "repeated"}
    assert judge(text.format("", other)).ok  # threads that have released call it no more
    assert kinds(judge(text.replace("@!P0 CALL", "@P0 CALL", 1).format("", other))) == {"behind", "repeated"}


def test_addresses_are_known_across_calls() -> None:
    text = """
        MOV R2, R1
        CALL f
        IADD3 R2, R1, 0x80, RZ
        CALL f
        EXIT
        .end
        .func f
        LOP3 R2, R2, 0x7c, RZ, 0xc0
        o| STS.32 [R2], R0 => STS.32 [R2+0x80], R0
        {0}
        RET
    """
    assert judge(text.format("")).ok
    assert kinds(judge(text.format("LDS.32 R3, [0x7c]"))) == {"distance"}
    assert kinds(judge(text.format("LDS.32 R3, [0x80]"))) == {"overlap"}
    assert judge(text.format("LDS.32 R3, [0x100]")).ok


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("MOV R3, R0", set()),
        ("ISETP.LT.AND P0, PT, R0, 0x10, PT", {"behind", "repeated"}),
        ("MOV R1, R0", {"behind"}),
        ("@P0 MOV R1, R0", {"behind"}),
    ],
)
def test_what_a_function_writes_is_not_known_behind_its_call(word: str, found: set[str]) -> None:
    text = f"""
        -| @P0 RELSSP
        CALL f
        @P0 BRA X, X
        LDS.32 R3, [R1+0x100]
        -| RELSSP
        X:
        LDS.32 R3, [R1]
        EXIT
        .end
        .func f
        CALL g
        RET
        .end
        .func g
        {word}
        RET
    """
    assert kinds(judge(text)) == found


def test_functions_that_functions_call_count() -> None:
    text = "STS.32 [R1+0x100], R0\nCALL f\n{1}EXIT\n.end\n.func f\nCALL g\nRET\n.end\n.func g\n{0}RET"
    assert judge(text.format("-| RELSSP\n", "")).ok
    assert kinds(judge(text.format("-| RELSSP\n", "-| RELSSP\n"))) == {"repeated"}


def test_threads_that_end_in_a_function_come_no_further() -> None:
    text = "-| @P0 RELSSP\nCALL f\nLDS.32 R3, [R1+0x100]\nEXIT\n.end\n.func f\n{0} EXIT\nRET"
    assert judge(text.format("@P0")).ok
    assert kinds(judge(text.format("@!P0"))) == {"behind"}


def test_a_function_of_another_kernel_may_not_change() -> None:
    text = "CALL f\nEXIT\n.end\n.func f\n-| RELSSP\nRET\n.end\n.kernel other\n{0}EXIT"
    assert judge(text.format("")).ok
    assert kinds(judge(text.format("CALL f\n"))) == {"kernel"}


def test_a_thread_may_end_in_a_function() -> None:
    text = "CALL f\nLDS.32 R3, [R1+0x100]\nEXIT\n.end\n.func f\n-| {0}RELSSP\n{1}EXIT\nRET"
    assert judge(text.format("@P0 ", "@P0 ")).ok
    assert kinds(judge(text.format("", "@P0 "))) == {"behind"}
    assert kinds(judge(text.format("@!P0 ", "@P0 "))) == {"behind"}


def test_recursion_is_refused() -> None:
    assert kinds(judge("CALL f\nEXIT\n.end\n.func f\n@P0 CALL f\nRET", head=HEAD)) == {"not proven"}


DEEP = """
    CALL f
    EXIT
    .end
    .func f
    {0}
    RET
    .end
    .func g
    H:
    o| @!P0 BRA X, X => @!P0 BRA E, X
    IADD3 R5, R5, 0x1, RZ
    ISETP.LT.AND P0, PT, R5, R0, PT
    BRA H
    -| E:
    -| RELSSP
    -| BRA X
    X:
    RET
"""


def test_a_release_on_an_edge_may_not_let_the_stack_overflow() -> None:
    """Lanes that jump to the reconvergence point itself take no entry of the stack, those on their way there do."""
    assert kinds(judge(DEEP.format("CALL g"))) == {"stack"}
    assert judge(DEEP.format("CALL g").replace("CALL f", "CALL g")).ok
    assert judge(DEEP.format("CALL g").replace(" => @!P0 BRA E, X", " => @!P0 BRA X, X")).ok
