"""Launches from Python: what arrays hold afterwards, what a result tells, and what is refused in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binalloc
from binalloc import LaunchResult, Module, TextureArray, UsageError, launch_kernel
from tests.support.kits.cli import call, loom
from tests.support.paths import sample_file
from tests.support.ptx.axpy import BOTH, HEAD, STORE

N = 50


@pytest.fixture(scope="module")
def both() -> Module:
    return binalloc.import_ptx(BOTH, machine="gtx680").module


@pytest.fixture(scope="module")
def store() -> Module:
    return binalloc.import_ptx(HEAD + STORE, machine="gtx680").module


def ramp(dtype: str = "f4") -> Any:
    return np.arange(N, dtype=dtype)


def axpy(both: Module, x: Any, y: Any, a: object = 2.0, n: object = N, **options: Any) -> LaunchResult:
    return launch_kernel(both, 2, 32, [x, y, a, n], name="axpy", engine="python", **options)


def test_arrays_change_in_place_and_go_on_to_the_next_kernel(both: Module) -> None:
    x, y = ramp(), np.ones(N, "f4")
    first = axpy(both, x, y)
    assert np.array_equal(y, 2 * np.arange(N) + 1)
    assert np.array_equal(x, np.arange(N))
    launch_kernel(both, (2, 1), [32], (y, np.float32(0.5), np.int32(N)), name="scale", engine="python")
    second = axpy(both, x, y)
    assert np.array_equal(y, (2 * np.arange(N) + 1) / 2 + 2 * np.arange(N))
    assert first == second, "figures hang on the launch alone, here"
    assert first.stats["user_global_stores"] == 2


def test_a_result_tells_what_the_command_line_tells(both: Module, tmp_path: Path) -> None:
    result = axpy(both, ramp(), ramp())
    binalloc.save(both, tmp_path / "both.loom")
    (tmp_path / "axpy.toml").write_text(
        'kernel = "axpy"\ngrid = 2\nblock = 32\n'
        + "".join(
            f'[[argument]]\nname = "{name}"\nkind = "buffer"\ndtype = "f32"\nshape = {N}\ninit = "arange"\n'
            for name in "xy"
        )
        + '[[argument]]\nname = "a"\nkind = "scalar"\ndtype = "f32"\nvalue = 2.0\n'
        + f'[[argument]]\nname = "n"\nkind = "scalar"\ndtype = "u32"\nvalue = {N}\n'
    )
    told = call(
        "run", str(tmp_path / "both.loom"), "--launch", str(tmp_path / "axpy.toml"), "--engine", "python", "--json"
    ).json
    assert (result.kernel, result.machine, result.cycles) == ("axpy", told["machine"], told["cycles"])
    assert (result.occupancy, result.achieved_occupancy) == (told["occupancy"], told["achieved_occupancy"])
    assert result.blocks_per_sm == told["blocks_per_sm"]
    assert (result.grid, result.block, result.scheduler) == ((2, 1, 1), (32, 1, 1), "lrr")
    assert (result.local_bytes, result.spill_bytes, result.shared_bytes, result.slots) == (0, 0, 0, 0)
    assert result.registers == both.function("axpy").info.registers


def test_a_path_will_do_and_a_machine_by_name(tmp_path: Path) -> None:
    (tmp_path / "both.ptx").write_text(BOTH)
    for machine in (None, "c2075"):
        y = np.zeros(N, "f4")
        made = launch_kernel(
            tmp_path / "both.ptx", 2, 32, [ramp(), y, 1, N], name="axpy", machine=machine, engine="python"
        )
        assert (made.machine, made.rescheduled) == (machine or "t4", False), "PTX is of its target's machine"
    made = launch_kernel(loom("callchain"), 1, 32, [np.zeros((32, 4), "f4"), np.zeros(32, "f4"), 32], engine="python")
    assert (made.machine, made.local_bytes, made.rescheduled) == ("gtx680", 48, False)


def test_a_binary_of_another_machine_is_scheduled_anew(both: Module) -> None:
    y = np.zeros(N, "f4")
    made = axpy(both, ramp(), y, machine="c2075")
    assert (made.machine, made.rescheduled) == ("c2075", True)
    assert np.array_equal(y, 2 * np.arange(N))
    assert both.function("axpy").info.machine == "gtx680", "the module itself is as it was"


def test_memory_is_seen_as_it_lies(both: Module) -> None:
    table = np.arange(48, dtype="f4").reshape(6, 8)
    fortran = np.asfortranarray(table)
    launch_kernel(both, 1, 32, [fortran, 2.0, 6], name="scale", engine="python")
    expected = table.copy()
    expected[:, 0] *= 2
    assert np.array_equal(fortran, expected), "six elements are its first column"
    whole = np.arange(100, dtype="f4")
    launch_kernel(both, 1, 32, [whole[10:20], 2.0, 10], name="scale", engine="python")
    assert np.array_equal(np.flatnonzero(whole != np.arange(100)), np.arange(10, 20))
    with pytest.raises(
        UsageError, match=r"^args\[0\] \(parameter x\): the array is not contiguous; found strides \(8,\)"
    ):
        launch_kernel(both, 1, 32, [whole[::2], 2.0, 10], name="scale", engine="python")
    with pytest.raises(UsageError, match="not contiguous"):
        launch_kernel(both, 1, 32, [whole[::-1], 2.0, 10], name="scale", engine="python")


def test_one_array_twice_is_one_buffer_and_a_part_of_one_is_refused(both: Module) -> None:
    x = ramp()
    axpy(both, x, x)
    assert np.array_equal(x, 3 * np.arange(N))
    with pytest.raises(
        UsageError, match=r"^args\[1\] \(parameter y\): two arrays lie over one another in part; found memory of x"
    ):
        axpy(both, x, x[:40], n=40)


def test_an_array_that_is_read_only_may_be_read(both: Module) -> None:
    x, y = ramp(), ramp()
    x.flags.writeable = False
    axpy(both, x, y)
    y.flags.writeable = False
    before = y.copy()
    with pytest.raises(UsageError, match=r"^y: the kernel wrote to an array that is read-only\. Pass a copy"):
        axpy(both, x, y)
    assert np.array_equal(y, before)


def test_a_launch_that_fails_leaves_arrays_as_they_were(both: Module) -> None:
    x, y = ramp(), ramp()
    with pytest.raises(binalloc.KernelFault):
        axpy(both, x, y, n=N + 1)
    with pytest.raises(binalloc.LimitHit):
        axpy(both, x, y, max_cycles=10)
    assert np.array_equal(y, np.arange(N))


def test_numbers_structs_and_variables(store: Module) -> None:
    pair = np.array((7, 8, 9), [("a", "i4"), ("b", "i4"), ("c", "i4")])[()]
    total = np.array([5, 6], "u4")
    for value in (np.uint64(2**63 + 5), np.int64(-3), np.float64(0.1), 0.25, np.complex64(1 + 2j)):
        out = np.zeros(16, "u1")
        launch_kernel(store, 1, 1, [out, value, pair], symbols={"total": total}, engine="python")
        wide = np.float64(value) if isinstance(value, float) else value
        assert out[:8].tobytes() == wide.tobytes()
        assert out[8:].view("i4").tolist() == [8, 9]
    assert total.tolist() == [10, 6]
    fresh = launch_kernel(store, 1, 1, [np.zeros(2, "u8"), np.uint64(0), pair], engine="python")
    assert fresh.run.globals["total"].tolist() == [1, 0]


def test_a_texture(tmp_path: Path) -> None:
    """imageDenoising's image as its launch file has it."""
    path = sample_file("imageDenoising.ptx")
    launch = binalloc.load_launch(sample_file("imageDenoising.toml"), "test")
    module = binalloc.import_ptx(path.read_text(), machine="gtx680").module
    expected = binalloc.run(module, launch.kernel, launch, binalloc.load_machine("gtx680"))
    buffers, textures = launch.make_buffers(), launch.make_textures()
    args: list[object] = []
    for a in launch.arguments:
        if a.texture is not None:
            t = a.texture
            address = [str(mode) for mode in t.address]
            args.append(TextureArray(textures[a.name], t.channels, str(t.filter), address, t.normalized, str(t.read)))
        else:
            args.append(buffers.get(a.name, a.numpy_dtype.type(a.value)))
    made = launch_kernel(module, launch.grid, launch.block, args, name=launch.kernel)
    assert made.stats == expected.stats
    for name, data in buffers.items():
        assert np.array_equal(data, expected.buffers[name])


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"y": 4096}, r"^args\[1\] \(parameter y\): the argument does not fit its parameter; found int 4096; "),
        ({"y": 4096}, r"expected 8 bytes: an array for a pointer, .* Pass the array itself for a pointer, numpy.int64"),
        ({"y": [1.0]}, r"args\[1\] .*found list \[1.0\]"),
        ({"y": None}, r"args\[1\] .*found NoneType None"),
        ({"a": np.float64(2)}, r"args\[2\] \(parameter a\): .*found numpy.float64 2.0, 8 bytes; expected 4"),
        ({"a": np.float16(2)}, r"args\[2\] .*found numpy.float16 2.0, 2 bytes; expected 4 bytes"),
        ({"a": 1e300}, r"args\[2\] .*found float 1e\+300; expected 4 bytes"),
        ({"a": np.zeros(3)}, r"args\[2\] .*found an array of float64, whose pointer takes 8 bytes; expected 4 bytes"),
        ({"n": 2**32}, r"args\[3\] \(parameter n\): .*found int 4294967296; expected 4 bytes"),
        ({"n": True}, r"args\[3\] .*found bool True"),
        ({"n": "50"}, r"args\[3\] .*found str '50'"),
        ({"x": np.array([object()])}, r"args\[0\] .*\[0\]: not a pointer; found object; expected None, an array"),
        ({"x": np.array(["text"])}, r"args\[0\] .*elements mean nothing to a kernel"),
        ({"x": np.zeros(50, ">f4")}, r"args\[0\] .*found dtype >f4; expected .*little-endian"),
        ({"x": np.zeros(0, "f4")}, r"args\[0\] .*the array is empty"),
        ({"x": np.zeros(2**26 + 1, "f4")}, r"args\[0\].shape: .*too large"),
    ],
)  # fmt: skip
def test_what_does_not_fit_its_parameter_is_refused(both: Module, given: dict[str, Any], refusal: str) -> None:
    values = {"x": ramp(), "y": ramp(), "a": 2.0, "n": N} | given
    with pytest.raises(UsageError, match=refusal):
        launch_kernel(both, 2, 32, list(values.values()), name="axpy", engine="python")


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"args": []}, r"^args: axpy takes another number of arguments; found 0; expected 4: x \(8 bytes\), y"),
        ({"args": "text"}, "args is no list"),
        ({"args": np.zeros(4)}, "args is no list"),
        ({"grid": 0}, "^grid: "),
        ({"grid": (1, 1, 1, 1)}, "^grid: wrong rank"),
        ({"block": 2048}, "^block: "),
        ({"block": 1.5}, "^block: not an integer"),
        ({"dynamic_shared": -1}, "^dynamic_shared: "),
        ({"symbols": {"nope": np.zeros(1)}}, "nope: the binary has no such variable"),
        ({"name": "axpx"}, "no such kernel; found axpx; expected axpy, scale"),
        ({"name": None}, r"several kernels; found axpy, scale\. Name one: kernel"),
        ({"machine": "nope"}, "unknown machine"),
        ({"engine": "nope"}, "engine"),
    ],
)
def test_launches_that_cannot_be_are_refused(both: Module, options: dict[str, Any], refusal: str) -> None:
    given = {"grid": 2, "block": 32, "args": [ramp(), ramp(), 2.0, N], "name": "axpy", "engine": "python"} | options
    with pytest.raises(UsageError, match=refusal):
        launch_kernel(both, **given)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the file"):
        launch_kernel(tmp_path / "none.ptx", 1, 32)
    (tmp_path / "bad.ptx").write_bytes(b"\xff\xfe")
    with pytest.raises(binalloc.MalformedInput, match="UTF-16"):
        launch_kernel(tmp_path / "bad.ptx", 1, 32)
    (tmp_path / "bad.loom").write_bytes(b"nothing")
    with pytest.raises(binalloc.MalformedInput):
        launch_kernel(tmp_path / "bad.loom", 1, 32)
