"""Tiles of an anti-diagonal of the table, each cell by cell along its rows; everything around a tile is given."""

import numpy as np

SIDE = 32


def fill(score, similar, penalty, tiles):
    """Fill the tiles (bx, by), all at once: no tile of an anti-diagonal needs another one's cells."""
    left, top = (SIDE * np.array(axis) for axis in zip(*tiles, strict=True))
    for y in range(1, SIDE + 1):
        for x in range(1, SIDE + 1):
            here, beside, above = (top + y, left + x), (top + y, left + x - 1), (top + y - 1, left + x)
            match = score[top + y - 1, left + x - 1] + similar[here]
            score[here] = np.maximum(match, np.maximum(score[beside], score[above]) - penalty)
    return {"score": score}


def growing(inputs, launch):
    count = inputs["count"]
    tiles = [(block, count - 1 - block) for block in range(launch.grid[0])]
    return fill(inputs["score"].copy(), inputs["similar"], inputs["penalty"], tiles)


def shrinking(inputs, launch):
    columns = inputs["columns"]
    tiles = [(columns - inputs["count"] + block, columns - 1 - block) for block in range(launch.grid[0])]
    return fill(inputs["score"].copy(), inputs["similar"], inputs["penalty"], tiles)
