"""What FDTD3d.cu computes, in its order and fused where it fuses, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

WEIGHT = np.array([0.625, 0.046875, -0.01953125, 0.0078125, -0.0026041667], np.float32)
RADIUS = 4


def reference(inputs, launch):
    volume = inputs["in"]
    margins = RADIUS, RADIUS, inputs["margin_x"]

    def shifted(*by):
        return volume[tuple(slice(m + d, n - m + d) for m, n, d in zip(margins, volume.shape, by, strict=True))]

    value = WEIGHT[0] * shifted(0, 0, 0)
    for k in range(1, RADIUS + 1):
        ring = (shifted(k, 0, 0) + shifted(-k, 0, 0)) + (shifted(0, -k, 0) + shifted(0, k, 0))
        ring = ring + (shifted(0, 0, -k) + shifted(0, 0, k))
        value = fma32(WEIGHT[k], ring, value)
    out = np.zeros_like(volume)
    out[tuple(slice(m, n - m) for m, n in zip(margins, volume.shape, strict=True))] = value
    return {"out": out}
