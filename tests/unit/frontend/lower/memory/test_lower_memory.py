"""Loads and stores of every space, width and vector, addresses of every kind, conversions between address spaces:
import and emulation against the interpreter and against NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from tests.support.ptx.bodies import both, code, lowered
from tests.support.ptx.texts import kernel

BYTES = np.random.default_rng(7).integers(0, 256, 4096).astype(np.uint8)
IN = (".param .u64 in",)
INPUT = "ld.param.u64 %d2, [in]; cvta.to.global.u64 %d2, %d2;\n"


def element(size: int) -> str:
    """%d3 = address of the thread's element of `size` bytes in the input."""
    return INPUT + f"mul.wide.u32 %d3, %r0, {size}; add.s64 %d3, %d2, %d3;\n"


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("type_", "register"),
    [
        ("u8", "%h1"), ("s8", "%h1"), ("b8", "%r1"), ("u8", "%r1"), ("s8", "%r1"), ("s8", "%d4"), ("u8", "%d4"),
        ("u16", "%h1"), ("s16", "%r1"), ("u16", "%r1"), ("s16", "%d4"), ("b16", "%d4"), ("u32", "%r1"), ("s32", "%d4"),
        ("u32", "%d4"), ("f32", "%f1"), ("b32", "%f1"), ("u64", "%d4"), ("f64", "%g1"), ("b64", "%g1"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("space", ["global", "generic", "shared"])
def test_a_load_extends_as_its_type_says(type_: str, register: str, space: str) -> None:
    size = int(type_[1:]) // 8
    full = {"%h": "u16", "%r": "u32", "%d": "u64", "%f": "f32", "%g": "f64"}[register[:2]]
    body = element(size)
    if space == "shared":
        body += f"""mov.u32 %r2, buf; mad.lo.u32 %r2, %r0, {size}, %r2;
            ld.global.b{8 * size} %d9, [%d3+16]; st.shared.b{8 * size} [%r2+16], %d9;
        ld.shared.{type_} {register}, [%r2+16];"""
    else:
        body += f"ld{'.global' if space == 'global' else ''}.{type_} {register}, [%d3+16];"
    dtype = {"%h": np.uint16, "%r": np.uint32, "%d": np.uint64, "%f": np.uint32, "%g": np.uint64}[register[:2]]
    body += f"\nst.global.{full} [%d1], {register};"
    out = both(body, head=".shared .align 16 .b8 buf[1024];", args=[BYTES], params=IN, dtype=dtype)
    signed = BYTES[16 : 16 + 32 * size].view(f"{'i' if type_[0] == 's' else 'u'}{size}")
    np.testing.assert_array_equal(out, signed.astype(f"i{dtype().itemsize}").view(dtype))


VECTORS = [
    (type_, count)
    for type_ in ("u8", "s8", "u16", "s16", "u32", "f32", "u64", "f64")
    for count in (2, 4)
]  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize(("type_", "count"), VECTORS)
@pytest.mark.parametrize("guarded", [False, True])
def test_a_vector_is_loaded_and_stored_whole(type_: str, count: int, guarded: bool) -> None:
    size = int(type_[1:]) // 8
    prefix = {"u8": "%h", "s8": "%h", "u16": "%h", "s16": "%h", "u32": "%r2", "f32": "%f", "u64": "%d2", "f64": "%g"}
    names = [prefix[type_] + str(4 + k) for k in range(count)]
    listed = ", ".join(names)
    turned = ", ".join(names[1:] + names[:1])
    guard = "@%p1" if guarded else ""
    types = f"v{count}.{type_}"
    before = ""
    if guarded:
        zero = {"f": "0f00000000", "g": "0d0000000000000000"}
        before = "setp.lt.u32 %p1, %r0, 20;" + "".join(
            f"mov.b{max(16, 8 * size)} {n}, 0;" if n[1] not in "fg" else f"mov.f{8 * size} {n}, {zero[n[1]]};"
            for n in names
        )
    total = size * count
    body = f"""{element(total)} mul.wide.u32 %d5, %r0, {total}; add.s64 %d5, %d5, %d0; {before}
        {guard} ld.global.{types} {{{listed}}}, [%d3+{total}];
        st.global.{types} [%d5], {{{listed}}};
        {guard} st.global.{types} [%d5+{64 * total}], {{{turned}}};"""
    out = both(body, words=128 * total, args=[BYTES], params=IN, dtype=np.uint8)
    lanes = 20 if guarded else 32
    np.testing.assert_array_equal(out[: lanes * total], BYTES[total : total + lanes * total])
    elements = BYTES[total : total + lanes * total].reshape(lanes, count, size)
    np.testing.assert_array_equal(
        out[64 * total : (64 + lanes) * total].reshape(lanes, count, size), np.roll(elements, -1, axis=1)
    )


def test_the_vector_is_one_access_and_its_registers_are_the_group() -> None:
    text = code("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d0]; st.global.v4.f32 [%d0+16], {%f1, %f2, %f3, %f4};")
    found = re.search(r"LDG\.128 (V\d+), .*\n *STG\.128 \[\S+\+0x10\], (V\d+)", text)
    assert found is not None, text
    assert found[1] == found[2]


def test_a_register_written_again_is_not_the_group() -> None:
    body = """ld.global.v2.u32 {%r1, %r2}, [%d0]; mov.u32 %r1, 5; st.global.v2.u32 [%d0+8], {%r1, %r2};"""
    text = code(body)
    assert re.search(r"LDG\.64 (V\d+), .*\n *MOV V\d+, \1\n", text), text


def test_a_register_used_before_in_the_text_is_not_the_group() -> None:
    out = both(
        """mov.u32 %r9, 0; bra TEST;
    LOOP: st.global.u32 [%d1], %r5;
        add.u32 %r9, %r9, 1;
    TEST: ld.global.v2.u32 {%r5, %r6}, [%d0+256];
        add.u32 %r7, %r5, %r6; setp.lt.u32 %p1, %r9, 2; @%p1 bra LOOP;
        st.global.u32 [%d1+512], %r7;""",
        words=256,
    )
    assert out.sum() == 0


@pytest.mark.parametrize("width", [4, 8])
def test_shared_addresses_are_32_or_64_bits(width: int) -> None:
    pointer = "%d4" if width == 8 else "%r4"
    offset = "mul.wide.u32 %d5, %r0, 4;" if width == 8 else "shl.b32 %r5, %r0, 2;"
    five = "%d5" if width == 8 else "%r5"
    body = f"""mov.u{8 * width} {pointer}, buf; {offset} add.u{8 * width} {pointer}, {pointer}, {five};
        st.shared.u32 [{pointer}+8], %r0; ld.shared.u32 %r7, [{pointer}+8]; st.shared.u32 [buf+256], 77;
        bar.sync 0; ld.shared.u32 %r8, [buf+16]; ld.shared.u32 %r9, [buf+256];
        add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; st.global.u32 [%d1], %r7;"""
    out = both(body, head=".shared .align 4 .b8 pad[12];\n.shared .align 8 .b8 buf[512];")
    np.testing.assert_array_equal(out, np.arange(32) + 2 + 77)


def test_generic_addresses_of_shared_and_local_memory() -> None:
    body = """.local .align 8 .b8 depot[32];
        mov.u64 %d4, buf; cvta.shared.u64 %d5, %d4; mul.wide.u32 %d6, %r0, 4; add.s64 %d5, %d5, %d6;
        st.u32 [%d5+4], %r0; cvta.to.shared.u64 %d7, %d5; ld.shared.u32 %r1, [%d7+4];
        mov.u64 %d8, depot; cvta.local.u64 %d9, %d8; and.b32 %r2, %r0, 3; mul.wide.u32 %d10, %r2, 4;
        add.s64 %d11, %d9, %d10; st.u32 [%d11], %r1; cvta.to.local.u64 %d12, %d11; ld.local.u32 %r3, [%d12];
        add.u64 %d13, %d8, 16; st.local.u32 [%d13+4], %r3; ld.local.u32 %r4, [depot+20];
        ld.u32 %r5, [%d9+20]; add.u32 %r4, %r4, %r5; st.global.u32 [%d1], %r4;"""
    out = both(body, head=".shared .align 4 .b8 buf[512];")
    np.testing.assert_array_equal(out, 2 * np.arange(32))


def test_an_address_space_test_tells_the_windows_apart() -> None:
    body = """.local .align 8 .b8 depot[32];
        mov.u64 %d4, buf; cvta.shared.u64 %d5, %d4; mov.u64 %d6, depot; cvta.local.u64 %d7, %d6; mov.u32 %r9, 0;"""
    bit = 0
    for register in ("%d5", "%d7", "%d0"):
        for space in ("shared", "local", "global", "const"):
            body += f"\nisspacep.{space} %p1, {register}; selp.u32 %r1, {1 << bit}, 0, %p1; or.b32 %r9, %r9, %r1;"
            bit += 1
    out = both(body + "st.global.u32 [%d1], %r9;", head=".shared .align 4 .b8 buf[512];", compare=False)
    assert set(out) == {0b0100_0010_0001}


TABLE = ".const .align 16 .b8 table[64] = {" + ", ".join(str(k * 3 % 256) for k in range(60)) + "};\n"


@pytest.mark.parametrize("how", ["[table+{o}]", "[%d4+{o}]", "[%r4+{o}]"])
def test_constant_memory(how: str) -> None:
    def at(offset: int) -> str:
        return how.format(o=offset)

    body = f"""mov.u64 %d4, table; mov.u32 %r4, table;
        ld.const.u32 %r1, {at(4)}; ld.const.u8 %h1, {at(7)}; ld.const.s16 %r2, {at(62 - 16)};
        ld.const.v4.u32 {{%r5, %r6, %r7, %r8}}, {at(16)}; ld.const.u64 %d5, {at(40)};
        ld.const.v2.u8 {{%h2, %h3}}, {at(50)};
        st.global.u32 [%d0], %r1; st.global.u32 [%d0+4], %r2; st.global.v4.u32 [%d0+16], {{%r5, %r6, %r7, %r8}};
        st.global.u64 [%d0+32], %d5; st.global.u8 [%d0+40], %h1; st.global.u8 [%d0+41], %h2;
        st.global.u8 [%d0+42], %h3;"""
    out = both(body, 1, words=48, head=TABLE, dtype=np.uint8, compare="%r4" not in how)
    data = np.array([k * 3 % 256 for k in range(60)] + [0] * 4, np.uint8)
    np.testing.assert_array_equal(out[:4], data[4:8])
    np.testing.assert_array_equal(out[16:32], data[16:32])
    np.testing.assert_array_equal(out[32:40], data[40:48])
    np.testing.assert_array_equal(out[40:43], data[[7, 50, 51]])


def test_constants_at_a_computed_index() -> None:
    body = """mul.wide.u32 %d5, %r0, 4; mov.u64 %d4, table+4; add.s64 %d4, %d4, %d5;
        ld.const.u32 %r1, [%d4]; ld.const.u32 %r2, [%d4+-4]; add.u32 %r1, %r1, %r2; st.global.u32 [%d1], %r1;"""
    head = ".const .align 4 .u32 unused = 9;\n.const .align 4 .u32 table[8] = {1, 20, 300, 4000};\n"
    out = both(body, 7, head=head)
    np.testing.assert_array_equal(out, [21, 320, 4300, 4000, 0, 0, 0])


STRUCT = bytes(range(1, 41))


def test_struct_parameters_by_offset_and_by_byte() -> None:
    body = """ld.param.u32 %r1, [s+4]; ld.param.u8 %h1, [s+3]; ld.param.s16 %r2, [s+10]; ld.param.f64 %g1, [s+16];
        ld.param.v2.u32 {%r3, %r4}, [s+24]; ld.param.v4.u8 {%h2, %h3, %h4, %h5}, [s+32];
        st.global.u32 [%d0], %r1; st.global.u8 [%d0+4], %h1; st.global.u16 [%d0+6], %r2; st.global.f64 [%d0+8], %g1;
        st.global.v2.u32 [%d0+16], {%r3, %r4}; st.global.v4.u8 [%d0+24], {%h2, %h3, %h4, %h5};"""
    params = [".param .u8 lead", ".param .align 8 .b8 s[40]"]
    out = both(body, 1, words=32, args=[np.uint8(1), STRUCT], params=params, dtype=np.uint8)
    assert bytes(out) == STRUCT[4:8] + STRUCT[3:4] + b"\0" + STRUCT[10:12] + STRUCT[16:24] + STRUCT[24:36] + bytes(4)


def test_parameters_at_a_computed_address() -> None:
    body = """mov.b64 %d4, s; ld.param.u32 %r1, [%d4+4]; and.b32 %r2, %r0, 7; mul.wide.u32 %d5, %r2, 4;
        add.s64 %d6, %d4, %d5; ld.param.u32 %r3, [%d6]; add.u32 %r1, %r1, %r3; st.global.u32 [%d1], %r1;"""
    out = both(body, args=[STRUCT], params=[".param .align 4 .b8 s[40]"], compare=False)
    words = np.frombuffer(STRUCT, np.uint32)
    np.testing.assert_array_equal(out, words[1] + words[np.arange(32) & 7])


def test_a_far_offset_is_added() -> None:
    body = f"""add.s64 %d4, %d0, {1 << 30}; ld.global.u32 %r1, [%d4-{(1 << 30) - 4}]; st.global.u32 [%d4-{1 << 30}], 7;
        sub.s64 %d5, %d0, {1 << 30}; st.global.u32 [%d5+{(1 << 30) + 8}], %r1;"""
    out = both(body, 1, words=4)
    np.testing.assert_array_equal(out, [7, 0, 0, 0])


def test_module_variables_lie_one_after_the_other_with_addresses_resolved() -> None:
    head = """.global .align 4 .u32 counter = 7;
.global .align 1 .b8 unused[100];
.global .align 8 .b8 text[3] = {65, 66, 67};
.global .align 8 .u64 pointers[3] = {text, generic(counter)+4, 5};
"""
    body = """ld.global.u64 %d4, [pointers]; ld.u8 %h1, [%d4+1]; st.global.u8 [%d0], %h1;
        mov.u64 %d5, counter; atom.global.add.u32 %r1, [%d5], 1;"""
    program = lowered(kernel(body, head=head))
    assert [(v.name, v.offset, v.size, v.align) for v in program.globals] == [
        ("counter", 0, 4, 4), ("text", 8, 3, 8), ("pointers", 16, 24, 8),
    ]  # fmt: skip
    data = np.frombuffer(program.globals[2].data, np.uint8)
    np.testing.assert_array_equal(
        np.pad(data, (0, 24 - len(data))).view(np.uint64), [0x08000008, 0x08000004, 5]
    )
    body += "mov.b64 %d6, text; ld.global.u8 %r1, [text+2]; st.global.u8 [%d0+1], %r1;"
    out = both(body, 1, words=4, head=head)
    assert out[0] == 66 + (67 << 8)


def test_orderings_put_fences_on_the_right_side() -> None:
    text = code("ld.acquire.gpu.global.u32 %r1, [%d0]; st.release.sys.global.u32 [%d0+4], %r1;")
    assert re.findall(r"(?:LDG|STG|MEMBAR)\S*", text) == ["LDG.32.CG", "MEMBAR.GPU", "MEMBAR.SYS", "STG.32.CV"]
    assert "MEMBAR" not in code("ld.relaxed.gpu.global.u32 %r1, [%d0]; st.volatile.global.u32 [%d0], %r1;")


def test_ordered_accesses_are_marked_in_shared_memory_too() -> None:
    body = """ld.volatile.shared.u32 %r1, [buf]; st.relaxed.cta.shared.u32 [buf+4], %r1;
        ld.shared.cg.u32 %r2, [buf]; st.shared.u32 [buf+8], %r2; ld.volatile.shared.u32 %r3, [buf+12];"""
    text = code(body, head=".shared .align 4 .b8 buf[512];")
    found = re.findall(r"(?:LDS|STS)\S*", text)
    assert found == ["LDS.32.CV", "STS.32.CG", "LDS.32", "STS.32", "LDS.32.CV"]


def test_hints_are_accepted_and_change_nothing() -> None:
    both(
        """prefetch.global.L2 [%d0]; prefetchu.L1 [%d0]; ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%r1, %r2}, [%d0];
        ld.global.ca.u32 %r3, [%d1]; ld.global.cg.u32 %r4, [%d1]; ld.global.cs.u32 %r5, [%d1];
        ld.volatile.global.u32 %r6, [%d1]; ldu.global.u32 %r7, [%d1]; st.global.wb.u32 [%d1], %r7;
        st.global.cs.u32 [%d1], 5;
        st.volatile.shared.u32 [buf], 3; ld.volatile.shared.u32 %r8, [buf]; st.global.wt.u32 [%d1], %r8;""",
        words=64, head=".shared .align 4 .b8 buf[512];",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("st.const.u32 [table], %r1;", "read-only"),
        ("ld.shared.u32 %r1, [table];", "lies in .const"),
        ("ld.global.f16 %h1, [%d0];", "no type .f16"),
        ("ld.global.u32 %h1, [%d0];", "%h1 is .b16"),
        ("ld.global.v2.u32 %r1, [%d0];", "1 values"),
        ("ld.acquire.u32 %r1, [%d0];", "not PTX"),
        ("ld.param.u32 %r1, [out+2];", "not aligned"),
        ("ld.const.u32 %r1, [table+70000];", "outside"),
        ("st.param.u32 [out], %r1;", "st.param"),
        ("cvta.u64 %d1, %d2;", "cvta without a space"),
        ("ld.shared::cluster.u32 %r1, [%r2];", "clusters of blocks are not supported"),
        ("ld.global.u32 %r1, [%f1];", "cannot hold an address"),
        ("mov.u64 %d1, far;", "declared but not defined in this file"),
        ("mov.u64 %d1, %pm0_64;", "%pm0_64 is not supported"),
        ("mov.u64 %d1, %tid.x;", "size of .u64"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(body: str, message: str) -> None:
    head = TABLE + ".extern .global .align 4 .b8 far[4];\n.func helper() { ret; }\n"
    text = kernel(f"\n    {body}\n", head=head)
    with pytest.raises(MalformedInput) as caught:
        lowered(text)
    line = next(k for k, content in enumerate(text.splitlines(), 1) if body in content)
    assert message in str(caught.value)
    assert caught.value.place == f"line {line}, column 5"
    assert caught.value.file == "x.ptx"
    assert body.rstrip(";") in str(caught.value.found)
