"""Containers that are cut off, damaged, or lie: one error that says where, and no huge memory."""

from __future__ import annotations

import random
import re
import struct
import sys
import tracemalloc

import pytest

from binalloc.errors import BinallocError, MalformedInput, UsageError
from binalloc.files import FILE_LIMIT
from binalloc.frontend.fatbin import entries as entries_module
from binalloc.frontend.fatbin import objects as objects_module
from binalloc.frontend.fatbin.choose import choose
from binalloc.frontend.fatbin.entries import entries
from tests.support.kits.fatbins import CODE, Made, archive, container, elf, entry, member, padded
from tests.unit.frontend.fatbin.test_fatbin import ptx

HUGE = 1 << 62


def read(data: bytes) -> list[str]:
    """The texts found in a file."""
    return [unit.text for unit in choose(entries(data, "f"), "f", None).units]


def lie(how: str = "none", **changed: int) -> bytes:
    return elf({".nv_fatbin": container(Made(ptx(), how=how, changed=changed))})


LIES = {
    "container longer than its section": (
        elf({".nv_fatbin": container(Made(ptx()), size=1 << 20)}), "section .nv_fatbin", "a container does not lie"),
    "container of endless length": (container(Made(ptx()), size=HUGE), "f: a container", "does not lie within"),
    "container of another magic number": (
        elf({".nv_fatbin": container(Made(ptx()), magic=0x1EE55A01)}), "byte 0", "found 0x1ee55a01"),
    "container header of no bytes": (container(Made(ptx()), header=0), "byte 0", "expected at least 16"),
    "entry header of no bytes": (lie(header_bytes=0), "container at byte 0, byte 0", "expected at least 64"),
    "entry header past the end": (lie(header_bytes=1 << 31), "container at byte 0", "does not lie within"),
    "code past the end": (lie(bytes=HUGE), "container at byte 0", "the code of an entry does not lie"),
    "an entry cut off": (lie(bytes=8), "container at byte 0", "entry"),
    "compressed code longer than code": (lie("zstd", packed_bytes=1 << 30), "entry 1", "does not lie within"),
    "name past the header": (lie(name_at=64, name_bytes=1 << 20), "container at byte 0", "the name of an entry"),
    "options past the header": (lie(options_at=1 << 20), "container at byte 0", "does not lie within"),
    "size of unpacked code too large": (lie("zstd", unpacked_bytes=HUGE), "entry 1", "too"),
    "size of unpacked code too large (lz4)": (lie("lz4", unpacked_bytes=HUGE), "entry 1", "too"),
    "size of unpacked code too small": (lie("zstd", unpacked_bytes=20), "entry 1", "another size; found more"),
    "size of unpacked code a little too large": (lie("zstd", unpacked_bytes=99999), "entry 1", "to another size"),
    "size of unpacked code a little too large (lz4)": (lie("lz4", unpacked_bytes=99999), "entry 1", "to another size"),
    "size of unpacked code too small (lz4)": (lie("lz4", unpacked_bytes=20), "entry 1", "cannot be unpacked (lz4)"),
    "no zstd, though it says so": (lie(flags=0x8001), "entry 1", "cannot be unpacked (zstd)"),
    "no lz4, though it says so": (lie(flags=0x2001, unpacked_bytes=100), "entry 1", "cannot be unpacked (lz4)"),
    "packed in two ways": (lie(flags=0xA001), "entry 1", "not known"),
    "no text": (container(Made(b".version \xff\xfe")), "entry 1, byte 9", "not UTF-8 text"),
    "garbage between containers": (container(Made(ptx())) + b"garbage!" * 4, "byte ", "no container"),
    "a container cut off": (container(Made(ptx())) + struct.pack("<I", 0xBA55ED50), "f: ", "does not lie within"),
    "sections past the end": (elf({".nv_fatbin": b""}, e_shoff=HUGE), "f: ", "the table of sections"),
    "more sections than there are": (elf({".nv_fatbin": b""}, e_shnum=65535), "f: ", "the table of sections"),
    "section headers of another size": (elf({".nv_fatbin": b""}, e_shentsize=40), "f: ", "section headers of another"),
    "names in no section": (elf({".nv_fatbin": b""}, e_shstrndx=99), "f: ", "section headers of another kind"),
    "a section past the end": (elf({".nv_fatbin": b"x"}, sh_offset=HUGE), "f: ", "does not lie within"),
    "a section of endless size": (elf({".nv_fatbin": b"x"}, sh_size=HUGE), "f: ", "sections lie over one another"),
    "a program of 32 bits": (b"\x7fELF\x01\x01" + elf({})[6:], "f: ", "found class and byte order 01 01"),
    "an ELF header cut off": (elf({})[:40], "f: ", "the ELF header does not lie"),
    "a thin archive": (b"!<thin>\n" + bytes(60), "f: ", "a thin archive"),
    "a member past the end": (b"!<arch>\n" + member(b"a.o/", b"", b"99999"), "f: ", "a member does not lie"),
    "a member of no size": (b"!<arch>\n" + member(b"a.o/", b"", b"many"), "byte 8", "not the header of a member"),
    "a member cut off": (b"!<arch>\n" + member(b"a.o/", b"")[:30], "f: ", "the header of a member"),
    "a damaged member": (archive([("a.o", elf({".nv_fatbin": b"garbage!" * 4}))]), "a.o, section .nv_fatbin", "no c"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_lies_are_told_with_their_place(name: str) -> None:
    data, place, said = LIES[name]
    tracemalloc.start()
    try:
        with pytest.raises(MalformedInput) as caught:
            read(data)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    text = str(caught.value)
    assert place in text
    assert said in text
    assert "\n" not in text
    assert text.startswith("f: ")
    assert caught.value.exit_code == 3


def bomb(how: str) -> bytes:
    """A small file that says truly that it unpacks to more than any file may have."""
    import zstandard

    if how == "zstd":
        packed = zstandard.ZstdCompressor(level=3).compress(bytes(FILE_LIMIT + 8))
        return container(Made(packed, changed={"flags": 0x8001, "packed_bytes": len(packed),
                                               "unpacked_bytes": FILE_LIMIT + 8}))  # fmt: skip
    return container(*[Made(b" " * (FILE_LIMIT // 4), how=how)] * 6)


@pytest.mark.parametrize("how", ["zstd", "zstd, with a smaller size in its header", "many small ones"])
def test_bombs_are_not_unpacked(how: str) -> None:
    data = bomb("zstd") if how.startswith("zstd") else bomb("lz4")
    if "," in how:
        data = data.replace(struct.pack("<Q", FILE_LIMIT + 8), struct.pack("<Q", 1000))
    assert len(data) < 1 << 20
    with pytest.raises(MalformedInput, match=re.compile("too large|too much|another size")):
        read(data)


def test_one_entry_is_no_larger_than_a_file() -> None:
    (entry,) = entries(bomb("zstd"), "f")
    with pytest.raises(MalformedInput, match="code is too large when unpacked"):
        entry.content()


@pytest.mark.parametrize(("how", "module"), [("lz4", "lz4.block"), ("zstd", "zstandard")])
def test_what_is_not_installed(monkeypatch: pytest.MonkeyPatch, how: str, module: str) -> None:
    package = module.split(".")[0]
    data = container(Made(ptx(), how=how))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=f"{package} is not installed.*Install {package}"):
        read(data)


@pytest.mark.parametrize("most", [1 << 10, pytest.param(1 << 16, marks=pytest.mark.full)])
def test_very_many_pieces_are_refused_in_time(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a small limit; a file that meets the product's own takes seconds."""
    assert entries_module._MOST == objects_module._MOST_MEMBERS == 1 << 16
    monkeypatch.setattr(entries_module, "_MOST", most)
    monkeypatch.setattr(objects_module, "_MOST_MEMBERS", most)
    with pytest.raises(MalformedInput, match="too many pieces of code"):
        read(container(Made(b"", kind=2)) * (2 * most))
    one = entry(Made(b"", kind=2))
    with pytest.raises(MalformedInput, match="too many pieces of code"):
        read(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(one) * 2 * most) + one * (2 * most))
    with pytest.raises(MalformedInput, match="too many members"):
        read(b"!<arch>\n" + member(b"a.o/", b"") * (2 * most))
    with pytest.raises(MalformedInput, match="too large"):
        read(container(Made(bytes(FILE_LIMIT))))


def test_sections_that_lie_over_one_another() -> None:
    """One container in 200 sections is no way to have it unpacked 200 times."""
    inner = padded(container(Made(ptx())))
    made = elf({".nv_fatbin": inner})
    table = struct.unpack_from("<Q", made, 40)[0]
    rows = made[table:]
    many = rows[:64] + rows[64:128] * 200 + rows[128:]
    head = bytearray(made[:table])
    struct.pack_into("<HH", head, 60, len(many) // 64, len(many) // 64 - 1)
    with pytest.raises(MalformedInput, match="sections lie over one another"):
        read(bytes(head) + many)


def whole() -> list[bytes]:
    units = [
        container(Made(ptx(n, f"k{n}"), how=how, name=f"{how}.cu", options="-v"), Made(CODE, kind=2, how=how))
        for n, how in enumerate(("none", "lz4", "zstd"))
    ]
    inner = b"".join(units)
    return [inner, elf({".nv_fatbin": inner}), archive([("a.o", elf({"__nv_relfatbin": inner}))])]


def tried(data: bytes) -> tuple[list[str], BinallocError | None]:
    """The texts, or why there are none."""
    try:
        return read(data), None
    except BinallocError as error:
        return [], error


def test_every_cut_is_told_or_whole() -> None:
    """Nothing but errors of ours, wherever a file ends."""
    for data in whole():
        texts = read(data)
        for end in range(0, len(data), 3):
            found, error = tried(data[:end])
            assert set(found) <= set(texts)
            assert error is None or (error.exit_code, error.file) == (3, "f")


def test_every_changed_byte_is_told_or_read() -> None:
    rng = random.Random(20260101)
    for data in whole():
        for _ in range(700):
            changed = bytearray(data)
            for _ in range(rng.choice((1, 1, 2, 5))):
                changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            _, error = tried(bytes(changed))
            assert error is None or (error.exit_code, error.file) == (3, "f")
