"""Rusanov fluxes through the four faces of every cell, as cfd.cu has them; sums may round differently."""

import numpy as np

F = np.float32
GAMMA = F(1.4)
FAR_FIELD = np.array([1.4, 1.68, 0.0, 0.0, 3.508], F)


def derive(q):
    """Velocity, pressure and signal speed of conserved variables q of shape (5, n)."""
    velocity = q[1:4] / q[0]
    square = (velocity * velocity).sum(axis=0)
    pressure = (GAMMA - F(1)) * (q[4] - F(0.5) * q[0] * square)
    return velocity, pressure, np.sqrt(square) + np.sqrt(GAMMA * pressure / q[0])


def carried(q, velocity, pressure, normal):
    """The flux of q along the normal, shape (5, n)."""
    through = (velocity * normal).sum(axis=0)
    flux = q * through
    flux[1:4] += pressure * normal
    flux[4] += pressure * through
    return flux


def state(inputs):
    """Conserved variables of all cells, shape (5, n)."""
    return np.concatenate([inputs["density"][None], inputs["momentum"], inputs["energy"][None]])


def summed(inputs, pressure, flux):
    """Over the four faces of each cell, flux(other's state, normal, its area) where there is another cell or the far
    field, and the pressure where there is a wall."""
    own = state(inputs)
    cells = np.arange(own.shape[1])
    total = np.zeros_like(own)
    for link, normal in zip(inputs["link"], inputs["normals"], strict=True):
        j = cells + link
        within = (j >= 0) & (j < len(cells))
        other = np.where(within, own[:, np.clip(j, 0, len(cells) - 1)], FAR_FIELD[:, None])
        wall = np.zeros_like(own)
        wall[1:4] = pressure * normal
        total += np.where(link == 0, wall, flux(other, normal, np.sqrt((normal * normal).sum(axis=0))))
    return {"fluxes": total}


def reference(inputs, launch):
    own = state(inputs)
    velocity, pressure, signal = derive(own)

    def rusanov(other, normal, area):
        their_velocity, their_pressure, their_signal = derive(other)
        damping = F(inputs["smoothing"]) * area * np.maximum(signal, their_signal)
        mean = carried(own, velocity, pressure, normal) + carried(other, their_velocity, their_pressure, normal)
        return F(0.5) * mean + damping * (own - other)

    return summed(inputs, pressure, rusanov)


def along_axes(q):
    """The flow of q along each axis, shape (3, 5, n), pressure, and the fastest signal."""
    velocity, pressure, signal = derive(q)
    flow = velocity[:, None] * q[None]
    flow[:, 4] += velocity * pressure
    for axis in range(3):
        flow[axis, 1 + axis] += pressure
    return flow, pressure, signal


def central(inputs, launch):
    """What table1's cfd computes; sums may round differently."""
    own = state(inputs)
    flow, pressure, signal = along_axes(own)

    def damped(other, normal, area):
        their_flow, _, their_signal = along_axes(other)
        damping = F(0.5) * F(inputs["smoothing"]) * area * (signal + their_signal)
        return damping * (own - other) + (F(0.5) * normal[:, None] * (flow + their_flow)).sum(axis=0)

    return summed(inputs, pressure, damped)
