"""Shared-memory banks: the worked examples of the published rules, and the time that passes take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.isa.instruction import Instr, Module
from binalloc.models.machines.model import Machine
from binalloc.models.machines.reader import load_machine
from tests.support.kits.emulator.small import go, module, op
from tests.support.oracles.emulator.banks import FERMI, KEPLER_4, KEPLER_8, Banks

WIDTH = {1: 0, 4: 4, 8: 5, 16: 6}


def machine(banks: Banks) -> Machine:
    """GTX 680 with other banks."""
    m = load_machine("gtx680")
    return replace(m, shared=replace(m.shared, bank_bytes=banks.bank_bytes, mode_bytes=banks.mode_bytes))


def kernel(stride: int, size: int, n: int = 1, first: int = 0) -> Module:
    """n loads of `size` bytes each by lanes that stand `stride` bytes apart."""
    start = [
        op("S2R", rd=0, sreg=12, wbar=0),
        op("IMAD", rd=1, ra=0, form=1, imm=stride, rc=255, wait=1),
        op("NOP"),
    ]
    loads: list[Instr] = [op("LDS", stall=1, rd=255, ra=1, width=WIDTH[size], moff=first) for _ in range(n)]
    return module([*start, *loads, op("EXIT")], shared_bytes=32 * max(stride, 4) + first + 16, registers=8)


@pytest.mark.parametrize(
    ("banks", "stride", "size", "passes"),
    [
        (FERMI, 4, 4, 1),
        (FERMI, 8, 4, 2),
        (FERMI, 12, 4, 1),
        (FERMI, 128, 4, 32),
        (FERMI, 0, 4, 1),
        (FERMI, 1, 1, 1),
        (FERMI, 8, 8, 2),  # 64 bits go by halves
        (FERMI, 0, 8, 2),
        (FERMI, 16, 16, 4),  # 128 bits by quarters
        (KEPLER_4, 4, 4, 1),
        (KEPLER_4, 8, 4, 1),  # words 32 apart share a row
        (KEPLER_4, 128, 4, 16),
        (KEPLER_4, 256, 4, 32),
        (KEPLER_4, 8, 8, 1),
        (KEPLER_4, 0, 8, 1),
        (KEPLER_4, 16, 16, 2),
        (KEPLER_8, 4, 4, 1),
        (KEPLER_8, 8, 4, 1),
        (KEPLER_8, 12, 4, 2),
        (KEPLER_8, 128, 4, 16),  # two banks in turn, 16 rows of each
        (KEPLER_8, 256, 4, 32),
        (KEPLER_8, 8, 8, 1),
        (KEPLER_8, 0, 8, 1),
        (KEPLER_8, 256, 8, 32),
        (KEPLER_8, 16, 16, 2),
    ],
)
def test_published_examples(banks: Banks, stride: int, size: int, passes: int) -> None:
    assert banks.passes({lane: lane * stride for lane in range(32)}, size) == passes
    assert go(kernel(stride, size), machine=machine(banks)).stats["shared_passes"] == passes


def test_words_32_apart_share_a_row_only_within_64_aligned_words() -> None:
    """Programming guide, 32-bit mode: words i and i + 32 of one segment of 64; here they are of two segments."""
    assert go(kernel(8, 4), machine=machine(KEPLER_4)).stats["shared_passes"] == 1
    assert go(kernel(8, 4, first=8), machine=machine(KEPLER_4)).stats["shared_passes"] == 2


@pytest.mark.parametrize("banks", [FERMI, KEPLER_4, KEPLER_8])
@pytest.mark.parametrize(("stride", "size"), [(4, 4), (8, 8), (128, 4), (256, 8), (24, 8), (16, 16)])
def test_n_accesses_of_congestion_k_occupy_the_banks_n_times_k_cycles(banks: Banks, stride: int, size: int) -> None:
    k = banks.passes({lane: lane * stride for lane in range(32)}, size)
    n = 20
    target = machine(banks)
    result = go(kernel(stride, size, n), machine=target)
    assert result.stats["shared_passes"] == n * k
    assert result.stats["bank_conflict_cycles"] == n * (k - banks.passes(dict.fromkeys(range(32), 0), size))
    more = go(kernel(stride, size, 2 * n), machine=target)
    assert more.cycles - result.cycles == n * k


def test_the_machines_have_the_banks_of_their_capability() -> None:
    shape = {
        name: (m.shared.banks, m.shared.bank_bytes, m.shared.mode_bytes)
        for name in ("gtx680", "c2075")
        for m in [load_machine(name)]
    }
    assert shape == {"gtx680": (32, 8, 4), "c2075": (32, 4, 4)}
