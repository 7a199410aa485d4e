"""Both halves of a step of speckle reducing anisotropic diffusion, over the whole picture in double precision."""

import numpy as np


def first(inputs, launch):
    own = inputs["image"].astype(np.float64)
    padded = np.pad(own, 1, mode="edge")
    n, s = padded[:-2, 1:-1] - own, padded[2:, 1:-1] - own
    w, e = padded[1:-1, :-2] - own, padded[1:-1, 2:] - own
    gradient = (n**2 + s**2 + w**2 + e**2) / own**2
    laplacian = (n + s + w + e) / own
    variation = (gradient / 2 - laplacian**2 / 16) / (1 + laplacian / 4) ** 2
    speckle = inputs["speckle"]
    coefficient = 1 / (1 + (variation - speckle) / (speckle * (1 + speckle)))
    out = {"coefficient": coefficient.clip(0, 1), "to_north": n, "to_south": s, "to_west": w, "to_east": e}
    return {name: np.float32(array) for name, array in out.items()}


def second(inputs, launch):
    own = inputs["coefficient"].astype(np.float64)
    padded = np.pad(own, ((0, 1), (0, 1)), mode="edge")
    flow = own * inputs["to_north"] + padded[1:, :-1] * inputs["to_south"]
    flow += own * inputs["to_west"] + padded[:-1, 1:] * inputs["to_east"]
    return {"image": np.float32(inputs["image"] + 0.25 * inputs["rate"] * flow)}
