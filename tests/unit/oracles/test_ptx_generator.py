"""The generator of random PTX: the same program for the same seed, every form known to the interpreter."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.support.ptx.generator.forms.forms import APPROXIMATE, FAMILIES
from tests.support.ptx.generator.options import Options, Program
from tests.support.ptx.generator.programs import generate
from tests.support.ptx.interpreter import video
from tests.support.ptx.interpreter.arithmetic.operations import plan
from tests.support.ptx.interpreter.interpreter import interpret

BASE_OPCODES = """
add mov ld mul fma setp st bra sub shl cvt shr and selp mad cvta or xor bar shfl div barrier abs neg rcp not ret min
vote max atom rsqrt ex2 sqrt rem call prmt shf clz sin cos popc bfi membar bmsk brev nanosleep red copysign madc bfind
lg2 vabsdiff4 addc subc exit bfe lop3 match activemask
"""
"""Base opcodes of real files (but tex and trap), and those that CUDA headers make besides."""


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    return [generate(seed) for seed in range(60)]


def test_a_seed_is_a_program() -> None:
    first, again, other = generate(7), generate(7), generate(8)
    assert first.text == again.text
    assert first.text != other.text
    for a, b in zip(first.arguments, again.arguments, strict=True):
        assert np.asarray(a.value).tobytes() == np.asarray(b.value).tobytes()


def test_every_form_is_known_to_the_interpreter() -> None:
    for forms in (*FAMILIES.values(), APPROXIMATE):
        for op, _, _ in forms:
            name, *mods = op.split(".")
            if name != "mov" and name not in video.OPCODES:
                plan(name, tuple(mods))


def test_all_base_opcodes_come_up(programs: list[Program]) -> None:
    seen = set()
    for program in programs:
        seen |= set(re.findall(r"^\s+(?:@!?%\w+ )?(\w+)[. ;]", program.text, re.MULTILINE))
    assert sorted(set(BASE_OPCODES.split()) - seen) == []


def test_more_predicates_live_than_a_machine_has(programs: list[Program]) -> None:
    for program in programs:
        assert program.text.count("selp.u32 %tmp, 1, 0, %p") == 10


def test_programs_run_and_their_results_vary(programs: list[Program]) -> None:
    for program in programs[:5]:
        before = [np.copy(a.value) for a in program.arguments if isinstance(a.value, np.ndarray)]
        interpret(program.text, "kernel", program.grid, program.block, [a.value for a in program.arguments])
        for argument, old in zip(
            [a for a in program.arguments if isinstance(a.value, np.ndarray)], before, strict=True
        ):
            if argument.compare is None:
                assert argument.value.tobytes() == old.tobytes(), argument.name
            elif argument.name in ("outw", "outd", "outf", "outg"):
                assert len(np.unique(argument.value.view(f"u{argument.value.itemsize}"))) > 8, argument.name


@pytest.mark.skipif(
    shutil.which("ptxas") is None, reason="ptxas is not installed: nothing to ask whether the text is PTX"
)
def test_ptxas_takes_the_text(tmp_path: Path) -> None:
    for seed in range(3):
        source = tmp_path / f"{seed}.ptx"
        source.write_text(generate(seed, Options(extra=True)).text)
        command = ["ptxas", "-arch=sm_100", "-O0", "-o", "/dev/null", str(source)]
        subprocess.run(command, check=True, capture_output=True)
