"""Tiles of an anti-diagonal of the table, each cell by cell along its rows; everything around a tile is given."""

import numpy as np

SIDE = 32


def reference(inputs, launch):
    """Fill the launch's tiles, all at once: no tile of an anti-diagonal needs another one's cells."""
    score, similar, penalty = inputs["score"].copy(), inputs["similar"], inputs["penalty"]
    columns = inputs.get("columns", inputs["count"])  # NW1 counts from the first column
    block = np.arange(launch.grid[0])
    left, top = SIDE * (columns - inputs["count"] + block), SIDE * (columns - 1 - block)
    for y in range(1, SIDE + 1):
        for x in range(1, SIDE + 1):
            here, beside, above = (top + y, left + x), (top + y, left + x - 1), (top + y - 1, left + x)
            match = score[top + y - 1, left + x - 1] + similar[here]
            score[here] = np.maximum(match, np.maximum(score[beside], score[above]) - penalty)
    return {"score": score}
