"""Kernels of merged blocks run with the launches of their originals: in sequences, and from Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from binalloc import Device, Module, RunOptions, launch_kernel, load_launch, run_launch, run_program
from binalloc.errors import BinallocError, MalformedInput, UsageError
from binalloc.isa.sets.files import assemble
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.kernel import multiplex
from binalloc.pipeline.request import Request
from tests.support.kits.cli import call
from tests.support.programs.chase import KERNEL, chase_files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    return chase_files(tmp_path_factory.mktemp("merged"))


@pytest.fixture(scope="module")
def merged(files: tuple[str, str, str]) -> Module:
    """The kernel with two blocks in one, as the library makes it."""
    request = Request(machine="gtx285", launch=files[1], engine="python")
    best = multiplex(assemble(KERNEL), request, "vtb", merge=2, shorter=False).best
    assert best is not None
    assert best.version is not None
    return best.version.module


def following(files: tuple[str, str, str]) -> tuple[np.ndarray, np.ndarray]:
    """The launch's numbers, and what the kernel leaves of them."""
    start = load_launch(files[1]).make_buffers()["next"]
    found = np.arange(448)
    for _ in range(4):
        found = start[found]
    return start, found.astype(np.uint32)


@pytest.mark.rotates("long")
def test_one_launch(files: tuple[str, str, str], merged: Module) -> None:
    ran = run_launch(merged, "chase", load_launch(files[1]), RunOptions(machine="gtx285", engine="python"))
    assert (ran.buffers["out"] == following(files)[1]).all()


def test_a_sequence(files: tuple[str, str, str], merged: Module) -> None:
    ran = run_program(merged, files[2], engine="python")
    assert (ran.launches[0].grid, ran.launches[0].block) == ((4, 1, 1), (64, 1, 2))
    assert (ran.buffers["out"] == following(files)[1]).all()


def test_a_launch_of_a_sequence(files: tuple[str, str, str], merged: Module, tmp_path: Path) -> None:
    from binalloc.isa.sets.files import write_module

    made = tmp_path / "made.loom"
    made.write_bytes(write_module(merged))
    found = call("run", str(made), "--launch", files[2], "--step", "0", "--engine", "python", "--json").json
    assert found["cycles"] == run_program(merged, files[2], engine="python").cycles


def test_from_arrays(files: tuple[str, str, str], merged: Module) -> None:
    start, expected = following(files)
    out = np.zeros(448, np.uint32)
    for grid, block, more in ((7, 64, ()), (4, (64, 1, 2), (np.uint32(7),))):
        out[:] = 0
        result = launch_kernel(merged, grid, block, [out, start, *more], engine="python")
        assert (result.grid, result.block) == ((4, 1, 1), (64, 1, 2))
        assert (out == expected).all()


def test_on_a_device(files: tuple[str, str, str], merged: Module) -> None:
    start, expected = following(files)
    device = Device(merged, machine="gtx285", engine="python")
    out, numbers = device.array(np.zeros(448, np.uint32)), device.array(start)
    result = device.launch(None, 7, 64, [out, numbers])
    assert (result.grid, result.block) == ((4, 1, 1), (64, 1, 2))
    assert (out.get() == expected).all()


@pytest.mark.parametrize(("grid", "block", "more", "kind", "message"), [
    (7, 32, (), MalformedInput, "other blocks were merged than the launch has"),
    (4, (64, 1, 2), (), UsageError, "expected original_grid, 4 bytes"),
    (7, 64, (7,), UsageError, "the block contradicts"),
])  # fmt: skip
def test_other_launches_are_refused(
    files: tuple[str, str, str], merged: Module, grid: int, block: object, more: tuple[int, ...],
    kind: type[BinallocError], message: str,
) -> None:  # fmt: skip
    arrays = [np.zeros(448, np.uint32), following(files)[0]]
    with pytest.raises(kind, match=message):
        launch_kernel(merged, grid, block, [*arrays, *more], engine="python")  # type: ignore[arg-type]


def test_a_kernel_is_merged_once(files: tuple[str, str, str], merged: Module) -> None:
    request = Request(machine="gtx285", launch=files[1], engine="python")
    found = multiplex(merged, request, "vtb", merge=2, shorter=False)
    assert found.tried[0].refused is not None
    assert "a kernel is merged once" in str(found.tried[0].refused)


@pytest.mark.parametrize(("change", "message"), [
    ({"scheme": "other"}, "there is no such scheme; found other; expected one of vtb"),
    ({"merge": 1}, "so few blocks cannot be merged"),
    ({"scheme": "co-vtb", "splits": ["x"]}, "not clear how to divide"),
])  # fmt: skip
def test_wrong_wishes(files: tuple[str, str, str], change: dict[str, object], message: str) -> None:
    request = Request(machine="gtx285", launch=files[1], engine="python")
    with pytest.raises(UsageError, match=message):
        multiplex(assemble(KERNEL), request, **change)  # type: ignore[arg-type]


def test_a_launch_is_needed() -> None:
    with pytest.raises(UsageError, match="versions are run"):
        multiplex(assemble(KERNEL), replace(Request("chase"), options=RunOptions(machine=load_machine("gtx285"))))
