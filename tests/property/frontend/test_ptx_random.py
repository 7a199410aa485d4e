"""Random PTX programs: import and emulation leave what direct interpretation leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.ptx.differential import PRINTED, differences, emulated, interpreted
from tests.support.ptx.generator.dress import dressed
from tests.support.ptx.generator.options import Options
from tests.support.ptx.generator.programs import generate

SMALL = {"statements": 12, "functions": 1}
RECURSIVE = {"statements": 12, "barriers": False, "warps": False, "block": (32, 1, 1)}
SHAPES = {
    "integer": Options(families=("integer", "predicate"), approximate=False),
    "float": Options(families=("float", "predicate")),
    "conversion": Options(families=("conversion", "integer")),
    "half": Options(families=("half", "predicate")),
    "video": Options(families=("video", "pair", "integer"), memory=False),
    "straight": Options(statements=60, functions=0, control=False, barriers=False),
    "control": Options(statements=60, functions=0, memory=False, families=("integer", "predicate")),
    "calls": Options(statements=30, functions=6, barriers=False, warps=False),
    "memory": Options(statements=60, functions=1, families=("integer",)),
    "flat block": Options(block=(8, 4, 3), grid=1),
    "pressure": Options(live=12, families=("integer", "float"), functions=1),
    "runtime": Options(statements=25, runtime=True, functions=1),
    "recursion": Options(functions=4, recursion=3, **RECURSIVE),
    "one warp": Options(block=(32, 1, 1), grid=3, **SMALL),
}


def check(seed: int, options: Options | None = None, *, optimised: bool = True) -> None:
    program = generate(seed, options)
    assert differences(program, interpreted(program), emulated(program, optimised=optimised)) == []


@pytest.mark.parametrize("seed", range(8))
def test_emulation_of_the_import_agrees_with_interpretation(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("shape", SHAPES)
def test_programs_of_one_kind(shape: str) -> None:
    check(1000, SHAPES[shape])


@pytest.mark.parametrize("seed", range(6))
def test_the_same_program_as_other_compilers_write_it(seed: int) -> None:
    """Braces, wide constants, accesses by name, blanks: interpreted and imported as before, and rewritten for few."""
    program = generate(seed, Options(statements=25, functions=1))
    other = dressed(program, seed)
    assert all(sign in other.text for sign in ("{ %", " + 0 ]", ' .', '# 7 "')), "the program has no such line"
    expected = interpreted(program)
    assert differences(program, expected, interpreted(other)) == []
    assert differences(program, expected, emulated(other, budget=(32, 4) if seed % 2 else None)) == []


@pytest.mark.parametrize("seed", range(2))
def test_lowering_alone(seed: int) -> None:
    check(seed, Options(**SMALL), optimised=False)


@pytest.mark.parametrize("seed", range(10))
def test_functions_that_call_one_another(seed: int) -> None:
    """Directly and by registers, each thread to a depth of its own; as lowered, and optimised."""
    options = Options(functions=1 + seed % 5, recursion=2 + seed % 3, **RECURSIVE)
    program = generate(seed, options)
    expected = interpreted(program)
    for optimised in (False, True):
        assert differences(program, expected, emulated(program, optimised=optimised)) == []


@pytest.mark.parametrize("budget", [(24, 0), (32, 4), (40, 16)])
def test_rewriting_keeps_the_results(budget: tuple[int, int]) -> None:
    """Imported, allocated for few registers and slots, checked, emulated."""
    for seed in range(2):
        program = generate(seed, Options(statements=20, functions=2, block=(32, 1, 1)))
        assert differences(program, interpreted(program), emulated(program, budget=budget)) == []


@pytest.mark.parametrize("seed", range(3))
def test_what_is_printed_and_allocated(seed: int) -> None:
    """As it comes in, and rewritten for few registers."""
    program = generate(seed, Options(statements=15, functions=1, runtime=True, block=(40, 1, 1)))
    expected = interpreted(program)
    assert len(expected[PRINTED]) > 40
    assert differences(program, expected, emulated(program)) == []
    assert differences(program, expected, emulated(program, budget=(32, 4))) == []


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_programs(seed: int) -> None:
    check(seed)
    check(seed, Options(extra=True, **SMALL))
    shape = sorted(SHAPES)[seed % len(SHAPES)]
    check(seed, SHAPES[shape])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("xor.b32", "or.b32"), ("setp.ne", "setp.eq"), ("add.s64 %out, %out, %wide", "mov.u64 %out, %out")],
)
def test_a_wrong_instruction_shows(right: str, wrong: str) -> None:
    """The comparison can fail: an operation of the imported text is another than in the interpreted one."""
    seen = 0
    for seed in range(4):
        program = generate(seed)
        other = replace(program, text=program.text.replace(right, wrong))
        seen += differences(program, interpreted(program), emulated(other)) != []
    assert seen >= 2
