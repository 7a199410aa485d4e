"""The sharing paper's kernels: bytes, variables and resident blocks of its tables, and PTX against references."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.instruction import Module
from binalloc.launch.file import compare, load_launch, reference_outputs
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.occupancy import Occupancy, gpgpusim_occupancy
from binalloc.models.machines.reader import load_machine
from tests.golden.test_samples import readme_rows
from tests.support.paths import SAMPLES, sample_file, sample_files
from tests.support.ptx.interpreter.interpreter import interpret

MACHINE = load_machine("gpgpusim-sharing")
NAMES = [path.stem for path in sample_files(".ptx") if SAMPLES / "sharing" in path.parents]


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A row has what the paper prints of one kernel."""

    variables: int  #: of shared memory
    shared_bytes: int  #: per block
    threads: int  #: per block
    alone: int  #: resident blocks of an SM without sharing
    paired: int  #: resident blocks with sharing


# Table I, and Fig. 13: an SM with 16 KB, 3,072 threads, 16 blocks.
TABLE_1 = {
    "backprop": PaperRow(2, 9408, 256, 1, 2),
    "DCT1": PaperRow(1, 2112, 64, 7, 14),
    "DCT2": PaperRow(1, 2112, 64, 7, 14),
    "DCT3": PaperRow(1, 2176, 128, 7, 12),
    "DCT4": PaperRow(1, 2176, 128, 7, 12),
    "NQU": PaperRow(5, 10496, 64, 1, 2),
    "SRAD1": PaperRow(6, 13824, 576, 1, 2),
    "SRAD2": PaperRow(5, 11520, 576, 1, 2),
    "FDTD3d_32x4": PaperRow(1, 3840, 128, 4, 6),
}
# Table VI: threads divided by the block size.
GRIDS = {
    "backprop": 4096, "DCT1": 512, "DCT2": 512, "DCT3": 256, "DCT4": 256, "NQU": 384, "SRAD1": 7225, "SRAD2": 7225,
    "FDTD3d_32x4": 1128,
}  # fmt: skip


@cache
def imported(name: str) -> Module:
    return import_ptx(sample_file(f"{name}.ptx").read_text(), f"{name}.ptx", machine=MACHINE).module


def use(name: str) -> KernelUse:
    launch = load_launch(sample_file(f"{name}.toml"))
    return KernelUse.of(imported(name).function(launch.kernel).info, launch.threads_per_block)


def resident(kernel: KernelUse, kilobytes: int, threads: int, blocks: int) -> Occupancy:
    """The resident blocks by GPGPU-Sim's rule on the paper's SM, with other limits where the paper varies them."""
    size = kilobytes * 1024
    limits = replace(
        MACHINE.limits, shared_per_sm=size, shared_per_block=size, threads_per_sm=threads, warps_per_sm=threads // 32,
        blocks_per_sm=blocks,
    )  # fmt: skip
    return gpgpusim_occupancy(limits, kernel)


@pytest.mark.parametrize("name", TABLE_1)
def test_variables_bytes_and_threads_are_those_of_the_tables(name: str) -> None:
    row, launch = TABLE_1[name], load_launch(sample_file(f"{name}.toml"))
    kernel = parse(sample_file(f"{name}.ptx").read_text()).functions[launch.kernel]
    shared = [v for v in kernel.variables.values() if v.space == "shared"]
    assert (len(shared), sum(v.size for v in shared)) == (row.variables, row.shared_bytes)
    assert use(name).shared_bytes == row.shared_bytes, "no padding between variables"
    assert kernel.max_threads == launch.threads_per_block == row.threads
    assert load_launch(sample_file(f"{name}.toml"), "test").threads_per_block == row.threads
    assert launch.blocks == GRIDS[name]


@pytest.mark.parametrize("name", TABLE_1)
def test_resident_blocks_are_those_of_figure_13(name: str) -> None:
    row, kernel = TABLE_1[name], use(name)
    found = MACHINE.occupancy(kernel)
    assert (found.blocks_per_sm, found.limiters) == (row.alone, ("shared",))
    assert found == resident(kernel, 16, 3072, 16)
    others = MACHINE.occupancy(replace(kernel, shared_bytes=0))
    assert others.blocks_per_sm >= row.paired, "threads, registers and the number of blocks leave room for pairs"


def test_readme_states_variables_bytes_blocks_and_resident_blocks() -> None:
    rows = {row["sample"]: row for row in readme_rows("sharing")}
    assert sorted(rows) == sorted(NAMES)
    for name, row in rows.items():
        launch, path = load_launch(sample_file(f"{name}.toml")), sample_file(f"{name}.ptx")
        shared = [v for v in parse(path.read_text()).functions[name].variables.values() if v.space == "shared"]
        assert row["folder"] == f"`{path.parent.name}`"
        assert row["block"] == " x ".join(str(n) for n in launch.block if n > 1)
        assert row["blocks"] == " x ".join(f"{n:,}" for n in launch.grid if n > 1)
        assert row["variables"] == str(len(shared) or "-")
        assert row["bytes"] == (f"{sum(v.size for v in shared):,}" if shared else "-")
        assert row["resident"] == str(MACHINE.occupancy(use(name)).blocks_per_sm)


@pytest.mark.parametrize("name", NAMES)
def test_ptx_leaves_what_the_reference_says(name: str) -> None:
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    buffers = launch.make_buffers()
    expected = reference_outputs(launch, buffers)
    assert any(not np.array_equal(expected[b], buffers[b]) for b in expected)
    arguments = [
        buffers[a.name] if a.kind == "buffer" else np.array(launch.values[a.name], a.numpy_dtype)[()]
        for a in launch.arguments
    ]
    interpret(sample_file(f"{name}.ptx").read_text(), launch.kernel, launch.grid, launch.block, arguments)
    assert [str(d) for d in compare(launch, expected, buffers)] == []
