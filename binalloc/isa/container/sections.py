"""The sections of a Loom file are listed here from its headers alone."""

from __future__ import annotations

from construct import Array

from binalloc.isa.container import elf
from binalloc.isa.interface.file_section import FileSection

_TYPES = {1: "PROGBITS", 2: "SYMTAB", 3: "STRTAB", 7: "NOTE", 8: "NOBITS"}  # names of section types, as in ELF


def sections(data: bytes) -> list[FileSection]:
    """Return the section headers of a file that `read_module` has accepted, without the null section."""
    header = elf.EHDR.parse(data[: elf.EHDR_BYTES])
    end = header.e_shoff + header.e_shnum * elf.SHDR_BYTES
    headers = Array(header.e_shnum, elf.SHDR).parse(data[header.e_shoff : end])
    strings = headers[header.e_shstrndx]
    names = data[strings.sh_offset : strings.sh_offset + strings.sh_size]
    return [
        FileSection(
            name=names[h.sh_name : names.index(b"\0", h.sh_name)].decode("ascii"),
            type=_TYPES.get(h.sh_type, str(h.sh_type)),
            address=h.sh_addr,
            offset=h.sh_offset,
            bytes=h.sh_size,
        )
        for h in headers[1:]
    ]
