"""What stencil2d.lasm computes, on the whole grid at once and fused where it fuses: the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32


def reference(inputs, launch):
    t, power = inputs["t"], inputs["power"]
    rx, ry, rz, ambient, sdc = (F(inputs[n]) for n in ("rx", "ry", "rz", "ambient", "sdc"))
    for _ in range(inputs["steps"]):
        padded = np.pad(t, 1, mode="edge")
        vertical = fma32(t, F(-2), padded[:-2, 1:-1] + padded[2:, 1:-1])
        horizontal = fma32(t, F(-2), padded[1:-1, 2:] + padded[1:-1, :-2])
        change = fma32(horizontal, rx, fma32(vertical, ry, power))
        t = fma32(fma32(ambient - t, rz, change), sdc, t)
    return {"out": t}
