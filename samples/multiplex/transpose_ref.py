"""out = alpha in^T, one rounding an element; elements between the rows of `out` stay."""

import numpy as np


def reference(inputs, launch):
    rows, columns = inputs["rows"], inputs["columns"]
    out = inputs["out"].copy()
    out[:columns, :rows] = np.float32(inputs["alpha"]) * inputs["in"][:rows, :columns].T
    return {"out": out}
