"""TEX of layers, of cubes' faces, and gathers against a second implementation in NumPy; what a launch says of layers;
the timer in nanoseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc import TextureArray, launch_kernel
from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault, MalformedInput
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble
from binalloc.launch.file import parse_launch
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.textures import fetch_text, run_fetch, scheduled
from tests.support.ptx.interpreter.textures import Texture

GTX = load_machine("gtx680")
THREADS = 96
RNG = np.random.default_rng(3)


def fetched(op: str, image: Any, rows: list[Any], engine: str = "python", **keys: Any) -> Any:
    """The four results of each thread, as patterns; rows: coordinates of the threads, x first."""
    points = np.zeros((3, THREADS), np.uint32)
    for k, row in enumerate(rows):
        points[k] = row.view(np.uint32)
    return run_fetch(fetch_text(op, THREADS), image, points, engine, **keys).buffers["out"]


def places(n: int) -> Any:
    return RNG.uniform(-1.5, n + 1.5, THREADS).astype(np.float32)


def numbers(n: int) -> Any:
    return RNG.integers(0, n, THREADS).astype(np.uint32)


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("address", ["clamp", "border"])
def test_layers(engine: str, axes: int, linear: bool, address: str) -> None:
    image = RNG.random((4, *(5, 7)[2 - axes :]), np.float32)
    where, layer = [places(7), places(5)][:axes], numbers(6)
    layer[0] = 0xFFFFFFFF
    found = fetched(f"TEX.{axes + 1}D.A", image, [*where, layer], engine, layers="array", address=address,
                    filter="linear" if linear else "point")  # fmt: skip
    texture = Texture(image[..., None], linear=linear, address=(address,), layers="array")
    wanted = texture.fetch(where, "f32", layer.astype(np.int64))
    np.testing.assert_array_equal(found, np.stack(wanted, axis=1).view(np.uint32))


def test_faces_of_cubes() -> None:
    """8 times the cube and the face; both are limited, each to its own last one."""
    image = np.arange(2 * 6 * 3 * 3, dtype=np.int32).reshape(12, 3, 3)
    where = [np.full(THREADS, v, np.float32) for v in (0.4, 0.9)]
    packed = np.arange(THREADS, dtype=np.uint32) // 2
    found = fetched("TEX.3D.CUBE", image, [*where, packed], layers="cube", normalized=True)
    cube, face = np.minimum(packed // 8, 1), np.minimum(packed % 8, 5)
    np.testing.assert_array_equal(found[:, 0], 9 * (6 * cube + face) + 7)


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize(("channel", "dtype", "read"), [("R", "f4", "element"), ("G", "u1", "normalized_float"),
                                                         ("B", "i2", "element"), ("A", "f4", "element")])  # fmt: skip
@pytest.mark.parametrize("layers", ["none", "array"])
def test_gathers(engine: str, channel: str, dtype: str, read: str, layers: str) -> None:
    image = RNG.integers(0, 200, (*((3,) if layers == "array" else ()), 4, 5, 2)).astype(dtype)
    where, layer = [places(5), places(4)], numbers(3)
    op = "TEX.3D.A" if layers == "array" else "TEX.2D"
    found = fetched(f"{op}.G{channel}", image, [*where, layer], engine, layers=layers, channels=2, read=read,
                    address="border")  # fmt: skip
    texture = Texture(image, address=("border",), as_float=read != "element", layers=layers)
    result = "f32" if dtype == "f4" or read != "element" else "s32"
    given = layer.astype(np.int64) if layers == "array" else None
    wanted = texture.fetch(where, result, given, "RGBA".index(channel))
    np.testing.assert_array_equal(found, np.stack(wanted, axis=1).view(np.uint32))


@pytest.mark.parametrize(
    ("op", "layers", "shape", "said"),
    [
        ("TEX.2D", "array", (4, 4), "of 2 dimensions, the last one its layers"),
        ("TEX.2D.A", "none", (4, 4), "of 2 dimensions; expected one of 2 dimensions, the last one its layers"),
        ("TEX.3D.CUBE", "array", (6, 4, 4), 'layers = "array"'),
        ("TEX.2D.A.GR", "array", (6, 4), "to gather from"),
        ("TEX.3D.GR", "none", (6, 4, 4), "to gather from"),
    ],
)
def test_what_the_launch_does_not_say_faults(op: str, layers: str, shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(KernelFault, match="no such texture") as caught:
        fetched(op, np.zeros(shape, np.float32), [places(4)], layers=layers)
    assert said in str(caught.value)


def test_the_instruction_is_written_as_it_is_read() -> None:
    text = fetch_text("TEX.3D.A.GB", THREADS) + fetch_text("TEX.3D.CUBE.R", THREADS, kernel="l")
    written = disassemble(assemble(text))
    assert "TEX.3D.A.GB R12, R8, R11, R10" in written
    assert "TEX.3D.R.CUBE R12, R8, R11, R10" in written
    assert [fn.instrs for fn in assemble(written)] == [fn.instrs for fn in assemble(text)]


SHAPES = [
    ({"shape": [4], "layers": "array"}, "not the shape of a texture with layers"),
    ({"shape": [4, 4, 4], "layers": "cube", "normalized": True}, "not the shape of cubes"),
    ({"shape": [6, 4, 5], "layers": "cube", "normalized": True}, "not the shape of cubes"),
    ({"shape": [6, 4, 4], "layers": "cube"}, "coordinates on a cube's face are normalized"),
    ({"shape": [2049, 4], "layers": "array"}, "too many layers"),
    ({"shape": [4, 4], "layers": "some"}, "some"),
    ({"shape": [4, 4], "layers": "array", "address": ["clamp", "clamp"]}, "not one mode per axis"),
    ({"shape": [2, 3, 70000], "layers": "array"}, "a side is too long"),
]


@pytest.mark.parametrize(("keys", "message"), SHAPES)
def test_shapes_that_layers_do_not_have(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        parse_launch({"kernel": "k", "grid": 1, "block": 1,
                      "argument": [{"name": "t", "kind": "texture", "dtype": "f32"} | keys]})  # fmt: skip
    assert message in str(caught.value)


def test_from_python() -> None:
    assert TextureArray(np.zeros((2, 3), np.float32), layers="array").layers == "array"
    image, out = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros((THREADS, 4), np.float32)
    points = np.zeros((3, THREADS), np.uint32)
    points[1] = 2
    module = scheduled(fetch_text("TEX.2D.A", THREADS))
    launch_kernel(module, 1, THREADS, [points, out, TextureArray(image, layers="array")], machine="gtx680")
    assert (out[:, 0] == 8).all()


TIMER = """
.kernel k
    .param out 8
    MOV R4, c[0][out]
    MOV R5, c[0][out+4]
    S2R R0, SR_TID.X
    CS2R.64 R8, SR_CLOCKLO
    CS2R.64 R10, SR_TIMERLO
    S2R R12, SR_TIMERHI
    STG.128 [R4], R8
    STG [R4+16], R12
    EXIT
.end
"""


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("machine", ["gtx680", "c2075"])
def test_the_timer_counts_nanoseconds_of_the_core_clock(engine: str, machine: str) -> None:
    chip = load_machine(machine)
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 1,
                           "argument": [{"name": "out", "kind": "buffer", "dtype": "u32", "shape": 8}]})  # fmt: skip
    out = run(schedule(assemble(TIMER), chip), "k", launch, chip, engine=engine).buffers["out"]
    cycles, time = (int(out[k]) | int(out[k + 1]) << 32 for k in (0, 2))
    assert 0 < cycles < 10_000
    step = 1000 / chip.clock.core_mhz
    assert cycles * step - 1 < time <= (cycles + 40) * step
    assert out[4] == 0
