"""Where variables lie: shared memory exact per kernel, one placement per routine, parameters, constants, textures."""

from __future__ import annotations

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.ir import dump
from tests.support.ptx.bodies import both, code, imported, lowered
from tests.support.ptx.texts import HEAD, kernel

BODY = ".reg .b32 %r<9>; .reg .b64 %d<9>;"


def test_static_shared_memory_counts_what_a_kernel_reaches() -> None:
    text = f"""{HEAD}
.shared .align 4 .b8 common[100];
.shared .align 4 .b8 nobodys[5000];
.func helper() {{ {BODY} .shared .align 8 .b8 own[24]; st.shared.u32 [own], 1; st.shared.u32 [common], 2; ret; }}
.entry a() {{ {BODY} .shared .align 1 .b8 odd[3]; .shared .align 16 .b8 wide[32]; st.shared.u8 [odd], 1;
        st.shared.u32 [wide], 1; ret; }}
.entry b() {{ {BODY} .shared .align 4 .b8 mine[40]; st.shared.u32 [mine], 1; call.uni helper; ret; }}
.entry c() {{ {BODY} call.uni helper; ret; }}
.entry d() {{ {BODY} ret; }}
"""
    program = lowered(text)
    info = {name: r.info for name, r in program.routines.items()}
    assert {n: i.shared_bytes for n, i in info.items() if i.is_kernel} == {"a": 35, "b": 164, "c": 124, "d": 0}
    assert [(v.name, v.offset, v.size) for v in program.routines["b"].shared] == [
        ("helper.own", 0, 24), ("mine", 24, 40), ("common", 64, 100),
    ]  # fmt: skip
    assert sorted(program.routines) == ["a", "b", "c", "d", "helper", "helper.c"]
    assert "[0x40]" in dump(program.routines["helper"])
    assert "[0x18]" in dump(program.routines["helper.c"])
    assert [n.callee for n in program.routines["c"].nodes() if n.callee] == ["helper.c"]
    assert imported(text).module.function("a").info.shared_bytes == 35


def test_a_function_placed_alike_serves_all_kernels() -> None:
    text = f"""{HEAD}
.func helper() {{ {BODY} .shared .align 8 .b8 own[24]; st.shared.u32 [own], 1; ret; }}
.entry a() {{ call.uni helper; ret; }}
.entry b() {{ .shared .align 4 .b8 mine[40]; call.uni helper; ret; }}
"""
    assert sorted(lowered(text).routines) == ["a", "b", "helper"]
    assert sorted(lowered(text, ["b"]).routines) == ["b", "helper"]


@pytest.mark.rotates
@pytest.mark.parametrize(("align", "static", "start"), [(4, 20, 32), (64, 20, 64), (16, 32, 32), (16, 0, 0)])
def test_dynamic_shared_memory_begins_behind_the_static(align: int, static: int, start: int) -> None:
    head = f".extern .shared .align {align} .b8 dyn[];\n.extern .shared .align 4 .f32 same[];\n"
    own = f".shared .align 4 .b8 own[{static}]; st.shared.u32 [own], 1;" if static else ""
    body = f"""{own} shl.b32 %r1, %r0, 2; mov.u32 %r2, dyn; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %r0;
        ld.shared.u32 %r3, [same+12]; mov.u32 %r4, same; mad.lo.u32 %r3, %r3, 1000, %r4; st.global.u32 [%d1], %r3;"""
    out = both(body, head=head, dynamic=128, compare=False)
    np.testing.assert_array_equal(out, 3000 + start)
    assert lowered(kernel(body, head=head)).routines["k"].info.shared_bytes == start


def test_parameters_lie_at_their_alignment() -> None:
    params = [".param .u8 a", ".param .u16 b", ".param .align 16 .b8 c[5]", ".param .u64 d", ".param .f32 e"]
    info = lowered(kernel("", params=params)).routines["k"].info
    assert [(p.name, p.offset, p.size) for p in info.params] == [
        ("out", 0, 8), ("a", 8, 1), ("b", 10, 2), ("c", 16, 5), ("d", 24, 8), ("e", 32, 4),
    ]  # fmt: skip


def test_texture_references_are_hidden_parameters() -> None:
    head = ".global .texref tex;\n.global .texref other;\n.global .texref third;\n"
    body = """tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [third, {%f5}]; mov.u64 %d4, tex;
        tex.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%d4, {%f5, %f6}]; st.global.f32 [%d1], %f2;"""
    text = kernel(body, head=head, params=[".param .u32 n"])
    routine = lowered(text).routines["k"]
    assert [(p.name, p.offset, p.size) for p in routine.info.params] == [
        ("out", 0, 8), ("n", 8, 4), ("tex", 16, 8), ("third", 24, 8),
    ]  # fmt: skip
    listing = dump(routine)
    assert "MOV V12, c[0][0x18]" in listing or "c[0][0x18]" in listing
    assert "c[0][0x10]" in listing
    assert "TEX.1D" in listing
    assert "TEX.2D" in listing


def test_a_three_dimensional_fetch_takes_three_of_four_coordinates() -> None:
    text = code("""tex.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d4, {%f5, %f6, %f7, %f8}];
        st.global.v4.f32 [%d0], {%f1, %f2, %f3, %f4};""")
    assert "TEX.3D" in text
    assert text.count("MOV") >= 6


def test_only_constants_that_are_reached_are_placed() -> None:
    head = """.const .align 4 .u32 unused[1000] = {1};
.global .align 4 .u32 counter = 3;
.const .align 8 .u64 pointer = counter;
.const .align 1 .b8 pad = 5;
.const .align 4 .f32 scale = 0f40000000;
"""
    body = "ld.const.f32 %f1, [scale]; ld.const.u64 %d4, [pointer]; ld.global.u32 %r1, [%d4]; st.global.u32 [%d1], %r1;"
    program = lowered(kernel(body, head=head))
    assert program.constants[3] == (0x08000000).to_bytes(8, "little") + bytes.fromhex("00000040")
    np.testing.assert_array_equal(both(body, 4, head=head), 3)


@pytest.mark.parametrize(
    ("head", "body", "message"),
    [
        (
            ".const .align 4 .b8 a[65536];\n.const .align 4 .b8 b[4];\n",
            "ld.const.u32 %r1, [a]; ld.const.u32 %r1, [b];", "65540 bytes",
        ),
        (
            ".extern .func helper();\n.global .align 8 .u64 f = helper;\n",
            "ld.global.u64 %d4, [f];", "address of helper",
        ),
        (
            ".shared .align 4 .b8 s[16777216];\n.shared .align 4 .b8 t[4];\n",
            "st.shared.u32 [s], 1; st.shared.u32 [t], 1;", "shared memory",
        ),
        ("", ".local .align 4 .b8 l[16777217]; st.local.u32 [l], 1;", ".local variables"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(head: str, body: str, message: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        lowered(kernel(body, head=head))
    assert message in str(caught.value)
    assert caught.value.place is not None


def test_a_file_without_code_is_refused() -> None:
    with pytest.raises(MalformedInput, match="no kernel in this file"):
        lowered(HEAD + ".global .u32 f;\n")


def test_variables_of_one_name_in_several_scopes_keep_apart() -> None:
    text = f"""{HEAD}
.shared .align 4 .b8 buf[8];
.shared .align 4 .b8 n[4];
.func user() {{ st.shared.u32 [buf], 1; st.shared.u32 [n], 1; ret; }}
.entry k(.param .u32 n) {{ .shared .align 8 .b8 buf[16]; st.shared.u32 [buf+4], 1; call.uni user; ret; }}
"""
    program = lowered(text)
    assert [(v.name, v.offset) for v in program.routines["k"].shared] == [("buf", 0), ("buf_", 16), ("n_", 24)]
    assert "STS.32 [0x10]" in dump(program.routines["user"])
    assert "STS.32 [0x4]" in dump(program.routines["k"])
    imported(text)
