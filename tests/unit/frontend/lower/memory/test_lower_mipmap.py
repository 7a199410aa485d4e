"""Levels, gradients, offsets and residency of texture fetches of imported PTX, and queries, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from tests.support.oracles.emulator.pyramid import pyramid
from tests.support.ptx.bodies import both, code
from tests.support.ptx.interpreter.textures import Surface, Texture

RNG = np.random.default_rng(11)
SIDES = {
    "1d": (21,), "2d": (12, 21), "3d": (5, 8, 9), "a1d": (3, 21), "a2d": (3, 12, 21), "cube": (6, 8, 8),
    "acube": (12, 8, 8),
}  # fmt: skip
LAYERS = {"a1d": "array", "a2d": "array", "cube": "cube", "acube": "cube"}
HANDLE = [".param .u64 handle"]
RESULTS = "{%f10, %f11, %f12, %f13}"
HEAD = """ld.param.u64 %d4, [handle]; mul.wide.u32 %d5, %r0, 16; add.s64 %d5, %d5, %d0; and.b32 %r6, %r0, 3;
    mul.lo.u32 %r1, %r0, 7; and.b32 %r1, %r1, 31; sub.u32 %r1, %r1, 9; cvt.rn.f32.s32 %f1, %r1;
    mul.f32 %f1, %f1, 0f3d500000;
    mul.lo.u32 %r2, %r0, 11; and.b32 %r2, %r2, 31; sub.u32 %r2, %r2, 13; cvt.rn.f32.s32 %f2, %r2;
    mul.f32 %f2, %f2, 0f3d700000;
    xor.b32 %r3, %r0, 21; sub.u32 %r3, %r3, 12; cvt.rn.f32.s32 %f3, %r3; mul.f32 %f3, %f3, 0f3da00000;
    cvt.rn.f32.u32 %f4, %r0; mul.f32 %f4, %f4, 0f3e100000; sub.f32 %f4, %f4, 0f3f000000; sub.u32 %r4, %r6, 1;
    setp.eq.u32 %p1, %r0, 5; selp.f32 %f4, 0f7fc00000, %f4, %p1; setp.eq.u32 %p1, %r0, 6;
    selp.f32 %f4, 0f7f800000, %f4, %p1;
    mul.f32 %f5, %f1, 0f3f400000; mul.f32 %f6, %f2, 0f3e800000; mul.f32 %f7, %f3, 0f3e000000;"""
FLOATS = {
    "1d": "{%f1}", "2d": "{%f1, %f2}", "3d": "{%f1, %f2, %f3, %f9}", "a1d": "{%r6, %f1}",
    "a2d": "{%r6, %f1, %f2, %f9}", "cube": "{%f1, %f2, %f3, %f9}", "acube": "{%r6, %f1, %f2, %f3}",
}  # fmt: skip
WORDS = {
    "1d": "{%r1}", "2d": "{%r1, %r2}", "3d": "{%r1, %r2, %r3, %r9}", "a1d": "{%r6, %r1}", "a2d": "{%r6, %r1, %r2, %r9}",
}  # fmt: skip
SLOPES = {
    "1d": "{%f5}, {%f6}", "2d": "{%f5, %f6}, {%f6, %f7}", "3d": "{%f5, %f6, %f7, %f9}, {%f6, %f7, %f5, %f9}",
    "a1d": "{%f5}, {%f7}", "a2d": "{%f5, %f6}, {%f6, %f7}",
}  # fmt: skip
OFFSETS = {
    "1d": "{-3}", "2d": "{2, -8}", "3d": "{-1, %r4, 7, 0}", "a1d": "{%r4}", "a2d": "{%r1, 3}",
}  # fmt: skip


def mipmap(geometry: str, levels: int = 4, dtype: str = "f4", channels: int = 2, **keys: object) -> Texture:
    shape = (*SIDES[geometry], channels)
    texels = (RNG.normal(0, 9, shape) if dtype == "f4" else RNG.integers(0, 250, shape)).astype(dtype)
    layers = LAYERS.get(geometry, "none")
    upper = pyramid(texels, levels, layers != "none")
    return Texture(texels, normalized=True, layers=layers, levels=upper, **keys)  # type: ignore[arg-type]


def fetched(geometry: str, text: str, texture: Texture, result: str = "f32") -> np.ndarray:
    names = RESULTS if result == "f32" else "{%r10, %r11, %r12, %r13}"
    body = f"{HEAD} {text.replace('D4', names)} st.global.v4.{result} [%d5], {names};"
    return both(body, words=128, args=[texture], params=HANDLE)


KINDS = [
    {}, {"linear": True}, {"blend": True}, {"linear": True, "blend": True, "bias": 0.4},
    {"blend": True, "clamp": (0.7, 1.8)}, {"linear": True, "bias": -0.75, "clamp": (1.0, 9.0), "address": ("wrap",)},
    {"linear": True, "blend": True, "address": ("border",)}, {"blend": True, "address": ("mirror",)},
]  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("geometry", SIDES)
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_levels(geometry: str, kind: int) -> None:
    text = f"tex.level.{geometry}.v4.f32.f32 D4, [%d4, {FLOATS[geometry]}], %f4;"
    out = fetched(geometry, text, mipmap(geometry, **KINDS[kind]))
    base = fetched(geometry, text.replace("level", "base").replace(", %f4;", ";"), mipmap(geometry, **KINDS[kind]))
    assert (out != base).any()


@pytest.mark.rotates
@pytest.mark.parametrize("geometry", WORDS)
@pytest.mark.parametrize("result", ["s32", "u32"])
def test_levels_of_integers(geometry: str, result: str) -> None:
    texture = mipmap(geometry, dtype="i2" if result == "s32" else "u4", channels=4)
    fetched(geometry, f"tex.level.{geometry}.v4.{result}.s32 D4, [%d4, {WORDS[geometry]}], %r4;", texture, result)
    fetched(geometry, f"tex.level.{geometry}.v4.{result}.f32 D4, [%d4, {FLOATS[geometry]}], %f4;", texture, result)


@pytest.mark.rotates
@pytest.mark.parametrize("geometry", SLOPES)
@pytest.mark.parametrize("kind", [0, 3])
def test_gradients(geometry: str, kind: int) -> None:
    text = f"tex.grad.{geometry}.v4.f32.f32 D4, [%d4, {FLOATS[geometry]}], {SLOPES[geometry]};"
    out = fetched(geometry, text, mipmap(geometry, **KINDS[kind]))
    assert (out != fetched(geometry, text.replace("%f5", "0f00000000"), mipmap(geometry, **KINDS[kind]))).any()


@pytest.mark.rotates
@pytest.mark.parametrize("geometry", OFFSETS)
@pytest.mark.parametrize("mode", ["", ".base", ".level"])
@pytest.mark.parametrize("kind", [0, 3, 5, 6])
def test_offsets(geometry: str, mode: str, kind: int) -> None:
    detail = ", %f4" if mode == ".level" else ""
    text = f"tex{mode}.{geometry}.v4.f32.f32 D4, [%d4, {FLOATS[geometry]}]{detail}, {OFFSETS[geometry]};"
    fetched(geometry, text, mipmap(geometry, **KINDS[kind]))
    if kind == 6:
        whole = f"tex{mode}.{geometry}.v4.f32.s32 D4, [%d4, {WORDS[geometry]}]{detail.replace('f', 'r')}, "
        fetched(geometry, f"{whole}{OFFSETS[geometry]};", mipmap(geometry, **KINDS[kind]))


@pytest.mark.parametrize("geometry", ["2d", "a2d"])
def test_gathers_with_offsets(geometry: str) -> None:
    text = f"tld4.g.{geometry}.v4.f32.f32 D4, [%d4, {FLOATS[geometry]}], {OFFSETS[geometry]};"
    fetched(geometry, text, mipmap(geometry, linear=True))


def test_a_texture_is_always_there() -> None:
    text = """setp.lt.u32 %p2, %r0, 8; setp.ne.u32 %p1, %r0, %r0; mov.f32 %f10, %f1; mov.f32 %f11, %f1;
        mov.f32 %f12, %f1; mov.f32 %f13, %f1;
        @%p2 tex.level.2d.v4.f32.f32 D4|%p1, [%d4, {%f1, %f2}], %f4; selp.f32 %f10, 0f3f800000, 0f40000000, %p1;"""
    out = fetched("2d", text, mipmap("2d")).view(np.float32).reshape(32, 4)
    assert out[:, 0].tolist() == [1] * 8 + [2] * 24


ASKED = ["width", "height", "depth", "channel_data_type", "channel_order", "array_size"]


@pytest.mark.rotates
@pytest.mark.parametrize("geometry", SIDES)
@pytest.mark.parametrize("reference", [False, True])
def test_queries_of_textures(geometry: str, reference: bool) -> None:
    place = "[image]" if reference else "[%d4]"
    load = "" if reference else "ld.param.u64 %d4, [handle];"
    levels = "and.b32 %r5, %r0, 7;" + "".join(
        f"txq.level.{side}.b32 %r2, {place}, %r5; mad.lo.u32 %r7, %r7, 31, %r2;" for side in ASKED[:3]
    )
    text = "".join(
        f"txq.{asked}.b32 %r1, {place}; mad.lo.u32 %r7, %r7, 1031, %r1;"
        for asked in [*ASKED, "normalized_coords", "num_mipmap_levels"]
    )
    body = f"{load} mov.u32 %r7, %r0; {text} {levels} st.global.u32 [%d1], %r7;"
    for dtype, channels, as_float in (("f4", 1, False), ("u1", 4, True), ("i2", 2, False), ("u4", 1, False)):
        texture = mipmap(geometry, 3, dtype, channels, as_float=as_float)
        if reference:
            both(body, head=".global .texref image;\n", textures={"image": texture})
        else:
            both(body, args=[texture], params=HANDLE)


@pytest.mark.parametrize("layers", [False, True])
def test_queries_of_surfaces(layers: bool) -> None:
    text = "".join(f"suq.{asked}.b32 %r1, [%d4]; mad.lo.u32 %r7, %r7, 1031, %r1;" for asked in ASKED)
    body = f"ld.param.u64 %d4, [handle]; mov.u32 %r7, 0; {text} st.global.u32 [%d1], %r7;"
    for dtype, channels in (("f2", 1), ("u1", 4), ("i4", 2)):
        both(body, args=[Surface(np.zeros((3, 4, 5, channels), dtype), layers)], params=HANDLE)


def test_what_a_handle_names() -> None:
    body = """ld.param.u64 %d4, [one]; ld.param.u64 %d5, [other]; mov.u32 %r7, 0; setp.gt.u32 %p2, %r0, 7;
        @%p2 mov.u64 %d4, 0; setp.gt.u32 %p2, %r0, 20; @%p2 mov.u64 %d4, 1234;
        istypep.texref %p1, %d4; selp.b32 %r1, 1, 0, %p1; istypep.surfref %p1, %d4; selp.b32 %r2, 2, 0, %p1;
        istypep.texref %p1, %d5; selp.b32 %r3, 4, 0, %p1; istypep.surfref %p1, %d5; selp.b32 %r4, 8, 0, %p1;
        or.b32 %r1, %r1, %r2; or.b32 %r3, %r3, %r4; or.b32 %r1, %r1, %r3; st.global.u32 [%d1], %r1;"""
    params = [".param .u64 one", ".param .u64 other"]
    out = both(body, args=[mipmap("2d"), Surface(np.zeros((4, 1), "u4"))], params=params)
    assert out.tolist() == [9] * 8 + [8] * 24


REFUSED = [
    ("tex.2d.v4.f32.f32 D4, [%d4, {%f1, %f2}], {9, 0};", "an offset of 9 texels"),
    ("tex.2d.v4.f32.f32 D4, [%d4, {%f1, %f2}], {1, 0, 0, 0};", "an offset of 4 numbers for a 2d texture"),
    ("tex.cube.v4.f32.f32 D4, [%d4, {%f1, %f2, %f3, %f3}], {1, 0, 0, 0};", "an offset of 4 numbers for a cube texture"),
    ("tex.2d.v4.f32.f32 D4, [%d4, {%f1, %f2}], %f3;", "PTX does not say how a texture is set to compare"),
    ("tex.2d.v4.f32.f32 D4, [%d4, {%f1, %f2}], {1, 1}, %f3;", "PTX does not say how a texture is set to compare"),
    ("tex.grad.2d.v4.f32.f32 D4, [%d4, {%f1, %f2}], {%f1}, {%f1, %f2};", "a gradient of 1 numbers"),
    ("tex.grad.cube.v4.f32.f32 D4, [%d4, {%f1, %f2, %f3, %f3}], {%f1, %f1, %f1, %f1}, {%f1, %f2, %f1, %f1};", "face"),
    ("tex.grad.2d.v4.f32.s32 D4, [%d4, {%r1, %r2}], {%f1, %f2}, {%f1, %f2};", "tex has no type .s32"),
    ("tex.level.2d.v4.f32.f32 D4, [%d4, {%f1, %f2}];", "tex with 2 operands"),
    ("txq.num_samples.b32 %r1, [%d4];", "PTX does not say"),
    ("txq.level.array_size.b32 %r1, [%d4], %r2;", "txq does not"),
    ("txq.filter_mode.b32 %r1, [%d4];", "PTX does not say"), ("suq.memory_layout.b32 %r1, [%d4];", "PTX does not say"),
    ("suq.num_mipmap_levels.b32 %r1, [%d4];", "suq does not ask"), ("istypep.samplerref %p1, %d4;", "PTX does not say"),
    ("txq.width.b32 %r1, [%d4+8];", "not a texture or surface"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_no_fetch_or_query_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        code(f"ld.param.u64 %d4, [handle]; {text.replace('D4', RESULTS)}", params=HANDLE)
    assert message in str(caught.value)
    assert "line" in str(caught.value)
