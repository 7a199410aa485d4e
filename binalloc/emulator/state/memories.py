"""This module has the arrays beside the records: registers, memories and the staged program."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.state.arrays import Cube, Grid, Words
from binalloc.emulator.state.layout import HAZARD_COLUMNS, LANES, REGISTER_ROWS, REGISTERS, ROWS

Array = NDArray[Any]
"""An array of any type, as those of a launch's buffers and their contents after it."""


class Arguments(NamedTuple):
    """The arguments of device code have all arrays in one tuple. Only the entry function takes the tuple; it passes on
    the arrays that each function needs. Numba passes a tuple as all its arrays, taken apart, at every call that is not
    inlined."""

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
    """`Memories` has the arrays beside the records. They are indexed by slots of all simulated SMs: `warp` counts
    through the SMs."""

    def __init__(self, program: NDArray[np.int64]) -> None:
        self.program = program  #: [word, column]
        self.rows: NDArray[np.uint32] = np.zeros((1, LANES), np.uint32)  #: [row, lane], see `layout`
        #: the rows that are the warps' registers: [warp, register, lane]
        self.regs: NDArray[np.uint32] = np.zeros((1, REGISTERS, LANES), np.uint32)
        self.hazard: NDArray[np.int64] = np.zeros((1, ROWS, HAZARD_COLUMNS), np.int64)  #: [warp, row, column]
        #: words from address `global_base` on: VARIABLE_BASE where the module has variables, else GLOBAL_BASE
        self.global_: NDArray[np.uint32] = np.zeros(1, np.uint32)
        self.shared: NDArray[np.uint32] = np.zeros((1, 1), np.uint32)  #: [SM, word], resident blocks side by side
        self.local: NDArray[np.uint32] = np.zeros((1, 1, LANES), np.uint32)  #: [warp, word, lane]
        self.const: NDArray[np.uint32] = np.zeros(1, np.uint32)  #: words of the constant banks
        self.counts: NDArray[np.int64] = np.zeros(len(program), np.int64)  #: [word], warp instructions executed
        self.shadow: NDArray[np.int64] = np.zeros((1, 1), np.int64)  #: check mode: [SM, word], 1 = poisoned
        self.shadow_local: NDArray[np.int64] = np.zeros((1, 1), np.int64)  #: check mode: [warp, word], poisoned lanes
        self.races: NDArray[np.int64] = np.zeros((1, 1, 1), np.int64)  #: race mode: [SM, place, column], see `races.py`
        self.dram_log: NDArray[np.int64] = np.zeros(1, np.int64)

    def make_rows(self, values: NDArray[np.uint32], warps: int) -> None:
        """Allocate the rows for `values`, which come first as they are, and for the registers of `warps` warps."""
        first = len(values)
        self.rows = np.zeros((first + warps * REGISTER_ROWS, LANES), np.uint32)
        self.rows[:first] = values
        self.regs = self.rows[first:].reshape(warps, REGISTER_ROWS, LANES)

    def arguments(self) -> Arguments:
        """Return the arrays as device code takes them."""
        return Arguments(
            self.program, self.rows, self.regs, self.hazard, self.global_, self.shared, self.local, self.const,
            self.counts, self.shadow, self.shadow_local, self.races, self.dram_log,
        )  # fmt: skip
