"""Surface accesses and queries of imported PTX against the interpreter: geometries, types, bounds, references."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ptx.bodies import both
from tests.support.ptx.interpreter.textures import Surface

RNG = np.random.default_rng(9)
SIDES = {"1d": (12,), "2d": (5, 12), "3d": (3, 4, 12), "a1d": (4, 12), "a2d": (3, 4, 12)}
LISTED = {
    "1d": "{%r2}", "2d": "{%r2, %r3}", "3d": "{%r2, %r3, %r4, %r9}", "a1d": "{%r4, %r2}",
    "a2d": "{%r4, %r2, %r3, %r9}",
}  # fmt: skip
HEAD = """ld.param.u64 %d4, [handle]; mul.wide.u32 %d5, %r0, 16; add.s64 %d5, %d5, %d0; mad.lo.u32 %r7, %r0, 77, 5;
    mad.wide.u32 %d6, %r0, 1234567, 99; cvt.u16.u32 %h1, %r7; mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0;
    mov.u32 %r13, 0;"""
INSIDE = """rem.u32 %r2, %r0, 12; mul.lo.u32 %r2, %r2, TEXEL; rem.u32 %r3, %r0, 4; rem.u32 %r4, %r0, 3;"""
AROUND = """sub.u32 %r2, %r0, 9; mul.lo.u32 %r2, %r2, TEXEL; and.b32 %r3, %r0, 7; sub.u32 %r3, %r3, 2;
    and.b32 %r4, %r0, 15; sub.u32 %r4, %r4, 5;"""
HANDLE = [".param .u64 handle"]


def surface(geometry: str, texel: int) -> Surface:
    dtype, channels = {1: ("u1", 1), 2: ("i2", 1), 4: ("u4", 1), 8: ("u2", 4), 16: ("f4", 4)}[texel]
    image = RNG.integers(0, 100, (*SIDES[geometry], channels)).astype(dtype)
    return Surface(image, geometry.startswith("a"))


def around(text: str, bound: str, texel: int) -> str:
    places = (INSIDE if bound == "trap" else AROUND).replace("TEXEL", str(texel))
    return f"{HEAD} {places} {text}"


DATA = {1: ("b8", "%h1"), 2: ("b16", "%h1"), 4: ("b32", "%r7"), 8: ("b64", "%d6")}
VECTORS = [("", 1), ("", 2), ("", 4), ("", 8), ("v2", 4), ("v2", 1), ("v4", 4), ("v4", 2), ("v2", 8)]


@pytest.mark.parametrize("geometry", SIDES)
@pytest.mark.parametrize("bound", ["trap", "clamp", "zero"])
@pytest.mark.parametrize(("vector", "size"), VECTORS)
def test_loads(geometry: str, bound: str, vector: str, size: int) -> None:
    count = int(vector[1:] or 1)
    kind = DATA[size][0]
    names = {1: "%h{}", 2: "%h{}", 4: "%r{}", 8: "%d{}"}[size]
    results = [names.format(k) for k in range(10, 10 + count)] if size != 8 else ["%d7", "%d8"][:count]
    listed = ", ".join(results)
    text = f"suld.b.{geometry}{'.' + vector if vector else ''}.{kind}.{bound} {{{listed}}}, [%d4, {LISTED[geometry]}];"
    stored = "u16" if size == 1 else kind
    text += "".join(f"st.global.{stored} [%d5+{k * max(size, 2)}], {name};" for k, name in enumerate(results))
    body = around(text, bound, size * count)
    both(body, words=128, args=[surface(geometry, size * count)], params=HANDLE)


@pytest.mark.parametrize("geometry", SIDES)
@pytest.mark.parametrize("bound", ["trap", "clamp", "zero"])
@pytest.mark.parametrize(("vector", "size"), VECTORS)
def test_stores(geometry: str, bound: str, vector: str, size: int) -> None:
    """Lanes that are clamped to one place store alike."""
    count = int(vector[1:] or 1)
    kind, source = DATA[size]
    same = "mov.u32 %r7, 77; mov.u64 %d6, 1234567890123; mov.u16 %h1, 300;" if bound == "clamp" else ""
    listed = ", ".join([source] * count)
    place = "[%d4, {" + LISTED[geometry].strip("{}") + "}]"
    text = f"{same} sust.b.{geometry}{'.' + vector if vector else ''}.{kind}.{bound} {place}, {{{listed}}};"
    # of the lanes in one place the last one's value stands in the interpreter: one lane each
    once = "setp.lt.u32 %p1, %r0, 12;" if bound == "trap" else "setp.ne.u32 %p1, %r0, 99;"
    body = around(f"{once} @%p1 {text}" if not same else text, bound, size * count)
    both(body, words=32, args=[surface(geometry, size * count)], params=HANDLE)
