"""Kernels that are each bound by one thing (`tests/data/bounds`), and launches of them."""

from __future__ import annotations

from functools import cache
from typing import Any

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from tests.support.paths import DATA

FOLDER = DATA / "bounds"
PTX = str(FOLDER / "bounds.ptx")


@cache
def bounds(machine: str) -> Module:
    """All of them, imported for the machine."""
    return import_ptx((FOLDER / "bounds.ptx").read_text(), PTX, machine=load_machine(machine)).module


def launched(kernel: str, grid: int, block: int, rounds: int | None = 64) -> Launch:
    """A launch: one buffer that is read where the kernel reads one, one that is written, and rounds of its loop."""
    reads, words = kernel in ("dram_bound", "chase_bound"), grid * block * (4 if kernel == "dram_bound" else 1)
    arguments: list[dict[str, Any]] = []
    if reads:
        arguments.append({"name": "in", "kind": "buffer", "dtype": "i32", "shape": words})
    dtype = "f64" if kernel == "f64_bound" else "i32" if reads else "f32"
    arguments.append({"name": "out", "kind": "buffer", "dtype": dtype, "shape": words, "compare": "exact"})
    if kernel != "dram_bound":
        arguments.append({"name": "n", "kind": "scalar", "dtype": "i32", "value": rounds})
    return parse_launch({"kernel": kernel, "grid": grid, "block": block, "argument": arguments})
