"""The rule of batches again, with sets of Python: slow, and formula by formula."""

from __future__ import annotations

from collections.abc import Callable

Pages = dict[int, set[int]]  # page: blocks that touch it
Formula = tuple[str, int]


def batch_of(formula: Formula) -> Callable[[int], int]:
    kind, value = formula
    return (lambda b: b // value) if kind == "stride" else (lambda b: b % value)


def size_of(formula: Formula, blocks: int) -> int:
    return formula[1] if formula[0] == "stride" else -(-blocks // formula[1])


def count_of(formula: Formula, blocks: int) -> int:
    return len({batch_of(formula)(b) for b in range(blocks)})


def batches_of(touching: set[int], formula: Formula) -> int:
    return len(set(map(batch_of(formula), touching)))


def most(count: int, of: int) -> bool:
    return count >= 3 and 2 * count > of


def is_global(touching: set[int], blocks: int) -> bool:
    return most(len(touching), blocks) or (len(touching) == blocks > 1)


def rank(formula: Formula, shared: int, blocks: int) -> tuple[int, int, bool]:
    return size_of(formula, blocks), shared, formula[0] != "stride"


def formula_of(pages: Pages, blocks: int, width: int) -> Formula:
    """The formula, or ("none", 0)."""
    if blocks == 1 and pages:
        return "stride", 1
    left = [touching for touching in pages.values() if not is_global(touching, blocks)]
    several = [touching for touching in left if len(touching) > 1]
    if not left:
        return "none", 0

    def shared(formula: Formula) -> int:
        return sum(batches_of(touching, formula) > 1 for touching in several)

    def fits(held: int, of: int, batches: int) -> bool:
        return held > 0 and held / of >= 1 / batches + (1 - 1 / batches) / 3 - 1e-12

    every = [("stride", s) for s in range(2, -(-blocks // 2) + 1)] + [("modulus", m) for m in range(2, blocks // 2 + 1)]
    first: Formula | None = None
    if 4 * len(several) <= len(left):
        first = "stride", 1
    else:
        good = [f for f in every if fits(len(several) - shared(f), len(several), count_of(f, blocks))]
        first = min(good, key=lambda f: rank(f, shared(f), blocks), default=None)
    if first is None:
        return _wide(several, blocks, width, fits)
    size, base = size_of(first, blocks), shared(first)
    near = [f for f in every if size < size_of(f, blocks) <= min(16 * size, -(-blocks // 2))]
    if base == 0 or not near:
        return first
    best = min(near, key=lambda f: (shared(f) * size_of(f, blocks), *rank(f, shared(f), blocks)))
    return best if 2 * shared(best) * size_of(best, blocks) <= base * size else first


def _wide(several: list[set[int]], blocks: int, width: int, fits: Callable[[int, int, int], bool]) -> Formula:
    strides = {width, 2 * width, 4 * width, *(2**k for k in range(1, 40))}
    parts = {width >> k for k in range(4) if width % 2**k == 0}
    tried = [("stride", s) for s in strides | parts if 2 <= s <= -(-blocks // 2)]
    tried += [("modulus", m) for m in parts if 2 <= m <= blocks // 2]
    good = []
    for f in tried:
        batches = count_of(f, blocks)
        touched = [batches_of(touching, f) for touching in several]
        held, lost = touched.count(1), sum(most(n, batches) for n in touched)
        if 10 * held >= len(several) and fits(held, len(several) - lost, batches):
            good.append((rank(f, len(several) - lost - held, blocks), f))
    return min(good)[1] if good else ("none", 0)
