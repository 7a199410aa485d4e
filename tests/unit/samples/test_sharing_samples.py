"""The sharing paper's kernels: bytes, variables and resident blocks of its tables, and PTX against references."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import pytest

from binalloc.emulator.runs.run import run
from binalloc.frontend.importer import import_ptx
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch, reference_outputs
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.occupancy import Occupancy, gpgpusim_occupancy
from binalloc.models.machines.reader import load_machine
from binalloc.models.sharing.pairs import Room, with_threshold
from binalloc.pipeline.sharing.plans import PAPERS_THRESHOLD
from tests.golden.test_samples import readme_rows
from tests.support.kits.launch.references import differences_from_reference
from tests.support.paths import SAMPLES, sample_file, sample_files

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
    "heartwall_128": PaperRow(8, 11872, 128, 1, 2),
    "histogram_192": PaperRow(1, 9216, 192, 1, 2),
    "MC1": PaperRow(2, 9216, 32, 1, 2),
    "NW1": PaperRow(2, 8452, 32, 1, 2),
    "NW2": PaperRow(2, 8452, 32, 1, 2),
}
# Table VII's for 16 KB, and Table IX's HG.
MORE_16K = {
    "kmeans": PaperRow(2, 4608, 576, 3, 5),
    "lud": PaperRow(2, 3872, 484, 4, 6),
    "HG_32": PaperRow(1, 7168, 32, 2, 4),
}
# Table VII and Fig. 25: 48 KB, 2,048 threads, 16 blocks. The table prints 128 threads for DCT1 and DCT2, with which
# threads would allow 16 blocks and pairs ten; Fig. 25 has the eight of 256 threads.
AT_48K = {
    "backprop": PaperRow(2, 9408, 256, 5, 7),
    "DCT1_64x32": PaperRow(1, 8320, 256, 5, 8),
    "DCT2_64x32": PaperRow(1, 8320, 256, 5, 8),
    "NQU": PaperRow(5, 10496, 64, 4, 8),
    "histogram_192": PaperRow(1, 9216, 192, 5, 8),
    "MC1": PaperRow(2, 9216, 32, 5, 8),
    "MC2": PaperRow(2, 13824, 48, 3, 6),
    "NW1": PaperRow(2, 8452, 32, 5, 10),
    "NW2": PaperRow(2, 8452, 32, 5, 10),
    "FDTD3d_32x4": PaperRow(1, 3840, 128, 12, 16),
    "heartwall_128": PaperRow(8, 11872, 128, 4, 5),
}
# Table VII: 64 KB, 2,048 threads, 32 blocks.
AT_64K = {
    "backprop": PaperRow(2, 9408, 256, 6, 8),
    "DCT1_64x32": PaperRow(1, 8320, 256, 7, 8),
    "DCT2_64x32": PaperRow(1, 8320, 256, 7, 8),
    "NQU": PaperRow(5, 10496, 64, 6, 8),
    "histogram_192": PaperRow(1, 9216, 192, 7, 8),
    "MC2": PaperRow(2, 13824, 48, 4, 8),
    "NW1": PaperRow(2, 8452, 32, 7, 14),
    "NW2": PaperRow(2, 8452, 32, 7, 14),
}
# Fig. 21: 48 KB, 3,072 threads.
AT_3072_THREADS = {
    "SRAD1": PaperRow(6, 13824, 576, 3, 5),
    "SRAD2": PaperRow(5, 11520, 576, 4, 5),
}
ROWS = [
    pytest.param(name, row, *machine, id=f"{name}-{machine[0]}K-{machine[1]}")
    for table, machine in (
        (TABLE_1, (16, 3072, 16)), (MORE_16K, (16, 3072, 16)), (AT_48K, (48, 2048, 16)), (AT_64K, (64, 2048, 32)),
        (AT_3072_THREADS, (48, 3072, 16)),
    )
    for name, row in table.items()
]  # fmt: skip
# Table VI: threads divided by the block size.
GRIDS = {
    "backprop": 4096, "DCT1": 512, "DCT2": 512, "DCT3": 256, "DCT4": 256, "NQU": 384, "SRAD1": 7225, "SRAD2": 7225,
    "FDTD3d_32x4": 1128, "heartwall_128": 140, "histogram_192": 240, "MC1": 94,
}  # fmt: skip
# Table IV: what limits the blocks of an SM.
TABLE_4 = {
    "BFS": ("registers", "warps"), "bplustree": ("registers",), "DCT5": ("blocks",), "gaussian": ("warps",),
    "NN": ("blocks",),
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


@pytest.mark.parametrize(("name", "row", "kilobytes", "threads", "blocks"), ROWS)
def test_variables_bytes_threads_and_resident_blocks_are_the_papers(
    name: str, row: PaperRow, kilobytes: int, threads: int, blocks: int
) -> None:
    launch, kernel = load_launch(sample_file(f"{name}.toml")), use(name)
    function = parse(sample_file(f"{name}.ptx").read_text()).functions[launch.kernel]
    shared = [v for v in function.variables.values() if v.space == "shared"]
    assert (len(shared), sum(v.size for v in shared)) == (row.variables, row.shared_bytes)
    assert kernel.shared_bytes == row.shared_bytes, "no padding between variables"
    sizes = [load_launch(sample_file(f"{name}.toml"), size) for size in (None, "test")]
    assert {function.max_threads, *(size.threads_per_block for size in sizes)} == {row.threads}
    found = resident(kernel, kilobytes, threads, blocks)
    assert (found.blocks_per_sm, found.limiters) == (row.alone, ("shared",))
    others = resident(replace(kernel, shared_bytes=0), kilobytes, threads, blocks)
    assert others.blocks_per_sm >= row.paired, "threads, registers and the number of blocks leave room for pairs"
    pairs = with_threshold(Room.of(found, kilobytes * 1024), PAPERS_THRESHOLD)
    assert pairs is not None
    assert pairs.blocks == row.paired


def test_the_first_rows_are_of_the_machine_file() -> None:
    for name in (*TABLE_1, *MORE_16K):
        assert MACHINE.occupancy(use(name)) == resident(use(name), 16, 3072, 16)


@pytest.mark.parametrize("name", GRIDS)
def test_grids_are_those_of_table_vi(name: str) -> None:
    assert load_launch(sample_file(f"{name}.toml")).blocks == GRIDS[name]


@pytest.mark.parametrize("name", TABLE_4)
def test_blocks_are_limited_by_what_table_iv_says(name: str) -> None:
    assert MACHINE.occupancy(use(name)).limiters == TABLE_4[name]


def test_every_sample_of_the_folder_is_in_a_table() -> None:
    assert set(NAMES) == {param.values[0] for param in ROWS} | set(TABLE_4)


def test_heartwalls_first_frame_touches_no_shared_memory_and_later_ones_do() -> None:
    """The paper's launch has one frame (Table V)."""
    path = sample_file("heartwall_128.toml")
    frames = {size: load_launch(path, size).values["frames"] for size in ("full", "three_frames", "test")}
    assert frames == {"full": 1, "three_frames": 3, "test": 3}
    for size, touched in (("full", False), ("test", True)):
        counted = run(imported("heartwall_128"), "heartwall_128", load_launch(path, size), MACHINE).stats
        assert (counted["user_shared_loads"] + counted["user_shared_stores"] > 0) is touched


def test_the_queens_of_all_blocks_are_the_known_number() -> None:
    launch = load_launch(sample_file("NQU.toml"))
    assert reference_outputs(launch, launch.make_buffers())["solutions"].sum() == 724  # OEIS A000170


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
    assert differences_from_reference(name) == []
