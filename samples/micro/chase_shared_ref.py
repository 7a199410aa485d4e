"""Where the walk of chase_shared.lasm ends: 33 words behind the sixth of a ring of 32."""

import numpy as np


def reference(inputs, launch):
    return {"ends": np.array([4 * 6], np.uint32)}
