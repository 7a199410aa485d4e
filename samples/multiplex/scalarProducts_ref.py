"""Dot products in scalarProducts.cu's order: 1,024 interleaved sums with one rounding a term,
then halves added to halves."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
PARTIAL = 1024


def reference(inputs, launch):
    vectors, elements = inputs["vectors"], inputs["elements"]
    total = np.zeros((vectors, PARTIAL), F)
    for start in range(0, elements, PARTIAL):
        end = min(start + PARTIAL, elements)
        some = total[:, : end - start]
        some[:] = fma32(inputs["a"][:vectors, start:end], inputs["b"][:vectors, start:end], some)
    while total.shape[1] > 1:
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    result = inputs["result"].copy()
    result[:vectors] = fma32(F(inputs["alpha"]), total[:, 0], F(inputs["beta"]) * result[:vectors])
    return {"result": result}
