"""Random programs analysed, and what their instructions read and write by themselves."""

from __future__ import annotations

import random

from binalloc.analysis.facts import refs_mask
from binalloc.analysis.program import FunctionAnalysis, ProgramAnalysis, analyse
from binalloc.errors import Refused
from binalloc.launch.types import Launch
from tests.support.generator.analysis.graphs import random_function
from tests.support.generator.programs import generate
from tests.support.programs.lines import module


def analysed_program(seed: int, guards: bool = True) -> ProgramAnalysis:
    """A kernel calling two functions, one of which calls the other."""
    rng = random.Random(seed)
    registers = rng.choice([3, 4, 6, 10])
    kernel = random_function(rng, "k", rng.randrange(1, 8), registers, ("f", "g"), guards=guards)
    middle = random_function(rng, "f", rng.randrange(1, 5), registers, ("g",), "func", guards=guards)
    leaf = random_function(rng, "g", rng.randrange(1, 5), registers, (), "func", guards=guards)
    return analyse(module(kernel, middle, leaf), "k", lift=seed % 2 == 1)


def one_function(seed: int, guards: bool = True) -> FunctionAnalysis:
    """A kernel without calls."""
    rng = random.Random(seed)
    kernel = random_function(rng, "k", rng.randrange(1, 10), 6, guards=guards)
    return analyse(module(kernel), "k", lift=seed % 2 == 1).kernel


def wide_program(seed: int) -> tuple[ProgramAnalysis, Launch] | None:
    """A program of every kind of instruction, with its launch; None for one that calls by address."""
    module, launches = generate("wide", seed, block=64, grid=2)
    try:
        return analyse(module, launches[0].kernel), launches[0]
    except Refused:
        return None


def reads(f: FunctionAnalysis, i: int) -> int:
    """Locations an instruction reads by itself if its guard holds, from the views."""
    store, first, count = f.live.facts.local.get(i, (True, 0, 0))
    return refs_mask(f.cfg.views[i].uses) | (0 if store else ((1 << count) - 1) << first)


def writes(f: FunctionAnalysis, i: int) -> int:
    """Locations an instruction writes by itself if its guard holds."""
    store, first, count = f.live.facts.local.get(i, (False, 0, 0))
    return refs_mask(f.cfg.views[i].defs) | (((1 << count) - 1) << first if store else 0)
