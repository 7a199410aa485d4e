"""What recursiveGaussian.cu computes, in its order and fused where it fuses, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
SHIFTS = np.array([0, 8, 16, 24], np.uint32)[:, None]


UNIT = F(1) / F(255)


def levels(row):
    """Four channels of one row of pixels, shape (4, width)."""
    return ((row >> SHIFTS) & np.uint32(255)).astype(F)


def pack(colours):
    whole = fma32(np.clip(colours, F(0), F(1)), F(255), F(0.5)).astype(np.uint32)
    return np.bitwise_or.reduce(whole << SHIFTS)


def recursion(p, a, q, b, r, c, s, d):
    return fma32(p, a, fma32(q, b, fma32(-r, c, -(s * d))))


def reference(inputs, launch):
    image = inputs["in"]
    a0, a1, a2, a3, b1, b2 = (F(inputs[name]) for name in ("a0", "a1", "a2", "a3", "b1", "b2"))
    out = np.zeros_like(image)

    previous = levels(image[0]) * UNIT
    last = before = previous * F(inputs["down_edge"])
    for y in range(len(image)):
        pixel = levels(image[y]) * UNIT
        before, last = last, recursion(pixel, a0, previous, a1, last, b1, before, b2)
        out[y] = pack(last)
        previous = pixel

    previous = further = levels(image[-1]) * UNIT
    last = before = further * F(inputs["up_edge"])
    for y in reversed(range(len(image))):
        before, last = last, recursion(previous, a2, further, a3, last, b1, before, b2)
        further, previous = previous, levels(image[y]) * UNIT
        out[y] = pack(fma32(levels(out[y]), UNIT, last))
    return {"out": out}
