"""Loom binaries are read and written here, and their sections listed: the ELF64 container of a module. ISA.md, chapter
"Container", describes the bytes.

`write_module(read_module(data)) == data` for everything that `write_module` wrote.
"""

from __future__ import annotations

from construct import Array

from binalloc.errors import MalformedInput
from binalloc.files import FILE_LIMIT
from binalloc.isa.container import elf
from binalloc.isa.container.read import Reader
from binalloc.isa.container.write import write_elf
from binalloc.isa.instruction import Module
from binalloc.isa.interface.file_section import FileSection
from binalloc.isa.validate import validate_module

_TYPES = {1: "PROGBITS", 2: "SYMTAB", 3: "STRTAB", 7: "NOTE", 8: "NOBITS"}  # names of section types, as in ELF


def read_module(data: bytes, path: str = "") -> Module:
    """Return the module in `data`. path: for messages.

    Raises MalformedInput, which names section, field, found and expected value, and nothing else, whatever the bytes.
    """
    if len(data) > FILE_LIMIT:
        raise MalformedInput("file too large", file=path or None, found=len(data), expected=f"{FILE_LIMIT} bytes")
    return Reader(data, path).read()


def write_module(module: Module) -> bytes:
    """Return the container of `module`. Raises MalformedInput where the module breaks a rule of the ISA."""
    validate_module(module)
    return write_elf(module)


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
