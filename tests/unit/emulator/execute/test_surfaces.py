"""SUADDR in both engines: addresses, bounds, faults with coordinates; surfaces of launch files, and textures that read
another argument's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import KernelFault, MalformedInput
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import compare, parse_launch
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.textures import BOTH, GTX, coordinates, scheduled
from tests.support.ptx.interpreter.textures import Surface

THREADS = 64
STORE = """
.kernel k
    .param in 8
    .param s 8
    {coordinates}
    MOV R11, c[0][s]
    SUADDR.{op} P0, R12, R8, R11{third}
    @P0 STG.{width} [R12], R0
    EXIT
.end
"""
SIDES = {1: (11,), 2: (5, 11), 3: (3, 5, 11)}


def module_of(op: str, width: str = "U8", text: str = STORE) -> Any:
    third = ", R10" if "3D" in op else ""
    return scheduled(text.format(op=op, width=width, third=third, coordinates=coordinates(THREADS)))


def launch_of(shape: Any, dtype: str = "u8", **keys: Any) -> Any:
    return parse_launch({
        "kernel": "k", "grid": 1, "block": THREADS,
        "argument": [
            {"name": "in", "kind": "buffer", "dtype": "i32", "shape": [3, THREADS]},
            {"name": "s", "kind": "surface", "dtype": dtype, "shape": list(shape)} | keys,
        ],
    })  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("dimensions", SIDES)
@pytest.mark.parametrize("bound", ["CLAMP", "ZERO"])
@pytest.mark.parametrize("layers", [False, True])
@pytest.mark.parametrize("unit", ["", ".P"])
def test_stores(engine: str, dimensions: int, bound: str, layers: bool, unit: str) -> None:
    if layers and dimensions == 1:
        return
    rng = np.random.default_rng([dimensions, len(bound)])
    points = rng.integers(-3, 14, (3, THREADS)).astype(np.int32)
    points[:, :2] = -(2**31), 2**31 - 1
    mode = f"{dimensions}D.{bound}{unit}{'.A' if layers else ''}.16"
    points[0, 2:] *= 1 if unit else 2
    launch = launch_of(SIDES[dimensions], "u16", layers="array" if layers else "none")
    got = run(module_of(mode, "U16"), "k", launch, GTX, engine=engine, buffers={
        "in": points, "s": np.full(SIDES[dimensions], 999, np.uint16)}).buffers["s"]  # fmt: skip
    image = Surface(np.full((*SIDES[dimensions], 1), 999, np.uint16))
    where = [points[0].astype(np.int64) * (2 if unit else 1), *points[1:dimensions]]
    offset, inside = image.offsets(where, None, 2, bound.lower())
    memory = image.texels.reshape(-1)
    for t in range(THREADS):
        if inside[t]:
            memory[offset[t] // 2] = t
    if bound == "ZERO":
        np.testing.assert_array_equal(got, image.texels[..., 0])
    else:  # of lanes that are clamped to one place one has stored
        assert ((got == 999) == (image.texels[..., 0] == 999)).all()


FAULTS = [
    ("2D.TRAP.32", (5, 11), (0, 5), "4 bytes at x 0, y 5 of surface 1.*x below 44, y below 5"),
    ("2D.TRAP.32", (5, 11), (-4, 0), "x -4, y 0"), ("2D.TRAP.64", (5, 11), (40, 0), "8 bytes at x 40, y 0"),
    ("2D.TRAP.128", (5, 3), (0, 0), "16 bytes at x 0"), ("2D.CLAMP.128", (5, 3), (0, 0), "16 bytes at x 0"),
    ("1D.TRAP.32", (5, 11), (0, 0), "surface 1 of 2 dimensions.*expected one of 1 dimensions"),
    ("2D.TRAP.A.32", (5, 11), (0, 0), "surface 1 of 2 dimensions.*one of 2 dimensions, the last one its layers"),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize(("op", "shape", "point", "message"), FAULTS)
def test_faults_name_the_coordinates(engine: str, op: str, shape: Any, point: Any, message: str) -> None:
    points = np.zeros((3, THREADS), np.int32)
    points[:2, 7] = point
    with pytest.raises(KernelFault, match=f"(?s)thread.*surface access out of bounds.*{message}"):
        run(module_of(op, "32"), "k", launch_of(shape, "u32"), GTX, engine=engine,
            buffers={"in": points, "s": np.zeros(shape, np.uint32)})  # fmt: skip


@pytest.mark.parametrize("handle", ["0", "2", "77"])
def test_what_is_no_surface_faults(handle: str) -> None:
    text = STORE.replace("c[0][s]", handle)
    data = {"kernel": "k", "grid": 1, "block": THREADS, "argument": [
        {"name": "in", "kind": "buffer", "dtype": "i32", "shape": [3, THREADS]},
        {"name": "other", "kind": "surface", "dtype": "u8", "shape": 4},
        {"name": "s", "kind": "texture", "dtype": "u8", "shape": 4},
    ]}  # fmt: skip
    data["argument"][1]["name"], data["argument"][2]["name"] = "s", "t"  # type: ignore[index]
    text = text.replace("{coordinates}", ".param t 8\n    {coordinates}")
    wanted = {"2": None}.get(handle, f"handle {int(handle):#x}")
    module = module_of("1D.ZERO.8", "U8", text)
    if wanted is None:
        run(module, "k", parse_launch(data), GTX, engine="python")
        return
    with pytest.raises(KernelFault, match=f"(?s){wanted}.*the handle of a surface"):
        run(module, "k", parse_launch(data), GTX, engine="python")


def test_an_address_off_its_size_faults() -> None:
    points = np.ones((3, THREADS), np.int32)
    with pytest.raises(KernelFault, match="misaligned"):
        run(module_of("1D.TRAP.32", "32"), "k", launch_of((44,)), GTX, engine="python", buffers={
            "in": points, "s": np.zeros(44, np.uint8)})  # fmt: skip


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("later", [False, True])
def test_a_texture_reads_a_surface(engine: str, later: bool) -> None:
    """What was written in the same launch, too."""
    arguments: list[dict[str, Any]] = [
        {"name": "s", "kind": "surface", "dtype": "f32", "shape": 32, "init": "ones"},
        {"name": "t", "kind": "texture", "array": "s"},
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 32},
    ]
    if later:
        arguments.reverse()
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": arguments})
    assert launch.make_textures() == {}
    assert list(launch.make_buffers()) == ["out", "s"] if later else ["s", "out"]
    got = run(schedule(assemble(BOTH), GTX), "k", launch, GTX, engine=engine).buffers
    assert got["s"].tolist() == got["out"].tolist() == list(range(32))
    changed = {**got, "s": got["s"] + 1}
    assert [d.name for d in compare(launch, got, changed)] == ["s"]


def test_a_texture_reads_a_buffer() -> None:
    text = BOTH.replace("SUADDR.1D.TRAP.32 R12, R8, R11", "IMAD.WIDE R12, R0, 4, c[0][s]")
    text = text.replace("MOV R11, c[0][s]", "MOV R30, c[0][s]\n    MOV R31, c[0][s+4]")
    text = text.replace("IMAD.WIDE R12, R0, 4, c[0][s]", "IMAD.WIDE R12, R0, 4, R30")
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": [
        {"name": "s", "kind": "buffer", "dtype": "f32", "shape": 40},
        {"name": "t", "kind": "texture", "array": "s", "shape": 32},
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 32},
    ]})  # fmt: skip
    got = run(schedule(assemble(text), GTX), "k", launch, GTX, engine="python").buffers
    assert got["out"].tolist() == list(range(32))


def test_a_size_changes_what_a_texture_reads() -> None:
    data = {"kernel": "k", "grid": 1, "block": 32, "argument": [
        {"name": "s", "kind": "surface", "dtype": "u8", "shape": [4, 8, 4], "channels": 4},
        {"name": "t", "kind": "texture", "array": "s", "read": "normalized_float", "filter": "linear"},
    ], "sizes": {"test": {"argument": {"s": {"shape": [2, 2, 4]}}}}}  # fmt: skip
    for size, sides in (("full", (4, 8)), ("test", (2, 2))):
        texture = parse_launch(data, size=size).argument("t").texture
        assert texture is not None
        assert (texture.sides, texture.channels, texture.array) == (sides, 4, "s")


BAD = [
    ([{"name": "s", "kind": "surface", "dtype": "f64", "shape": 4}], "dtype"),
    ([{"name": "s", "kind": "surface", "dtype": "u8", "shape": 4, "filter": "linear"}], "unknown key"),
    ([{"name": "s", "kind": "surface", "dtype": "u8", "shape": [4, 3], "channels": 3}], "three channels"),
    ([{"name": "s", "kind": "surface", "dtype": "u8", "shape": [7, 4, 4], "layers": "cube"}], "not the shape of cubes"),
    ([{"name": "s", "kind": "surface", "dtype": "u8", "shape": 4, "compare": "fuzzy"}], "compare"),
    ([{"name": "t", "kind": "texture", "array": "s"}], "no such buffer or surface"),
    ([{"name": "t", "kind": "texture", "array": "t"}], "no such buffer or surface"),
    ([{"name": "b", "kind": "buffer", "dtype": "f64", "shape": 4}, {"name": "t", "kind": "texture", "array": "b"}],
     "dtype"),
    ([{"name": "b", "kind": "buffer", "dtype": "u8", "shape": 4},
      {"name": "t", "kind": "texture", "array": "b", "shape": 5}],
     "larger than what it reads.*5 bytes.*at most the 4 of b"),
    ([{"name": "b", "kind": "buffer", "dtype": "u8", "shape": 4},
      {"name": "t", "kind": "texture", "array": "b", "init": "ones"}], "no contents of its own"),
    ([{"name": "b", "kind": "buffer", "dtype": "u8", "shape": 4},
      {"name": "t", "kind": "texture", "array": "b", "normalized": True, "levels": 2}], "contents of its own"),
    ([{"name": "b", "kind": "buffer", "dtype": "u8", "shape": 4},
      {"name": "t", "kind": "texture", "array": 7}], "array"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_surfaces_that_there_are_not(arguments: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(MalformedInput, match=f"(?s){message}"):
        parse_launch({"kernel": "k", "grid": 1, "block": 1, "argument": arguments})
