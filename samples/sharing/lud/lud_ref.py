"""All blocks below and to the right at once, summed in lud.cu's order with one rounding a term."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

SIDE = 22


def reference(inputs, launch):
    out, start = inputs["m"].copy(), inputs["diagonal"]
    below = slice(start + SIDE, start + SIDE * (launch.grid[1] + 1))
    right = slice(start + SIDE, start + SIDE * (launch.grid[0] + 1))
    total = np.zeros_like(out[below, right])
    for k in range(start, start + SIDE):
        total = fma32(out[below, k, None], out[k, right], total)
    out[below, right] -= total
    return {"m": out}
