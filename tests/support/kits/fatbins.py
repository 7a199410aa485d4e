"""Fat binaries made byte by byte: containers, the ELF files and archives around them, whole or with lies in them.

It shares no code with what reads them: fields are written by position.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

MAGIC = 0xBA55ED50
WIDE, LZ4, ZSTD = 1, 0x2000, 0x8000
CODE = b"\x7fELF" + bytes(14) + b"\xbe\0" + b".text.k"
"""Passes for a cubin."""


@dataclass
class Made:
    """One entry. code: as it is before it is packed. how: none, lz4 or zstd. arch, flags: as stored, flags beside those
    that follow from how and bits. changed: fields by name with the values that are written instead of the true ones."""

    code: bytes
    kind: int = 1
    arch: int = 75
    how: str = "none"
    flags: int = WIDE
    name: str = ""
    options: str | None = None
    changed: dict[str, int] | None = None


def entry(made: Made) -> bytes:
    """The bytes of an entry: header, name, options, code, padding."""
    packed, flag = pack(made.code, made.how)
    tail = b""
    name_at = options_at = 0
    if made.name:
        name_at = 64
        tail += padded(made.name.encode())
    if made.options is not None:
        options_at = 64 + len(tail)
        text = made.options.encode()
        tail += struct.pack("<II", options_at + 8, len(text)) + padded(text)
    compressed = made.how != "none"
    body = padded(packed)
    fields = {
        "kind": made.kind, "version": 0x101, "header_bytes": 64 + len(tail), "bytes": len(body),
        "packed_bytes": len(packed) if compressed else 0, "options_at": options_at, "minor": 0, "major": 9,
        "architecture": made.arch, "name_at": name_at, "name_bytes": len(made.name), "flags": made.flags | flag,
        "zero": 0, "unpacked_bytes": len(made.code) if compressed else 0,
    }  # fmt: skip
    fields.update(made.changed or {})
    return struct.pack("<HHIQIIHHIIIQQQ", *fields.values()) + tail + body


def pack(code: bytes, how: str) -> tuple[bytes, int]:
    """Packed code and the flag that says so."""
    if how == "lz4":
        import lz4.block

        return lz4.block.compress(code, store_size=False), LZ4
    if how == "zstd":
        import zstandard

        return zstandard.ZstdCompressor().compress(code), ZSTD
    return code, 0


def padded(data: bytes) -> bytes:
    """Filled up to eight bytes."""
    return data + bytes(-len(data) % 8)


def container(*entries: Made, size: int | None = None, magic: int = MAGIC, header: int = 16) -> bytes:
    """A container of entries. size, magic, header: what its header says instead of the truth."""
    body = b"".join(map(entry, entries))
    return struct.pack("<IHHQ", magic, 1, header, len(body) if size is None else size) + body


def elf(sections: dict[str, bytes], machine: int = 62, **changed: int) -> bytes:
    """An ELF file with these sections. changed: e_shoff, e_shnum, e_shentsize or e_shstrndx, and of the first of the
    sections sh_offset or sh_size."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    body = b""
    rows = [struct.pack("<IIQQQQIIQQ", *[0] * 10)]
    for number, (name, data) in enumerate((*sections.items(), (".shstrtab", names))):
        lies = changed if number == 0 else {}
        at, size = lies.get("sh_offset", 64 + len(body)), lies.get("sh_size", len(data))
        kind = 3 if name == ".shstrtab" else 1
        rows.append(struct.pack("<IIQQQQIIQQ", names.index(name.encode() + b"\0"), kind, 2, 0, at, size, 0, 0, 8, 0))
        body += padded(data)
    table = changed.get("e_shoff", 64 + len(body))
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, table, 0, 64, 0, 0, changed.get("e_shentsize", 64),
        changed.get("e_shnum", len(rows)), changed.get("e_shstrndx", len(rows) - 1),
    )  # fmt: skip
    return head + body + b"".join(rows)


def archive(members: Sequence[tuple[str, bytes]], style: str = "gnu") -> bytes:
    """An archive as GNU's or BSD's `ar` writes it, with an index and names of any length."""
    long_names = b""
    out = b"!<arch>\n" + member(b"/", b"\0\0\0\0")
    parts = []
    for name, data in members:
        if style == "bsd":
            parts.append(member(b"#1/%d" % len(name), name.encode() + data))
        elif len(name) > 15:
            parts.append(member(b"/%d" % len(long_names), data))
            long_names += name.encode() + b"/\n"
        else:
            parts.append(member(name.encode() + b"/", data))
    return out + (member(b"//", long_names) if long_names else b"") + b"".join(parts)


def member(name: bytes, data: bytes, size: bytes | None = None) -> bytes:
    """A member behind its header; size: what that says instead of the truth."""
    said = b"%d" % len(data) if size is None else size
    return b"%-16s%-12s%-6s%-6s%-8s%-10s`\n" % (name, b"0", b"0", b"0", b"644", said) + data + b"\n" * (len(data) % 2)
