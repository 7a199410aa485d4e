"""Wide programs: what `random_program` leaves out, each shape in a good share of the seeds, small enough for long runs.

    module, launches = wide_program(seed)

`launches` has one entry per kernel of the module; the first kernel, "kernel", is the one to rewrite. Valid as random
programs are, but for two things: reconvergence points may lie anywhere, and some threads may end early.
"""

from __future__ import annotations

import random
from dataclasses import replace

from binalloc.isa.instruction import Module
from binalloc.launch.types import Launch
from tests.support.programs.options import Options
from tests.support.programs.random_programs import program

SIZES = (6, 10, 15, 20, 30, 40)
REGISTERS = (8, 8, 10, 12, 12, 16, 16, 20, 24, 32)
LARGE = (63, 128, 255)
CHAINS = (10, 20, 30, 40, 50, 60, 62, 63)
"""Calls deep. The longest ones leave no entry of the stack to a rewrite that needs more of it: that must be refused."""


def wide_options(seed: int) -> Options:
    """Sizes and shapes of the program of that seed."""
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
    )
    if some(0.08):
        # the chain takes nearly all of the stack: what calls it may take nothing
        o = replace(o, chain=rng.choice(CHAINS), depth=0, stack="", callees=min(o.callees, 1))
    return o


def wide_program(seed: int, **options: object) -> tuple[Module, list[Launch]]:
    """The program of that seed and a launch for each of its kernels. Options given replace those drawn."""
    o = replace(wide_options(seed), **options)  # type: ignore[arg-type]
    module, launch = program(random.Random(f"wide {seed}"), o)
    names = ["kernel", *(f"other{n}" for n in range(1, o.kernels))]
    return module, [replace(launch, kernel=name) for name in names]
