"""Where lanes that went two ways meet again: from there on an instruction issues once for all of them."""

from __future__ import annotations

import pytest

from tests.support.kits.emulator.small import go, module, op

HALF = op("ISETP", pd0=0, ra=0, form=1, imm=16, icmp=1, wait=1)


@pytest.mark.parametrize("jumped", [1, 2, 5])
def test_sides_meet_at_the_reconvergence_point_behind_plain_instructions(jumped: int) -> None:
    side = [op("MOV", rd=2, form=1, imm=k) for k in range(jumped)]
    branch = op("BRA", guard=(0, False), target=jumped, diverges=1, reconv=jumped)
    code = [op("S2R", rd=0, sreg=0, wbar=0), HALF, branch, *side, op("MOV", rd=3, form=1, imm=1), op("EXIT")]
    assert go(module(code, registers=16)).counts["k"].tolist() == [1] * len(code)
