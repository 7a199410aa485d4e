"""What callchain.lasm computes, operation by operation, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32


def proc_c(v):
    return fma32(v + F(2), v * F(0.25), v * v) * (F(1) - v)


def proc_b(u):
    return fma32(proc_c((u + F(1)) * (u - F(3))), u * u, u * F(0.5))


def reference(inputs, launch):
    p, q, r, s = inputs["in"].T
    return {"out": fma32(p, proc_b(fma32(q, s, q)), r)}
