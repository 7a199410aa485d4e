"""This module solves the assignment problem: each row gets a column of its own, and the sum of costs is least.

It uses shortest augmenting paths with potentials, one row after the other: Kuhn, "The Hungarian Method for the
Assignment Problem" (1955), in the O(n^3) form of Jonker and Volgenant (1987). Ties go to the lower column.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf


def cheapest_matching(cost: Sequence[Sequence[float]]) -> list[int]:
    """Return the column of each row.

    cost: for each row and column, finite; at least as many columns as rows. A forbidden pair must cost more than all
    others together.
    """
    rows, columns = len(cost), len(cost[0]) if cost else 0
    assert rows <= columns, "a column for every row"
    of_row, of_column = [0.0] * (rows + 1), [0.0] * (columns + 1)
    owner = [0] * (columns + 1)  # rows and columns count from 1; column 0 is where the row to be placed starts
    for row in range(1, rows + 1):
        owner[0] = row
        column = 0
        nearest, came_from = [inf] * (columns + 1), [0] * (columns + 1)
        done = [False] * (columns + 1)
        while owner[column]:
            done[column] = True
            mine, step, following = owner[column], inf, 0
            for c in range(1, columns + 1):
                if done[c]:
                    continue
                reduced = cost[mine - 1][c - 1] - of_row[mine] - of_column[c]
                if reduced < nearest[c]:
                    nearest[c], came_from[c] = reduced, column
                if nearest[c] < step:
                    step, following = nearest[c], c
            for c in range(columns + 1):
                if done[c]:
                    of_row[owner[c]] += step
                    of_column[c] -= step
                else:
                    nearest[c] -= step
            column = following
        while column:
            owner[column] = owner[came_from[column]]
            column = came_from[column]
    out = [0] * rows
    for c in range(1, columns + 1):
        if owner[c]:
            out[owner[c] - 1] = c - 1
    return out
