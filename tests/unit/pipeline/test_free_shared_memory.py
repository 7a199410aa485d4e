"""A kernel as if blocks needed no shared memory: registers, warps and places of blocks limit how many are resident."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.launch.file import load_launch
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.kernel_use import KernelUse
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.free import with_room, without_limit
from binalloc.pipeline.original import baseline, run_original
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.kernels import kernel_use
from binalloc.pipeline.steps.measure import same_results
from tests.support.paths import sample_file


@pytest.mark.parametrize("name", list_machines())
def test_there_is_room_for_as_many_blocks_as_without_shared_memory(name: str) -> None:
    machine = load_machine(name)
    for registers, threads in ((8, 32), (20, 64), (32, 256)):
        for size in (4, 1024, machine.sm.shared_per_block):
            use = KernelUse(registers, size, threads)
            free = machine.occupancy(replace(use, shared_bytes=0))
            assert with_room(machine).occupancy(use).blocks_per_sm == free.blocks_per_sm


@pytest.mark.rotates("long")
def test_fourier_transform_gains_from_free_shared_memory() -> None:
    """Shared memory lets one block run; registers five."""
    machine, launch = load_machine("gtx285"), load_launch(sample_file("fourierTransform.toml"), "test")
    module = import_ptx(sample_file("fourierTransform.ptx").read_text(), machine=machine).module
    request = Request("FFT", machine, launch)
    original = run_original(module, replace(request, prepared=Preparations()), baseline(module, request)).base
    found = without_limit(module, request)
    use = kernel_use(found.module.function("FFT"), launch)
    assert (original.blocks_per_sm, found.blocks_per_sm) == (1, 5)
    assert found.blocks_per_sm == machine.occupancy(replace(use, shared_bytes=0)).blocks_per_sm
    assert found.shared_bytes == original.shared_bytes == 8736, "the code is the same"
    assert found.slots == 0
    assert (found.cycles or 0) < (original.cycles or 0)
    assert same_results(request, original, found)
