"""The unified paper's benchmarks with its block sizes: what its Table 1 says of them holds, and they compute what their
references say."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.frontend.importer import Imported, import_ptx
from binalloc.laboratory.papers.unified import BENCHMARKS, BLOCK, MACHINES, STATED, Table1Figures
from binalloc.launch.file import check_against, compare, load_launch, reference_outputs
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from tests.support.paths import SAMPLES, sample_file

ROWS = [(b.kernel, machine, b.on[machine]) for b in BENCHMARKS for machine in MACHINES]
IDS = [f"{kernel}-{machine}" for kernel, machine, _ in ROWS]
SAMPLE_NAMES = sorted({row.sample for _, _, row in ROWS})


def imported(sample: str, machine: str) -> Imported:
    return import_ptx(sample_file(f"{sample}.ptx").read_text(), sample, machine=load_machine(machine))


@pytest.mark.parametrize(("kernel", "machine", "row"), ROWS, ids=IDS)
def test_shared_bytes_are_table_1s_and_registers_within_15_percent(
    kernel: str, machine: str, row: Table1Figures
) -> None:
    found = imported(row.sample, machine)
    launch = load_launch(sample_file(f"{row.sample}.toml"))
    info = found.module.function(kernel).info
    check_against(launch, info)
    assert info.shared_bytes / launch.threads_per_block == row.user_shared
    (summary,) = [k for k in found.kernels if k.name == kernel]
    assert abs(summary.register_demand - row.demand) <= 0.15 * row.demand


@pytest.mark.parametrize("sample", SAMPLE_NAMES)
@pytest.mark.parametrize("machine", MACHINES)
def test_samples_compute_what_their_references_say(sample: str, machine: str) -> None:
    """As the machine can run them: recursiveGaussian needs fewer registers on Fermi."""
    launch = load_launch(sample_file(f"{sample}.toml"), "test")
    before = launch.make_buffers()
    expected = reference_outputs(launch, before)
    request = Request(kernel=launch.kernel, machine=machine, launch=launch)
    original = baseline(imported(sample, machine).module, request)
    result = run(original.module, launch.kernel, launch, request.machine)
    assert [str(d) for d in compare(launch, expected, result.buffers)] == []
    assert any(not np.array_equal(result.buffers[b], before[b]) for b in expected)


@pytest.mark.parametrize("sample", SAMPLE_NAMES)
def test_grids_have_many_waves(sample: str) -> None:
    """On the one emulated SM, with as many blocks at once as a machine takes of such."""
    launch = load_launch(sample_file(f"{sample}.toml"))
    assert launch.blocks * launch.threads_per_block >= 16 * max(load_machine(m).sm.threads_per_sm for m in MACHINES)


def test_every_sample_of_the_folder_is_a_row_and_every_row_is_told_how_sure_it_is() -> None:
    assert {p.stem for p in (SAMPLES / "table1").glob("*.ptx")} <= set(SAMPLE_NAMES)
    assert {b.block for b in BENCHMARKS} <= set(BLOCK)
    kernels = {b.kernel for b in BENCHMARKS}
    assert all(set(told) <= kernels for told in STATED.values())
