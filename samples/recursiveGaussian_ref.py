"""What recursiveGaussian.cu computes, in its order and fused where it fuses, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.exact import fma32

F = np.float32
SHIFTS = np.array([0, 8, 16, 24], np.uint32)[:, None]


def unpack(row):
    """Four channels of one row of pixels, shape (4, width)."""
    return ((row >> SHIFTS) & np.uint32(255)).astype(F) * (F(1) / F(255))


def pack(colours):
    levels = fma32(np.clip(colours, F(0), F(1)), F(255), F(0.5)).astype(np.uint32)
    return np.bitwise_or.reduce(levels << SHIFTS)


def recursion(p, a, q, b, r, c, s, d):
    return fma32(p, a, fma32(q, b, fma32(-r, c, -(s * d))))


def reference(inputs, launch):
    image = inputs["in"]
    a0, a1, a2, a3, b1, b2 = (F(inputs[name]) for name in ("a0", "a1", "a2", "a3", "b1", "b2"))
    out = np.zeros_like(image)

    previous = unpack(image[0])
    last = before = previous * F(inputs["down_edge"])
    for y in range(len(image)):
        pixel = unpack(image[y])
        before, last = last, recursion(pixel, a0, previous, a1, last, b1, before, b2)
        out[y] = pack(last)
        previous = pixel

    previous = further = unpack(image[-1])
    last = before = further * F(inputs["up_edge"])
    for y in reversed(range(len(image))):
        before, last = last, recursion(previous, a2, further, a3, last, b1, before, b2)
        further, previous = previous, unpack(image[y])
        out[y] = pack(unpack(out[y]) + last)
    return {"out": out}
