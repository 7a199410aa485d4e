"""Take a container apart into sections and put it together again, for tests that need files nobody would write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from binalloc.isa.container import elf


@dataclass
class Section:
    name: str
    header: Any
    data: bytes


def take_apart(data: bytes) -> list[Section]:
    """The sections of a well-formed container, the null section left out."""
    h = elf.EHDR.parse(data)
    rows = [elf.SHDR.parse(data[h.e_shoff + 64 * i :]) for i in range(h.e_shnum)]
    strings = data[rows[h.e_shstrndx].sh_offset :]
    out = []
    for row in rows[1:]:
        name = strings[row.sh_name : strings.index(b"\0", row.sh_name)].decode()
        size = 0 if row.sh_type == elf.SHT_NOBITS else row.sh_size
        out.append(Section(name, row, data[row.sh_offset : row.sh_offset + size]))
    return out


def put_together(sections: list[Section], gap: bytes = b"") -> bytes:
    """A container of these sections in this order, names, sizes and the symbols' link up to date; `gap` at the end."""
    names = bytearray(b"\0")
    for s in sections:
        s.header.sh_name = len(names)
        names += s.name.encode() + b"\0"
    sections[-1].data = bytes(names)
    body = bytearray(64)
    headers = bytes(64)
    strtab = [s.name for s in sections].index(".strtab") + 1
    for s in sections:
        if s.name == ".symtab":
            s.header.sh_link = strtab
        s.header.sh_offset = len(body)
        body += s.data
        if s.header.sh_type != elf.SHT_NOBITS:
            s.header.sh_size = len(s.data)
        headers += elf.SHDR.build(s.header)
    body += gap
    body[:64] = elf.EHDR.build({
        "ident": elf.IDENT, "e_type": elf.ET_EXEC, "e_machine": elf.E_MACHINE, "e_version": 1, "e_entry": 0,
        "e_phoff": 0, "e_shoff": len(body), "e_flags": 1, "e_ehsize": 64, "e_phentsize": 0, "e_phnum": 0,
        "e_shentsize": 64, "e_shnum": len(sections) + 1, "e_shstrndx": len(sections),
    })  # fmt: skip
    return bytes(body + headers)
