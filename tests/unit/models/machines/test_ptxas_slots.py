"""The vendor's slot budget, as measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.isa.instruction import FunctionInfo
from binalloc.models.machines.ptxas_slots import ptxas_slots
from binalloc.models.machines.reader import load_machine


@pytest.mark.parametrize(
    ("machine", "threads", "shared", "slots"),
    [
        ("h100", 256, 0, 19),  # measured: 44 would fit, it takes 19
        ("h100", 1024, 0, 11),
        ("h100", 0, 0, 11),  # without launch bounds: 1,024 threads
        ("a100", 256, 0, 20),
        ("a100", 512, 0, 20),
        ("a100", 1024, 0, 12),  # 48 KB at most
        ("rtx2060", 256, 0, 16),
        ("rtx2060", 512, 0, 16),
        ("h100", 256, 40 * 1024, 0),  # measured: with 40 KB of its own it does nothing
        ("h100", 256, 1024, 18),
    ],
)
def test_the_budget(machine: str, threads: int, shared: int, slots: int) -> None:
    bounds = FunctionInfo(shared_bytes=shared, max_threads=threads)
    required = replace(bounds, block=(threads // 2, 2, 0) if threads else (0, 0, 0), max_threads=0)
    assert ptxas_slots(load_machine(machine), bounds) == slots
    assert ptxas_slots(load_machine(machine), required) == slots


def test_dynamic_shared_memory_is_not_accepted() -> None:
    assert ptxas_slots(load_machine("h100"), FunctionInfo(max_threads=256), 4) == 0
