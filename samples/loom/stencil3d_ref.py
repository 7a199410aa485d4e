"""What stencil3d.lasm computes, in its order and fused where it fuses, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

MARGIN = (4, 4, 8)  # planes, rows, columns on each side


def reference(inputs, launch):
    volume, c = inputs["in"], inputs["coef"]

    def shifted(z=0, y=0, x=0):
        size = volume.shape
        return volume[tuple(slice(m + d, n - m + d) for m, n, d in zip(MARGIN, size, (z, y, x), strict=True))]

    total = c[0] * shifted()
    for r in range(1, 5):
        total = fma32(c[r], shifted(z=-r) + shifted(z=r), total)
    for r in range(1, 5):
        total = fma32(c[r], (shifted(x=-r) + shifted(x=r)) + (shifted(y=-r) + shifted(y=r)), total)
    out = np.zeros_like(volume)
    out[4:-4, 4:-4, 8:-8] = total
    return {"out": out}
