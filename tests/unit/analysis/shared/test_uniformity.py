"""Which values are the same in a warp, a block, the grid: exact cases."""

from __future__ import annotations

import pytest

from binalloc.analysis.program import analyse
from binalloc.analysis.shared.uniformity import Scope, uniformity
from tests.support.programs.builder import program

HEAD = """.kernel k
.block 64
.param in, 8
    S2R R0, SR_TID.X
    S2R R1, SR_WARPID
    S2R R2, SR_CTAID.X
    MOV R3, c[0][in]
    ISETP.LT.AND P0, PT, R0, 0x5, PT
    ISETP.LT.AND P1, PT, R1, 0x1, PT
    ISETP.LT.AND P2, PT, R2, 0x5, PT
    ISETP.LT.AND P3, PT, R3, 0x5, PT
"""
SCOPES = (Scope.THREAD, Scope.WARP, Scope.BLOCK, Scope.GRID)


def scope_of(body: str, tail: str = "") -> Scope:
    """Return the scope of what the kernel's last word but EXIT reads first."""
    p = analyse(program(f"{HEAD}{body}\n    MOV R60, R9\n    EXIT\n.end\n{tail}"), "k")
    index = len(p.kernel.cfg.views) - 2
    return uniformity(p).functions["k"].webs[p.kernel.webs.web_of_use[index, 0, 0]]


@pytest.mark.parametrize(("source", "expected"), [
    ("MOV R9, 0x7", Scope.GRID),
    ("MOV R9, c[0][in]", Scope.GRID),
    ("LDC R9, c[0][R3+0x0]", Scope.GRID),
    ("LDC R9, c[0][R2+0x0]", Scope.BLOCK),
    ("S2R R9, SR_NTID.X", Scope.GRID),
    ("S2R R9, SR_SMID", Scope.BLOCK),
    ("S2R R9, SR_CLOCKLO", Scope.THREAD),
    ("S2R R9, SR_LANEID", Scope.THREAD),
    ("IADD3 R9, R2, R3, RZ", Scope.BLOCK),
    ("IADD3 R9, R2, R1, RZ", Scope.WARP),
    ("SEL R9, R2, R3, P1", Scope.WARP),
    ("LDS.32 R9, [0x0]", Scope.THREAD),  # another thread may store in between
    ("SHFL.IDX PT, R9, R3, 0x0, 0x1f", Scope.THREAD),
    ("BAR.RED.POPC R9, 0, P0", Scope.BLOCK),
    ("BAR.RED.POPC R9, 0, 0x40, P0", Scope.THREAD),  # of some threads, perhaps
    ("BAR.ALLOC R9, 0x40", Scope.BLOCK),
    ("MOV R9, R50", Scope.THREAD),  # never written
])  # fmt: skip
def test_what_an_instruction_gives(source: str, expected: Scope) -> None:
    head = HEAD if "LDS" not in source else HEAD.replace(".param", ".shared_bytes 64\n.param")
    p = analyse(program(f"{head}{source}\n    MOV R60, R9\n    EXIT\n.end\n"), "k")
    index = len(p.kernel.cfg.views) - 2
    assert uniformity(p).functions["k"].webs[p.kernel.webs.web_of_use[index, 0, 0]] == expected


@pytest.mark.parametrize(("flag", "expected"), list(enumerate(SCOPES)))
def test_a_branch_divides_by_its_predicate(flag: int, expected: Scope) -> None:
    ways = f"@P{flag} BRA other, join\nMOV R9, 0x1\nBRA join\nother:\nMOV R9, 0x2\njoin:"
    assert scope_of(ways) == expected
    assert scope_of(f"MOV R9, 0x1\n@P{flag} BRA join, join\nMOV R9, 0x2\njoin:") == expected
    assert scope_of(f"MOV R9, 0x1\n@P{flag} MOV R9, 0x2") == expected
    assert scope_of(f"MOV R9, 0x1\n@P{flag} BRA join, join\nMOV R8, 0x2\njoin:") == Scope.GRID
    # within a way all that come have come the same way
    assert scope_of(f"MOV R9, 0x1\n@P{flag} BRA on, on\nEXIT\non:") == Scope.GRID


@pytest.mark.parametrize(("flag", "expected"), list(enumerate(SCOPES)))
def test_a_loop_is_left_in_the_same_round_or_not(flag: int, expected: Scope) -> None:
    loop = "MOV R8, 0x0\nhead:\nIADD3 R8, R8, 0x1, RZ\n{}\nISETP.LT.AND P4, PT, R8, 0x4, P{}\n"
    loop += "@P4 BRA head, after\nafter:"
    assert scope_of(loop.format("SHF.L.U32 R9, R8, 0x1, RZ", flag)) == expected
    assert scope_of(loop.format("MOV R9, R2", flag)) == Scope.BLOCK
    early = "MOV R9, 0x0\nhead:\n@P{} BRA after, after\nIADD3 R9, R9, 0x1, RZ\nISETP.LT.AND P4, PT, R9, 0x4, PT\n"
    assert scope_of(f"{early.format(flag)}@P4 BRA head, after\nafter:") == expected


def test_threads_that_end_divide_nothing() -> None:
    loop = "MOV R9, 0x0\nhead:\n{}\nIADD3 R9, R9, 0x1, RZ\nISETP.LT.AND P4, PT, R9, 0x4, PT\n"
    loop += "@P4 BRA head, after\nafter:"
    assert scope_of(loop.format("@P0 EXIT")) == Scope.GRID
    assert scope_of(loop.format("@P2 BRA on, on\n@P0 EXIT\non:")) == Scope.GRID


@pytest.mark.parametrize(("flag", "expected"), list(enumerate(SCOPES)))
def test_what_a_callee_returns_differs_by_where_it_returns(flag: int, expected: Scope) -> None:
    early = f".func f\n    MOV R9, 0x1\n    @P{flag} RET\n    MOV R9, 0x2\n    RET\n.end\n"
    assert scope_of("CALL f", early) == expected
    one = ".func f\n    MOV R9, 0x1\n    RET\n.end\n"
    assert scope_of("CALL f", one) == Scope.GRID
    assert scope_of(f"MOV R9, 0x7\n@P{flag} CALL f", one) == expected


def test_a_callees_argument_has_the_scope_of_all_calls() -> None:
    callee = ".func f\n    IADD3 R9, R7, 0x1, RZ\n    RET\n.end\n"
    assert scope_of("MOV R7, R3\nCALL f", callee) == Scope.GRID
    assert scope_of("MOV R7, R2\nCALL f\nMOV R7, R3\nCALL f", callee) == Scope.BLOCK


def test_a_barriers_sum_is_a_blocks_where_all_come_to_it() -> None:
    body = "MOV R9, 0x0\n@P{} BRA on, on\nBAR.RED.POPC R9, 0, P0\non:"
    assert scope_of(body.format(3)) == Scope.BLOCK
    assert scope_of(body.format(2)) == Scope.BLOCK
    assert scope_of(body.format(1)) == Scope.THREAD
