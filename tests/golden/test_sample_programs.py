"""The whole programs among the samples, with half precision, with printf and a heap, and in several files: rewritten
for budgets that spill, by the model's choice, and linked in either order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.launch.file import compare, reference_outputs
from binalloc.launch.program.file import load_program
from binalloc.launch.program.types import Program
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.program_rewrite import STATIC_POLICY, RewrittenProgram, rewrite_program
from binalloc.pipeline.request import Request
from binalloc.pipeline.running.program import run_program
from tests.support.kits.launch.programs import sample_program
from tests.support.paths import sample_file

WHOLE = ("pressure", "tour", "transformer")


def small(name: str) -> Program:
    return load_program(sample_file(f"{name}.toml"), "test")


def rewritten(name: str, registers: int | None = None, slots: int | None = None) -> RewrittenProgram:
    """At size `test`, compared with the reference, too."""
    request = Request("", load_machine("gtx680"), policy=STATIC_POLICY)
    asked = replace(request, registers=registers, slots=slots)
    done = rewrite_program(sample_program(name), b"", small(name), asked, None)
    held = done.program.held
    expected = reference_outputs(held, held.make_buffers(), done.program.constants)
    for ran in (done.original, done.rewritten):
        assert [str(d) for d in compare(held, expected, ran.buffers)] == []
    assert done.differences == []
    return done


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("name", "registers", "slots", "spilled"),
    [
        ("pressure", 24, 2, ["precondition"]),
        ("pressure", 16, 0, ["precondition"]),
        ("tour", 24, None, ["begin", "agree"]),
        ("tour", 14, 4, ["begin", "look", "agree"]),
        ("transformer", 32, 4, ["multiply", "attend"]),
        ("transformer", 24, 0, ["multiply", "attend"]),
    ],
)
def test_programs_are_rewritten_for_budgets_that_spill(
    name: str, registers: int, slots: int | None, spilled: list[str]
) -> None:
    done = rewritten(name, registers, slots)
    versions = {outcome.request.kernel: outcome.rewritten for outcome in done.outcomes}
    assert list(versions) == list(done.original.totals)
    assert all(version.registers <= registers for version in versions.values())
    assert all(version.slots <= slots for version in versions.values() if slots is not None)
    before = {outcome.request.kernel: outcome.given.local_bytes for outcome in done.outcomes}
    moved = [kernel for kernel, v in versions.items() if v.slots or v.local_bytes > before[kernel]]
    assert moved == spilled


@pytest.mark.rotates
@pytest.mark.parametrize("name", WHOLE)
def test_programs_are_rewritten_as_the_model_chooses(name: str) -> None:
    rewritten(name)


@pytest.mark.rotates("long")
def test_the_program_of_several_files_is_linked_and_right() -> None:
    """In either order of the files."""
    program = small("pressure")
    expected = reference_outputs(program.held, program.held.make_buffers(), program.constants)
    for reverse in (False, True):
        module = sample_program("pressure", reverse=reverse)
        ran = run_program(module, program, "gtx680")
        assert [str(d) for d in compare(program.held, expected, ran.buffers)] == []
        lines = {file for fn in module for file, _ in fn.lines.values()}
        assert lines >= {"conjugate.cu", "ellpack.cu", "lines.cu"}


def test_the_tour_is_told_and_all_memory_freed() -> None:
    program = small("tour")
    expected = reference_outputs(program.held, program.held.make_buffers(), program.constants)
    ran = run_program(sample_program("tour"), program, "gtx680")
    told = ran.said.text.splitlines()
    ways = [line for line in told if "a tour of" in line]
    assert ways[-1].endswith(": " + " ".join(map(str, expected["tour"])))
    assert f"a tour of {expected['bound'][0]}, " in ways[-1]
    assert told[-1].endswith(f"nothing left, none is shorter than {expected['bound'][0]}")
    assert ran.heap is not None
    assert ran.heap.used > 0
    assert not ran.heap.leaks


def test_what_programs_do_again_and_again_ends_when_a_buffer_says_so() -> None:
    """Residual and searches left: neither loop ends in its first round."""
    for name, kernel in (("pressure", "correct"), ("tour", "look")):
        ran = run_program(sample_program(name), small(name), "gtx680")
        assert ran.totals[kernel].calls > 1
