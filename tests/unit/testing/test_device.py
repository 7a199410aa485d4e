"""A device that is kept, from Python: arrays, variables and textures on it, launches one after the other."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from binalloc import Device, KernelFault, Module, TextureArray, UsageError, import_ptx, launch_kernel, load_machine
from binalloc.testing.baseline import Regression
from binalloc.testing.emulator import Emulator
from tests.support.kits.launch.programs import KERNELS
from tests.support.paths import sample_file


@cache
def module(machine: str = "gtx680") -> Module:
    return import_ptx(KERNELS, "add.ptx", machine=load_machine(machine)).module


def device(**options: Any) -> Device:
    return Device(module(), **({"engine": "python"} | options))


def test_arrays_stay_and_change_by_launches() -> None:
    d = device()
    x, y = d.array(np.arange(64, dtype=np.uint32)), d.zeros(64, np.uint32)
    y.set(2)
    first = d.launch("add", 1, 64, [x, y, 64])
    second = d.launch("add", 1, 64, [x, y, 64])
    assert np.array_equal(x.get(), np.arange(64) + 4)
    assert (d.launches, d.cycles) == ([first, second], first.cycles + second.cycles)
    assert second.cycles < first.cycles
    assert (second.stats["l2_misses"], second.kernel, second.registers) == (0, "add", first.registers)
    x.set(np.zeros(64, np.uint32))
    x.flat[3] = 7
    d.launch("add", 1, 64, [x, y, 64])
    assert x.get().tolist() == [2, 2, 2, 9] + [2] * 60


def test_a_first_launch_is_launch_kernels() -> None:
    x, y = np.arange(64, dtype=np.uint32), np.ones((8, 8), np.uint32)
    d = Device(module(), machine="v100", engine="python")
    mine = d.launch("add", 2, 32, [d.array(x), d.array(y), 64])
    other = launch_kernel(module(), 2, 32, [x, y, 64], name="add", machine="v100", engine="python")
    assert mine.rescheduled
    assert (mine.cycles, mine.stats, mine.registers) == (other.cycles, other.stats, other.registers)


def test_arrays_may_be_placed_between_launches() -> None:
    d = device()
    sums = [d.array(np.full(64, i, np.uint32)) for i in range(3)]
    for i in range(40):
        more = d.array(np.full(64, i, np.uint32))
        d.launch("add", 1, 64, [sums[i % 3], more, 64])
        assert more.get()[0] == i
    assert [int(s.get()[5]) for s in sums] == [j + sum(range(j, 40, 3)) for j in range(3)]
    texture = d.texture(TextureArray(np.arange(32, dtype=np.float32)))
    out = d.zeros(32)
    d.launch("fetch", 1, 32, [out, texture])
    assert np.array_equal(out.get(), np.arange(32))


def test_what_lies_there_stays_where_it_is_as_memory_grows() -> None:
    """Of a binary without variables, whose memory begins with next to nothing."""
    d = Device(sample_file("sort.ptx"), engine="python")
    arrays = [d.array(np.full(700 + i, i, np.uint32)) for i in range(60)]
    assert all((array.get() == i).all() for i, array in enumerate(arrays))
    arrays[0].set(np.arange(700, dtype=np.uint32)[::-1].copy())
    d.launch(None, 6, 128, [arrays[0], 700, 2, 1])
    assert arrays[0].get()[:4].tolist() == [698, 699, 697, 696]
    assert (arrays[1].get() == 1).all()


def test_textures_change_by_what_is_put_there() -> None:
    d = device()
    one, other = (d.texture(TextureArray(np.full(32, i, np.float32))) for i in (1, 2))
    out = d.zeros(32)
    for texture, expected in ((one, 1), (other, 2)):
        d.launch("fetch", 1, 32, [out, texture])
        assert set(out.get()) == {expected}
    one.set(np.full(32, 9, np.float32))
    d.launch("fetch", 1, 32, [out, one])
    assert set(out.get()) == {9}
    with pytest.raises(UsageError, match="other texels than those on the device"):
        one.set(np.zeros(31, np.float32))


def test_variables_are_read_and_written() -> None:
    d = device()
    x = d.array(np.ones(64, np.uint32))
    d.write_variable("table", np.array([1, 2, 3], np.uint32))
    assert d.read_variable("table", np.uint32).tolist() == [1, 2, 3, 0]
    d.launch("sum", 1, 64, [x])
    assert d.read_variable("total", np.uint32).tolist() == [16 * 6, 0]
    d.write_variable("total", np.uint32(1))
    d.launch("sum", 1, 64, [x])
    assert d.read_variable("total", np.uint32)[0] == 97
    assert len(d.read_variable("total")) == 8
    with pytest.raises(UsageError, match="no such variable; found sums; expected total, table"):
        d.read_variable("sums")
    with pytest.raises(UsageError, match="the variable is smaller; found 20 bytes; expected at most 16"):
        d.write_variable("table", np.zeros(5, np.uint32))
    with pytest.raises(UsageError, match="no whole number of elements"):
        d.read_variable("total", np.dtype("V3"))


def test_one_array_for_two_parameters_is_one_buffer() -> None:
    d = device()
    x = d.array(np.arange(64, dtype=np.uint32))
    d.launch("add", 1, 64, [x, x, 64])
    assert np.array_equal(x.get(), 2 * np.arange(64))


def test_what_is_refused() -> None:
    d, e = device(), device()
    x = d.array(np.zeros(64, np.uint32))
    foreign = e.array(np.zeros(64, np.uint32))
    for args, message in (
        ([x, np.zeros(64, np.uint32), 64], r"args\[1\]: the argument does not lie on this device; found an array of"),
        ([x, foreign, 64], "found one of another device"),
        ([x, TextureArray(np.zeros(4, "f4")), 64], "a texture of the host"),
        ([x, x], "takes another number of arguments"), ([x, x, 64, 1], "takes another number of arguments"),
        ([x, x, x], "does not fit its parameter"), ([x, 5, 64], "does not fit its parameter"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            d.launch("add", 1, 64, args)
    with pytest.raises(UsageError, match="no such kernel"):
        d.launch("minus", 1, 64, [])
    with pytest.raises(UsageError, match="several kernels"):
        d.launch(None, 1, 64, [])
    with pytest.raises(UsageError, match="another array than the one on the device"):
        x.set(np.zeros(63, np.uint32))
    with pytest.raises(UsageError, match="the array is empty"):
        d.zeros(0)
    with pytest.raises(UsageError, match="not a pointer; found object"):
        d.array(np.array([object()]))
    with pytest.raises(UsageError, match=r"texture\.filter"):
        d.texture(TextureArray(np.zeros(4, np.int32), filter="linear"))
    assert d.launches == []


def test_after_a_fault_the_device_goes_on() -> None:
    d = device()
    x, y = d.array(np.zeros(64, np.uint32)), d.array(np.ones(64, np.uint32))
    with pytest.raises(KernelFault):
        d.launch("add", 300, 64, [x, y, 300 * 64])
    assert d.launch("add", 1, 64, [x, y, 64]).cycles > 0
    assert (x.get() >= 1).all()


def test_the_fixture_has_devices_and_judges_their_arrays() -> None:
    folder = sample_file("sort.ptx").parent
    emulator = Emulator(folder / "test_file.py", "test", update=False, engine="python", loaded={})
    d = emulator.device("sort.ptx", machine="v100")
    keys = d.array(np.array([3, 1, 2, 0], np.uint32))
    result = d.launch("exchange", 1, 4, [keys, 4, 2, 1])
    emulator.same(result, keys, np.array([1, 3, 2, 0], np.uint32))
    emulator.expect(result, max_local_bytes=0)
    assert result.run.engine == "python"
    with pytest.raises(Regression, match=r"array0\[0\]: 1, expected 0"):
        emulator.same(result, keys, np.arange(4, dtype=np.uint32))
    assert emulator.device(module()).machine.name == "gtx680"
    assert emulator.device("sort.ptx").machine.name == emulator.load("sort.ptx").kernels()[0].info.machine == "t4"
    assert Device(sample_file("sort.ptx")).machine.name == "t4"


def test_engines_agree() -> None:
    def ran(engine: str) -> tuple[list[int], list[int]]:
        d = Device(sample_file("sort.ptx"), engine=engine)
        keys = d.array(np.random.default_rng(1).integers(0, 1000, 128).astype(np.uint32))
        for level in range(7):
            for down in range(level + 1):
                d.launch(None, 1, 128, [keys, 128, 2 << level, 1 << (level - down)])
        return keys.get().tolist(), [result.cycles for result in d.launches]

    keys, cycles = ran("numba")
    assert keys == sorted(keys)
    assert ran("python") == (keys, cycles)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.int32, 2**40), (np.int32, 2**70), (np.int32, 2.7), (np.int32, np.nan), (np.uint8, -1), (np.uint8, 256),
        (np.float16, 1 + 2j), (np.float16, 70000.0), (np.float32, 1e300), (np.int32, "abc"), (np.int32, None),
        (np.uint64, -1), (np.complex64, 1e39), (np.bool_, 2), (np.dtype([("a", "u4")]), 3),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused(dtype: Any, value: Any) -> None:
    array = device().zeros(4, dtype)
    with pytest.raises(UsageError, match="a value that does not fit"):
        array.set(value)
    assert not array.get().view(np.uint8).any()


def test_values_that_fit() -> None:
    d = device()
    for dtype, value in (
        (np.int32, 3.0), (np.uint64, 2**64 - 1), (np.float32, np.inf), (np.float32, np.nan), (np.float16, 0.1),
        (np.complex64, 2), (np.complex64, 1 + 2j), (np.bool_, True), (np.int64, -(2**63)),
    ):  # fmt: skip
        array = d.zeros(2, dtype)
        array.set(value)
        assert np.array_equal(array.get(), np.full(2, value, dtype), equal_nan=True)
    one = np.array((7,), [("a", "u4")])
    array = d.zeros(2, one.dtype)
    array.set(one)
    assert array.get()["a"].tolist() == [7, 7]
    assert repr(array) == f"DeviceArray({array.name}, {one.dtype}, [2])"
