"""A valid module becomes the bytes of its container here. Equal modules give equal bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from binalloc.isa.container import elf
from binalloc.isa.container.info import build_info
from binalloc.isa.encoding.bulk import encode_words
from binalloc.isa.instruction import GLOBAL_VARIABLES, Function, Module


@dataclass
class _Section:
    """A section has the values of its header, by their names in ELF, and its bytes."""

    name: str
    kind: int
    flags: int = 0
    data: bytes = b""
    size: int = 0  #: bytes of a NOBITS section, which has no data
    addr: int = 0
    align: int = 1
    link: int = 0
    info: int = 0
    entsize: int = 0


class _Strings:
    """A string table of an ELF file stores equal strings once; offset 0 is the empty string."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self.offsets: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """Return the offset of `text`, which is added where it is new."""
        if text not in self.offsets:
            self.offsets[text] = len(self.data)
            self.data += text.encode("utf-8") + b"\0"
        return self.offsets[text]


def write_elf(module: Module) -> bytes:
    """Return the container of `module`, which `validate_module` has accepted. Raises MalformedInput for a bad
    instruction."""
    sections = [_Section("", elf.SHT_NULL, align=0)]
    text_of: dict[str, int] = {}
    shared_of: dict[str, int] = {}
    for fn in module.functions:
        text_of[fn.name] = len(sections)
        sections.append(_text(fn, module))
        if fn.info.shared_bytes:
            shared_of[fn.name] = len(sections)
        sections += _function_sections(fn, text_of[fn.name])
    bank_of: dict[int, int] = {}
    for bank, data in sorted(module.constants.items()):
        bank_of[bank] = len(sections)
        sections.append(_Section(f".constant{bank}", elf.SHT_PROGBITS, elf.SHF_ALLOC, data, align=8))
    variables = len(sections)
    if module.globals:
        sections += _globals(module)
    if module.provenance:
        sections.append(_Section(".note.loom", elf.SHT_NOTE, 0, _notes(module), align=4))
    symbols, strings, first_global = _symbols(module, text_of, shared_of, variables, bank_of)
    strtab = len(sections) + 1
    sections.append(
        _Section(".symtab", elf.SHT_SYMTAB, 0, symbols, align=8, link=strtab, info=first_global, entsize=elf.SYM_BYTES)
    )
    sections.append(_Section(".strtab", elf.SHT_STRTAB, 0, strings))
    sections.append(_Section(".shstrtab", elf.SHT_STRTAB))
    return _layout(sections, module.isa_version)


def _layout(sections: list[_Section], version: int) -> bytes:
    """Return the file: header, sections in their order, section headers."""
    names = _Strings()
    name_offsets = [names.add(s.name) for s in sections]
    sections[-1].data = bytes(names.data)
    body = bytearray(elf.EHDR_BYTES)
    headers = bytearray()
    for s, name in zip(sections, name_offsets, strict=True):
        offset = 0
        size = len(s.data)
        if s.kind != elf.SHT_NULL:
            body += bytes(-len(body) % min(max(s.align, 1), 16))
            offset = len(body)
            body += s.data
        if s.kind == elf.SHT_NOBITS:
            size = s.size
        headers += elf.SHDR.build({
            "sh_name": name, "sh_type": s.kind, "sh_flags": s.flags, "sh_addr": s.addr, "sh_offset": offset,
            "sh_size": size, "sh_link": s.link, "sh_info": s.info, "sh_addralign": s.align, "sh_entsize": s.entsize,
        })  # fmt: skip
    body += bytes(-len(body) % 8)
    body[: elf.EHDR_BYTES] = elf.EHDR.build({
        "ident": elf.IDENT, "e_type": elf.ET_EXEC, "e_machine": elf.E_MACHINE, "e_version": elf.EV_CURRENT,
        "e_entry": 0, "e_phoff": 0, "e_shoff": len(body), "e_flags": version, "e_ehsize": elf.EHDR_BYTES,
        "e_phentsize": 0, "e_phnum": 0, "e_shentsize": elf.SHDR_BYTES, "e_shnum": len(sections),
        "e_shstrndx": len(sections) - 1,
    })  # fmt: skip
    return bytes(body + headers)


def _globals(module: Module) -> list[_Section]:
    """Return the sections of the global variables: their space, and their initial data."""
    size = max(v.offset + v.size for v in module.globals)
    align = max(v.align for v in module.globals)
    flags = elf.SHF_ALLOC | elf.SHF_WRITE
    data = elf.GLOBALS.build({
        "variables": [{"align": v.align.bit_length() - 1, "data": v.data} for v in module.globals]
    })  # fmt: skip
    return [
        _Section(".global", elf.SHT_NOBITS, flags, size=size, addr=GLOBAL_VARIABLES, align=align),
        _Section(".loom.global", elf.SHT_PROGBITS, 0, data, align=4),
    ]


def _text(fn: Function, module: Module) -> _Section:
    """Return the section of a function's code."""
    name = f".text.{fn.name}"
    code = encode_words(fn.instrs, where=name, file=module.path or None)
    return _Section(name, elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, code, addr=fn.address * 16, align=128)


def _function_sections(fn: Function, text: int) -> list[_Section]:
    """Return all sections of one function but its code. `.shared` comes first, where there is one. text: index of the
    code's section."""
    out: list[_Section] = []
    if fn.info.shared_bytes:
        align = max((v.align for v in fn.shared), default=1)
        flags = elf.SHF_ALLOC | elf.SHF_WRITE | elf.SHF_INFO_LINK
        out.append(
            _Section(f".shared.{fn.name}", elf.SHT_NOBITS, flags, size=fn.info.shared_bytes, align=align, info=text)
        )
    out.append(
        _Section(f".loom.info.{fn.name}", elf.SHT_PROGBITS, elf.SHF_INFO_LINK, build_info(fn), align=4, info=text)
    )
    if fn.lines:
        out.append(
            _Section(f".loom.lines.{fn.name}", elf.SHT_PROGBITS, elf.SHF_INFO_LINK, _lines(fn), align=4, info=text)
        )
    if fn.touches:
        name = f".loom.touches.{fn.name}"
        out.append(_Section(name, elf.SHT_PROGBITS, elf.SHF_INFO_LINK, _touches(fn), align=4, info=text))
    if fn.origin is not None:
        data = elf.MAP_HEADER.build({"function": fn.origin.function})
        data += np.array(fn.origin.index, dtype=elf.MAP_ENTRY).tobytes()
        out.append(_Section(f".loom.map.{fn.name}", elf.SHT_PROGBITS, elf.SHF_INFO_LINK, data, align=4, info=text))
        if fn.origin.inlined:
            data = np.array(fn.origin.inlined, dtype=elf.MAP_ENTRY).tobytes()
            name = f".loom.inlined.{fn.name}"
            out.append(_Section(name, elf.SHT_PROGBITS, elf.SHF_INFO_LINK, data, align=4, info=text))
    return out


def _lines(fn: Function) -> bytes:
    """Return the bytes of a function's line table."""
    files: dict[str, int] = {}
    entries = [(word, line, files.setdefault(file, len(files))) for word, (file, line) in sorted(fn.lines.items())]
    header: bytes = elf.LINES_HEADER.build({"files": list(files), "count": len(entries)})
    return header + np.array(entries, dtype=elf.LINE_ENTRY).tobytes()


def _touches(fn: Function) -> bytes:
    """Return the bytes of the table of variables that accesses touch."""
    names = sorted({name for some in fn.touches.values() for name in some})
    number = {name: k for k, name in enumerate(names)}
    entries = [(word, number[name]) for word, some in sorted(fn.touches.items()) for name in sorted(some)]
    header: bytes = elf.TOUCHES_HEADER.build({"names": names, "count": len(entries)})
    return header + np.array(entries, dtype=elf.TOUCHES_ENTRY).tobytes()


def _notes(module: Module) -> bytes:
    """Return the bytes of the provenance records."""
    out = b""
    for record in module.provenance:
        desc = json.dumps(record, separators=(",", ":")).encode("ascii")
        out += elf.NOTE.build({
            "namesz": len(elf.NOTE_OWNER), "descsz": len(desc), "type": elf.NOTE_PROVENANCE,
            "name": elf.NOTE_OWNER, "desc": desc,
        })  # fmt: skip
    return out


def _symbols(
    module: Module, text_of: dict[str, int], shared_of: dict[str, int], variables: int, bank_of: dict[int, int]
) -> tuple[bytes, bytes, int]:
    """Return the symbol table, its strings, and the index of the first global symbol.

    The other arguments are indexes of sections: text_of and shared_of by function, variables of `.global`, bank_of by
    constant bank.
    """
    strings = _Strings()
    rows: list[tuple[str, int, int, int, int]] = [("", 0, 0, 0, 0)]
    for fn in module.functions:
        base = fn.address * 16
        for index, name in sorted(fn.labels.items()):
            rows.append((name, elf.STB_LOCAL << 4 | elf.STT_NOTYPE, text_of[fn.name], base + 16 * index, 0))
        for v in fn.shared:
            rows.append((v.name, elf.STB_LOCAL << 4 | elf.STT_OBJECT, shared_of[fn.name], v.offset, v.size))
    for g in module.globals:
        rows.append((g.name, elf.STB_LOCAL << 4 | elf.STT_OBJECT, variables, g.address, g.size))
    for c in module.constant_vars:
        rows.append((c.name, elf.STB_LOCAL << 4 | elf.STT_OBJECT, bank_of[c.bank], c.offset, c.size))
    first_global = len(rows)
    for fn in module.functions:
        info = elf.STB_GLOBAL << 4 | elf.STT_FUNC
        rows.append((fn.name, info, text_of[fn.name], fn.address * 16, 16 * len(fn.instrs)))
    data = b"".join(
        elf.SYM.build({
            "st_name": strings.add(name), "st_info": info, "st_other": 0, "st_shndx": section, "st_value": value,
            "st_size": size,
        })
        for name, info, section, value, size in rows
    )  # fmt: skip
    return data, bytes(strings.data), first_global
