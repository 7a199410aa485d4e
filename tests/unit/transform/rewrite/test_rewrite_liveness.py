"""What guards, edges and calls do to the life of values: cases in which webs and virtual code once disagreed."""

from __future__ import annotations

import pytest

from binalloc.analysis.locations import Location
from binalloc.analysis.program import analyse
from binalloc.isa.text.assembler import assemble
from binalloc.models.allocation.terms import Register, Value
from binalloc.transform.rewrite.rewrite import minimum_registers, rewrite
from binalloc.transform.virtual.contract import Contract
from binalloc.transform.virtual.flat import flatten
from binalloc.transform.virtual.live_ranges import live_ranges
from binalloc.transform.virtual.virtualise import virtualise
from binalloc.verify.checker import check
from tests.support.generator.programs import random_program

DEAD_ON_ONE_EDGE = """
.kernel k
.param out, 8
        MOV R4, c[0][out]
        MOV R5, c[0][out+4]
        S2R R0, SR_TID.X
        MOV R3, 7
        MOV R1, 3
loop:   IADD3 R2, R0, R1, RZ
        STG.64 [R4], R2
        ISETP.LT P0, PT, R0, R1, PT
        @!P0 MOV R2, 1
        @P0 BRA other, join
        BRA join
other:  MOV R2, 2
join:   STG.64 [R4+8], R2
        IADD3 R1, R1, -1, RZ
        ISETP.NE P1, PT, R1, 0, PT
        @P1 BRA loop, uniform
        EXIT
.end
"""
"""Behind `@!P0 MOV R2` no path needs the R2 before it: where P0 holds, the branch leads to another definition."""

CALLEE_MAY_CHANGE_A_GUARD = """
.kernel k
.param out, 8
        MOV R4, c[0][out]
        MOV R5, c[0][out+4]
        S2R R8, SR_TID.X
        ISETP.LT P0, PT, R8, 7, PT
        ISETP.LT P1, PT, R8, 9, PT
        MOV R0, 1
        @P0 MOV R0, 2
        CALL f
        @P0 STG [R4], R0
        EXIT
.end
.func f
        @P1 ISETP.LT P0, PT, R8, 16, PT
        RET
.end
"""
"""Where P0 fails at the second MOV and holds at the STG, the first MOV's value is stored."""

NEVER_BACK_FROM_A_LOOP = """
.kernel k
.param out, 8
        MOV R4, c[0][out]
        MOV R5, c[0][out+4]
        S2R R0, SR_TID.X
        ISETP.LT P0, PT, R0, 5, PT
        MOV R3, 7
loop:   IADD3 R2, R0, 1, RZ
        STG.64 [R4], R2
        CALL f
        @P0 MOV R2, R0
        STG.64 [R4+8], R2
        BRA loop
.end
.func f
        MOV R2, 9
        STG [R4], R2
        EXIT
.end
"""
"""The call ends the life of R2, though it never gives another value back."""


@pytest.mark.rotates
@pytest.mark.parametrize("allocator", ["local", "best"])
@pytest.mark.parametrize("source", [DEAD_ON_ONE_EDGE, CALLEE_MAY_CHANGE_A_GUARD, NEVER_BACK_FROM_A_LOOP])
def test_rewrites_of_every_budget_are_right(source: str, allocator: str) -> None:
    module = assemble(source)
    least = minimum_registers(module, "k", 0, allocator)
    for registers in range(least, 12):
        report = check(module, rewrite(module, "k", registers, 0, allocator), "k")
        assert report.ok, (registers, report.errors)


def test_a_callee_that_may_change_a_predicate_keeps_what_it_guarded() -> None:
    webs = analyse(assemble(CALLEE_MAY_CHANGE_A_GUARD), "k")["k"].webs
    assert [[p.instr for p in web.defs] for web in webs if web.name == "R0"] == [[5, 6]]


@pytest.mark.rotates
@pytest.mark.parametrize("seed", range(24))
def test_values_of_one_register_never_meet_in_virtual_code(seed: int) -> None:
    """So that each may have the register it had: what fits as it is needs no move."""
    module, _ = random_program(seed, size=150, registers=8, guards=0.5, depth=3, callees=0 if seed % 2 else 2)
    program = analyse(module, "kernel", lift=True)
    contracts: dict[str, Contract] = {}
    compared = 0
    for name in program.graph.bottom_up:
        code = virtualise(program, name, contracts)
        results = {o.location for item in code.items() for o in item.uses if o.location >= 0}
        everywhere = {Location(r): Register(r) for r in range(255)}
        contracts[name] = Contract(everywhere, {loc: Register(loc) for loc in results}, (1 << 255) - 1)
        flat = flatten(code)
        holder: dict[tuple[int, int], int] = {}
        intervals = live_ranges(flat, len(code.names)).intervals
        for v, pieces in zip(map(Value, range(len(code.names))), intervals, strict=True):
            for point in (p for start, end in pieces for p in range(start, end) if v in code.before):
                other = holder.setdefault((code.before[v], point), v)
                compared += 1
                assert other == v, (name, point, code.names[v], code.names[other])
    assert compared > 300
