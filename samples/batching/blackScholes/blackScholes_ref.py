"""This reference has the formula in double precision, with an integral in place of the kernel's polynomial."""

import numpy as np


def reference(inputs, launch):
    s, x, t = (inputs[name].astype(float) for name in ("price", "strike", "years"))
    r, v = float(inputs["riskless"]), float(inputs["volatility"])
    d1 = (np.log(s / x) + (r + v * v / 2) * t) / (v * np.sqrt(t))
    n1, n2 = cumulated(d1), cumulated(d1 - v * np.sqrt(t))
    later = x * np.exp(-r * t)
    call, put = s * n1 - later * n2, later * (1 - n2) - s * (1 - n1)
    return {"call": call.astype(np.float32), "put": put.astype(np.float32)}


def cumulated(d):
    """Integrate the normal distribution up to each d, from tables of fine steps."""
    grid = np.linspace(-20, 20, 400_001)
    density = np.exp(-grid * grid / 2) / np.sqrt(2 * np.pi)
    sums = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2) * (grid[1] - grid[0])])
    return np.interp(d, grid, sums)
