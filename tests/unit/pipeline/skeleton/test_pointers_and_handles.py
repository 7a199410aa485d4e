"""Skeletons of kernels with surfaces, mipmaps, accesses in front of pointers, and types that only a signature tells."""

from __future__ import annotations

import tomllib

import pytest

from binalloc.emulator.runs.run import run
from binalloc.launch.schema import parse_launch
from binalloc.pipeline.skeleton.program import skeleton
from binalloc.pipeline.skeleton.types import KernelSkeleton
from binalloc.report.skeleton.text import launch_text
from tests.support.kits.machines import roomy_machine
from tests.support.ptx.harness import imported

MACHINE = roomy_machine()
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<19>; .reg .b64 %d<19>; .reg .f32 %f<9>;"
ALONG = "mov.u32 %r4, %ctaid.{a}; mov.u32 %r5, %ntid.{a}; mov.u32 %r6, %tid.{a}; mad.lo.u32 %r{n}, %r4, %r5, %r6;"
X, Y, Z = (ALONG.format(a=axis, n=n) for n, axis in enumerate("xyz", 1))


def launched(body: str, parameters: str, name: str = "k") -> KernelSkeleton:
    """The skeleton of a kernel of that body, which has run."""
    module = imported(f"{HEAD}.visible .entry {name}({parameters}) {{ {REGISTERS} {body} END: ret; }}\n")
    made = skeleton(module, name, MACHINE)
    run(module, name, parse_launch(tomllib.loads(launch_text(made))), MACHINE)
    return made.kernels[0]


@pytest.mark.parametrize(
    ("axes", "access", "shape"),
    [
        (X, "mul.lo.u32 %r7, %r1, 16; sust.b.1d.v4.b32.trap [%d1, {%r7}], {%r1, %r1, %r1, %r1};", [1024, 4]),
        (X + Y, "add.u32 %r7, %r1, 3; sust.b.2d.b8.trap [%d1, {%r7, %r2}], {%h1};", [64, 67]),
        (X + Y + Z, "sust.b.3d.b8.trap [%d1, {%r1, %r3, %r2, %r2}], {%h1};", [16, 16, 32]),
        (X + Y, "sust.b.a2d.b8.trap [%d1, {0, %r1, %r2, %r2}], {%h1};", [16, 32, 64]),
    ],
)
def test_surfaces_are_as_large_as_the_grid_reaches(axes: str, access: str, shape: list[int]) -> None:
    made = launched(f"{axes} ld.param.u64 %d1, [s]; mov.u16 %h1, 1; {access}", ".param .u64 s")
    assert made.entries[0].keys["shape"] == shape
    assert not made.notes


def test_a_texture_whose_fetches_say_their_level_is_a_mipmap() -> None:
    body = """ld.param.u64 %d1, [t]; ld.param.u64 %d2, [x]; mov.f32 %f1, 0f3F000000; mov.f32 %f2, 0f3F800000;
        tex.level.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d1, {%f1, %f1}], %f2; st.global.f32 [%d2], %f3;"""
    made = launched(body, ".param .u64 t, .param .u64 x")
    texture = made.entries[0]
    assert (texture.keys["normalized"], texture.keys["levels"]) == (True, 4)
    assert "normalized" not in texture.reasons[-1]
    plain = body.replace(".level", "").replace(", %f2;", ";")
    assert not launched(plain, ".param .u64 t, .param .u64 x").entries[0].keys.keys() & {"normalized", "levels"}


FRONT = """ld.global.f32 %f1, [%d1+-8]; ld.global.f32 %f2, [%d1]; add.f32 %f1, %f1, %f2; st.global.f32 [%d2], %f1;"""
OWN = "mul.wide.u32 %d3, %r1, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;"


def test_pointers_behind_the_beginning_of_what_is_accessed() -> None:
    body = f"{X} ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; {OWN} {FRONT}"
    pointer, memory, y = launched(body, ".param .u64 x, .param .u64 y").entries
    assert pointer.keys == {"name": "x", "kind": "pointer", "argument": "x_memory", "at": 8}
    assert (memory.name, memory.parameter, memory.keys["dtype"]) == ("x_memory", "", "f32")
    assert "8 bytes in front" in pointer.reasons[0]
    assert memory.keys["shape"] == y.keys["shape"] + 2


def test_pointers_of_structs_behind_the_beginning_of_what_is_accessed() -> None:
    body = f"{X} ld.param.u64 %d1, [s]; ld.param.u64 %d2, [s+8]; {OWN} {FRONT}"
    struct, *_ = launched(body, ".param .align 8 .b8 s[16]").entries
    assert [field.get("at") for field in struct.keys["fields"]] == [8, None]


@pytest.mark.parametrize(
    ("name", "bits", "dtype", "count"),
    [
        ("_Z1kPK13__nv_bfloat16PS_", 16, "bf16", 1),
        ("_Z1kPK14__nv_bfloat162PS_", 32, "bf16", 2),
        ("_Z1kPK6__halfPS_", 16, "f16", 1),
        ("_Z1kPKbPb", 8, "bool", 1),
    ],
)
def test_types_that_only_the_signature_tells(name: str, bits: int, dtype: str, count: int) -> None:
    register = "%r9" if bits == 32 else "%h1"
    moved = f"ld.global.u{bits} {register}, [%d1]; st.global.u{bits} [%d2], {register};"
    size = f"mul.wide.u32 %d3, %r1, {bits // 8}; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;"
    body = f"{X} ld.param.u64 %d1, [{name}_param_0]; ld.param.u64 %d2, [{name}_param_1]; {size} {moved}"
    made = launched(body, f".param .u64 {name}_param_0, .param .u64 {name}_param_1", name)
    assert [entry.keys["dtype"] for entry in made.entries] == [dtype, dtype]
    assert made.entries[1].keys["shape"] >= 512 * count
    assert not [why for entry in made.entries for why in entry.reasons if "type is not known" in why or "u16" in why]


def test_truth_values_and_short_floats_as_scalars() -> None:
    name = "_Z1kPfb13__nv_bfloat16"
    body = f"""ld.param.u64 %d1, [{name}_param_0]; ld.param.u8 %h1, [{name}_param_1];
        ld.param.u16 %h2, [{name}_param_2]; cvt.u32.u16 %r1, %h1; st.global.u32 [%d1], %r1; cvt.u32.u16 %r2, %h2;
        st.global.u32 [%d1+4], %r2;"""
    parameters = ", ".join(f".param .{kind} {name}_param_{k}" for k, kind in enumerate(("u64", "u8", "u16")))
    made = launched(body, parameters, name)
    assert [(e.keys["dtype"], e.keys.get("value")) for e in made.entries[1:]] == [("bool", True), ("bf16", 1.0)]


def test_what_holds_places_in_memory_begins_as_zeros_whatever_its_type() -> None:
    """Random bits would be addresses of nothing."""
    name = "_Z1kPf"
    body = f"""{X} ld.param.u64 %d1, [{name}_param_0]; mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d1, %d3;
        ld.global.u32 %r7, [%d3]; and.b32 %r7, %r7, 3; mul.wide.u32 %d4, %r7, 4; add.u64 %d4, %d1, %d4;
        ld.global.f32 %f1, [%d4]; st.global.f32 [%d3], %f1;"""
    (entry,) = launched(body, f".param .u64 {name}_param_0", name).entries
    assert (entry.keys["dtype"], entry.keys["init"]) == ("f32", "zeros")
