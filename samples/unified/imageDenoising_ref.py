"""Non-local means with one set of weights per block, as imageDenoising.cu has it; exp may round differently."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32


def denoised(inputs, launch, radius):
    """radius: of the patches that are compared."""
    height, width, _ = inputs["image"].shape
    colours = inputs["image"][..., :3].astype(F) * (F(1) / F(255))
    columns, rows, _ = launch.grid
    edge = launch.block[0]
    reach = edge // 2

    def pixel(y, x):
        """Colours at whole arrays of places; beyond the image its edge goes on."""
        return colours[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)]

    # weights[block row, block column, displacement in y, in x]
    block_y, block_x, dy, dx = np.ogrid[:rows, :columns, -reach:reach, -reach:reach]
    middle_y, middle_x = block_y * edge + edge // 2, block_x * edge + edge // 2
    difference = np.zeros((rows, columns, edge, edge), F)
    for j in range(-radius, radius + 1):
        for i in range(-radius, radius + 1):
            d = pixel(middle_y + j, middle_x + i) - pixel(middle_y + dy + j, middle_x + dx + i)
            for c in (2, 1, 0):
                difference = fma32(d[..., c], d[..., c], difference)
    far = (dx * dx + dy * dy).astype(F) * F(inputs["spread"])
    weights = np.exp(-fma32(difference, F(inputs["strength"]), far))

    y, x = np.mgrid[:height, :width]
    total, alike = np.zeros((height, width), F), np.zeros((height, width), F)
    mean = np.zeros((height, width, 3), F)
    for j in range(edge):
        for i in range(edge):
            weight = weights[y // edge, x // edge, j, i]
            mean = fma32(pixel(y + j - reach, x + i - reach), weight[..., None], mean)
            total += weight
            alike += np.where(weight > F(inputs["threshold"]), F(1 / edge**2), F(0))
    lerp = F(inputs["lerp"])
    keep = np.where(alike > F(inputs["likeness"]), lerp, F(1) - lerp)[..., None]
    mean = fma32(keep, fma32(mean, (F(1) / total)[..., None], -colours), colours)
    clean = inputs["image"].copy()
    clean[..., :3] = fma32(np.clip(mean, 0, 1), F(255), F(0.5)).astype(np.uint8)
    return {"clean": clean}


def reference(inputs, launch):
    return denoised(inputs, launch, 4)


def of_radius_3(inputs, launch):
    """What table1's imageDenoising computes."""
    return denoised(inputs, launch, 3)
