"""The ELF64 files that ptxas writes for sm_70 and later: code, symbols, and which accesses are spills.

Instructions have 128 bits and stand in `.text.<kernel>`. Which accesses are spills is not guessed: ptxas lists their
addresses in the attribute ANNOTATIONS (0x55) of `.nv.info.<kernel>`, as pairs (kind, address) of kind 1. A kernel's own
local arrays are not among them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

WORD = 16
_ANNOTATIONS, _BRANCH_TARGETS, _REGISTERS = 0x55, 0x34, 0x2F
_SPILL = 1
_FUNCTION = 2


class NotACubin(ValueError):
    """Bytes that are not a cubin of this kind; says what is wrong."""


@dataclass
class Section:
    """One ELF section: its name, place in the file, bytes, and the two numbers that depend on its kind."""

    name: str
    kind: int
    data: bytes
    link: int
    info: int


@dataclass
class Code:
    """The words of one `.text` section. words: (low, high). sm: the architecture that they are for, 90 for sm_90.
    functions: those that the symbol table has here, address -> name. targets: of indirect branches, by address. calls:
    addresses of calls whose target a relocation names -> (section, address)."""

    name: str
    words: list[tuple[int, int]]
    spills: frozenset[int]
    sm: int = 75
    functions: dict[int, str] = field(default_factory=dict)
    targets: dict[int, list[int]] = field(default_factory=dict)
    calls: dict[int, tuple[str, int]] = field(default_factory=dict)


def sections(data: bytes) -> list[Section]:
    """The sections of an ELF64 file. Raises NotACubin."""
    if data[:5] != b"\x7fELF\x02" or len(data) < 64:
        raise NotACubin("no ELF64 file")
    try:
        (table,) = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * k) for k in range(count)]
        start = rows[names][4]
        found = []
        for name, kind, _, _, offset, length, link, info, _, _ in rows:
            end = data.index(b"\0", start + name)
            body = b"" if kind == 8 else data[offset : offset + length]
            found.append(Section(data[start + name : end].decode(), kind, body, link, info))
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise NotACubin(f"a damaged section table: {error}") from error
    return found


def architecture(data: bytes) -> int:
    """The number of the architecture that an ELF header names, 90 for sm_90."""
    # Bits 8..15 of the flags from ABI version 8 on, before that bits 0..7.
    flags = int.from_bytes(data[0x30:0x34], "little")
    return flags >> 8 & 0xFF if data[8] >= 8 else flags & 0xFF


def read_cubin(data: bytes) -> dict[str, Code]:
    """All code of a cubin by section name without `.text.`. Raises NotACubin."""
    parts = sections(data)
    functions = _functions(parts)
    found: dict[str, Code] = {}
    for part in parts:
        if part.name.startswith(".text."):
            name = part.name.removeprefix(".text.")
            if len(part.data) % WORD:
                raise NotACubin(f"{part.name} has {len(part.data)} bytes, not a multiple of {WORD}")
            words = [struct.unpack_from("<QQ", part.data, k) for k in range(0, len(part.data), WORD)]
            here = {address: function for section, address, function in functions if section == name}
            found[name] = Code(name, cast("list[tuple[int, int]]", words), frozenset(), architecture(data), here)
    for part in parts:
        if part.name.startswith(".nv.info."):
            code = found.get(part.name.removeprefix(".nv.info."))
            if code is not None:
                _read_attributes(part.data, code)
        elif part.kind in (4, 9) and part.name.startswith((".rel.text.", ".rela.text.")):
            _read_relocations(part, parts, found)
    return found


def registers(data: bytes) -> dict[str, int]:
    """Registers per thread of each function that says so (attribute REGCOUNT of `.nv.info`)."""
    parts = sections(data)
    symbols = next((p for p in parts if p.name == ".symtab"), None)
    found: dict[str, int] = {}
    for part in parts:
        if part.name == ".nv.info" and symbols is not None:
            for attribute, payload in attributes(part.data):
                if attribute == _REGISTERS:
                    index, count = struct.unpack_from("<II", payload)
                    found[_symbol(symbols, parts, index)[0]] = count
    return found


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes of a `.nv.info` section: number and payload."""
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        length = size if form == 4 else 0
        yield attribute, data[at + 4 : at + 4 + length] if form == 4 else data[at + 2 : at + 4]
        at += 4 + length


def _read_attributes(data: bytes, code: Code) -> None:
    """Where spill accesses stand, and what indirect branches reach."""
    for attribute, payload in attributes(data):
        if attribute == _ANNOTATIONS:
            pairs = struct.iter_unpack("<II", payload[: len(payload) // 8 * 8])
            code.spills |= {address for kind, address in pairs if kind == _SPILL}
        elif attribute == _BRANCH_TARGETS:
            at = 0
            while at + 12 <= len(payload):
                address, _, count = struct.unpack_from("<III", payload, at)
                code.targets[address] = list(struct.unpack_from(f"<{count}I", payload, at + 12))
                at += 12 + 4 * count


def _symbol(symbols: Section, parts: list[Section], index: int) -> tuple[str, int, int]:
    """Name, section number and value of a symbol."""
    name, _, _, where, value, _ = struct.unpack_from("<IBBHQQ", symbols.data, 24 * index)
    names = parts[symbols.link].data
    return names[name : names.index(b"\0", name)].decode(), where, value


def _functions(parts: list[Section]) -> list[tuple[str, int, str]]:
    """(section without `.text.`, address, name) of each function in the symbol table."""
    symbols = next((p for p in parts if p.name == ".symtab"), None)
    found = []
    for index in range(len(symbols.data) // 24 if symbols else 0):
        assert symbols is not None
        name, where, value = _symbol(symbols, parts, index)
        section = parts[where].name if where < len(parts) else ""
        if symbols.data[24 * index + 4] & 15 == _FUNCTION and section.startswith(".text."):
            found.append((section.removeprefix(".text."), value, name))
    return found


def _read_relocations(part: Section, parts: list[Section], found: dict[str, Code]) -> None:
    """Calls into other sections, from the relocations of one section."""
    code = found.get(part.name.split(".text.", 1)[1])
    symbols = parts[part.link]
    if code is None or symbols.name != ".symtab":
        return
    for at in range(0, len(part.data) - 15, 24 if part.kind == 4 else 16):
        offset, info = struct.unpack_from("<QQ", part.data, at)
        _, where, value = _symbol(symbols, parts, info >> 32)
        if where < len(parts) and parts[where].name.startswith(".text."):
            code.calls[offset // WORD * WORD] = (parts[where].name.removeprefix(".text."), value)
