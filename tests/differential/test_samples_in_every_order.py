"""Every sample that asks for its block, at test size, in three orders of its blocks: each is proven, survives being
written and allocated, and leaves the bits of the original.

Samples are found, not listed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run_launch
from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch
from binalloc.launch.types import Launch
from binalloc.models.batches.order import BlockOrder
from binalloc.pipeline.request import Preparations, Request
from binalloc.pipeline.steps.build import build_version
from binalloc.transform.block_order.renumber import block_reads, renumber_blocks, require_movable
from binalloc.verify.block_order.check import check_order
from tests.support.paths import sample_file, sample_files

FILES = sorted(path.name for ending in (".ptx", ".loom") for path in sample_files(ending))
SMS = 1
"""To as many are blocks dealt, for strides: a group of two blocks fits small grids."""
WAIT = {"outliers.ptx"}
"""Samples with a loop that ends by an atomic: the heap's, which tries again."""


@cache
def loaded(name: str) -> tuple[Module, Launch]:
    path = sample_file(name)
    launch = load_launch(path.with_suffix(".toml"), "test")
    if path.suffix == ".loom":
        return read_module(path.read_bytes()), launch
    return read_module(write_module(import_ptx(path.read_text(), path.name, machine="gtx680").module)), launch


def orders(launch: Launch) -> list[BlockOrder]:
    """Three orders that move blocks of the launch's grid, or fewer where there are none."""
    gx, gy, gz = launch.grid
    tried = [BlockOrder("tile", 2, 2), BlockOrder("tile", 1, gy), BlockOrder("mod", 2), BlockOrder("mod", 3)]
    return [order for order in tried if order.moves((gx, gy, gz), SMS)][:3]


def ran(module: Module, request: Request) -> Result:
    assert request.launch is not None
    return run_launch(module, request.kernel, request.launch, request.options)


@pytest.mark.rotates
@pytest.mark.parametrize("name", FILES)
def test_other_orders_leave_the_same_bits(name: str) -> None:
    module, launch = loaded(name)
    request = Request(launch.kernel, "gtx680", launch, hazards=False)
    kernel, grid = launch.kernel, launch.grid
    if name in WAIT:
        with pytest.raises(Refused, match="blocks wait for what other blocks write"):
            require_movable(module, kernel, grid)
        return
    program = require_movable(module, kernel, grid)
    if not any(block_reads(program).values()) or not orders(launch):
        pytest.skip("no order of its blocks changes anything")
    before = ran(module, request)
    for order in orders(launch):
        made = renumber_blocks(program, order, grid, SMS)
        report = check_order(module, made.module, kernel, str(order), grid, SMS)
        assert report.ok, str(report)
        asked = replace(request, prepared=Preparations())
        registers = made.module.function(kernel).info.registers
        version = build_version(made.module, asked, min(registers, 63), 0)
        after = ran(version.module, request)
        for buffer, bits in before.buffers.items():
            assert np.asarray(after.buffers[buffer]).tobytes() == np.asarray(bits).tobytes(), (str(order), buffer)
