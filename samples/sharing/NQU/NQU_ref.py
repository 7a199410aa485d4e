"""The solutions by recursion from row to row, counted for the block whose threads have their first queens."""

import numpy as np

THREADS = 64


def solutions(n, row, attacked, number, prefix):
    """Yield the number of the first queens, once for each way to place the others.

    attacked: columns, and diagonals in both directions, as sets. prefix: how many queens count for the number.
    """
    if row == n:
        yield number
        return
    for column in range(n):
        lines = (column, column - row, column + row)
        if not any(line in taken for line, taken in zip(lines, attacked, strict=True)):
            both = [taken | {line} for line, taken in zip(lines, attacked, strict=True)]
            here = number + column * n**row if row < prefix else number
            yield from solutions(n, row + 1, both, here, prefix)


def reference(inputs, launch):
    out = np.zeros_like(inputs["solutions"])
    for number in solutions(inputs["n"], 0, [frozenset()] * 3, 0, inputs["fixed"]):
        if number < inputs["prefixes"]:
            out[number // THREADS] += 1
    return {"solutions": out}
