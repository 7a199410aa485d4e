"""Programs of several kernels as they are common, as sequences of launches, against NumPy: elimination, sums of all
elements before each, Runge-Kutta steps, ways through a grid, and whole programs in both engines."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from binalloc import Device, Module, import_ptx, load_machine
from binalloc.emulator.runs.program import Ran
from binalloc.launch.program.schema import parse_program
from binalloc.pipeline.running.program import run_program
from tests.support.kits.launch.programs import buffer, scalar
from tests.support.paths import DATA


@cache
def module(machine: str = "gtx680") -> Module:
    source = DATA / "programs" / "several.ptx"
    return import_ptx(source.read_text(), source.name, machine=load_machine(machine)).module


def launch(kernel: str, arguments: list[Any], grid: Any, block: Any, **more: Any) -> dict[str, Any]:
    return {"launch": kernel, "arguments": arguments, "grid": grid, "block": block, **more}


@pytest.fixture(params=["python", "numba"])
def ran(request: pytest.FixtureRequest) -> Any:
    def run(steps: list[Any], arguments: list[Any], buffers: dict[str, Any] | None = None, **constants: Any) -> Ran:
        program = parse_program({"constants": constants, "argument": arguments, "step": steps})
        contents = program.held.make_buffers() | (buffers or {})
        return run_program(module(), program, engine=request.param, buffers=contents)

    return run


def test_elimination(ran: Any) -> None:
    n = 11
    rng = np.random.default_rng(1)
    m = (rng.uniform(0, 1, (n, n)) + n * np.eye(n)).astype(np.float32)
    b = rng.uniform(0, 1, n).astype(np.float32)
    arguments = [buffer("m", "f32", ["n", "n"]), buffer("f", "f32", ["n", "n"]), buffer("b", "f32", "n")]
    loop = [
        launch("multipliers", ["f", "m", "n", "k"], "ceil_div(n - 1 - k, 4)", 4),
        launch("eliminate", ["f", "m", "b", "n", "k"], ["ceil_div(n - k, 4)", "ceil_div(n - 1 - k, 4)"], [4, 4]),
    ]
    found = ran([{"repeat": "n - 1", "variable": "k", "step": loop}], arguments, {"m": m, "b": b}, n=n)
    upper = np.triu(found.buffers["m"].astype(np.float64))
    x = np.linalg.solve(upper, found.buffers["b"])
    assert np.allclose(m.astype(np.float64) @ x, b, rtol=1e-4)
    assert len(found.launches) == 2 * (n - 1)


def test_sums_of_all_before(ran: Any) -> None:
    """Of blocks, of blocks' sums, and back: the depth follows from the size."""
    n = 1000
    arguments = [
        buffer("data", shape="n"), buffer("sums", shape=64), buffer("none", shape=1),
    ]  # fmt: skip
    steps = [
        launch("scan_block", ["data", "sums", "n"], "blocks", 64),
        launch("scan_block", ["sums", {"value": 0, "dtype": "u64"}, "blocks"], 1, 64, when="blocks > 1"),
        launch("scan_add", ["data", "sums", "n"], "blocks - 1", 64, when="blocks > 1"),
    ]
    for size in (n, 64):
        data = np.random.default_rng(2).integers(0, 100, size).astype(np.int32)
        found = ran(steps, arguments, {"data": data}, n=size, blocks="ceil_div(n, 64)")
        assert np.array_equal(found.buffers["data"], np.cumsum(data))
        assert len(found.launches) == (3 if size > 64 else 1)


def test_runge_kutta(ran: Any) -> None:
    """An inner loop on copies of the outer one's values, whose number goes into a parameter."""
    n, rounds = 100, 3
    v = np.random.default_rng(3).uniform(-1, 1, n).astype(np.float32)
    arguments = [buffer(name, "f32", "n") for name in ("v", "old", "factor", "f")]
    inner = [
        launch("flux", ["f", "v", "n"], "ceil_div(n, 32)", 32),
        launch("time_step", ["v", "old", "factor", "f", "n", "j"], "ceil_div(n, 32)", 32),
    ]
    outer = [
        {"copy": "v", "to": "old"},
        launch("step_factor", ["factor", "v", "n"], "ceil_div(n, 32)", 32),
        {"repeat": 3, "variable": "j", "step": inner},
    ]
    found = ran([{"repeat": rounds, "step": outer}], arguments, {"v": v}, n=n)
    want = v.astype(np.float64)
    for _ in range(rounds):
        old, factor = want.copy(), 0.5 / (1 + np.abs(want))
        for j in range(3):
            want = old + factor / (4 - j) * (np.roll(want, 1) - 2 * want + np.roll(want, -1))
    assert np.allclose(found.buffers["v"], want, rtol=1e-4, atol=1e-5)


def test_ways_through_a_grid(ran: Any) -> None:
    """Rows in pyramids of a few, the last one with what is left; buffers that change places; an end that is computed
    from a scalar."""
    rows, columns, height = 14, 150, 5
    wall = np.random.default_rng(4).integers(0, 10, (rows, columns)).astype(np.int32)
    arguments = [
        buffer("wall", shape=["rows", "columns"]), buffer("here", shape="columns"), buffer("there", shape="columns"),
        scalar("row", 1), scalar("depth", 0),
    ]  # fmt: skip
    steps = [
        {"copy": "wall", "to": "here", "count": "columns"},
        {"while": "row < rows", "at_most": 100, "step": [
            {"set": "depth", "value": "min(height, rows - row)"},
            launch("path", ["wall", "here", "there", "columns", "row", "depth"],
                   "ceil_div(columns, 64 - 2 * depth)", 64),
            {"swap": ["here", "there"]},
            {"set": "row", "value": "row + depth"},
        ]},
    ]  # fmt: skip
    found = ran(steps, arguments, {"wall": wall}, rows=rows, columns=columns, height=height)
    want = wall[0].astype(np.int64)
    for row in wall[1:]:
        edged = np.pad(want, 1, constant_values=1 << 20)
        want = row + np.minimum(np.minimum(edged[:-2], edged[1:-1]), edged[2:])
    assert np.array_equal(found.buffers["here"], want)
    assert found.scalars == {"row": rows, "depth": 3}
    assert len(found.launches) == 3


def test_a_device_runs_the_same_as_a_program() -> None:
    """The same launches from Python: results and cycles, on machines with and without an L1 for global memory."""
    for machine in ("gtx680", "v100"):
        v = np.random.default_rng(5).uniform(-1, 1, 96).astype(np.float32)
        arguments = [buffer("f", "f32", 96), buffer("v", "f32", 96)]
        step = launch("flux", ["f", "v", 96], 3, 32)
        program = parse_program({"argument": arguments, "step": [{"repeat": 4, "step": [step, {"swap": ["f", "v"]}]}]})
        told = run_program(module(machine), program, buffers={"f": np.zeros_like(v), "v": v}, machine=machine)
        device = Device(module(machine), machine=machine)
        one, other = device.zeros(96), device.array(v)
        for _ in range(4):
            device.launch("flux", 3, 32, [one, other, 96])
            one, other = other, one
        assert [result.cycles for result in device.launches] == [launched.cycles for launched in told.launches]
        assert np.array_equal(one.get(), told.buffers["f"])
        assert np.array_equal(other.get(), told.buffers["v"])
