"""Exchanges of registers, where none is free to move values through: no step of one stands right behind its last."""

from __future__ import annotations

from itertools import pairwise

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Instr
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from binalloc.transform.virtual.code import EXCHANGE
from tests.support.paths import sample_file


def runs_of_swaps(instrs: list[Instr]) -> list[list[tuple[int, int, int]]]:
    """Exclusive ors of two registers into one of them, (target, source, source), as far as they follow one another."""
    found: list[list[tuple[int, int, int]]] = [[]]
    for instr in instrs:
        f = instr.f
        if instr.name == "LOP3" and f["lut"] == 0x3C and "rb" in f and f["rd"] in (f["ra"], f["rb"]):
            found[-1].append((f["rd"], f["ra"], f["rb"]))
        elif found[-1]:
            found.append([])
    return [run for run in found if len(run) > 3]


def test_exchanges_that_follow_one_another_go_step_by_step() -> None:
    module = import_ptx(sample_file("recursiveGaussian.ptx").read_text(), "recursiveGaussian", machine="gtx680").module
    found = rewrite_to_budget(prepare(module, "recursiveGaussian"), 32, 0)  # in an order for time there is one alone
    exchanges = sum(item.kind == EXCHANGE for a in found.plan.attempt.allocations.values() for item in a.code.items())
    assert exchanges > 6
    runs = runs_of_swaps(found.module.function("recursiveGaussian").instrs)
    assert sum(map(len, runs)) >= 3 * exchanges
    for run in runs:
        assert sum(before[0] in after[1:] for before, after in pairwise(run)) <= 2
