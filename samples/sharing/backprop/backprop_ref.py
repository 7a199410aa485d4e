"""Products of inputs and weights, added up in backprop.cu's order: halves of the rows to halves, then three rows."""

import numpy as np

SIDE = 48


def reference(inputs, launch):
    products = inputs["weights"] * inputs["input"][:, None]
    products = products.reshape(-1, SIDE, SIDE)
    while products.shape[1] > 3:
        half = products.shape[1] // 2
        products = products[:, :half] + products[:, half:]
    return {"partial": np.float32(products[:, 0] + products[:, 1] + products[:, 2])}
