"""What stream_copy.lasm leaves: the same."""

import numpy as np


def reference(inputs, launch):
    return {"y": inputs["x"]}
