"""The indices that the walks of chase_texture.lasm come to: 56 lines on, twice, and 32 lines on."""

import numpy as np


def reference(inputs, launch):
    return {"ends": np.array([56 * 32, 56 * 32, 32 * 32], np.uint32)}
