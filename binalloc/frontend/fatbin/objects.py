"""This module finds the containers in a file.

The file may be a container itself, an ELF file with containers in sections, or an archive of such ELF files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from binalloc.frontend.fatbin.damage import FilePiece
from binalloc.frontend.fatbin.records import (
    ARCHIVE,
    BEGINNING,
    E_MACHINE_CUDA,
    E_MACHINES_HOST,
    ELF,
    ELF_64_LITTLE,
    MEMBER,
    MEMBER_BYTES,
    MEMBER_END,
    SECTIONS,
    THIN_ARCHIVE,
)
from binalloc.isa.container.elf import EHDR, SHDR, SHDR_BYTES, SHT_NOBITS

_MAX_NAME = 4096  # longest section or member name; it bounds the search for the end of a name in a damaged file
_MOST_MEMBERS = 1 << 16  # it bounds the time for a damaged archive; chosen by hand


@dataclass(frozen=True)
class Holder:
    """A holder is a range of bytes with containers."""

    piece: FilePiece
    member: str = ""  #: name of the archive's member, or empty
    section: str = ""  #: name of the ELF section, or empty
    linked: bool = False  #: whether the section is the one for code that is to be linked


def may_hold_code(data: bytes) -> bool:
    """Return whether a file may hold CUDA code among other things.

    Its first bytes decide: it is a fat binary, an archive, or an ELF file for a host with a GPU.
    """
    return data.startswith((BEGINNING, ARCHIVE, THIN_ARCHIVE)) or _machine(data) in E_MACHINES_HOST


def is_cubin(data: bytes) -> bool:
    """Return whether a file is machine code of a GPU and nothing else."""
    return _machine(data) == E_MACHINE_CUDA


def _machine(data: bytes) -> int | None:
    """Return the machine number of an ELF file, or None."""
    return int.from_bytes(data[18:20], "little") if data.startswith(ELF) else None


def holders(file: FilePiece, member: str = "") -> Iterator[Holder]:
    """Yield all parts of a file that hold containers. Raises MalformedInput where the file is damaged."""
    data = file.data
    if data.startswith(BEGINNING):
        yield Holder(file, member)
    elif data.startswith(ELF):
        yield from _of_elf(file, member)
    elif data.startswith(THIN_ARCHIVE):
        file.fail("a thin archive, whose members are other files", expected="an archive that holds its members")
    elif data.startswith(ARCHIVE) and not member:
        for name, inner in _members(file):
            yield from holders(inner, name)


def _of_elf(file: FilePiece, member: str) -> Iterator[Holder]:
    """Yield the sections of an ELF file that hold containers. Raises MalformedInput where the file is damaged."""
    if file.data[4:6] != ELF_64_LITTLE:
        found = f"class and byte order {file.data[4:6].hex(' ')}"
        file.fail("not an ELF file of 64 bits, little-endian", found=found, expected=ELF_64_LITTLE.hex(" "))
    header = file.record(EHDR, 0, "the ELF header")
    if not header.e_shnum:
        return
    if header.e_shentsize != SHDR_BYTES or header.e_shstrndx >= header.e_shnum:
        file.fail("section headers of another kind", found=header.e_shentsize, expected=SHDR_BYTES)
    table = file.part(header.e_shoff, header.e_shnum * SHDR_BYTES, "the table of sections")
    headers = [table.record(SHDR, n * SHDR_BYTES, "a section header") for n in range(header.e_shnum)]
    named = headers[header.e_shstrndx]
    names = file.part(named.sh_offset, named.sh_size, "the table of names").data
    total = 0
    for section in headers:
        start = section.sh_name
        end = names.find(b"\0", start, start + _MAX_NAME)
        name = names[start:end].decode("ascii", "replace") if end >= 0 else ""
        if name in SECTIONS and section.sh_type != SHT_NOBITS:
            total += section.sh_size
            if total > len(file.data):
                file.fail("sections lie over one another", found=f"{total} bytes of them")
            place = f"{member}, section {name}" if member else f"section {name}"
            piece = file.part(section.sh_offset, section.sh_size, f"section {name}", place)
            yield Holder(piece, member, name, SECTIONS[name])


def _members(archive: FilePiece) -> Iterator[tuple[str, FilePiece]]:
    """Yield the names and bytes of an archive's members. Members that are tables of the archive are left out."""
    at = len(ARCHIVE)
    long_names = b""
    count = 0
    while at < len(archive.data):
        count += 1
        if count > _MOST_MEMBERS:
            archive.fail("too many members", at=at, expected=f"at most {_MOST_MEMBERS}")
        header = archive.record(MEMBER, at, "the header of a member")
        digits = header.bytes.rstrip(b" ")
        if header.end != MEMBER_END or not digits.isdigit():
            archive.fail("not the header of a member", at=at, expected="a size in decimal, and the bytes 60 0a")
        size = int(digits)
        body = archive.part(at + MEMBER_BYTES, size, "a member")
        at += MEMBER_BYTES + size + size % 2
        raw = header.name.rstrip(b" ")
        if raw == b"//":
            long_names = body.data
        elif raw not in (b"/", b"/SYM64/", b"__.SYMDEF"):
            name, skipped = _member_name(raw, long_names, body)
            yield name, body.part(skipped, size - skipped, "a member", name)


def _member_name(raw: bytes, long_names: bytes, body: FilePiece) -> tuple[str, int]:
    """Return the name of a member and the number of its first bytes that are the name (as BSD writes long names)."""
    skipped = 0
    if raw.startswith(b"/") and raw[1:].isdigit():
        start = int(raw[1:])
        raw = long_names[start : start + _MAX_NAME].split(b"\n")[0]
    elif raw.startswith(b"#1/") and raw[3:].isdigit():
        skipped = min(int(raw[3:]), len(body.data))
        raw = body.data[:skipped].rstrip(b"\0")
    return raw.removesuffix(b"/").decode("utf-8", "replace") or "member", skipped
