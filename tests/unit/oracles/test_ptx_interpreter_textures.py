"""Texture fetches of the PTX interpreter on small arrays, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.interpreter.textures import Texture


def fetch(texture: Texture, geometry: str, result: str, points: np.ndarray, reference: bool = False) -> np.ndarray:
    """The four results at each row of `points` (f32 or s32 coordinates)."""
    kind = "f32" if points.dtype.kind == "f" else "s32"
    count = points.shape[1]
    listed = {1: "{%c0}", 2: "{%c0, %c1}", 3: "{%c0, %c1, %c2, %c2}"}[count]
    loads = "".join(f"ld.global.{kind} %c{k}, [%d1+{4 * k}];" for k in range(count))
    name = "image" if reference else "%d9"
    text = f"""
{".global .texref image;" if reference else ""}
.entry k(.param .u64 points, .param .u64 out, .param .u64 handle)
{{  .reg .b64 %d<10>; .reg .b32 %r<4>; .reg .{kind} %c<4>; .reg .{result} %t<4>;
    ld.param.u64 %d1, [points]; ld.param.u64 %d2, [out]; ld.param.u64 %d9, [handle]; mov.u32 %r1, %tid.x;
    mad.wide.u32 %d1, %r1, {4 * count}, %d1; mad.wide.u32 %d2, %r1, 16, %d2; {loads}
    tex.{geometry}.v4.{result}.{kind} {{%t0, %t1, %t2, %t3}}, [{name}, {listed}];
    st.global.v4.{result} [%d2], {{%t0, %t1, %t2, %t3}}; ret; }}
"""
    out = np.zeros((len(points), 4), dtype={"f32": np.float32, "s32": np.int32, "u32": np.uint32}[result])
    handle = np.uint64(0) if reference else texture
    interpret(text, None, 1, len(points), [points, out, handle], textures={"image": texture})
    return out


def column(*values: float) -> np.ndarray:
    return np.array([[v] for v in values], dtype=np.float32)


LINE = np.array([10, 20, 40, 80], dtype=np.float32)[:, None]


def test_points_are_floored_and_clamped() -> None:
    found = fetch(Texture(LINE), "1d", "f32", column(-3, 0, 0.99, 1, 2.5, 3.99, 4, 1e9))
    assert found[:, 0].tolist() == [10, 10, 10, 20, 40, 80, 80, 80]
    assert found[:, 1:].tolist() == [[0, 0, 1]] * 8


def test_integer_coordinates_are_texel_numbers() -> None:
    found = fetch(Texture(LINE), "1d", "f32", np.array([[0], [3], [-1], [7]], dtype=np.int32))
    assert found[:, 0].tolist() == [10, 80, 10, 80]


def test_border_reads_zero() -> None:
    found = fetch(Texture(LINE, address=("border",)), "1d", "f32", column(-0.5, 0.5, 3.5, 4.0))
    assert found[:, 0].tolist() == [0, 10, 80, 0]


def test_wrap_and_mirror_of_normalized_coordinates() -> None:
    points = column(0.0, 0.25, 0.99, 1.0, 1.3, -0.1)
    wrap = fetch(Texture(LINE, normalized=True, address=("wrap",)), "1d", "f32", points)
    assert wrap[:, 0].tolist() == [10, 20, 80, 10, 20, 80]
    mirror = fetch(Texture(LINE, normalized=True, address=("mirror",)), "1d", "f32", points)
    assert mirror[:, 0].tolist() == [10, 20, 80, 80, 40, 10]


def test_linear_between_texel_centres() -> None:
    found = fetch(Texture(LINE, linear=True), "1d", "f32", column(0.5, 1.0, 1.25, 3.5, 0.0, 9.0))
    assert found[:, 0].tolist() == [10, 15, 17.5, 80, 10, 80]


def test_linear_weights_have_eight_bits() -> None:
    found = fetch(Texture(LINE, linear=True), "1d", "f32", column(0.5 + 1 / 1024, 0.5 + 3 / 1024))
    assert found[:, 0].tolist() == [10, 10 + 10 / 256]


def test_two_dimensions_take_x_then_y() -> None:
    image = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    points = np.array([[2.5, 1.5], [0.5, 2.5], [1.0, 1.0]], dtype=np.float32)
    assert fetch(Texture(image), "2d", "f32", points)[:, 0].tolist() == [6, 8, 5]
    assert fetch(Texture(image, linear=True), "2d", "f32", points)[:, 0].tolist() == [6, 8, 2.5]


def test_three_dimensions() -> None:
    volume = np.arange(24, dtype=np.float32).reshape(2, 3, 4, 1)
    points = np.array([[3.5, 2.5, 1.5], [1.0, 1.0, 1.0]], dtype=np.float32)
    assert fetch(Texture(volume), "3d", "f32", points)[:, 0].tolist() == [23, 17]
    assert fetch(Texture(volume, linear=True), "3d", "f32", points)[:, 0].tolist() == [23, 8.5]


@pytest.mark.parametrize("reference", [False, True])
def test_channels_integers_and_references(reference: bool) -> None:
    image = np.array([[[1, 2, 3, 255]], [[5, 6, 7, 8]]], dtype=np.uint8)
    points = np.array([[0, 0], [0, 1]], dtype=np.int32)
    assert fetch(Texture(image), "2d", "u32", points, reference).tolist() == [[1, 2, 3, 255], [5, 6, 7, 8]]
    scaled = fetch(Texture(image, as_float=True), "2d", "f32", points, reference)
    assert scaled[0].tolist() == [float(np.float32(v / 255)) for v in (1, 2, 3, 255)]
    signed = np.array([[-128, 127]], dtype=np.int8)
    assert fetch(Texture(signed, as_float=True), "1d", "f32", points[:1, :1], reference)[0].tolist() == [-1, 1, 0, 1]
    assert fetch(Texture(signed), "1d", "s32", points[:1, :1], reference)[0].tolist() == [-128, 127, 0, 1]
