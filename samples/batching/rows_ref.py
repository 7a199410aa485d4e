"""This reference adds to each word the number of its row, as rows.lasm does."""

import numpy as np


def reference(inputs, launch):
    rows = np.arange(len(inputs["in"]), dtype=np.uint32)
    return {"out": inputs["in"] + rows[:, None]}
