"""What hotspot.cu computes, in its order and fused where it fuses, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32


def reference(inputs, launch):
    t, power = inputs["before"], inputs["power"]
    rate = F(inputs["dt"]) / F(inputs["capacity"])
    gx, gy, gz = (F(1) / F(inputs[name]) for name in ("rx", "ry", "rz"))
    for _ in range(inputs["steps"]):
        padded = np.pad(t, 1, mode="edge")  # beyond the edge the cell itself
        sides = padded[1:-1, 2:] + padded[1:-1, :-2]
        ends = padded[2:, 1:-1] + padded[:-2, 1:-1]
        flow = fma32(F(inputs["ambient"]) - t, gz, power)
        flow = fma32(fma32(F(-2), t, sides), gx, flow)
        flow = fma32(fma32(F(-2), t, ends), gy, flow)
        t = fma32(flow, rate, t)
    return {"after": t}
