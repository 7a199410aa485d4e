"""Marching cubes over all cells at once: positions in marchingCubes.cu's roundings, normals in double precision."""

import runpy
from pathlib import Path

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
TABLES = runpy.run_path(str(Path(__file__).with_name("marchingCubes_tables.py")))
CORNERS = np.array(TABLES["CORNERS"])


def gradients(inputs, field):
    """d field / d (x, y, z) at every point but those on the outside, times sign. Shape (nz + 1, ny + 1, nx + 1, 3)."""
    spacing = [float(inputs[f"spacing_{axis}"]) for axis in "xyz"]
    parts = np.gradient(field.astype(np.float64), *reversed(spacing))
    return np.stack(parts[::-1], axis=-1)[1:-1, 1:-1, 1:-1] * float(inputs["sign"])


def reference(inputs, launch):
    count, limit, iso = inputs["count"], inputs["limit"], F(inputs["iso"])
    flat = inputs["field"].reshape(-1)
    nx, ny, nz = (inputs[f"n{axis}"] for axis in "xyz")
    z, y, x = np.ogrid[: nz + 3, : ny + 3, : nx + 3]
    field = flat[z * inputs["pitch_z"] + y * inputs["pitch_y"] + x]
    slopes, field = gradients(inputs, field), field[1:-1, 1:-1, 1:-1]

    voxels, offsets = inputs["voxels"][:count].astype(np.int64), inputs["offsets"][:count].astype(np.int64)
    shift_x, shift_y = inputs["shift_x"], inputs["shift_y"]
    base = np.stack([voxels % 2**shift_x, (voxels >> shift_x) % 2**shift_y, voxels >> (shift_x + shift_y)], axis=1)
    real = (base < (nx, ny, nz)).all(axis=1)
    base, offsets = base[real], offsets[real]
    value = np.stack([field[tuple((base + corner).T[::-1])] for corner in CORNERS], axis=1)
    case = ((value > iso) << np.arange(8)).sum(axis=1)

    out = {"positions": inputs["positions"].copy(), "normals": inputs["normals"].copy()}
    table = TABLES["triangles"]()
    for i in range(TABLES["MOST"]):
        # All cells with an i-th corner of a triangle: the edge it lies on, and where its place in the output is.
        cells = np.array([cell for cell in range(len(base)) if len(table[case[cell]]) > i], np.int64)
        place = offsets[cells] + i
        cells, place = cells[place < limit], place[place < limit]
        edges = np.array([table[case[cell]][i] for cell in cells], np.int64)
        ends = np.array(TABLES["EDGES"])[edges]
        f0, f1 = value[cells, ends[:, 0]], value[cells, ends[:, 1]]
        part = (iso - f0) * (F(1) / (f1 - f0))
        start, stop = base[cells] + CORNERS[ends[:, 0]], base[cells] + CORNERS[ends[:, 1]]
        for axis, name in enumerate("xyz"):
            spacing = F(inputs[f"spacing_{name}"])
            corner = fma32(base[cells, axis].astype(F), spacing, F(inputs[f"origin_{name}"]))
            corner = np.where(start[:, axis] > base[cells, axis], corner + spacing, corner)
            along = edges // 4 == axis
            out["positions"][place, axis] = np.where(along, fma32(part, spacing, corner), corner)
        out["positions"][place, 3] = 1
        g0, g1 = slopes[tuple(start.T[::-1])], slopes[tuple(stop.T[::-1])]
        normal = g0 + part[:, None] * (g1 - g0)
        out["normals"][place, :3] = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        out["normals"][place, 3] = 0
    return out
