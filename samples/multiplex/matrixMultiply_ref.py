"""C = A B, every element summed over k in order with one rounding a term, as matrixMultiply.cu writes it with fmaf."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32


def reference(inputs, launch):
    a, b = inputs["a"], inputs["b"]
    c = np.zeros((inputs["m"], inputs["n"]), np.float32)
    for i in range(inputs["k"]):
        c = fma32(a[:, i : i + 1], b[i], c)
    return {"c": c}
