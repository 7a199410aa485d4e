"""What dxtc.cu computes, in its order and fused where it fuses, so that the comparison can be exact."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32

F = np.float32
THREADS = 64
LEVELS = np.array([31, 63, 31], F)
SHIFTS = np.array([11, 5, 0], np.uint32)
THIRDS = np.array([0, 1 / 3, 2 / 3, 1], F)
CUTS = np.array([(i, j, k) for i in range(17) for j in range(i, 17) for k in range(j, 17)])


def dot(a, b):
    return fma32(a[..., 2], b[..., 2], fma32(a[..., 1], b[..., 1], a[..., 0] * b[..., 0]))


def total_over_pixels(values):
    """Sums over axis 1, one after the other."""
    out = np.zeros_like(values[:, 0])
    for i in range(values.shape[1]):
        out = out + values[:, i]
    return out


def principal_axis(d):
    """Of differences from the mean, shape (n, 16, 3)."""
    matrix = np.zeros((len(d), 3, 3), F)
    for i in range(16):
        matrix = fma32(d[:, i, :, None], d[:, i, None, :], matrix)
    v = np.ones((len(d), 3), F)
    for _ in range(8):
        image = fma32(v[:, 2:], matrix[:, 2], fma32(v[:, 1:2], matrix[:, 1], v[:, :1] * matrix[:, 0]))
        largest = np.abs(image).max(axis=1, keepdims=True)
        v = np.where(largest == 0, v, image / np.where(largest == 0, F(1), largest))
    return v


def quantise(c):
    levels = np.rint(np.clip(c, F(0), F(1)) * LEVELS).astype(np.uint32)
    return np.bitwise_or.reduce(levels << SHIFTS, axis=-1)


def expand(c):
    levels = (c[..., None] >> SHIFTS) & LEVELS.astype(np.uint32)
    return levels.astype(F) * (F(1) / LEVELS)


def fitted(ordered, total, weights):
    """Of every row of weights, shape (cuts, 16): start and end of each block, and their error; shape (n, cuts)."""
    aa, ab, bb = (np.zeros((1, len(weights), 1), F) for _ in range(3))
    ax = np.zeros((len(ordered), len(weights), 3), F)
    for i in range(16):
        a = weights[:, i][None, :, None]
        b = F(1) - a
        aa, ab, bb = fma32(a, a, aa), fma32(a, b, ab), fma32(b, b, bb)
        ax = fma32(a, ordered[:, None, i], ax)
    determinant = fma32(aa, bb, -(ab * ab))
    solvable = determinant >= F(1e-3)
    scale = F(1) / np.where(solvable, determinant, F(1))
    bx = total[:, None] - ax
    start = quantise(fma32(ax, bb, -(bx * ab)) * scale)
    end = quantise(fma32(bx, aa, -(ax * ab)) * scale)
    s, e = expand(start), expand(end)
    mixed = fma32(s * e, ab, -fma32(s, ax, e * bx))
    error = fma32(F(2), mixed, fma32(s * s, aa, (e * e) * bb))
    error = (error[..., 0] + error[..., 1]) + error[..., 2]
    return start, end, np.where(solvable[..., 0], error, F(3e38))


def four_runs():
    return THIRDS[(np.arange(16) < CUTS[..., None]).sum(axis=1)]


def best_ends(ordered, total):
    """The ends of the cut with the least error for each block: of equals the lowest thread's, then the first."""
    start, end, error = fitted(ordered, total, four_runs())
    turn = np.argsort(np.arange(len(CUTS)) % THREADS, kind="stable")  # thread by thread
    best = turn[np.argmin(error[:, turn], axis=1)]
    rows = np.arange(len(ordered))
    return start[rows, best], end[rows, best]


def three_runs():
    """Weights of the cuts into three, for the three colours of the other kind of palette."""
    cuts = np.array([(i, j) for i in range(17) for j in range(i, 17)])
    return np.array([0, 0.5, 1], F)[(np.arange(16) < cuts[..., None]).sum(axis=1)]


def arranged(image):
    """Of every 4 x 4 pixels: colours, shape (n, 16, 3), the same in order along their axis, and their sums."""
    height, width, _ = image.shape
    pixels = image[..., :3].reshape(height // 4, 4, width // 4, 4, 3).swapaxes(1, 2).reshape(-1, 16, 3)
    colours = pixels.astype(F) * (F(1) / F(255))
    total = total_over_pixels(colours)
    d = colours - (total * F(0.0625))[:, None]
    along = dot(d, principal_axis(d)[:, None])
    ordered = np.take_along_axis(colours, np.argsort(along, axis=1, kind="stable")[..., None], axis=1)
    return colours, ordered, total


def nearest(colours, first, second, entries):
    """Of each pixel the number of the entry nearest to it; entries: how much of the first end is in each."""
    p, q = expand(first)[:, None], expand(second)[:, None]
    distance = np.empty((len(colours), 16, len(entries)), F)
    for i, a in enumerate(entries):
        difference = fma32(p, a, q * (F(1) - a)) - colours
        distance[..., i] = dot(difference, difference)
    return distance.argmin(axis=2)


def packed(first, second, choice):
    choices = choice.astype(np.uint32) << (np.uint32(2) * np.arange(16, dtype=np.uint32))
    return {"compressed": np.stack([first | (second << np.uint32(16)), np.bitwise_or.reduce(choices, axis=1)], axis=1)}


FOUR, THREE = THIRDS[[3, 0, 2, 1]], np.array([1, 0, 0.5], F)


def reference(inputs, launch):
    colours, ordered, total = arranged(inputs["image"])
    start, end = best_ends(ordered, total)
    first, second = np.maximum(start, end), np.minimum(start, end)
    return packed(first, second, np.where((first != second)[:, None], nearest(colours, first, second, FOUR), 0))


def winner(error, threads):
    """Of each block the number of the cut that wins: each thread's best, then halves of the block against another."""
    cuts = np.pad(error, [(0, 0), (0, -error.shape[1] % threads)], constant_values=F(3e38))
    cuts = cuts.reshape(len(error), -1, threads)
    best, number = cuts.min(axis=1), cuts.argmin(axis=1) * threads + np.arange(threads)
    while threads > 1:
        threads //= 2
        over = best[:, threads:] < best[:, :threads]
        best = np.where(over, best[:, threads:], best[:, :threads])
        number = np.where(over, number[:, threads:], number[:, :threads])
    return number[:, 0]


def three_or_four(inputs, launch):
    """What table1's dxtc computes: ends of palettes of three have the smaller one first."""
    colours, ordered, total = arranged(inputs["image"])
    start, end, error = fitted(ordered, total, np.concatenate([four_runs(), three_runs()]))
    number = winner(error, launch.block[0])
    rows = np.arange(len(colours))
    start, end = start[rows, number], end[rows, number]
    larger, smaller = np.maximum(start, end), np.minimum(start, end)
    four = number < len(CUTS)
    first, second = np.where(four, larger, smaller), np.where(four, smaller, larger)
    of_three, of_four = nearest(colours, first, second, THREE), nearest(colours, first, second, FOUR)
    return packed(first, second, np.where((first <= second)[:, None], of_three, of_four))
