"""From Python: surfaces, textures of them, mipmaps, and how large the device runtime's memories are; contents that
somebody gives a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc import (
    Device,
    Module,
    Pointer,
    SurfaceArray,
    TextureArray,
    UsageError,
    assemble,
    import_ptx,
    launch_kernel,
    load_machine,
    load_program,
    run,
    run_program,
    schedule,
)
from binalloc.launch.file import parse_launch
from binalloc.testing.baseline import Regression
from binalloc.testing.emulator import Emulator
from tests.support.kits.emulator.textures import BOTH
from tests.support.oracles.emulator.pyramid import pyramid
from tests.support.paths import ROOT, SAMPLES

GTX = load_machine("gtx680")
LEVEL = """
.kernel k
    .param tex 8
    .param out 8
    .param level 4
    S2R R0, SR_TID.X
    I2F.F32.S32 R8, R0
    FMUL R8, R8, 0.125
    FADD R8, R8, 0.0625
    MOV R17, c[0][level]
    MOV R16, c[0][tex]
    TEX.1D.LL R12, R8, R16
    MOV R4, c[0][out]
    MOV R5, c[0][out+4]
    IMAD.WIDE R4, R0, 4, R4
    STG [R4], R12
    EXIT
.end
"""
ZEROS, RAMP = np.zeros(32, "f4"), np.arange(32, dtype="f4")


def both() -> Module:
    return schedule(assemble(BOTH), GTX)


def launched(args: list[Any], **options: Any) -> Any:
    return launch_kernel(both(), 1, 32, args, engine="python", **options)


# Surfaces.


def test_a_surface_changes_in_place_and_a_texture_of_it_sees_that() -> None:
    pixels, out = np.ones(32, "f4"), ZEROS.copy()
    surface = SurfaceArray(pixels)
    result = launched([surface, TextureArray(surface), out])
    assert pixels.tolist() == out.tolist() == RAMP.tolist()
    assert result.arrays["s"] is pixels
    copied = np.full(32, 5, "f4")
    launched([SurfaceArray(pixels[::-1].copy()), TextureArray(copied), out])
    assert (out.tolist(), copied.tolist()) == ([5] * 32, [5] * 32)


def test_it_is_the_launch_of_the_file_that_says_the_same() -> None:
    surface = SurfaceArray(ZEROS.copy())
    mine = launched([surface, TextureArray(surface, filter="linear"), ZEROS.copy()])
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": [
        {"name": "s", "kind": "surface", "dtype": "f32", "shape": 32},
        {"name": "t", "kind": "texture", "array": "s", "filter": "linear"},
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 32},
    ]})  # fmt: skip
    other = run(both(), "k", launch, GTX, engine="python")
    assert (mine.cycles, mine.stats) == (other.cycles, other.stats)


def test_one_surface_has_one_memory_for_all_its_handles() -> None:
    text = BOTH.replace("    .param t 8\n", "    .param t 8\n    .param again 8\n").replace("c[0][s]", "c[0][again]")
    pixels, out = np.ones(32, "f4"), ZEROS.copy()
    surface = SurfaceArray(pixels)
    module = schedule(assemble(text), GTX)
    launch_kernel(module, 1, 32, [surface, TextureArray(surface), surface, out], engine="python")
    assert pixels.tolist() == out.tolist() == RAMP.tolist()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([SurfaceArray(RAMP.astype("f8")), TextureArray(RAMP), ZEROS], r"args\[0\]\.dtype: not a known value; found"),
        ([SurfaceArray(RAMP[::2]), TextureArray(RAMP), ZEROS], r"args\[0\] .*: the surface's array is not in C"),
        ([SurfaceArray(np.zeros((4, 8), "f4", order="F")), TextureArray(RAMP), ZEROS], "not in C order"),
        ([SurfaceArray(RAMP, channels=4), TextureArray(RAMP), ZEROS], r"args\[0\]\.shape: not a texture's shape"),
        ([SurfaceArray("x"), TextureArray(RAMP), ZEROS], r"args\[0\] \(parameter s\): not an array; found 'x'"),  # type: ignore[arg-type]
        ([SurfaceArray(RAMP), TextureArray(SurfaceArray(RAMP)), ZEROS],
         r"args\[1\] \(parameter t\): the texture reads a surface that is no argument of the launch"),
        ([SurfaceArray(RAMP), TextureArray(ZEROS), RAMP], r"args\[2\] .*of a surface is another argument's, too"),
        ([SurfaceArray(RAMP), SurfaceArray(RAMP), ZEROS], "for two handles pass one SurfaceArray twice"),
        ([SurfaceArray(RAMP), TextureArray(RAMP), Pointer(RAMP, 4)], "a pointer to a surface"),
    ],
)  # fmt: skip
def test_what_is_no_surface_is_refused(args: list[Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        launched(args)


def test_surfaces_stay_on_a_device() -> None:
    device = Device(both(), engine="python")
    surface, out = device.surface(SurfaceArray(np.ones(32, "f4"))), device.zeros(32)
    texture = device.texture(TextureArray(surface))
    device.launch(None, 1, 32, [surface, texture, out])
    assert surface.get().tolist() == out.get().tolist() == RAMP.tolist()
    surface.set(3)
    surface.flat[4] = 9
    assert surface.get()[3:6].tolist() == [3, 9, 3]
    assert repr(surface) == "DeviceSurface(array0, float32, [32])"
    read = device.array(np.full((4, 8), 7, "f4"))
    linear = device.texture(TextureArray(read))
    assert device.texture(TextureArray(np.zeros(4, "f4"))).handle == 4
    flat = device.array(np.full(32, 7, "f4"))
    device.launch(None, 1, 32, [surface, device.texture(TextureArray(flat)), out])
    assert out.get().tolist() == [7] * 32
    flat.set(8)
    device.launch(None, 1, 32, [surface, 5 * np.uint64(1), out])
    assert out.get().tolist() == [8] * 32
    with pytest.raises(UsageError, match="the texture has no texels of its own"):
        linear.set(np.zeros((4, 8), "f4"))
    other = Device(both(), engine="python")
    with pytest.raises(UsageError, match="one of another device"):
        other.launch(None, 1, 32, [surface, texture, out])
    with pytest.raises(UsageError, match="what lies on another device"):
        other.texture(TextureArray(surface))
    with pytest.raises(UsageError, match=r"args\[0\].*a surface of the host.*texture or surface"):
        device.launch(None, 1, 32, [SurfaceArray(RAMP), texture, out])
    with pytest.raises(UsageError, match=r"surface\.dtype: not a known value"):
        device.surface(SurfaceArray(np.zeros(3)))
    found = device.pointee(flat.address + 4)
    assert found is not None
    assert (found[0].name, found[1]) == (flat.name, 4)
    assert device.pointee(device._session.memory.addresses["array0"]) is None, "a surface has no address"


def test_a_test_compares_surfaces_too(tmp_path: Any) -> None:
    emulator = Emulator(tmp_path / "test_x.py", "test_x", update=False, engine="python", loaded={})
    pixels, out = np.ones(32, "f4"), ZEROS.copy()
    surface = SurfaceArray(pixels)
    result = emulator.launch(both(), 1, 32, [surface, TextureArray(surface), out])
    emulator.same(result, pixels, RAMP)
    device = emulator.device(both())
    kept = device.surface(SurfaceArray(np.ones(32, "f4")))
    result = device.launch(None, 1, 32, [kept, device.texture(TextureArray(kept)), device.zeros(32)])
    emulator.same(result, kept, RAMP)
    with pytest.raises(Regression, match=r"array0\[3\]"):
        emulator.same(result, kept, np.where(RAMP == 3, 4, RAMP).astype("f4"))


# Mipmaps.


def levelled(level: float, count: int, make: Any = None, **options: Any) -> list[float]:
    module, out = schedule(assemble(LEVEL), GTX), np.zeros(8, "f4")
    texture = TextureArray(np.arange(8, dtype="f4"), normalized=True, **options)
    launch_kernel(module, 1, 8, [texture, out, float(level)], engine="python")
    device = Device(module, engine="python")
    kept = device.zeros(8)
    device.launch(None, 1, 8, [device.texture(texture), kept, float(level)])
    assert kept.get().tolist() == out.tolist()
    return [float(v) for v in out[:: 8 // count]]


def test_levels_of_mipmaps() -> None:
    image = np.arange(8, dtype="f4")
    for n, texels in enumerate([image, *pyramid(image[:, None], 4)]):
        assert levelled(n, 8 >> n, levels=4) == texels.reshape(-1).tolist()
    given = [np.array([10, 20, 30, 40], "f4"), np.array([1, 2], "f4")]
    assert levelled(1, 4, levels=4, level_data=given) == [10, 20, 30, 40]
    assert levelled(2, 2, levels=4, level_data=given) == [1, 2]
    assert levelled(3, 1, levels=4, level_data=given) == [1.5]
    assert levelled(0, 4, levels=2, bias=1.0, level_data=given[:1]) == [10, 20, 30, 40]
    assert levelled(0, 4, levels=2, clamp=(1, 2), level_data=given[:1]) == [10, 20, 30, 40]
    assert levelled(0.5, 4, levels=2, level_filter="linear", level_data=given[:1])[0] == 5.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bias": 1.0}, r"\.bias: only a mipmap has this key"), ({"levels": 5}, r"\.levels: out of range"),
        ({"levels": 2, "normalized": False}, "coordinates of a mipmap are normalized"),
        ({"levels": 2, "level_data": [np.zeros(4), np.zeros(2)]}, r"level_data\[0\]: a level of another dtype"),
        ({"levels": 2, "level_data": [np.zeros(4, "f4"), np.zeros(2, "f4")]}, "more contents than levels"),
        ({"levels": 2, "level_data": [np.zeros(3, "f4")]}, "level_init.*wrong number of values"),
        ({"levels": 3, "level_data": [np.zeros((1, 4), "f4")]}, r"level_data\[0\]: a level of another shape"),
        ({"level_data": [np.zeros(4, "f4")]}, "only a mipmap has this key"),
        ({"levels": 2, "clamp": 3}, "not two levels"),
        ({"levels": 2, "level_data": ["x"]}, "not an array"),
    ],
)  # fmt: skip
def test_levels_that_are_none(options: dict[str, Any], message: str) -> None:
    texture = TextureArray(np.arange(8, dtype="f4"), **({"normalized": True} | options))
    module = schedule(assemble(LEVEL), GTX)
    with pytest.raises(UsageError, match=message):
        launch_kernel(module, 1, 8, [texture, np.zeros(8, "f4"), 0.0], engine="python")
    with pytest.raises(UsageError, match=message):
        Device(module, engine="python").texture(texture)


# The device runtime's memories.


def runtime() -> Module:
    text = (ROOT / "tests/data/ptx/device_runtime.ptx").read_text()
    return import_ptx(text, "device_runtime.ptx", machine="gtx680").module


def test_the_heap_and_what_is_printed_have_their_sizes() -> None:
    module = runtime()
    for size, blocks in ((16384, 16384 // 16 // 64), (32768, 32768 // 16 // 64)):
        out = np.zeros(32, "i4")
        result = launch_kernel(module, 1, 1, [out, 1000], name="exhaust", heap=size)
        assert result.run.heap is not None
        assert (result.run.heap.size, abs(int(out[0]) - blocks) <= 1) == (size, True)
        device = Device(module, heap=np.int64(size))  # type: ignore[arg-type]
        kept = device.zeros(32, np.int32)
        device.launch("exhaust", 1, 1, [kept, 1000])
        assert kept.get()[0] == out[0]
    lost = launch_kernel(module, 2, 32, [np.array([64], "i4"), 0.25], name="talk", printf_buffer=1024)
    assert lost.run.printed.lost > 0
    device = Device(module, printf_buffer=1024)
    n = device.array(np.array([64], "i4"))
    assert device.launch("talk", 2, 32, [n, 0.25]).run.printed.lost == lost.run.printed.lost
    whole = launch_kernel(module, 2, 32, [np.array([64], "i4"), 0.25], name="talk")
    assert whole.run.printed.lost == 0


@pytest.mark.parametrize("key", ["heap", "printf_buffer"])
@pytest.mark.parametrize("value", [0, 1 << 40, 2048.0, True])
def test_sizes_that_are_none(key: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{key}: (out of range|not an integer)"):
        launched([SurfaceArray(RAMP.copy()), TextureArray(RAMP), ZEROS.copy()], **{key: value})
    with pytest.raises(UsageError, match=f"{key}: (out of range|not an integer)"):
        Device(both(), engine="python", **{key: value})


# Contents in place of a launch's own.


def test_contents_that_are_given_are_those_of_the_launch() -> None:
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": [
        {"name": "s", "kind": "surface", "dtype": "f32", "shape": 32},
        {"name": "t", "kind": "texture", "dtype": "f32", "shape": 32},
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 32},
    ]}, path="l.toml")  # fmt: skip
    good, texels = launch.make_buffers(), {"t": RAMP}
    assert run(both(), "k", launch, GTX, engine="python", buffers=good, textures=texels).buffers["out"][3] == 3
    for buffers, textures, message in (
        ({}, texels, r"l.toml: buffers: no contents for the argument s; .* Begin with launch.make_buffers\(\)"),
        ({"s": RAMP}, texels, "buffers: no contents for the argument out; found s; expected s, out"),
        (good | {"outt": RAMP}, texels, "contents for an unknown argument; found 'outt'; expected s, out"),
        (good | {"out": RAMP[:5]}, texels, r"buffers\['out'\]: contents of another size; found float32 \[5\], 20"),
        (good, {}, "textures: no contents for the argument t"), (good, {"t": [1, 2]}, "contents of another size"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            run(both(), "k", launch, GTX, engine="python", buffers=buffers, textures=textures)  # type: ignore[arg-type]


def test_so_are_those_of_a_program() -> None:
    program = load_program(SAMPLES / "programs/lu.toml", "test")
    module = import_ptx((SAMPLES / "programs/lu.ptx").read_text(), "lu.ptx", machine="gtx680").module
    for buffers, message in (({}, "no contents for the argument m"), ({"m": RAMP}, "contents of another size")):
        with pytest.raises(UsageError, match=message):
            run_program(module, program, "gtx680", buffers=buffers)
