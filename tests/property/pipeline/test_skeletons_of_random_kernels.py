"""Skeletons of random kernels: what is known of their arguments is found, and the launch runs."""

from __future__ import annotations

import tomllib

import pytest

from binalloc.emulator.runs.run import run
from binalloc.launch.schema import parse_launch
from binalloc.pipeline.skeleton.program import skeleton
from binalloc.report.skeleton.text import launch_text
from tests.support.generator.programs import BEFORE, generate
from tests.support.kits.machines import roomy_machine
from tests.support.ptx.argument_kernels import argument_kernel
from tests.support.ptx.generator.programs import generate as generate_ptx
from tests.support.ptx.harness import imported

MACHINE = roomy_machine()
SEEDS = 40


@pytest.mark.parametrize("seed", range(SEEDS))
def test_arguments_are_found_and_the_launch_runs(seed: int) -> None:
    made = argument_kernel(seed)
    module = imported(made.text)
    found = skeleton(module, "k", MACHINE)
    entries = {entry.parameter: entry for entry in found.kernels[0].entries}
    for known in made.parameters:
        entry = entries[known.name]
        if not known.kind:
            assert not entry.known
            assert "nothing is known" in entry.reasons[-1]
            continue
        assert entry.keys["kind"] == known.kind, known
        assert entry.keys["dtype"] == known.dtype, (known, entry)
        if known.kind == "buffer":
            assert (entry.reads, entry.writes) == (known.reads, known.writes), known
            assert ("compare" in entry.keys, "init" in entry.keys) == (known.writes, known.reads), known
    launch = parse_launch(tomllib.loads(launch_text(found)))
    assert launch.values["n"] == launch.blocks * launch.threads_per_block
    result = run(module, "k", launch, MACHINE)
    before = launch.make_buffers()
    for known in made.parameters:
        if known.kind == "buffer" and known.writes and not known.reads:
            assert result.buffers[known.name].any()
        elif known.kind == "buffer" and not known.writes:
            assert (result.buffers[known.name] == before[known.name]).all()


@pytest.mark.parametrize("preset", ["structured", "wide", "unstructured"])
def test_pointers_of_random_programs_are_buffers(preset: str) -> None:
    """Those that something is read from or written to; a number may be, where nobody uses it."""
    buffers = 0
    for seed in range(6):
        module, launches = generate(preset, seed, **(BEFORE if preset == "wide" else {}))
        for launch in launches:
            found = skeleton(module, launch.kernel, MACHINE).kernels[0]
            for entry in found.entries:
                real = launch.argument(entry.parameter)
                if entry.reads or entry.writes:
                    assert (entry.keys["kind"], real.kind) == ("buffer", "buffer")
                    buffers += 1
                elif real.kind == "scalar" and entry.known:
                    assert entry.keys["kind"] == "scalar"
            assert parse_launch(tomllib.loads(launch_text(skeleton(module, launch.kernel, MACHINE))))
    assert buffers >= 12


@pytest.mark.parametrize("seed", range(6))
def test_arguments_of_random_ptx(seed: int) -> None:
    program = generate_ptx(seed)
    module = imported(program.text)
    found = skeleton(module, None, MACHINE).kernels[0]
    entries = {entry.parameter: entry for entry in found.entries if entry.parameter}
    assert parse_launch(tomllib.loads(launch_text(skeleton(module, None, MACHINE))))
    for argument in program.arguments:
        entry = entries[argument.name]
        if entry.reads or entry.writes:
            assert argument.value.ndim == 1, argument.name
