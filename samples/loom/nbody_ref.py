"""What nbody.lasm computes, operation by operation (MUFU.RSQ included), so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32, rsq32

F = np.float32
PER_BLOCK = 512


def dot(a, b, start):
    """The kernel's order: fused sums of x, y, z; without `start` the first product is rounded by itself."""
    total = a[0] * b[0] if start is None else fma32(a[0], b[0], start)
    return fma32(a[2], b[2], fma32(a[1], b[1], total))


def forces(inputs, x, v):
    """Acceleration and jerk of every body from its block's list; arrays of shape (3, n)."""
    block = np.arange(x.shape[1]) // PER_BLOCK
    counts, lists = inputs["counts"][block], inputs["lists"]
    a, j = np.zeros_like(x), np.zeros_like(x)
    for k in range(counts.max(initial=0)):
        on = np.flatnonzero(k < counts)
        source = inputs["sources"][lists[block[on], k]].T
        d, rate = source[0:3] - x[:, on], source[4:7] - v[:, on]
        inverse = rsq32(dot(d, d, F(inputs["eps2"])))
        square = inverse * inverse
        alpha = (dot(d, rate, None) * F(3)) * square
        weight = (source[3] * inverse) * square
        a[:, on] = fma32(weight, d, a[:, on])
        j[:, on] = fma32(weight, fma32(alpha, -d, rate), j[:, on])
    return a, j


def reference(inputs, launch):
    state = np.concatenate([inputs[f"state{i}"] for i in range(3)], axis=1)
    x0, v0, a0, j0 = (state[:, i : i + 3].T for i in (0, 3, 6, 9))
    dt, dt2, dt3, dt6, dt24, q24, q120 = (
        F(inputs[name]) for name in ("dt", "dt2", "dt3", "dt6", "dt24", "q24", "q120")
    )
    x = fma32(fma32(fma32(j0, dt3, a0), dt2, v0), dt, x0)
    v = fma32(fma32(j0, dt2, a0), dt, v0)
    a1, j1 = forces(inputs, x, v)
    change, total = a0 - a1, j0 + j1
    u3 = fma32(change, F(12), (total * dt) * F(6))
    u2 = fma32(change, F(-6), ((j0 + total) * dt) * F(-2))
    x = fma32(u3, q120, fma32(u2, q24, x))
    v = fma32(u3, dt24, fma32(u2, dt6, v))
    state = np.concatenate([x, v, a1, j1]).T
    return {f"state{i}": np.ascontiguousarray(state[:, 4 * i : 4 * i + 4]) for i in range(3)}
