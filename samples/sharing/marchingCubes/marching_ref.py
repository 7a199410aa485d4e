"""Marching cubes over all cells at once: the field and positions in marchingCubes.cuh's roundings, gradients in double
precision."""

import runpy
from pathlib import Path

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
TABLES = runpy.run_path(str(Path(__file__).parents[2] / "multiplex" / "marchingCubes_tables.py"))
CORNERS = np.array(TABLES["CORNERS"])


def wave(t):
    u = t - np.rint(t)
    return u * fma32(F(-4) * u, u, F(1))


def slope(t):
    return 1 - 12 * (t - np.rint(t)) ** 2


def field(x, y, z):
    inner = fma32(wave(y), wave(z + F(0.25)), wave(z) * wave(x + F(0.25)))
    return fma32(wave(x), wave(y + F(0.25)), inner)


def gradient(x, y, z):
    """d field / d (x, y, z), in double precision. Shape (..., 3)."""
    x, y, z = (np.float64(axis) for axis in (x, y, z))

    def odd(t):
        u = t - np.rint(t)
        return u * (1 - 4 * u**2)

    terms = [slope(a) * odd(b + 0.25) + odd(c) * slope(a + 0.25) for a, b, c in ((x, y, z), (y, z, x), (z, x, y))]
    return np.stack(terms, axis=-1)


def reference(inputs, launch):
    count, iso, step = inputs["count"], F(inputs["iso"]), F(inputs["step"])
    voxels, offsets = inputs["voxels"][:count].astype(np.int64), inputs["offsets"][:count].astype(np.int64)
    shift_x, shift_y = inputs["shift_x"], inputs["shift_y"]
    numbers = [voxels % 2**shift_x, (voxels >> shift_x) % 2**shift_y, voxels >> (shift_x + shift_y)]
    low = np.stack([F(n) * step for n in numbers], axis=1)
    corners = np.where(CORNERS.astype(bool), (low + step)[:, None], low[:, None])  # [cell, corner, axis]
    value = field(*np.moveaxis(corners, -1, 0))
    slopes = gradient(*np.moveaxis(corners, -1, 0))
    case = ((value > iso) << np.arange(8)).sum(axis=1)

    out = {name: inputs[name].copy() for name in ("positions", "normals")}
    table = TABLES["triangles"]()
    for i in range(TABLES["MOST"]):
        cells = np.array([cell for cell in range(count) if len(table[case[cell]]) > i], np.int64)
        edges = np.array([table[case[cell]][i] for cell in cells], np.int64)
        start, stop = np.array(TABLES["EDGES"], np.int64)[edges].T
        f0, f1 = value[cells, start], value[cells, stop]
        part = (iso - f0) * (F(1) / (f1 - f0))
        at = corners[cells, start]
        moved = fma32(part[:, None], step, at)
        place = offsets[cells] + i
        out["positions"][place, :3] = np.where(np.arange(3) == edges[:, None] // 4, moved, at)
        out["positions"][place, 3] = 1
        normal = slopes[cells, start] + part[:, None] * (slopes[cells, stop] - slopes[cells, start])
        out["normals"][place, :3] = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        out["normals"][place, 3] = 0
    return out
