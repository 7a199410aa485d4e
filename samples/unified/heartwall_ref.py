"""What heartwall.cu computes, in its order and fused where it fuses, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
SIZE, WINDOW = 12, 32
PLACES = WINDOW - SIZE + 1
CELLS = SIZE * SIZE
THREADS = 256


def block_sum(values):
    """A butterfly in each warp, then one warp's sum after the other."""
    v = np.zeros(THREADS, F)
    v[: len(values)] = values
    lanes = np.arange(THREADS)
    for step in (16, 8, 4, 2, 1):
        v = v + v[lanes ^ step]
    total = v[0]
    for other in v[32::32]:
        total = total + other
    return total


def table(terms):
    """Cumulative sums along rows, then down columns, behind a row and a column of zeros."""
    out = np.zeros((WINDOW + 1, WINDOW + 1), F)
    out[1:, 1:] = np.cumsum(terms, axis=0, dtype=F)
    return out


def under(sums):
    """The sum under the template at every place."""
    right, left = sums[:, SIZE:], sums[:, :-SIZE]
    return (right[SIZE:] - right[:-SIZE]) - (left[SIZE:] - left[:-SIZE])


def scores(window, pattern, mean, deviation):
    square_rows = np.zeros((WINDOW, WINDOW), F)
    total = np.zeros(WINDOW, F)
    for x in range(WINDOW):
        total = fma32(window[:, x], window[:, x], total)
        square_rows[:, x] = total
    sums, squares = under(table(np.cumsum(window, axis=1, dtype=F))), under(table(square_rows))
    spread = fma32(-(sums * (F(1) / F(CELLS))), sums, squares)
    product = np.zeros((PLACES, PLACES), F)
    for j in range(SIZE):
        for i in range(SIZE):
            product = fma32(window[j : j + PLACES, i : i + PLACES], pattern[j, i] - mean, product)
    steep = spread > F(1e-6)
    return np.where(steep, product / np.sqrt(np.where(steep, spread * deviation, F(1))), F(0))


def follow(frame, inputs, at, pattern):
    """The point's new place and its new template."""
    left = min(max(at[0] - PLACES // 2, 0), inputs["width"] - WINDOW)
    top = min(max(at[1] - PLACES // 2, 0), inputs["height"] - WINDOW)
    window = frame(top, left, WINDOW)
    mean = block_sum(pattern.ravel()) * (F(1) / F(CELLS))
    less = pattern.ravel() - mean
    score = scores(window, pattern, mean, block_sum(less * less))
    y, x = np.ogrid[:PLACES, :PLACES]
    far = (x - (at[0] - left)) ** 2 + (y - (at[1] - top)) ** 2
    score = fma32(-F(inputs["reluctance"]), far.astype(F), score)
    y, x = divmod(int(np.argmax(score)), PLACES)
    found = window[y : y + SIZE, x : x + SIZE]
    return (left + x, top + y), fma32(F(inputs["learning"]), found - pattern, pattern)


def reference(inputs, launch):
    film = inputs["film"].ravel()
    tracks, templates = np.zeros_like(inputs["tracks"]), np.zeros_like(inputs["templates"])
    for point, (x, y) in enumerate(inputs["points"].tolist()):
        at, pattern = (x, y), None
        for k in range(inputs["frames"]):

            def frame(top, left, size, start=k * inputs["frame_stride"]):
                rows = (top + np.arange(size)) * inputs["pitch"]
                return film[start + rows[:, None] + left + np.arange(size)]

            if k == 0:
                pattern = frame(y, x, SIZE)
            else:
                at, pattern = follow(frame, inputs, at, pattern)
                tracks[point, k - 1] = at
        templates[point] = pattern.ravel()
    return {"tracks": tracks, "templates": templates}
