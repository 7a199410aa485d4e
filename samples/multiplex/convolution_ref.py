"""Both passes over the whole image, each sum from the first tap to the last with one rounding a term,
as in convolution.cu."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
RADIUS = 8
# The same decimal digits as in convolution.cu.
HALF = [0.0038155287, 0.00877944, 0.018076899, 0.03330628, 0.054912772, 0.08101504, 0.10695547, 0.12635297]
TAPS = np.array([*HALF, 0.13357122, *reversed(HALF)], F)


def along_rows(image):
    """Every row convolved with the taps; the result is narrower by twice the radius."""
    width = image.shape[1] - 2 * RADIUS
    total = np.zeros((image.shape[0], width), F)
    for k, tap in enumerate(TAPS):
        total = fma32(tap, image[:, k : k + width], total)
    return total


def reference(inputs, launch):
    width, height = inputs["width"], inputs["height"]
    image = np.pad(inputs["in"][:height, :width], RADIUS, constant_values=F(inputs["border"]))
    both = along_rows(along_rows(image).T).T
    out = inputs["out"].copy()
    out[:height, :width] = fma32(F(inputs["scale"]), both, F(inputs["offset"]))
    return {"out": out}
