"""Forces between every particle and those of the 27 cells around it, in the order of particles.cu."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
SLOTS = 4
DIAMETER, SPRING, DAMPING, SHEAR, ATTRACTION = (F(x) for x in (0.75, 0.5, 0.02, 0.1, 0.01))


def dot(a, b):
    return fma32(a[:, 2], b[:, 2], fma32(a[:, 1], b[:, 1], a[:, 0] * b[:, 0]))


def meet(offset, rate):
    """The force on particles from others at `offset`, all touching; arrays of shape (n, 3)."""
    distance = np.sqrt(dot(offset, offset))[:, None]
    normal = offset / distance
    slip = fma32(-dot(rate, normal)[:, None], normal, rate)
    push = -SPRING * (DIAMETER - distance)
    return fma32(ATTRACTION, offset, fma32(SHEAR, slip, fma32(DAMPING, rate, push * normal)))


def reference(inputs, launch):
    position, velocity, population = inputs["position"], inputs["velocity"][:, :3], inputs["population"]
    nx, ny, nz = (1 << inputs[name] for name in ("log_x", "log_y", "log_z"))
    edge = F(inputs["edge"])
    slot = np.arange(len(position))
    cell = slot // SLOTS
    taken = slot % SLOTS < population[cell]
    x, y, z = cell % nx, cell // nx % ny, cell // (nx * ny)
    force = np.zeros((len(position), 3), F)
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                there = ((z + dz) % nz * ny + (y + dy) % ny) * nx + (x + dx) % nx
                place = fma32(-np.array([dx, dy, dz], F), edge, position[:, :3])
                for k in range(SLOTS):
                    other = there * SLOTS + k
                    offset = position[other, :3] - place
                    near = dot(offset, offset) < DIAMETER * DIAMETER
                    on = np.flatnonzero(taken & (k < population[there]) & (other != slot) & near)
                    force[on] += meet(offset[on], velocity[other[on]] - velocity[on])
    gain = F(inputs["dt"]) * position[:, 3:]
    out = np.zeros_like(position)
    out[taken, :3] = fma32(force, gain, velocity)[taken]
    return {"new_velocity": out}
