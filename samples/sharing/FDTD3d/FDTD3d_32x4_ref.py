"""The stencil of FDTD3d_32x4.cu over the whole volume, in its order and fused where it fuses."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

WEIGHT = np.array([0.625, 0.046875, -0.01953125, 0.0078125, -0.0026041667], np.float32)
RADIUS = 4


def reference(inputs, launch):
    volume, margin = inputs["in"], inputs["margin"]
    depth, height, width = (inputs[name] for name in ("planes", "height", "width"))

    def shifted(dz, dy, dx):
        z, y, x = RADIUS + dz, RADIUS + dy, margin + dx
        return volume[z : z + depth, y : y + height, x : x + width]

    total = WEIGHT[0] * shifted(0, 0, 0)
    for i in range(1, RADIUS + 1):
        ring = shifted(-i, 0, 0) + shifted(i, 0, 0)
        ring = ring + (shifted(0, -i, 0) + shifted(0, i, 0))
        ring = ring + (shifted(0, 0, -i) + shifted(0, 0, i))
        total = fma32(WEIGHT[i], ring, total)
    out = inputs["out"].copy()
    out[RADIUS : RADIUS + depth, RADIUS : RADIUS + height, margin : margin + width] = total
    return {"out": out}
