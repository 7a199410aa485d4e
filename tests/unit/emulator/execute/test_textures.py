"""TEX against NumPy: the CUDA programming guide's formulas ("Texture Fetching"), with ISA.md's choices where it leaves
some, in f64; every combination of dimension, filter, address mode, coordinate and element type, in both engines."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from binalloc.emulator.runs.run import Result, run
from binalloc.errors import KernelFault, UsageError
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import parse_launch
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.emulator.textures import GTX, HANDLE, fetch_launch, fetch_text, run_fetch, scheduled

SIDES = {1: (7,), 2: (5, 6), 3: (3, 4, 5)}
MODES = ("clamp", "border", "wrap", "mirror")
FORMATS = (
    ("f32", 1, "element"), ("f32", 4, "element"), ("u8", 4, "normalized_float"), ("i8", 2, "normalized_float"),
    ("u16", 1, "normalized_float"), ("i16", 2, "normalized_float"), ("u8", 2, "element"), ("i8", 1, "element"),
    ("u16", 4, "element"), ("i16", 1, "element"), ("u32", 1, "element"), ("i32", 4, "element"),
)  # fmt: skip
THREADS = 96


UNTOUCHED = "\n    ".join(f"MOV R{12 + n}, {77 + n}" for n in range(4))
"""What registers hold that the fetch does not write."""


def text_of(dimensions: int, integer: bool = False, written: str = "") -> str:
    modifiers = f"{dimensions}D" + (".S32" if integer else "") + (f".{written}" if written else "")
    return fetch_text(f"TEX.{modifiers}", THREADS, f"{HANDLE}\n    {UNTOUCHED}")


def fetch(
    image: np.ndarray[Any, Any], coordinates: Any, engine: str = "python", integer: bool = False, written: str = "",
    dimensions: int = 0, **keys: Any,
) -> Result:  # fmt: skip
    dims = dimensions or image.ndim - (keys.get("channels", 1) > 1)
    points = np.zeros((3, THREADS), np.uint32)
    given = np.asarray(coordinates)
    points[: len(given)] = given.astype(np.int64).astype(np.uint32) if integer else given.astype("f4").view(np.uint32)
    return run_fetch(text_of(dims, integer, written), image, points, engine, **keys)


def at_mode(index: np.ndarray[Any, Any], n: int, mode: str) -> np.ndarray[Any, Any]:
    """Texel indices inside, -1 for the border."""
    if mode == "clamp":
        return np.clip(index, 0, n - 1)
    if mode == "border":
        return np.where((index >= 0) & (index < n), index, -1)
    if mode == "wrap":
        return np.mod(index, n)
    period = np.concatenate([np.arange(n), np.arange(n)[::-1]])
    return period[np.mod(index, 2 * n)]


def oracle(
    image: np.ndarray[Any, Any], points: np.ndarray[Any, Any], *, channels: int, filter: str, address: Any,
    normalized: bool, read: str, integer: bool,
) -> np.ndarray[Any, Any]:  # fmt: skip
    """uint32 [threads, 4]. points: one row per axis, x first, f32 or integers."""
    texels = image.reshape(*(image.shape if channels > 1 else (*image.shape, 1)))
    as_float = image.dtype.kind == "f" or read != "element"
    if read != "element":
        scale = np.iinfo(image.dtype).max
        texels = np.maximum(texels / np.float64(scale), -1.0).astype(np.float32)
    sides = texels.shape[-2::-1]  # width, height, depth
    count = points.shape[1]
    linear = filter == "linear" and not integer
    first, weight = [], []
    for x, n, mode in zip(points, sides, address, strict=True):
        if integer:
            first.append(x.astype(np.int64))
            weight.append(np.zeros(count, np.int64))
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            u = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
            limit = 2.0**24 if normalized else 2.0**40
            u = np.clip(u, -limit, limit)
            if normalized and mode == "mirror":  # the guide's replacement of x
                u = np.where(np.floor(u) % 2 == 0, u - np.floor(u), np.floor(u) + 1 - u)
            u = u * n if normalized else u
            u = u - 0.5 if linear else u
            first.append(np.floor(u).astype(np.int64))
            weight.append(np.floor((u - np.floor(u)) * 256 + 0.5).astype(np.int64) if linear else np.zeros(count, int))
    total = np.zeros((count, channels))
    picked = np.zeros((count, channels), texels.dtype)
    for corner in itertools.product((0, 1), repeat=len(sides)):
        corner = corner[::-1]  # x changes fastest
        index = [at_mode(i + c, n, m) for i, c, n, m in zip(first, corner, sides, address, strict=True)]
        border = np.any([i < 0 for i in index], axis=0)
        value = texels[tuple(i for i in index[::-1])]
        value = np.where(border[:, None], np.zeros((), texels.dtype), value)
        if not any(corner):
            picked = value
        if linear:
            w = np.prod([wt if c else 256 - wt for wt, c in zip(weight, corner, strict=True)], axis=0)
            with np.errstate(invalid="ignore"):
                total += np.where((w != 0)[:, None] & ~border[:, None], w[:, None] * value.astype(np.float64), 0.0)
    out = np.zeros((count, 4), np.uint32)
    out[:, 3] = np.float32(1).view(np.uint32) if as_float else 1
    if linear:
        with np.errstate(over="ignore"):
            result = (total / 256.0 ** len(sides)).astype(np.float32)
        bits = result.view(np.uint32)
        out[:, :channels] = np.where(np.isnan(result), 0x7FFFFFFF, bits)
    elif as_float:
        out[:, :channels] = np.ascontiguousarray(picked.astype(np.float32)).view(np.uint32)
    else:
        out[:, :channels] = picked.astype(np.int64).astype(np.uint32)
    return out


def random_image(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    kind = np.dtype({"f": "f4"}.get(dtype[0], f"{dtype[0]}{int(dtype[1:]) // 8}"))
    if kind.kind == "f":
        return (rng.normal(0, 1, shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(kind)
    info = np.iinfo(kind)
    image = rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    image.reshape(-1)[:2] = info.min, info.max
    return image


def random_points(rng: np.random.Generator, sides: tuple[int, ...], normalized: bool) -> np.ndarray[Any, Any]:
    """Coordinates around the texture, some on texel borders and centres, some far away or no numbers."""
    out = []
    for n in sides[::-1]:
        x = rng.uniform(-2.5 * n, 3.5 * n, THREADS)
        x[::4] = np.round(x[::4] * 2) / 2
        x[1::8] = np.round(x[1::8] * 512) / 512
        x = (x / n if normalized else x).astype(np.float32)
        x[:6] = np.inf, -np.inf, np.nan, 3e38, -0.0, 1e-40
        out.append(rng.permutation(x))
    return np.array(out, np.float32)


CASES = [
    (d, f, normalized, i)
    for i, (d, f, normalized) in enumerate(itertools.product((1, 2, 3), ("point", "linear"), (False, True)))
]


def case(dimensions: int, filter_: str, normalized: bool, seed: int, fmt: tuple[str, int, str]) -> Any:
    """Image, points and keys of one combination; the address modes rotate over the axes."""
    rng = np.random.default_rng([seed, FORMATS.index(fmt)])
    dtype, channels, read = fmt
    shape = SIDES[dimensions] + ((channels,) if channels > 1 else ())
    modes = MODES if normalized else MODES[:2]
    address = [modes[(seed + FORMATS.index(fmt) + axis) % len(modes)] for axis in range(dimensions)]
    keys = {"channels": channels, "filter": filter_, "address": address, "normalized": normalized, "read": read}
    return random_image(rng, dtype, shape), random_points(rng, SIDES[dimensions], normalized), keys


@pytest.mark.rotates
@pytest.mark.parametrize(("dimensions", "filter_", "normalized", "seed"), CASES)
def test_fetches_are_those_of_the_guide(dimensions: int, filter_: str, normalized: bool, seed: int) -> None:
    for fmt in FORMATS:
        if filter_ == "linear" and fmt[0] != "f32" and fmt[2] == "element":
            continue
        image, points, keys = case(dimensions, filter_, normalized, seed, fmt)
        want = oracle(image, points, integer=False, **keys)
        for engine in ("python", "numba") if fmt in FORMATS[:3] else ("numba",):
            got = fetch(image, points, engine, **keys).buffers["out"]
            assert (got == want).all(), (fmt, engine, keys, np.argwhere(got != want)[:3])


@pytest.mark.rotates
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_integer_coordinates_are_texel_indices_whatever_the_filter(dimensions: int, mode: str) -> None:
    rng = np.random.default_rng(dimensions)
    image = random_image(rng, "f32", SIDES[dimensions])
    points = rng.integers(-20, 20, (dimensions, THREADS))
    points[0, :2] = -(2**31), 2**31 - 1
    keys = {"channels": 1, "filter": "linear", "address": [mode] * dimensions, "read": "element",
            "normalized": mode in ("wrap", "mirror")}  # fmt: skip
    want = oracle(image, points, integer=True, **keys)
    for engine in ("python", "numba"):
        assert (fetch(image, points, engine, integer=True, **keys).buffers["out"] == want).all()


def test_weights_are_eight_bits_and_one_is_exact() -> None:
    """The guide's remark on the fixed-point format: 1.0 is represented, and steps are 1/256."""
    image = np.array([0.0, 256.0], np.float32)
    x = np.zeros(THREADS)
    x[:5] = 0.5, 0.5 + 1 / 256, 0.5 + 1 / 512, 0.5 + 1 / 1024, 1.5 - 1 / 1024
    got = fetch(image, [x], filter="linear").buffers["out"][:5, 0].view(np.float32)
    assert list(got) == [0.0, 1.0, 1.0, 0.0, 256.0]


def test_texels_of_no_weight_do_not_count() -> None:
    image = np.array([[1.0, np.inf], [np.nan, np.inf]], np.float32)
    points = np.full((2, THREADS), 0.5)
    points[0, 1] = 1.0
    got = fetch(image, points, filter="linear").buffers["out"][:, 0]
    assert got[0] == np.float32(1).view(np.uint32)
    assert got[1] == np.float32(np.inf).view(np.uint32)


@pytest.mark.parametrize(("written", "count"), [("", 4), ("R", 1), ("RG", 2)])
def test_registers_behind_the_channels_asked_for_stay(written: str, count: int) -> None:
    image = np.arange(28, dtype=np.float32).reshape(7, 4)
    got = fetch(image, [np.full(THREADS, 2.5)], written=written, channels=4).buffers["out"]
    texel = image[2].view(np.uint32)
    assert (got == [texel[n] if n < count else 77 + n for n in range(4)]).all()


def test_a_wrong_handle_and_a_wrong_dimension_fault() -> None:
    points = np.zeros((2, THREADS))
    with pytest.raises(KernelFault, match=r"(?s)no such texture.*texture 1 of 1 dimensions.*one of 2"):
        fetch(np.zeros(4, np.float32), points, dimensions=2)
    module = scheduled(text_of(1).replace("c[0][tex]", "0x9"))
    launch = fetch_launch(4, "f32", THREADS)
    with pytest.raises(KernelFault, match="handle 0x9"):
        run(module, "k", launch, GTX, engine="python")


def test_lanes_that_share_lines_share_passes_and_what_is_cached_is_fetched_once() -> None:
    image = np.zeros((64, 64), np.float32)  # two lines a row
    points = np.zeros((2, THREADS))
    points[0] = np.arange(THREADS) % 32
    stats = fetch(image, points + 0.5).stats
    assert stats["texture_fetches"] == 3
    assert (stats["l1_texture_hits"], stats["l1_texture_misses"], stats["l1_merges"]) == (0, 3, 2)
    assert stats["texture_fill_sectors"] == 4
    assert (stats["l2_texture_hits"], stats["l2_texture_misses"]) == (0, 1)
    assert stats["l2_misses"] > 1  # coordinates are loaded, too
    smooth = fetch(image, points + 1, filter="linear").stats
    assert smooth["texture_fill_sectors"] == 4 * 4  # two rows, and the 33rd column lies on another line
    assert smooth["l1_texture_misses"] == smooth["texture_fill_sectors"] // 4 + smooth["l1_merges"]


def test_a_fetch_that_hits_is_faster_than_one_that_misses() -> None:
    image = np.zeros(32, np.float32)
    near = fetch(image, [np.zeros(THREADS)]).cycles
    far = fetch(np.zeros(32 * THREADS, np.float32), [32.0 * np.arange(THREADS)])
    assert far.stats["l1_texture_misses"] == THREADS
    assert far.cycles > near + 20


def test_too_many_textures_are_refused() -> None:
    arguments = [{"name": f"t{i}", "kind": "texture", "dtype": "f32", "shape": 1} for i in range(65)]
    text = ".kernel k\n" + "\n".join(f".param t{i} 8" for i in range(65)) + "\nEXIT\n.end"
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": arguments})
    with pytest.raises(UsageError, match="too many textures"):
        run(schedule(assemble(text), GTX), "k", launch, GTX, engine="python")


def test_uninitialised_coordinates_poison_the_result() -> None:
    text = ".kernel k\n.param tex 8\n.param out 8\nMOV R1, c[0][tex]\nTEX.1D.R R4, R0, R1\n"
    text += "MOV R2, c[0][out]\nMOV R3, c[0][out+4]\nSTG [R2], R4\nEXIT\n.end"
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 32, "argument": [
        {"name": "tex", "kind": "texture", "dtype": "f32", "shape": 4},
        {"name": "out", "kind": "buffer", "dtype": "f32", "shape": 4},
    ]})  # fmt: skip
    for source, bad in ((text, True), (text.replace("MOV R1,", "MOV R0, 0\nMOV R1,"), False)):
        module = schedule(assemble(source), GTX)
        if bad:
            with pytest.raises(KernelFault, match="nobody wrote"):
                run(module, "k", launch, GTX, engine="python", check=True)
        else:
            run(module, "k", launch, GTX, engine="python", check=True)
