"""What matmul.lasm computes: fused multiply-adds in the order of k, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32


def reference(inputs, launch):
    a, b = inputs["a"], inputs["b"]
    c = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        c = fma32(a[:, k, None], b[None, k, :], c)
    return {"c": c}
