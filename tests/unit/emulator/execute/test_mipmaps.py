"""TEX with levels and offsets in both engines against the PTX interpreter's textures; levels of launch files; TXQ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.errors import KernelFault, MalformedInput
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import parse_launch
from binalloc.launch.textures import upper_levels
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.textures import GTX, fetch_text, run_fetch
from tests.support.oracles.emulator.pyramid import pyramid
from tests.support.ptx.interpreter.textures import Texture

THREADS = 64
LEVELS = """LDG R17, [R2+768]
    LDG R18, [R2+1024]
    LOP3 R16, R18, c[0][tex], RZ, 0xfc"""
"""Behind the three coordinates a level, and offsets, which stand in the handle's word."""
SIDES = {1: (13,), 2: (6, 13), 3: (5, 6, 9)}
KEYS = [
    {}, {"filter": "linear"}, {"level_filter": "linear"}, {"filter": "linear", "level_filter": "linear", "bias": 0.3},
    {"level_filter": "linear", "clamp": [0.5, 1.25], "bias": -0.125}, {"filter": "linear", "address": "mirror"},
]  # fmt: skip


def fetched(op: str, image: Any, rows: Any, engine: str, **keys: Any) -> Result:
    """rows: x, y, z, level and offsets of the threads."""
    return run_fetch(fetch_text(op, THREADS, LEVELS, "R16"), image, rows, engine, normalized=True, **keys)


def results(op: str, image: Any, rows: Any, engine: str, **keys: Any) -> Any:
    """The four of each thread, as patterns."""
    return fetched(op, image, rows, engine, **keys).buffers["out"]


@pytest.mark.rotates
@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("dimensions", SIDES)
@pytest.mark.parametrize("number", range(len(KEYS)))
def test_levels_and_offsets(engine: str, dimensions: int, number: int) -> None:
    rng, keys = np.random.default_rng([dimensions, number]), KEYS[number]
    image = rng.normal(0, 5, SIDES[dimensions]).astype(np.float32)
    rows = np.zeros((5, THREADS), np.uint32)
    points = rng.uniform(-0.5, 1.5, (3, THREADS)).astype(np.float32)
    level = np.round(rng.uniform(-1, 4, THREADS) * 512).astype(np.float32) / np.float32(512)
    level[:4] = np.nan, np.inf, -np.inf, -0.0
    shifts = rng.integers(-8, 8, (3, THREADS))
    rows[:3], rows[3] = points.view(np.uint32), level.view(np.uint32)
    rows[4] = sum((shifts[k] & 15) << (20 + 4 * k) for k in range(3))
    got = results(f"TEX.{dimensions}D.LL.AOFFI", image, rows, engine, levels=3, **keys)
    texels = image[..., None]
    texture = Texture(
        texels, keys.get("filter") == "linear", True, (keys.get("address", "clamp"),), levels=pyramid(texels, 3),
        blend=keys.get("level_filter") == "linear", bias=keys.get("bias", 0.0), clamp=tuple(keys.get("clamp", (0, 28))),
    )  # fmt: skip
    want = texture.fetch(list(points[:dimensions]), "f32", detail=level, offset=list(shifts[:dimensions]))
    np.testing.assert_array_equal(got.view(np.float32), np.stack(want, axis=1))


def test_weights_between_levels_are_eight_bits() -> None:
    """A weight that rounds to a whole level is that level: the infinity of the one below does not count."""
    image = np.array([256.0, 256.0, np.inf, np.inf], np.float32)
    rows = np.zeros((5, THREADS), np.uint32)
    x, level = np.zeros(THREADS, np.float32), np.zeros(THREADS, np.float32)
    x[:6] = 0.1, 0.1, 0.1, 0.9, 0.9, 0.1
    level[:6] = 1 / 256, 1 / 512, 1 / 513, 0, 1 - 1 / 513, 1 - 1 / 511
    rows[0], rows[3] = x.view(np.uint32), level.view(np.uint32)
    keys = {"levels": 2, "level_filter": "linear", "level_init": [{"kind": "arange"}]}
    got = results("TEX.1D.LL", image, rows, "python", **keys)[:6, 0].view(np.float32)
    assert got.tolist() == [255.0, 255.0, 256.0, np.inf, 1.0, 1.0]


def test_what_reads_no_level_reads_the_first() -> None:
    image = np.arange(13, dtype=np.float32)
    rows = np.zeros((5, THREADS), np.uint32)
    got = results("TEX.1D", image, rows, "python", levels=3, bias=2.0, clamp=[1, 2])
    assert (got[:, 0] == 0).all()


def test_levels_fill_passes_of_the_texture_unit() -> None:
    """Two levels are blended out of more lines than one has."""
    image = np.zeros((64, 64), np.float32)
    rows = np.zeros((5, THREADS), np.uint32)
    misses = {}
    for level in (0.0, 0.5):
        rows[3] = np.float32(level).view(np.uint32)
        stats = fetched("TEX.2D.LL", image, rows, "python", levels=3, level_filter="linear").stats
        assert stats["texture_fetches"] == 2
        misses[level] = stats["l1_texture_misses"] - stats["l1_merges"]
    assert misses[0.5] > misses[0.0]


@pytest.mark.parametrize("dtype", ["f32", "u8", "i16"])
@pytest.mark.parametrize("layers", ["none", "array"])
@pytest.mark.parametrize("channels", [1, 2])
def test_levels_are_made_of_the_ones_below(dtype: str, layers: str, channels: int) -> None:
    shape = [3, 7, 12] + ([2] if channels > 1 else [])
    data = {"kernel": "k", "grid": 1, "block": 1, "argument": [
        {"name": "t", "kind": "texture", "dtype": dtype, "shape": shape, "normalized": True, "levels": 4,
         "channels": channels, "layers": layers, "init": {"kind": "random", "distribution": "integers", "high": 100}},
    ]}  # fmt: skip
    launch = parse_launch(data)
    first = launch.make_textures()["t"]
    upper = upper_levels(launch.argument("t"), first)
    texels = first if channels > 1 else first[..., None]
    for got, want in zip(upper, pyramid(texels, 4, layers != "none"), strict=True):
        np.testing.assert_array_equal(got.reshape(want.shape), want)
    count = upper[1].size
    data["argument"][0]["level_init"] = ["ones", {"values": list(range(count))}]  # type: ignore[index]
    launch = parse_launch(data)
    given = upper_levels(launch.argument("t"), first, launch.contents_of)
    assert (given[0] == 1).all()
    np.testing.assert_array_equal(given[1].reshape(-1), np.arange(count))
    last = pyramid(given[1] if channels > 1 else given[1][..., None], 2, layers != "none")[0]
    np.testing.assert_array_equal(given[2].reshape(last.shape), last)
    assert [level.shape for level in given] == [level.shape for level in upper]


MIPMAP = {"dtype": "f32", "shape": [8, 8], "normalized": True, "levels": 3}
BAD = [
    ({"levels": 5}, "levels.*from 1 to 4"), ({"levels": 0}, "levels"), ({"levels": "all"}, "levels"),
    ({"normalized": False}, "coordinates of a mipmap are normalized"),
    ({"levels": 1, "bias": 1.0}, "only a mipmap has this key"),
    ({"levels": 1, "level_init": ["ones"]}, "only a mipmap has this key"),
    ({"level_init": ["ones"] * 3}, "more contents than levels.*at most 2"),
    ({"level_init": "ones"}, "a list, from level"),
    ({"level_init": ["some"]}, r"level_init\[0\]"), ({"level_filter": "cubic"}, "level_filter"),
    ({"dtype": "u32", "level_filter": "linear"}, "only floats can be interpolated"),
    ({"clamp": [1]}, "not two levels"), ({"clamp": [2, 1]}, "not a range of levels"),
    ({"clamp": [-1, 1]}, "not a range"),
    ({"bias": "much"}, "bias"), ({"bias": 1e39}, "does not fit its type"), ({"clamp": [0, 1e39]}, "does not fit"),
    ({"shape": [1], "levels": 2}, "levels"),
]  # fmt: skip


@pytest.mark.parametrize(("keys", "message"), BAD)
def test_mipmaps_that_cuda_does_not_have_are_refused(keys: dict[str, Any], message: str) -> None:
    entry = {"name": "t", "kind": "texture"} | MIPMAP | keys
    with pytest.raises(MalformedInput, match=f"(?s){message}"):
        parse_launch({"kernel": "k", "grid": 1, "block": 1, "argument": [entry]})


QUERY = """
.kernel k
    .param out 8
    .param tex 8
    MOV R0, {handle}
    TXQ.{query} R1, R0
    MOV R4, c[0][out]
    MOV R5, c[0][out+4]
    STG [R4], R1
    EXIT
.end
"""


def asked(query: str, handle: str = "c[0][tex]") -> int:
    module = schedule(assemble(QUERY.format(query=query, handle=handle)), GTX)
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": [
        {"name": "out", "kind": "buffer", "dtype": "u32", "shape": 1},
        {"name": "tex", "kind": "texture", "dtype": "i16", "shape": [5, 7, 9, 4], "channels": 4, "layers": "array",
         "normalized": True, "levels": 3, "read": "normalized_float"},
    ]})  # fmt: skip
    return int(run(module, "k", launch, GTX, engine="python").buffers["out"][0])


def test_queries() -> None:
    answers = {"WIDTH": 9, "HEIGHT": 7, "DEPTH": 1, "LAYERS": 5, "LEVELS": 3, "TYPE": 0x10D1, "ORDER": 0x10B5,
               "NORMALIZED": 1, "KIND": 1}  # fmt: skip
    assert {query: asked(query) for query in answers} == answers
    assert asked("KIND", "0") == asked("KIND", "9") == 0
    with pytest.raises(KernelFault, match=r"no such texture.*handle 0x9"):
        asked("WIDTH", "9")
