"""The arrays beside the records: registers, memories, the staged program."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.layout import HAZARD_COLUMNS, LANES, REGISTER_ROWS, REGISTERS, ROWS

Array = NDArray[Any]
"""Of whatever type: buffers of a launch, what became of them."""


class Arguments(NamedTuple):
    """The arrays as one argument of device code. Only its entry takes them so and hands on what each function needs:
    Numba passes a tuple as all of its arrays, taken apart, at every call that is not inlined."""

    program: Grid
    rows: Grid
    regs: Cube
    hazard: Cube
    global_: Words
    shared: Grid
    local: Cube
    const: Words
    counts: Words
    shadow: Grid
    shadow_local: Grid
    races: Cube
    dram_log: Words


class Memories:
    """The arrays beside the records, indexed by SM-wide slots (`warp` counts through all SMs simulated).

    program: int64 [word, column]. rows: uint32 [row, lane], see `layout`; regs: those of them that are the warps'
    registers, uint32 [warp, register, lane]. hazard: int64 [warp, row, column]. global_:
    uint32 words from `global_base`: VARIABLE_BASE where the module has variables, else GLOBAL_BASE. shared: uint32 [SM,
    word], resident blocks side by side. local: uint32 [warp, word, lane]. const: uint32 words. counts: int64 [word],
    warp instructions executed. Check mode: shadow int64 [SM, word], 1 = poisoned; shadow_local int64 [warp, word],
    poisoned lanes. Race mode: races int64 [SM, place, column], see `races.py`.
    """

    def __init__(self, program: NDArray[np.int64]) -> None:
        self.program = program
        self.rows: NDArray[np.uint32] = np.zeros((1, LANES), np.uint32)
        self.regs: NDArray[np.uint32] = np.zeros((1, REGISTERS, LANES), np.uint32)
        self.hazard: NDArray[np.int64] = np.zeros((1, ROWS, HAZARD_COLUMNS), np.int64)
        self.global_: NDArray[np.uint32] = np.zeros(1, np.uint32)
        self.shared: NDArray[np.uint32] = np.zeros((1, 1), np.uint32)
        self.local: NDArray[np.uint32] = np.zeros((1, 1, LANES), np.uint32)
        self.const: NDArray[np.uint32] = np.zeros(1, np.uint32)
        self.counts: NDArray[np.int64] = np.zeros(len(program), np.int64)
        self.shadow: NDArray[np.int64] = np.zeros((1, 1), np.int64)
        self.shadow_local: NDArray[np.int64] = np.zeros((1, 1), np.int64)
        self.races: NDArray[np.int64] = np.zeros((1, 1, 1), np.int64)
        self.dram_log: NDArray[np.int64] = np.zeros(1, np.int64)

    def make_rows(self, values: NDArray[np.uint32], warps: int) -> None:
        """Rows for `values`, which stand in front as they are, and for the registers of so many warps."""
        first = len(values)
        self.rows = np.zeros((first + warps * REGISTER_ROWS, LANES), np.uint32)
        self.rows[:first] = values
        self.regs = self.rows[first:].reshape(warps, REGISTER_ROWS, LANES)

    def arguments(self) -> Arguments:
        """As device code takes them."""
        return Arguments(
            self.program, self.rows, self.regs, self.hazard, self.global_, self.shared, self.local, self.const,
            self.counts, self.shadow, self.shadow_local, self.races, self.dram_log,
        )  # fmt: skip
