"""Arrays of structs and pointers from Python: for launches, on devices, and when results are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binalloc
from binalloc import Device, Module, Pointer, UsageError, launch_kernel
from binalloc.testing.baseline import Regression
from binalloc.testing.emulator import Emulator
from tests.support.ptx.axpy import HEAD
from tests.support.ptx.walked import NODE, TWICE, WALK

NODES = np.dtype([("kind", "u1"), ("value", "f4"), ("tag", "i2", 3), ("next", "O")], align=True)
SWAP = """
.visible .entry turn(.param .u64 pair, .param .align 8 .b8 s[24])
{
    .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [pair];
    ld.global.u64 %rd2, [%rd1];
    ld.global.u64 %rd3, [%rd1+8];
    st.global.u64 [%rd1], %rd3;
    st.global.u64 [%rd1+8], %rd2;
    ld.param.u64 %rd4, [s+8];
    ld.param.u64 %rd5, [s];
    st.global.u64 [%rd4], %rd5;
    ld.param.u64 %rd6, [s+16];
    st.global.u64 [%rd4+8], %rd6;
    ret;
}
"""


@pytest.fixture(scope="module")
def walk() -> Module:
    return binalloc.import_ptx(WALK, machine="gtx680").module


@pytest.fixture(scope="module")
def turn() -> Module:
    return binalloc.import_ptx(HEAD + SWAP, machine="gtx680").module


def chain(values: list[float]) -> Any:
    """Nodes each of which leads to the next."""
    nodes = np.zeros(len(values), NODES)
    nodes["value"] = values
    for i in range(len(values) - 1):
        nodes["next"][i] = nodes[i + 1 : i + 2]
    return nodes


def test_a_kernel_follows_pointers_to_arrays_that_take_no_parameter(walk: Module) -> None:
    assert NODES.itemsize == NODE
    first, second = chain([1, 2, 3]), chain([10, 20])
    second["next"][1] = Pointer(first, NODE)
    heads, ends = np.empty(4, object), np.empty(4, object)
    heads[:2] = None, second[:1]
    heads[2], heads[3] = Pointer(second, NODE), first[2:]
    sums = np.zeros(4, "f4")
    launch_kernel(walk, 1, 32, [heads, sums, ends, 4], engine="python", check=True)
    assert sums.tolist() == [0, 10 + 20 + 2 + 3, 20 + 2 + 3, 3]
    assert ends[0] is None
    assert all(end.array is first and end.at == 2 * NODE for end in ends[1:])
    assert first["next"][0].base is first, "what a kernel leaves alone is as it was"


def test_changed_pointers_and_numbers_come_back(turn: Module) -> None:
    a, b, out = np.arange(4, dtype="u8"), np.zeros(2, "f8"), np.zeros(2, "u8")
    pair = np.empty(2, object)
    pair[:] = a[1:], b
    struct = np.zeros((), [("n", "i8"), ("to", "O"), ("also", "O")])
    struct["n"] = -5
    struct["to"][()], struct["also"][()] = Pointer(out), Pointer(out, 8)
    struct = np.array([(-5, Pointer(out), Pointer(out, 8))], struct.dtype)[0]
    launch_kernel(turn, 1, 1, [pair, struct], engine="python")
    assert (pair[0].array is b, pair[0].at, pair[1].array is a, pair[1].at) == (True, 0, True, 8)
    assert out.view("i8")[0] == -5
    assert int(out[1]) % 256 == 8, "an address of the device"


def test_a_pointer_is_a_parameter(walk: Module) -> None:
    nodes = chain([4, 5])
    heads = np.array([None, nodes[:1], nodes[1:]], object)
    sums, ends = np.zeros(2, "f4"), np.zeros(2, "u8")
    launch_kernel(walk, 1, 32, [Pointer(heads, 8), sums, ends, 2], engine="python")
    assert sums.tolist() == [9, 5]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (3, r"args\[0\] \(parameter heads\)\[0\]: not a pointer; found 3; expected None, an array"),
        ("x", "not a pointer"),
        (Pointer(np.zeros(3, "u1"), 4), "a pointer beyond its array; found byte 4; expected 0 to 3"),
        (Pointer(np.zeros(3, "u1"), -1), "beyond its array"),
        (Pointer(7), "a pointer to no array of the host"),
        (np.zeros(0, "u1"), "the array is empty"),
    ],
)
def test_what_is_no_pointer(walk: Module, cell: Any, message: str) -> None:
    heads = np.empty(1, object)
    heads[0] = cell
    with pytest.raises(UsageError, match=message):
        launch_kernel(walk, 1, 32, [heads, np.zeros(1, "f4"), np.zeros(1, "u8"), 1], engine="python")


def test_faults_name_arrays_by_what_points_to_them(walk: Module) -> None:
    nodes = chain([1, 2])
    nodes["next"][1] = Pointer(nodes, 2 * NODE)  # behind the last
    with pytest.raises(binalloc.KernelFault, match=r"heads\.to"):
        launch_kernel(walk, 1, 32, [np.array([nodes[:1], None], object), np.zeros(1, "f4"), np.zeros(1, "u8"), 1],
                      engine="python")  # fmt: skip


def test_pointers_on_a_device(walk: Module) -> None:
    device = Device(walk, engine="python")
    plain = np.zeros(3, np.dtype([("kind", "u1"), ("value", "f4"), ("tag", "i2", 3), ("next", "u8")], align=True))
    plain["value"] = [1, 2, 4]
    nodes = device.array(plain)
    plain["next"] = [nodes.address + 2 * NODE, 0, nodes.address + NODE]
    nodes.set(plain)
    heads = device.array(np.array([nodes, Pointer(nodes, 2 * NODE), None], object))
    sums, ends = device.zeros(3), device.zeros(3, np.uint64)
    device.launch("walk", 1, 32, [heads, sums, ends, 3])
    assert sums.get().tolist() == [7, 6, 0]
    to = [device.pointee(int(end)) for end in ends.get()]
    found = [None if end is None else (end[0].name, end[1]) for end in to]
    assert found == [(nodes.name, NODE), (nodes.name, NODE), None]
    device.launch("walk", 1, 32, [Pointer(heads, 8), sums, ends, 1])
    assert sums.get()[0] == 6
    with pytest.raises(UsageError, match="does not lie on this device"):
        device.array(np.array([plain, None], object))
    with pytest.raises(UsageError, match="beyond its array"):
        device.array(np.array([Pointer(nodes, 1000), None], object))


def test_structs_are_compared_field_by_field(walk: Module) -> None:
    emulator = Emulator(Path("test_x.py"), "t", update=False, engine="python", loaded={})
    dtype = np.dtype([("a", "u1"), ("x", "f4", 2), ("n", "i8")], align=True)
    ends = np.zeros(1, "u8")
    sums = np.zeros(2, dtype)
    result = launch_kernel(walk, 1, 32, [np.empty(1, object), sums, ends, 1], engine="python")
    expected = sums.copy()
    expected.view("u1")[1:4] = 9  # padding
    expected["x"][1, 1] = 1e-7
    emulator.same(result, sums, expected, atol=1e-6)
    with pytest.raises(Regression, match=r"sums\[1\]\.x\[1\]: 0\.0, expected 1\.0.*e-07"):
        emulator.same(result, sums, expected)
    expected["n"][0] = 1
    with pytest.raises(Regression, match=r"sums\[0\]\.n: 0, expected 1 \(tolerance; 1 of 2 elements differ\)"):
        emulator.same(result, sums, expected, atol=2)


def test_what_lies_between_fields_is_memory_too() -> None:
    """A kernel writes one byte of each node's padding: it and all others come back as they are."""
    module = binalloc.import_ptx(TWICE, machine="gtx680").module
    plain = np.dtype([("kind", "u1"), ("value", "f4"), ("tag", "i2", 3), ("next", "u8")], align=True)
    nodes = np.zeros(4, plain)
    nodes.view("u1")[:] = np.arange(4 * NODE) % 251
    before = nodes.view("u1").reshape(4, NODE).copy()
    device = Device(module, engine="python")
    kept = device.array(nodes)
    device.launch("twice", 1, 32, [kept, 4])
    launch_kernel(module, 1, 32, [nodes, 4], engine="python")
    raw = nodes.view("u1").reshape(4, NODE)
    assert raw[:, 1].tolist() == [0, 1, 2, 3]
    for byte in (0, 2, 3, *range(8, 16)):
        assert (raw[:, byte] == before[:, byte]).all(), byte
    assert kept.get().view("u1").reshape(4, NODE)[:, :16].tolist() == raw[:, :16].tolist()
    read = np.zeros(3, plain)
    read.view("u1")[:] = 9
    read.flags.writeable = False
    launch_kernel(module, 1, 32, [read, 0], engine="python")  # padding that nobody writes is not taken for written
