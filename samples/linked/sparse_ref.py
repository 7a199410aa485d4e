"""One step of damped relaxation, entries of a row in their order with one rounding a term, as the .cu files have it."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
DAMPING = np.array([0.5, 0.625, 0.75, 0.875], F)


def reference(inputs, launch):
    rows, x, b = inputs["rows"], inputs["x"], inputs["b"]
    total, diagonal = np.zeros(rows, F), np.full(rows, 4, F)
    for columns, values in zip(inputs["columns"], inputs["values"], strict=True):
        value = values * F(0.25)
        total = fma32(value, x[columns], total)
        diagonal = diagonal + np.abs(value)
    damping = DAMPING[np.arange(rows) % 4]
    return {"y": fma32(damping, (b - total) / diagonal, x)}
