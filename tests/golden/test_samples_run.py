"""Each sample, run in the emulator at size `test`, leaves exactly what its reference says."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.isa.sets.files import load
from binalloc.launch.file import compare, load_launch, reference_outputs
from binalloc.models.machines.reader import load_machine
from tests.golden.test_samples import ASSEMBLY
from tests.support.paths import sample_file


@pytest.mark.parametrize("name", ASSEMBLY)
def test_sample_matches_its_reference_bit_by_bit(name: str) -> None:
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    before = launch.make_buffers()
    expected = reference_outputs(launch, before)
    result = run(load(sample_file(f"{name}.loom")), name, launch, load_machine("gtx680"))
    assert [str(d) for d in compare(launch, expected, result.buffers)] == []
    loose = {a.name for a in launch.buffers if a.compare.mode == "ignore"}
    for buffer, data in before.items():
        if buffer not in expected and buffer not in loose:
            assert np.array_equal(result.buffers[buffer], data), f"{buffer} is an input"
    assert any(not np.array_equal(result.buffers[b], before[b]) for b in expected)


@pytest.mark.parametrize("name", ["callchain", "nbody"])
def test_grids_that_do_not_divide_diverge(name: str) -> None:
    """The guarded ends are real: some branch or guard splits a warp at size `test`."""
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    result = run(load(sample_file(f"{name}.loom")), name, launch, load_machine("gtx680"))
    assert result.stats["thread_instructions"] < 32 * result.stats["warp_instructions"]
