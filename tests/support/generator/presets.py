"""Presets: what programs of a seed may use, and the stream of draws they are made from.

structured: what a compiler makes, small and large. wide: what the structured ones leave out, several kernels, odd
reconvergence points, threads that end early, each shape in a good share of the seeds, small enough for long runs.
unstructured: every branch draws its target and its reconvergence point from all words.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tests.support.generator.options import Options

SIZES = (6, 10, 15, 20, 30, 40)
REGISTERS = (8, 8, 10, 12, 12, 16, 16, 20, 24, 32)
LARGE = (63, 128, 255)
CHAINS = (10, 20, 30, 40, 50, 60, 62, 63)
"""Calls deep. The longest ones leave no entry of the stack to a rewrite that needs more of it: that must be refused."""


Preset = Callable[[int], tuple[Options, random.Random]]


def structured(seed: int) -> tuple[Options, random.Random]:
    """Sizes are drawn so that a range of seeds covers small and large programs."""
    rng = random.Random(f"program {seed}")
    drawn = Options(
        size=rng.choice([10, 20, 40, 40, 80, 80, 160, 300]),
        registers=rng.choice([4, 5, 8, 8, 12, 16, 16, 24, 32, 48, 63, 63, 128, 254, 255]),
        depth=rng.choice([0, 1, 2, 2, 3]),
        callees=rng.choice([0, 1, 2, 3, 3]),
        block=rng.choice([32, 32, 64]),
    )
    return drawn, rng


def wide(seed: int) -> tuple[Options, random.Random]:
    """The options have a stream of their own: other options leave the program's draws as they are."""
    return _wide_options(seed), random.Random(f"wide {seed}")


def _wide_options(seed: int) -> Options:
    rng = random.Random(f"wide options {seed}")

    def some(share: float) -> bool:
        return rng.random() < share

    kernels = rng.choice([1, 1, 2, 3])
    o = Options(
        size=rng.choice(SIZES),
        registers=rng.choice(LARGE) if some(0.03) else rng.choice(REGISTERS),
        depth=rng.choice([0, 1, 1, 2]),
        callees=rng.choice([0, 1, 1, 2, 3]),
        block=64 if some(0.3) else 32,
        grid=2 if some(0.3) else 1,
        shared=some(0.7),
        local=some(0.6),
        wide=some(0.7),
        floats=some(0.3),
        atomics=some(0.3),
        guards=0.9 if some(0.12) else rng.choice([0.1, 0.3]),
        aliases=some(0.4),
        hops=some(0.5),
        odd_points=rng.choice([0.0, 0.3, 0.7]),
        uniform=rng.choice([0.0, 0.3]),
        arrays=some(0.25),
        generic=some(0.2),
        dynamic=rng.choice([0, 0, 1, 3]),
        barriers=some(0.4),
        leaving=some(0.25),
        ends=some(0.3),
        stack=rng.choice(["", "", "", "fixed", "moving"]),
        flags=some(0.3),
        kernels=kernels,
        addresses=kernels > 1 and some(0.6),
        matrices=random.Random(f"matrices {seed}").random() < 0.4,
    )
    if some(0.08):
        # the chain takes nearly all of the stack: what calls it may take nothing
        o = replace(o, chain=rng.choice(CHAINS), depth=0, stack="", callees=min(o.callees, 1))
    o = replace(o, faulting=random.Random(f"faulting {seed}").random() < 0.3)
    return replace(o, neighbours=random.Random(f"neighbours {seed}").choice(["", "loom", "ptx"]))


def unstructured(seed: int) -> tuple[Options, random.Random]:
    """Of the options only callees, local and block count."""
    rng = random.Random(f"unstructured {seed}")
    return Options(structured=False, callees=rng.choice([0, 0, 1, 2]), local=False, grid=1), rng


PRESETS: dict[str, Preset] = {"structured": structured, "wide": wide, "unstructured": unstructured}
