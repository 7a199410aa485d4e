"""The transforms by NumPy's FFT in double precision."""

import numpy as np

POINTS = 1024


def reference(inputs, launch):
    points = inputs["in"][:, :POINTS].astype(np.float64)
    points = points[..., 0] + 1j * points[..., 1]
    result = np.fft.fft(points) if inputs["direction"] > 0 else np.fft.ifft(points) * POINTS
    out = inputs["out"].copy()
    out[:, :POINTS, 0] = inputs["scale"] * result.real
    out[:, :POINTS, 1] = inputs["scale"] * result.imag
    return {"out": out}
