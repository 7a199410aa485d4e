"""Random PTX programs taken apart into several files: linked they compute what interpretation of the whole says."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from binalloc.frontend.importer import import_ptx
from tests.support.ptx.differential import differences, interpreted
from tests.support.ptx.generator.options import Options, Program
from tests.support.ptx.generator.programs import generate
from tests.support.ptx.generator.split import split
from tests.support.ptx.harness import MACHINE, launched
from tests.support.ptx.patterns import Array

SMALL = Options(statements=16, functions=5, block=(32, 1, 1), grid=1)


def emulated(program: Program, texts: list[str]) -> dict[str, Array]:
    """The buffers that the linked files leave."""
    module = import_ptx(texts, [f"{number}.ptx" for number in range(len(texts))], machine=MACHINE).module
    names = [a.name for a in program.arguments]
    values = [a.value.copy() if isinstance(a.value, np.ndarray) else a.value for a in program.arguments]
    return launched(module, program.kernel, names, values, grid=program.grid, block=program.block)


def placed_anywhere(program: Program) -> Program:
    """Lanes find one another's slots by exclusive or of addresses, which wants them aligned, wherever they lie."""
    text = program.text.replace(".align 8 .b8 shared_slots", ".align 256 .b8 shared_slots")
    return replace(program, text=text)


def check(seed: int, options: Options = SMALL) -> None:
    program = placed_anywhere(generate(seed, options))
    expected = interpreted(program)
    for draw in range(2):
        texts = split(program.text, random.Random(2 * seed + draw))
        assert differences(program, expected, emulated(program, texts)) == []


@pytest.mark.parametrize("seed", range(6))
def test_linked_files_compute_what_the_whole_does(seed: int) -> None:
    check(seed)


def test_splits_have_what_a_linker_decides() -> None:
    """Names that collide, weak definitions that give way, variables and functions of other files."""
    draws = [split(generate(seed, SMALL).text, random.Random(draw)) for seed in range(6) for draw in range(8)]
    joined = "\n".join(text for texts in draws for text in texts)
    for what in (".extern .func", ".extern .const", ".extern .global", ".extern .shared", ".weak .func",
                 ".weak .shared", ".visible .func", ".visible .shared", "own_0", "own_1", "trap;"):  # fmt: skip
        assert what in joined, what


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_many_programs(seed: int) -> None:
    check(seed, Options(statements=30, functions=6))
