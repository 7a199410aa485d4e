"""This module lists the entries of a file's containers: each has its kind of code, architecture and bytes.

The bytes are unpacked on demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from binalloc.errors import MalformedInput
from binalloc.files import FILE_LIMIT
from binalloc.frontend.fatbin.damage import FilePiece
from binalloc.frontend.fatbin.objects import Holder, holders
from binalloc.frontend.fatbin.records import (
    CONTAINER,
    CONTAINER_BYTES,
    CUBIN,
    DEBUG,
    ENTRY,
    ENTRY_BYTES,
    FAMILY,
    KINDS,
    LZ4,
    MAGIC,
    OPTIONS,
    PTX,
    SPECIFIC,
    WIDE,
    ZSTD,
)
from binalloc.frontend.fatbin.unpack import unpack

_ALIGNMENT = 8  # containers are padded to eight bytes
_MOST = 1 << 16
"""Upper limit of a file's containers, and of its entries. It bounds the time for a damaged file that claims more;
chosen by hand."""
_RELOCATABLE = ("compile-only", "c")
"""An entry with one of these options of ptxas, here without their dashes, is to be linked."""


@dataclass(frozen=True)
class FatbinEntry:
    """An entry is one piece of code in a file."""

    number: int  #: from 1, in the order of the file
    unit: int  #: number of its container, from 1, without empty ones; the entries of a container have the same source
    holder: Holder  #: where the container is in the file
    kind: str  #: ptx, cubin, lto, or `kind N`
    architecture: str  #: `sm_75`
    bits: int  #: 32 or 64
    compression: str  #: none, lz4, zstd or unknown
    size: int  #: bytes in the file
    unpacked: int  #: bytes of the code when unpacked
    name: str  #: name of the translation unit, or empty
    options: str  #: options of ptxas to compile it with
    debug: bool  #: whether it was compiled for a debugger
    code: FilePiece = field(repr=False)  #: the bytes in the file

    @property
    def linked(self) -> bool:
        """Return whether the code is to be linked (-rdc) and is no whole program."""
        options = [option.lstrip("-") for option in self.options.split() if option.startswith("-")]
        return self.holder.linked or any(option in _RELOCATABLE for option in options)

    @property
    def is_ptx(self) -> bool:
        return self.kind == KINDS[PTX]

    def content(self) -> bytes:
        """Return the code, unpacked.

        Raises MalformedInput where the code cannot be unpacked. Raises UsageError where the package that unpacks it is
        not installed.
        """
        return unpack(self.code, self.compression, self.unpacked)


def entries(data: bytes, path: str) -> list[FatbinEntry]:
    """Return all code in a file. Raises MalformedInput, naming the place, where the file is damaged."""
    if len(data) > FILE_LIMIT:
        raise MalformedInput(
            "the file is too large", file=path or None, expected=f"at most {FILE_LIMIT} bytes",
            remedy="Take out of it what holds CUDA code: objcopy -O binary -j .nv_fatbin FILE OUT.fatbin "
            "(or __nv_relfatbin); of an archive, ar x.",
        )  # fmt: skip
    out: list[FatbinEntry] = []
    unit = containers = 0
    for holder in holders(FilePiece(data, path)):
        for container in _containers(holder.piece):
            containers += 1
            found = list(_of_container(container, holder, unit + 1, len(out)))
            unit += bool(found)
            out += found
            if max(containers, len(out)) > _MOST:
                container.fail("too many pieces of code in one file", expected=f"at most {_MOST}")
    return out


def _containers(piece: FilePiece) -> Iterator[FilePiece]:
    """Yield the bodies of the containers of a section. Zeros between containers are padding."""
    at = 0
    data = piece.data
    while True:
        while data.startswith(bytes(_ALIGNMENT), at):
            at += _ALIGNMENT
        if len(data) - at < _ALIGNMENT and not data[at:].strip(b"\0"):
            return
        header = piece.record(CONTAINER, at, "the header of a container")
        if header.magic != MAGIC:
            piece.fail("no container", at=at, found=f"{header.magic:#010x}", expected=f"{MAGIC:#010x}")
        if header.header_bytes < CONTAINER_BYTES:
            found = header.header_bytes
            piece.fail("header of a container", at=at, found=found, expected=f"at least {CONTAINER_BYTES} bytes")
        start = at + header.header_bytes
        place = ", ".join(part for part in (piece.place, f"container at byte {at}") if part)
        yield piece.part(start, header.bytes, "a container", place)
        at = start + header.bytes


def _of_container(container: FilePiece, holder: Holder, unit: int, before: int) -> Iterator[FatbinEntry]:
    """Yield the entries of a container. before: the number of entries before it in the file."""
    at = 0
    number = before
    while at < len(container.data) and number <= _MOST:
        record = container.record(ENTRY, at, "the header of an entry")
        if record.header_bytes < ENTRY_BYTES:
            found = record.header_bytes
            container.fail("header of an entry", at=at, found=found, expected=f"at least {ENTRY_BYTES} bytes")
        number += 1
        header = container.part(at, record.header_bytes, "the header of an entry")
        place = f"{container.place}, entry {number}"
        code = container.part(at + record.header_bytes, record.bytes, "the code of an entry", place)
        packed = record.packed_bytes or record.bytes
        yield FatbinEntry(
            number, unit, holder, KINDS.get(record.kind, f"kind {record.kind}"), _architecture(record),
            64 if record.flags & WIDE else 32, _compression(record.flags), packed,
            record.unpacked_bytes or packed, _name(header, record), _options(header, record),
            bool(record.flags & DEBUG), code.part(0, packed, "the compressed code of an entry"),
        )  # fmt: skip
        at += record.header_bytes + record.bytes


def _architecture(record: Any) -> str:
    flags = record.flags
    suffix = "a" if flags & SPECIFIC else "f" if flags & FAMILY else ""
    return f"sm_{record.architecture}{suffix}"


def _compression(flags: int) -> str:
    return {0: "none", LZ4: "lz4", ZSTD: "zstd"}.get(flags & (LZ4 | ZSTD), "unknown")


def _name(header: FilePiece, record: Any) -> str:
    at, size = record.name_at, record.name_bytes
    return _text(header.part(at, size, "the name of an entry")) if size else ""


def _options(header: FilePiece, record: Any) -> str:
    """Return the options as text. A cubin may have a table of another kind there: its options are left out."""
    at = record.options_at
    if not at or record.kind == CUBIN:
        return ""
    where = header.record(OPTIONS, at, "the options of an entry")
    return _text(header.part(where.text_at, where.text_bytes, "the options of an entry"))


def _text(piece: FilePiece) -> str:
    return piece.data.rstrip(b"\0").decode("utf-8", "replace").strip()
