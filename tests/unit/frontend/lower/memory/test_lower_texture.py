"""Texture fetches of imported PTX against the interpreter: handles and references, dimensions, types, guards."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from tests.support.ptx.bodies import both, code
from tests.support.ptx.interpreter.textures import Texture

RNG = np.random.default_rng(5)
SIDES = {"1d": (9,), "2d": (5, 7), "3d": (3, 4, 5)}
COORDINATES = """cvt.rn.f32.u32 %f1, %r0; mul.f32 %f1, %f1, 0f3e800000; add.f32 %f2, %f1, 0fbf000000;
        mul.f32 %f3, %f1, 0f3f000000;
    shr.u32 %r1, %r0, 2; shr.u32 %r2, %r0, 3; sub.s32 %r3, %r1, 1;
    mul.wide.u32 %d5, %r0, 16; add.s64 %d5, %d5, %d0;"""
LISTED = {
    ("1d", "f32"): "{%f1}", ("2d", "f32"): "{%f1, %f2}", ("3d", "f32"): "{%f1, %f2, %f3, %f3}",
    ("1d", "s32"): "{%r1}", ("2d", "s32"): "{%r1, %r2}", ("3d", "s32"): "{%r1, %r2, %r3, %r3}",
}  # fmt: skip
RESULTS = {"f32": "%f10, %f11, %f12, %f13", "s32": "%r10, %r11, %r12, %r13", "u32": "%r10, %r11, %r12, %r13"}


@pytest.mark.rotates
@pytest.mark.parametrize("geometry", ["1d", "2d", "3d"])
@pytest.mark.parametrize("coordinate", ["f32", "s32"])
@pytest.mark.parametrize("result", ["f32", "s32", "u32"])
@pytest.mark.parametrize("reference", [False, True])
def test_fetches(geometry: str, coordinate: str, result: str, reference: bool) -> None:
    texels = RNG.integers(-1000, 1000, (*SIDES[geometry], 4)).astype({"f32": "f4", "s32": "i4", "u32": "u4"}[result])
    linear = result == "f32" and coordinate == "f32" and not reference
    texture = Texture(texels, linear=linear, address=("wrap" if linear else "clamp",), normalized=linear)
    name = "image" if reference else "%d4"
    body = f"""{COORDINATES} {"" if reference else "ld.param.u64 %d4, [handle];"}
        tex.{geometry}.v4.{result}.{coordinate} {{{RESULTS[result]}}}, [{name}, {LISTED[geometry, coordinate]}];
        st.global.v4.{result} [%d5], {{{RESULTS[result]}}};"""
    if reference:
        both(body, words=128, head=".global .texref image;\n", textures={"image": texture})
    else:
        both(body, words=128, args=[texture], params=[".param .u64 handle"])


LONGER = [
    ("1d", "f32", "{%f1, %f2}"), ("1d", "f32", "{%f1, %f2, %f3, %f3}"), ("1d", "s32", "{%r1, %r2, %r3, %r0}"),
    ("2d", "f32", "{%f1, %f2, %f3, %f1}"), ("2d", "s32", "{%r1, %r2, %r0, %r0}"),
    ("1d", "f32", "{%f1, %f9, %f9, %f9}"), ("2d", "f32", "{%f1, %f2, %r9, 0f00000000}"),
    ("2d", "s32", "{%r1, %r2, %r9, %f9}"), ("3d", "f32", "{%f1, %f2, %f3, %f9}"), ("3d", "s32", "{%r1, %r2, %r3, %r9}"),
    ("1d", "s32", "{%r1, 2, 3, 4}"), ("2d", "f32", "{%f1, %f2, %tid.x, %f9}"),
]  # fmt: skip
"""(geometry, coordinates' type, vector); %f9 and %r9 are never set."""


@pytest.mark.rotates
@pytest.mark.parametrize(("geometry", "coordinate", "listed"), LONGER)
@pytest.mark.parametrize("reference", [False, True])
def test_coordinates_beyond_the_geometry_are_ignored(
    geometry: str, coordinate: str, listed: str, reference: bool
) -> None:
    texture = Texture(RNG.random((*SIDES[geometry], 4), np.float32), linear=coordinate == "f32")
    found = []
    for vector in (listed, LISTED[geometry, coordinate]):
        body = f"""{COORDINATES} {"" if reference else "ld.param.u64 %d4, [handle];"}
            tex.{geometry}.v4.f32.{coordinate} {{{RESULTS["f32"]}}}, [{"image" if reference else "%d4"}, {vector}];
            st.global.v4.f32 [%d5], {{{RESULTS["f32"]}}};"""
        if reference:
            head = ".global .texref image;\n"
            found.append(both(body, words=128, head=head, textures={"image": texture}, check=True))
        else:
            found.append(both(body, words=128, args=[texture], params=[".param .u64 handle"], check=True))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("geometry", "listed"), [("2d", "{%f1}"), ("2d", "{%f1, %f2, %f3}"), ("3d", "{%f1, %f2, %f3}")]
)
def test_vectors_that_ptx_does_not_have_are_refused(geometry: str, listed: str) -> None:
    body = f"ld.param.u64 %d4, [handle]; tex.{geometry}.v4.f32.f32 {{{RESULTS['f32']}}}, [%d4, {listed}];"
    with pytest.raises(MalformedInput, match=rf"coordinates of a {geometry} texture.*expected a vector of "):
        code(body, params=[".param .u64 handle"])


@pytest.mark.parametrize(("used", "channels"), [(1, ".R "), (2, ".RG "), (3, "D "), (4, "D ")])
def test_only_channels_that_are_read_are_fetched(used: int, channels: str) -> None:
    stores = "".join(f"st.global.f32 [%d5+{4 * k}], %f{10 + k};" for k in range(used))
    fetch = "tex.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%d4, {%f1, %f2}];"
    body = f"{COORDINATES} ld.param.u64 %d4, [handle]; {fetch} {stores}"
    assert f"TEX.2D{channels}" in code(body, params=[".param .u64 handle"]).replace("2D ", "2DD ")
    texture = Texture(RNG.random((4, 5, 4), np.float32))
    both(body, words=128, args=[texture], params=[".param .u64 handle"])


def test_a_guarded_fetch_leaves_other_lanes_alone() -> None:
    body = f"""{COORDINATES} ld.param.u64 %d4, [handle]; setp.lt.u32 %p1, %r0, 9; mov.f32 %f10, 0f40000000;
        mov.f32 %f11, 0f40400000; @%p1 tex.1d.v4.f32.f32 {{%f10, %f11, _, _}}, [%d4, {{%f1}}];
        st.global.v2.f32 [%d5], {{%f10, %f11}};"""
    texture = Texture(RNG.random((9, 2), np.float32))
    out = both(body, words=128, args=[texture], params=[".param .u64 handle"], compare=False).view(np.float32)
    found = out.reshape(32, 4)
    np.testing.assert_array_equal(found[9:, :2], [[2, 3]] * 23)
    np.testing.assert_array_equal(found[:9, :2], texture.texels[np.arange(9) // 4])


COMMON = """cvt.rn.f32.u32 %f4, %r0; sub.u32 %r5, %r0, 13; cvt.rn.f32.s32 %f5, %r5; and.b32 %r6, %r0, 7;
        mul.wide.u32 %d5, %r0, 16; add.s64 %d5, %d5, %d0; ld.param.u64 %d4, [handle];"""
LAYERED = {
    ("a1d", "f32"): "{%r6, %f1}", ("a1d", "s32"): "{%r6, %r1}", ("a2d", "f32"): "{%r6, %f1, %f2, %f2}",
    ("a2d", "s32"): "{%r6, %r1, %r2, %r9}",
}  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize(("geometry", "coordinate"), LAYERED)
@pytest.mark.parametrize("result", ["f32", "s32", "u32"])
@pytest.mark.parametrize("address", ["clamp", "border", "wrap"])
def test_fetches_of_layers(geometry: str, coordinate: str, result: str, address: str) -> None:
    """A layer beyond the last is the last one; nothing is filtered across layers."""
    sides = (5, 9) if geometry == "a1d" else (5, 4, 6)
    texels = RNG.integers(-1000, 1000, (*sides, 2)).astype({"f32": "f4", "s32": "i4", "u32": "u4"}[result])
    linear = result == "f32" and coordinate == "f32"
    texture = Texture(texels, linear=linear, address=(address,), normalized=address == "wrap", layers="array")
    body = f"""{COORDINATES} {COMMON} setp.eq.u32 %p1, %r0, 9; selp.b32 %r6, -3, %r6, %p1;
        tex.{geometry}.v4.{result}.{coordinate} {{{RESULTS[result]}}}, [%d4, {LAYERED[geometry, coordinate]}];
        st.global.v4.{result} [%d5], {{{RESULTS[result]}}};"""
    both(body, words=128, args=[texture], params=[".param .u64 handle"])


DIRECTIONS = """mul.lo.u32 %r1, %r0, 7; and.b32 %r1, %r1, 15; sub.u32 %r1, %r1, 8; mul.lo.u32 %r2, %r0, 5;
    and.b32 %r2, %r2, 15; sub.u32 %r2, %r2, 7; and.b32 %r3, %r0, 3; shl.b32 %r3, %r3, 2; sub.u32 %r3, %r3, 6;
    cvt.rn.f32.s32 %f1, %r1; cvt.rn.f32.s32 %f2, %r2; cvt.rn.f32.s32 %f3, %r3;
    fma.rn.f32 %f1, %f1, 0f3f800000, 0f3e000000; fma.rn.f32 %f2, %f2, 0f3f800000, 0f3d800000;"""


@pytest.mark.rotates
@pytest.mark.parametrize("cubes", [1, 3])
@pytest.mark.parametrize("gathered", ["", "g"])
def test_fetches_of_cubes(cubes: int, gathered: str) -> None:
    """Directions to all six faces; each texel holds its own number."""
    texels = np.arange(6 * cubes * 8 * 8 * 2, dtype=np.float32).reshape(6 * cubes, 8, 8, 2)
    texture = Texture(texels, normalized=True, layers="cube")
    geometry, listed = ("cube", "{%f1, %f2, %f3, %f3}") if cubes == 1 else ("acube", "{%r6, %f1, %f2, %f3}")
    op = f"tld4.{gathered}" if gathered else "tex"
    body = f"""{COMMON} {DIRECTIONS} {op}.{geometry}.v4.f32.f32 {{{RESULTS["f32"]}}}, [%d4, {listed}];
        st.global.v4.f32 [%d5], {{{RESULTS["f32"]}}};"""
    out = both(body, words=128, args=[texture], params=[".param .u64 handle"]).view(np.float32).reshape(32, 4)
    faces = np.unique((out[:, 0] // 128).astype(int) % 6)
    np.testing.assert_array_equal(faces, range(6))
    if cubes > 1:
        assert set((out[:, 0] // (128 * 6)).astype(int)) == {0, 1, 2}


@pytest.mark.rotates
@pytest.mark.parametrize("channel", "rgba")
@pytest.mark.parametrize("geometry", ["2d", "a2d"])
@pytest.mark.parametrize(("dtype", "channels"), [("f4", 4), ("u1", 2), ("i4", 1)])
@pytest.mark.parametrize("address", ["clamp", "border", "mirror"])
def test_gathers(channel: str, geometry: str, dtype: str, channels: int, address: str) -> None:
    sides = (4, 5) if geometry == "2d" else (3, 4, 5)
    texels = RNG.integers(0, 100, (*sides, channels)).astype(dtype)
    texture = Texture(texels, address=(address if address != "mirror" else "wrap",), normalized=address == "mirror",
                      as_float=dtype == "u1", layers="none" if geometry == "2d" else "array")  # fmt: skip
    result = "s32" if dtype == "i4" else "f32"
    listed = "{%f1, %f2}" if geometry == "2d" else "{%r6, %f1, %f2, %f2}"
    body = f"""{COORDINATES} {COMMON} tld4.{channel}.{geometry}.v4.{result}.f32 {{{RESULTS[result]}}}, [%d4, {listed}];
        st.global.v4.{result} [%d5], {{{RESULTS[result]}}};"""
    both(body, words=128, args=[texture], params=[".param .u64 handle"])


REFUSED = [
    ("tex.a1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d4, {%r1}];", "1 coordinates of a a1d texture"),
    ("tex.a2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d4, {%r1, %f1}];", "2 coordinates of a a2d texture"),
    ("tex.cube.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d4, {%r1, %r1, %r1, %r1}];", "tex has no type .s32"),
    ("tld4.r.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d4, {%r1, %r1}];", "tld4 has no type .s32"),
    ("tld4.r.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d4, {%f1, %f1, %f1, %f1}];", "not a gather"),
    ("tld4.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d4, {%f1, %f1}];", "not a gather"),
    ("tld4.a.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d4, {%f1, %f1}], %f1;", "compare"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_no_fetch_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        code(f"ld.param.u64 %d4, [handle]; {text}", params=[".param .u64 handle"])
    assert message in str(caught.value)
    assert "line" in str(caught.value)
