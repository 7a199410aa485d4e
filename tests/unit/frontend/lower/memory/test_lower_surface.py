"""Surface accesses and queries of imported PTX against the interpreter: geometries, types, bounds, references."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import KernelFault, MalformedInput
from tests.support.ptx.bodies import both, code
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


@pytest.mark.rotates
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


@pytest.mark.rotates
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


REDUCTIONS = [
    ("b.add", "u32"), ("b.add", "s32"), ("b.add", "u64"), ("b.min", "u32"), ("b.min", "s32"), ("b.max", "s64"),
    ("b.max", "u64"), ("b.and", "b32"), ("b.or", "b32"), ("p.add", "b32"), ("p.min", "b32"), ("p.max", "b32"),
    ("p.and", "b32"), ("p.or", "b32"),
]  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize(("operation", "kind"), REDUCTIONS)
@pytest.mark.parametrize("bound", ["trap", "clamp", "zero"])
@pytest.mark.parametrize("dtype", ["u4", "i4"])
@pytest.mark.parametrize("guard", ["", "@%p1 "])
def test_reductions(operation: str, kind: str, bound: str, dtype: str, guard: str) -> None:
    """Several lanes at each place; values on both sides of zero."""
    wide = kind.endswith("64")
    image = RNG.integers(0, 1 << 32, (5, 12, 2 if wide else 1), dtype=np.uint32).view(dtype)
    texel = 1 if operation[0] == "p" else 8 if wide else 4
    setup = "setp.lt.u32 %p1, %r0, 19; mul.lo.u32 %r7, %r0, 178956971; mul.wide.s32 %d6, %r7, 87654321;"
    text = f"{setup} {guard}sured.{operation}.2d.{kind}.{bound} [%d4, {{%r2, %r3}}], {'%d6' if wide else '%r7'};"
    both(around(text, bound, texel), args=[Surface(image)], params=HANDLE)


def test_references_are_parameters_of_their_names() -> None:
    body = """rem.u32 %r2, %r0, 12; shl.b32 %r2, %r2, 2; mov.u32 %r3, 1; suq.width.b32 %r4, [pixels];
        sured.b.add.2d.u32.trap [pixels, {%r2, %r3}], %r0; add.u32 %r3, %r3, 1;
        suld.b.2d.b32.trap {%r5}, [pixels, {%r2, %r3}];
        mad.lo.u32 %r5, %r5, 100, %r4; st.global.u32 [%d1], %r5;"""
    image = Surface(np.arange(36, dtype=np.uint32).reshape(3, 12, 1))
    both(body, head=".global .surfref pixels;\n", textures={"pixels": image})


@pytest.mark.rotates
@pytest.mark.parametrize("text", [
    "suld.b.2d.b32.trap {%r5}, [%d4, {%r2, %r3}];", "sust.b.2d.b32.clamp [%d4, {%r2, %r3}], {%r0};",
    "sured.b.add.2d.u32.zero [%d4, {%r2, %r3}], %r0;", "suld.b.2d.v2.b32.zero {%r5, %r6}, [%d4, {%r2, %r3}];",
])  # fmt: skip
def test_lanes_whose_guard_is_false_access_nothing(text: str) -> None:
    """Their handle is none, and their registers stay."""
    body = f"""{HEAD} mov.u32 %r2, 8; mov.u32 %r3, 1; setp.eq.u32 %p1, %r0, 3; selp.b64 %d4, %d4, 0, %p1;
        mov.u32 %r5, 77; mov.u32 %r6, 78; @%p1 {text} add.u32 %r5, %r5, %r6; st.global.u32 [%d1], %r5;"""
    both(body, args=[Surface(np.arange(36, dtype=np.uint32).reshape(3, 12, 1))], params=HANDLE)


def test_a_trap_names_what_was_accessed() -> None:
    body = f"{HEAD} mov.u32 %r2, 48; mov.u32 %r3, 1; suld.b.2d.b32.trap {{%r5}}, [%d4, {{%r2, %r3}}];"
    image = Surface(np.zeros((3, 12, 1), np.uint32))
    with pytest.raises(KernelFault, match=r"surface access out of bounds.*4 bytes at x 48, y 1 of surface 1.*below 48"):
        both(f"{body} st.global.u32 [%d1], %r5;", args=[image], params=HANDLE)


REFUSED = [
    ("suld.b.2d.b32.trap {%r1}, [%d4, {%r1}];", "1 coordinates of a 2d surface"),
    ("suld.b.3d.b32.trap {%r1}, [%d4, {%r1, %r2, %r3}];", "3 coordinates of a 3d surface"),
    ("suld.b.cube.b32.trap {%r1}, [%d4, {%r1, %r2, %r3, %r3}];", "not a surface access"),
    ("suld.b.2d.b32 {%r1}, [%d4, {%r1, %r2}];", "not a surface access"),
    ("suld.b.2d.v2.b32.trap {%r1}, [%d4, {%r1, %r2}];", "1 values"),
    ("suld.b.2d.v4.b64.trap {%d1, %d2, %d3, %d5}, [%d4, {%r1, %r2}];", "at most 16 bytes"),
    ("suld.b.2d.f32.trap {%f1}, [%d4, {%r1, %r2}];", "suld has no type .f32"),
    ("suld.b.2d.b32.trap {%r1}, [%d4];", "not a surface"),
    ("sust.p.2d.b32.trap [%d4, {%r1, %r2}], {%r1};", "to the bit"),
    ("sured.b.xor.2d.b32.trap [%d4, {%r1, %r2}], %r1;", "no such operation"),
    ("sured.b.add.a2d.u32.trap [%d4, {%r1, %r2, %r3, %r3}], %r1;", "not a surface access"),
    ("sured.b.add.2d.b32.trap [%d4, {%r1, %r2}], %r1;", "sured has no type .b32"),
    ("sured.p.add.2d.u32.trap [%d4, {%r1, %r2}], %r1;", "sured has no type .u32"),
    ("sured.b.add.2d.u32.trap [%d4, {%r1, %r2}], {%r1};", "operand does not fit"),
    ("suld.b.2d.b32.trap {%r1}, [image, {%r1, %r2}];", "image is no surface"),
    ("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [pixels, {%r1, %r2}];", "pixels is no texture"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_no_surface_access_is_refused(text: str, message: str) -> None:
    head = ".global .texref image; .global .surfref pixels;\n"
    with pytest.raises(MalformedInput) as caught:
        code(f"ld.param.u64 %d4, [handle]; {text}", params=HANDLE, head=head)
    assert message in str(caught.value)
    assert "line" in str(caught.value)
