"""This reference walks with all queries at once, a letter or a suffix link at a time."""

import numpy as np


def reference(inputs, launch):
    children, links, queries = inputs["children"], inputs["links"], inputs["queries"]
    lengths = np.zeros_like(inputs["lengths"])
    node = np.zeros(len(queries), int)
    length = np.zeros(len(queries), int)
    for i, letter in enumerate(queries.T):
        while (stuck := (children[node, letter] < 0) & (length > 0)).any():
            length[stuck] -= 1
            node[stuck] = np.where(length[stuck] > 0, links[node[stuck]], 0)
        found = children[node, letter] >= 0
        node = np.where(found, children[node, letter], node)
        length += found
        lengths[:, i] = length
    return {"lengths": lengths}
