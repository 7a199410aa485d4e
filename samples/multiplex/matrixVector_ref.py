"""y = alpha A x + beta y, summed from left to right with one rounding a term,
as matrixVector.cu writes it with fmaf."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32


def reference(inputs, launch):
    rows, columns = inputs["rows"], inputs["columns"]
    a, x, y = inputs["a"][:rows, :columns], inputs["x"], inputs["y"].copy()
    total = np.zeros(rows, F)
    for column in range(columns):
        total = fma32(a[:, column], x[column], total)
    y[:rows] = fma32(F(inputs["alpha"]), total, F(inputs["beta"]) * y[:rows])
    return {"y": y}
