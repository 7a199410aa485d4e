"""Where the walk of chase_constant.lasm ends: 33 steps from `ping`, so at `pong`."""

import numpy as np


def reference(inputs, launch):
    return {"ends": np.array([20], np.uint32)}
