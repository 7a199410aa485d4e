"""PTX in containers made byte by byte: what is found, what is chosen, what of it is linked."""

from __future__ import annotations

import pytest

from binalloc.errors import MalformedInput, UsageError
from binalloc.frontend.fatbin.choose import architecture_of, choose
from binalloc.frontend.fatbin.entries import entries
from binalloc.frontend.fatbin.objects import is_cubin, may_hold_code
from binalloc.frontend.importer import Imported, import_units
from tests.support.kits.fatbins import CODE, Made, archive, container, elf
from tests.support.ptx.linked import HEAD, call, declared, function, kernel, result


def ptx(number: int = 1, name: str = "k", linkage: str = ".visible ") -> bytes:
    """PTX of a kernel that stores a number."""
    return (HEAD + kernel(f"mov.u32 %r1, {number};", name, linkage)).encode()


def imported(data: bytes, architecture: str | None = None) -> Imported:
    return import_units(choose(entries(data, "f"), "f", architecture).units, machine="gtx680")


WRAPPED = {
    "container": lambda inner: inner,
    "object": lambda inner: elf({".text": b"host", ".nv_fatbin": inner}),
    "program for ARM": lambda inner: elf({".nv_fatbin": inner}, machine=183),
    "relocatable": lambda inner: elf({"__nv_relfatbin": inner}),
    "archive": lambda inner: archive([("a.o", elf({".nv_fatbin": inner})), ("host.o", elf({".text": b"x"}))]),
    "archive with long names": lambda inner: archive([("a_name_that_is_long.o", elf({".nv_fatbin": inner}))]),
    "archive of BSD": lambda inner: archive([("a.o", elf({".nv_fatbin": inner}))], style="bsd"),
    "archive of containers": lambda inner: archive([("a.fatbin", inner)]),
}


@pytest.mark.rotates
@pytest.mark.parametrize("how", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_every_form(wrapped: str, how: str) -> None:
    data = WRAPPED[wrapped](container(Made(ptx(7), how=how), Made(CODE, kind=2, how=how)))
    assert may_hold_code(data)
    found = entries(data, "f")
    assert [(e.number, e.unit, e.kind, e.architecture, e.bits, e.compression) for e in found] == [
        (1, 1, "ptx", "sm_75", 64, how), (2, 1, "cubin", "sm_75", 64, how)]  # fmt: skip
    assert found[0].unpacked == len(ptx(7)) + (-len(ptx(7)) % 8 if how == "none" else 0)
    assert found[0].content().rstrip(b"\0") == ptx(7)
    assert found[0].linked == (wrapped == "relocatable")
    member = {"archive": "a.o", "archive with long names": "a_name_that_is_long.o", "archive of BSD": "a.o"}
    assert found[0].holder.member == member.get(wrapped, "a.fatbin" if wrapped == "archive of containers" else "")
    assert result(imported(data)) == 7


def test_what_an_entry_records() -> None:
    made = [
        Made(ptx(), name="solve.cu", options="-g --dont-merge", flags=3),
        Made(ptx(2), arch=90, flags=1 | 0x100000), Made(ptx(3), arch=100, flags=0x200000),
        Made(CODE, kind=8, arch=120), Made(CODE, kind=77), Made(ptx(4), flags=1 | 0x2000 | 0x8000),
        Made(ptx(5), options="-v --compile-only "),
    ]  # fmt: skip
    found = entries(container(*made), "f")
    assert [e.name for e in found] == ["solve.cu", *[""] * 6]
    assert [e.options for e in found] == ["-g --dont-merge", "", "", "", "", "", "-v --compile-only"]
    assert [e.debug for e in found] == [True, *[False] * 6]
    assert [e.architecture for e in found] == ["sm_75", "sm_90a", "sm_100f", "sm_120", "sm_75", "sm_75", "sm_75"]
    assert [e.bits for e in found] == [64, 64, 32, 64, 64, 64, 64]
    assert [e.kind for e in found] == ["ptx", "ptx", "ptx", "lto", "kind 77", "ptx", "ptx"]
    assert [e.compression for e in found] == [*["none"] * 5, "unknown", "none"]
    assert [e.linked for e in found] == [False] * 6 + [True]


def test_containers_with_zeros_between_them_and_none() -> None:
    data = container() + bytes(24) + container(Made(ptx(1, "a"))) + bytes(8) + container(Made(ptx(2, "b"))) + bytes(5)
    assert [(e.number, e.unit) for e in entries(data, "f")] == [(1, 1), (2, 2)]
    assert [k.name for k in imported(data).kernels] == ["a", "b"]


def test_the_oldest_architecture_is_taken_and_others_on_demand() -> None:
    data = container(Made(ptx(90), arch=90), Made(ptx(8), arch=80, how="lz4"), Made(ptx(100), arch=100))
    assert result(imported(data)) == 8
    assert [result(imported(data, text)) for text in ("sm_90", "compute_100", "80")] == [90, 100, 8]
    (note,) = choose(entries(data, "f"), "f", None).notes
    assert note == "PTX for sm_80, sm_90, sm_100: importing that for sm_80"
    with pytest.raises(UsageError, match="no PTX for sm_75; found sm_80, sm_90, sm_100"):
        imported(data, "sm_75")
    for text in ("sm75", "", "sm_", "sm_75x", "fast"):
        with pytest.raises(UsageError, match="not an architecture"):
            architecture_of(text)


def test_units_without_the_architecture_are_left_out_and_told() -> None:
    data = container(Made(ptx(1, "a")), Made(ptx(2, "a"), arch=90)) + container(Made(ptx(3, "b"), arch=90))
    chosen = choose(entries(data, "f"), "f", "sm_75")
    assert [unit.path for unit in chosen.units] == ["f#1"]
    assert "one translation unit without PTX for sm_75 left out" in chosen.notes
    both = choose(entries(data, "f"), "f", None)
    assert [unit.path for unit in both.units] == ["f#1", "f#3"]


def test_units_of_machine_code_alone_are_told() -> None:
    units = container(Made(ptx())) + container(Made(CODE, kind=2)) + container(Made(b"\x7fELF empty", kind=2))
    told = ["one translation unit without PTX left out, with machine code alone"]
    assert choose(entries(units, "f"), "f", None).notes == told
    linked = elf({".nv_fatbin": container(Made(CODE, kind=2)), "__nv_relfatbin": container(Made(ptx()))})
    assert choose(entries(linked, "f"), "f", None).notes == [], "what was linked for the device is no unit"


def test_relocatable_units_are_linked() -> None:
    user = (HEAD + declared("f") + ".global .u32 own = 1;\n" + kernel(call("f"))).encode()
    other = (HEAD + function("f", 10) + ".global .u32 own = 2;\n").encode()
    for data in (
        elf({"__nv_relfatbin": container(Made(user, how="zstd")) + container(Made(other))}),
        container(Made(user, options="--compile-only")) + container(Made(other, options="--compile-only")),
        archive([("a.o", elf({"__nv_relfatbin": container(Made(user))})),
                 ("b.o", elf({"__nv_relfatbin": container(Made(other))}))]),
    ):  # fmt: skip
        assert result(imported(data)) == 11


def test_whole_programs_share_nothing_but_kernels_of_one_name() -> None:
    """As at run time: each unit is a module of its own, and the host knows a kernel by its name."""

    def unit(n: int) -> bytes:
        table = f".visible .const .u32 table = {n};\n" + function("f", n) + f".visible .global .u32 v = {n};\n"
        kernels = kernel("ld.const.u32 %r1, [table];", "own", "") + kernel("ld.const.u32 %r1, [table];", "template")
        return (HEAD + table + kernels + kernel(call("f"), f"k{n}")).encode()

    found = imported(container(Made(unit(1))) + container(Made(unit(2))))
    assert [k.name for k in found.kernels] == ["own", "template", "k1", "own$2", "k2"]
    assert [result(found, k) for k in ("own", "template", "k1", "own$2", "k2")] == [1, 1, 2, 2, 3]


def test_a_text_that_is_there_twice_is_taken_once() -> None:
    data = container(Made(ptx())) + container(Made(ptx(), how="zstd"))
    assert [k.name for k in imported(data).kernels] == ["k"]


def test_errors_in_ptx_say_in_which_entry() -> None:
    bad = HEAD.encode() + b".visible .entry k() { wrong; }"
    data = archive([("lib.o", elf({".nv_fatbin": container(Made(CODE, kind=2), Made(bad, how="zstd"))}))])
    with pytest.raises(MalformedInput, match=r"^f#2 \(lib\.o\): line 4, column 23: "):
        imported(data)
    with pytest.raises(MalformedInput, match=r"^f#1 \(a\.cu\): line 4"):
        imported(container(Made(bad, name="a.cu")))


NONE = {
    "machine code": (container(Made(CODE, kind=2), Made(CODE, kind=2, arch=80)), "code (cubin) of sm_75, sm_80"),
    "other code": (container(Made(CODE, kind=8), Made(CODE, kind=99)), "link-time optimisation of sm_75 and kind 99"),
    "nothing": (elf({".text": b"x"}), "no CUDA code"),
    "an empty container": (elf({".nv_fatbin": container()}), "no CUDA code"),
    "an empty archive": (archive([]), "no CUDA code"),
    "an archive of texts": (archive([("a.txt", b"text")]), "no CUDA code"),
}


@pytest.mark.parametrize("name", NONE)
def test_a_file_without_ptx_says_what_it_holds(name: str) -> None:
    data, said = NONE[name]
    with pytest.raises(MalformedInput, match="no PTX in this file") as caught:
        imported(data)
    assert said in str(caught.value)
    assert "code=compute_75" in str(caught.value)


def test_which_files_are_looked_into() -> None:
    loom, cubin = elf({}, machine=0x4C4D), elf({}, machine=190)
    assert not may_hold_code(loom)
    assert (may_hold_code(cubin), is_cubin(cubin), is_cubin(loom)) == (False, True, False)
    assert not any(map(may_hold_code, (b"", b"\x7fELF", b".version 8.0", b"!<arc")))
