"""A function returns each result in one register, whichever way it returns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.analysis.program import analyse
from binalloc.transform.assign.assign import homeless, settle
from binalloc.transform.assign.homes import find_homes
from binalloc.transform.rewrite.rewrite import rewrite
from binalloc.transform.virtual.analysed import analysed
from binalloc.transform.virtual.virtualise import virtualise
from binalloc.verify.checker import check
from tests.support.generator.programs import BEFORE, generate
from tests.support.programs.builder import program

TWO_WAYS = """
.kernel k registers=8
S2R R4, SR_TID.X
ISETP.LT.AND P0, PT, R4, 0x7, PT
CALL f
MOV R2, c[0][0x0]
MOV R3, c[0][0x4]
STG.32 [R2], R5
EXIT
.func f
@P0 BRA other, other
MOV R5, 0x1
RET
other:
MOV R5, 0x2
RET
"""
AVAILABLE = 0b111


@pytest.mark.parametrize("second", [0, 1, 2])
def test_results_that_have_different_homes_are_brought_together(second: int) -> None:
    virtual = virtualise(analyse(program(TWO_WAYS), "k"), "f", {})
    block = virtual.blocks[-1]  # where spill code stands, a value has several names
    name = virtual.value("R5'")
    block.items = [
        item.of(*(tuple(o.of((name,)) for o in operands) for operands in (item.defs, item.uses)))
        for item in block.items
    ]
    given = analysed(virtual)
    code = homeless(given, {})
    returns = [item.uses[0].values[0] for item in given.flat.items if item.uses and item.uses[0].location >= 0]
    assert len(returns) == len(set(returns)) == 2, "two values, or there is nothing to bring together"
    homes = find_homes(code.bundles, code.wishes(AVAILABLE), code.points, AVAILABLE, code.end)
    base = list(homes.base)
    for v, register in zip(returns, (0, second), strict=True):
        base[code.bundles.of[v]] = register
    placed = settle(code, replace(homes, base=base), AVAILABLE)
    items = [item for block in placed.code.blocks for item in block.items]
    found = [o for item in items for o in item.uses if o.location >= 0]
    assert len(found) == 2
    assert {placed.register[o.values[0]] for o in found} == {placed.results[found[0].location]}


def test_early_returns_of_spilled_code_agree() -> None:
    """Found by the fuzzer: seed 700116."""
    plain = {"addresses": False, "aliases": False, "odd_points": 0.0, "halves": False}
    module, _ = generate("wide", 700116, kernels=1, **plain, **BEFORE)
    rewritten = rewrite(module, "kernel", 3, 2, "best")
    report = check(module, rewritten, "kernel")
    assert report.ok, str(report)
