"""The bytes of a container become a module here. Nothing is trusted: every offset, size and name is checked before it
is used.

The module has passed `validate_module`. Every refusal is MalformedInput, which names file, section, field, found value
and expected value. No size in the file is allocated before it was compared with the file's length or a fixed limit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from construct import Array, Container

from binalloc.errors import Hint
from binalloc.isa.container import elf
from binalloc.isa.container.checked import Checked
from binalloc.isa.container.info import function_info, parse_info
from binalloc.isa.container.touches import read_touches
from binalloc.isa.encoding.bulk import decode_words
from binalloc.isa.instruction import (
    GLOBAL_VARIABLES,
    ConstantVar,
    Function,
    GlobalVar,
    Module,
    Origin,
    SharedVar,
)
from binalloc.isa.validate import CODE_LIMIT, GLOBAL_LIMIT, SHARED_LIMIT, validate_module
from binalloc.records import parse_record

_NO_BINARY = Hint("Give a .loom binary; {assemble} makes one of assembly text.")


@dataclass
class _Section:
    """A section has a checked name, its header and its bytes (empty for NOBITS)."""

    index: int  #: number in the section headers
    name: str
    header: Any
    data: bytes = b""


@dataclass
class _Parts:
    """The parts of a function are its sections in the file."""

    name: str  #: of the function
    by_prefix: dict[str, _Section] = field(default_factory=dict)  #: sections by prefix of their names


# By prefix or name of a section: (type, flags, entry size). The function's name follows a prefix.
_PER_FUNCTION = {
    ".text.": (elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, 0),
    ".loom.info.": (elf.SHT_PROGBITS, elf.SHF_INFO_LINK, 0),
    ".loom.lines.": (elf.SHT_PROGBITS, elf.SHF_INFO_LINK, 0),
    ".loom.touches.": (elf.SHT_PROGBITS, elf.SHF_INFO_LINK, 0),
    ".loom.map.": (elf.SHT_PROGBITS, elf.SHF_INFO_LINK, 0),
    ".loom.inlined.": (elf.SHT_PROGBITS, elf.SHF_INFO_LINK, 0),
    ".shared.": (elf.SHT_NOBITS, elf.SHF_ALLOC | elf.SHF_WRITE | elf.SHF_INFO_LINK, 0),
}
_SINGLE = {
    ".note.loom": (elf.SHT_NOTE, 0, 0),
    ".global": (elf.SHT_NOBITS, elf.SHF_ALLOC | elf.SHF_WRITE, 0),
    ".loom.global": (elf.SHT_PROGBITS, 0, 0),
    ".symtab": (elf.SHT_SYMTAB, 0, elf.SYM_BYTES),
    ".strtab": (elf.SHT_STRTAB, 0, 0),
    ".shstrtab": (elf.SHT_STRTAB, 0, 0),
}


class Reader(Checked):
    """A reader reads one file once."""

    def __init__(self, data: bytes, path: str) -> None:
        super().__init__(path)
        self.data = data
        self.module = Module(path=path)
        self.gaps: list[tuple[int, int]] = []  #: (first byte, end) of bytes that belong to no section
        self.banks: dict[int, int] = {}  #: constant banks, by the index of their sections

    def read(self) -> Module:
        """Return the module in the file."""
        sections = self.sections()
        functions: dict[str, _Parts] = {}
        single: dict[str, _Section] = {}
        for s in sections:
            self.classify(s, functions, single)
        for name in (".symtab", ".strtab", ".shstrtab"):
            if name not in single:
                self.fail(name, "section is missing", expected="every Loom binary has one")
        self.code_size(functions)
        owner: dict[int, tuple[str, Function | None]] = {}
        if ".global" in single or ".loom.global" in single:
            owner[self.globals(single)] = ("global", None)
        for parts in functions.values():
            fn = self.function(parts)
            self.module.functions.append(fn)
            owner[parts.by_prefix[".text."].index] = ("text", fn)
            if ".shared." in parts.by_prefix:
                owner[parts.by_prefix[".shared."].index] = ("shared", fn)
        self.symbols(single[".symtab"], single[".strtab"], owner)
        if ".note.loom" in single:
            self.notes(single[".note.loom"])
        for lo, hi in self.gaps:
            if self.data[lo:hi].strip(b"\0") or hi - lo >= 16:
                self.fail("file", "bytes of no section", f"offset {lo:#x}..{hi - 1:#x}", "fewer than 16 zeros")
        validate_module(self.module)
        if ".global" in single:
            end = max(v.offset + v.size for v in self.module.globals)
            self.want(".global", "sh_size", single[".global"].header.sh_size, end)
        return self.module

    # -- headers -------------------------------------------------------------------------------------------------

    def sections(self) -> list[_Section]:
        """Check the file's header and return its sections."""
        data = self.data
        if len(data) < elf.EHDR_BYTES or data[:4] != elf.IDENT[:4]:
            self.fail("header", "not an ELF file", repr(data[:4]), repr(elf.IDENT[:4]), _NO_BINARY)
        h = self.parse(elf.EHDR, data[: elf.EHDR_BYTES], "header")
        if h.ident != elf.IDENT:
            self.fail("header, e_ident", "not a 64-bit little-endian ELF file", h.ident.hex(), elf.IDENT.hex())
        self.want("header", "e_machine", h.e_machine, elf.E_MACHINE, "Give a .loom binary.")
        self.want("header", "e_flags (ISA version)", h.e_flags, elf.ISA_VERSION, "Use the binalloc that wrote it.")
        for name, expected in (
            ("e_type", elf.ET_EXEC), ("e_version", elf.EV_CURRENT), ("e_entry", 0), ("e_phoff", 0),
            ("e_ehsize", elf.EHDR_BYTES), ("e_phentsize", 0), ("e_phnum", 0), ("e_shentsize", elf.SHDR_BYTES),
        ):  # fmt: skip
            self.want("header", name, h[name], expected)
        self.module.isa_version = h.e_flags
        end = h.e_shoff + h.e_shnum * elf.SHDR_BYTES
        if h.e_shoff < elf.EHDR_BYTES or end > len(data):
            self.fail(
                "header, e_shoff", "section headers lie outside the file", f"bytes {h.e_shoff}..{end - 1}",
                f"within {len(data)} bytes",
            )  # fmt: skip
        if not 0 < h.e_shstrndx < h.e_shnum:
            self.fail("header, e_shstrndx", "no such section", h.e_shstrndx, f"1..{h.e_shnum - 1}")
        headers = self.parse(Array(h.e_shnum, elf.SHDR), data[h.e_shoff : end], "section headers")
        self.spans(headers, h.e_shoff, end)
        return self.named(headers, h.e_shstrndx)

    def spans(self, headers: list[Any], start: int, end: int) -> None:
        """Check that every section's bytes lie in the file and overlap nothing; note the gaps between them."""
        spans = [(0, elf.EHDR_BYTES, "the header"), (start, end, "the section headers")]
        for i, s in enumerate(headers):
            if s.sh_type in (elf.SHT_NULL, elf.SHT_NOBITS):
                continue
            if s.sh_offset + s.sh_size > len(self.data):
                self.fail(
                    f"section {i}, sh_offset", "section lies outside the file",
                    f"bytes {s.sh_offset}..{s.sh_offset + s.sh_size - 1}", f"within {len(self.data)} bytes",
                )  # fmt: skip
            spans.append((s.sh_offset, s.sh_offset + s.sh_size, f"section {i}"))
        at, before = 0, "the start"
        for lo, hi, what in sorted(spans):
            if lo == hi:
                continue
            if lo < at:
                self.fail(what, f"overlaps {before}", f"offset {lo:#x}", f"{at:#x} or more")
            self.gaps.append((at, lo))
            at, before = hi, what
        self.gaps.append((at, len(self.data)))

    def named(self, headers: list[Any], shstrndx: int) -> list[_Section]:
        """Return the sections with their names and bytes, without the null section."""
        null = headers[0]
        if any(null[k] for k in null if not k.startswith("_")):
            self.fail("section 0", "the null section is not empty", expected="zeros")
        table = headers[shstrndx]
        if table.sh_type != elf.SHT_STRTAB:
            self.fail(f"section {shstrndx}, sh_type", "not a string table", table.sh_type, elf.SHT_STRTAB)
        strings = self.data[table.sh_offset : table.sh_offset + table.sh_size]
        self.string_table(strings, ".shstrtab")
        out = []
        for i, s in enumerate(headers[1:], 1):
            name = self.string(strings, s.sh_name, f"section {i}, sh_name")
            nobits = s.sh_type == elf.SHT_NOBITS
            out.append(_Section(i, name, s, b"" if nobits else self.data[s.sh_offset : s.sh_offset + s.sh_size]))
        if out[shstrndx - 1].name != ".shstrtab":
            self.fail("header, e_shstrndx", "not the section-name table", out[shstrndx - 1].name, ".shstrtab")
        return out

    def classify(self, s: _Section, functions: dict[str, _Parts], single: dict[str, _Section]) -> None:
        """Add a section to its function or to the single ones, and check its header against its kind."""
        name, h = s.name, s.header
        prefix = next((p for p in _PER_FUNCTION if name.startswith(p)), None)
        bank = name.removeprefix(".constant")
        if prefix:
            kind, flags, entsize = _PER_FUNCTION[prefix]
            fn = name.removeprefix(prefix)
            if prefix == ".text." and fn in functions:
                self.fail(name, "two sections of this name")
            if prefix == ".text.":
                functions[fn] = _Parts(fn)
            elif fn not in functions:
                self.fail(name, "belongs to no function", repr(fn), f"a section .text.{fn[:40]} before it")
            elif prefix in functions[fn].by_prefix:
                self.fail(name, "two sections of this name")
            functions[fn].by_prefix[prefix] = s
            self.want(name, "sh_info", h.sh_info, 0 if prefix == ".text." else functions[fn].by_prefix[".text."].index)
        elif bank != name and bank.isdecimal() and bank == str(int(bank[:3])):
            kind, flags, entsize = elf.SHT_PROGBITS, elf.SHF_ALLOC, 0
            if int(bank) in self.module.constants:
                self.fail(name, "two sections of this name")
            self.module.constants[int(bank)] = s.data
            self.banks[s.index] = int(bank)
            self.want(name, "sh_info", h.sh_info, 0)
        elif name in _SINGLE:
            kind, flags, entsize = _SINGLE[name]
            if name in single:
                self.fail(name, "two sections of this name")
            single[name] = s
            if name != ".symtab":
                self.want(name, "sh_info", h.sh_info, 0)
        else:
            self.fail(
                f"section {s.index}", "unknown section", repr(name[:60]), "the sections ISA.md lists",
                "A rewrite would lose it; remove it first.",
            )  # fmt: skip
        self.want(name, "sh_type", h.sh_type, kind)
        self.want(name, "sh_flags", h.sh_flags, flags)
        self.want(name, "sh_entsize", h.sh_entsize, entsize)
        if prefix != ".text.":
            self.want(name, "sh_addr", h.sh_addr, GLOBAL_VARIABLES if name == ".global" else 0)
        if name != ".symtab":
            self.want(name, "sh_link", h.sh_link, 0)
        align = h.sh_addralign
        if align < 1 or align & (align - 1) or align > 1 << 16:
            self.fail(f"{name}, sh_addralign", "not an alignment", align, "a power of two")

    # -- functions -----------------------------------------------------------------------------------------------

    def code_size(self, functions: dict[str, _Parts]) -> None:
        """Refuse too much code before any is decoded: decoded instructions take hundreds of bytes each."""
        total = sum(len(p.by_prefix[".text."].data) for p in functions.values())
        if total > 16 * CODE_LIMIT:
            self.fail("code", "too much code", f"{total} bytes", f"at most {16 * CODE_LIMIT}")

    def function(self, parts: _Parts) -> Function:
        """Return a function, without what the symbol table says of it."""
        text = parts.by_prefix[".text."]
        if ".loom.info." not in parts.by_prefix:
            self.fail(f".loom.info.{parts.name}", "section is missing", expected="one for every function")
        info_section = parts.by_prefix[".loom.info."]
        raw = parse_info(self, info_section.name, info_section.data)
        instrs = decode_words(text.data, where=text.name, file=self.path or None)
        fn = Function(parts.name, instrs, function_info(raw))
        if text.header.sh_addr % 16 or text.header.sh_addr // 16 > CODE_LIMIT:
            self.fail(f"{text.name}, sh_addr", "not a code address", f"{text.header.sh_addr:#x}", "a multiple of 16")
        fn.address = text.header.sh_addr // 16
        shared = parts.by_prefix.get(".shared.")
        size = shared.header.sh_size if shared else 0
        if size != fn.info.shared_bytes or size > SHARED_LIMIT or (shared and not size):
            self.fail(f".shared.{fn.name}, sh_size", "does not agree with .loom.info", size, f"{fn.info.shared_bytes}")
        # The symbol table has the rest of the shared variables; it must name exactly as many.
        if any(a > 16 for a in raw.shared_align):
            self.fail(f"{info_section.name}, shared_align", "not an alignment", max(raw.shared_align), "0..16 (log2)")
        fn.shared = [SharedVar("", 0, 0, 1 << a) for a in raw.shared_align]
        if ".loom.lines." in parts.by_prefix:
            self.lines(fn, parts.by_prefix[".loom.lines."])
        if ".loom.touches." in parts.by_prefix:
            section = parts.by_prefix[".loom.touches."]
            fn.touches = read_touches(self, section.name, section.data)
        if ".loom.map." in parts.by_prefix:
            self.map(fn, parts.by_prefix[".loom.map."])
        if ".loom.inlined." in parts.by_prefix:
            self.inlined(fn, parts.by_prefix[".loom.inlined."])
        return fn

    def lines(self, fn: Function, section: _Section) -> None:
        """Read the line table of a function."""
        raw = self.parse(elf.LINES_HEADER, section.data, section.name)
        start = len(elf.LINES_HEADER.build(raw))
        size = elf.LINE_ENTRY.itemsize
        if len(section.data) - start != raw.count * size or not raw.count:
            self.fail(
                f"{section.name}, count", "does not agree with the section's size", raw.count,
                f"{(len(section.data) - start) // size}",
            )  # fmt: skip
        entries = np.frombuffer(section.data, dtype=elf.LINE_ENTRY, offset=start)
        before = -1
        for word, line, file in entries.tolist():
            if word <= before:
                self.fail(f"{section.name}, word", "not in ascending order", word, f"more than {before}")
            if file >= len(raw.files):
                self.fail(f"{section.name}, file", "no such file", file, f"below {len(raw.files)}")
            fn.lines[word] = (raw.files[file], line)
            before = word

    def map(self, fn: Function, section: _Section) -> None:
        """Read the instruction map of a function."""
        raw = self.parse(elf.MAP_HEADER, section.data, section.name)
        start = len(elf.MAP_HEADER.build(raw))
        if len(section.data) - start != 4 * len(fn.instrs):
            self.fail(
                section.name, "does not fit the code", f"{len(section.data) - start} bytes", f"{4 * len(fn.instrs)}"
            )
        fn.origin = Origin(raw.function, np.frombuffer(section.data, dtype=elf.MAP_ENTRY, offset=start).tolist())

    def inlined(self, fn: Function, section: _Section) -> None:
        """Read the calls of a function that were inlined before its instruction map was made."""
        if fn.origin is None or not section.data or len(section.data) % elf.MAP_ENTRY.itemsize:
            found = "no instruction map" if fn.origin is None else f"{len(section.data)} bytes"
            self.fail(section.name, "does not fit the instruction map", found, "numbers of words, and a map")
        fn.origin.inlined = np.frombuffer(section.data, dtype=elf.MAP_ENTRY).tolist()

    def globals(self, single: dict[str, _Section]) -> int:
        """Read the global variables, without what their symbols say of them; return the index of `.global`."""
        for name in (".global", ".loom.global"):
            if name not in single:
                self.fail(name, "section is missing", expected=".global and .loom.global come together")
        header = single[".global"].header
        if header.sh_size > GLOBAL_LIMIT:
            self.fail(".global, sh_size", "too large", header.sh_size, f"at most {GLOBAL_LIMIT}")
        raw = self.parse(elf.GLOBALS, single[".loom.global"].data, ".loom.global")
        if not raw.variables:
            self.fail(".loom.global", "no variables", expected="one or more, or no section")
        for v in raw.variables:
            if v.align > 16:
                self.fail(".loom.global, align", "not an alignment", v.align, "0..16 (log2)")
            self.module.globals.append(GlobalVar("", 0, 0, 1 << v.align, v.data))
        return single[".global"].index

    # -- symbols and notes ---------------------------------------------------------------------------------------

    def symbols(self, symtab: _Section, strtab: _Section, owner: dict[int, tuple[str, Function | None]]) -> None:
        """Read the symbols of functions, labels and variables. owner: (kind, function) by index of the section."""
        self.want(".symtab", "sh_link", symtab.header.sh_link, strtab.index)
        self.string_table(strtab.data, ".strtab")
        if len(symtab.data) % elf.SYM_BYTES or not symtab.data:
            self.fail(".symtab, sh_size", "not whole symbols", len(symtab.data), f"a multiple of {elf.SYM_BYTES}")
        count = len(symtab.data) // elf.SYM_BYTES
        rows = self.parse(Array(count, elf.SYM), symtab.data, ".symtab")
        if any(symtab.data[: elf.SYM_BYTES]):
            self.fail(".symtab, symbol 0", "the null symbol is not empty", expected="zeros")
        seen: set[str] = set()
        variables: dict[str, int] = {}
        for i, sym in enumerate(rows[1:], 1):
            place = f".symtab, symbol {i}"
            name = self.string(strtab.data, sym.st_name, place)
            kind, fn = owner.get(sym.st_shndx, ("", None))
            is_global = sym.st_info >> 4 == elf.STB_GLOBAL
            if is_global != (i >= symtab.header.sh_info):
                self.fail(f"{place}, st_info", "local symbols come first", i, f"sh_info {symtab.header.sh_info}")
            shape = (kind, sym.st_info, sym.st_other)
            if fn is not None and shape == ("text", elf.STB_GLOBAL << 4 | elf.STT_FUNC, 0):
                self.function_symbol(place, name, sym, fn, seen)
            elif fn is not None and shape == ("text", elf.STB_LOCAL << 4 | elf.STT_NOTYPE, 0):
                self.label(place, name, sym, fn)
            elif fn is not None and shape == ("shared", elf.STB_LOCAL << 4 | elf.STT_OBJECT, 0):
                k = variables.get(fn.name, 0)
                if k >= len(fn.shared):
                    self.fail(place, "more shared variables than .loom.info has", name, f"{len(fn.shared)}")
                fn.shared[k] = SharedVar(name, sym.st_value, sym.st_size, fn.shared[k].align)
                variables[fn.name] = k + 1
            elif (kind, sym.st_info, sym.st_other) == ("global", elf.STB_LOCAL << 4 | elf.STT_OBJECT, 0):
                k = variables.get(".global", 0)
                if k >= len(self.module.globals):
                    self.fail(place, "more global variables than .loom.global has", name, f"{len(self.module.globals)}")
                old = self.module.globals[k]
                offset = sym.st_value - GLOBAL_VARIABLES
                self.module.globals[k] = GlobalVar(name, offset, sym.st_size, old.align, old.data)
                variables[".global"] = k + 1
            elif sym.st_shndx in self.banks and (sym.st_info, sym.st_other) == (elf.STB_LOCAL << 4 | elf.STT_OBJECT, 0):
                bank = self.banks[sym.st_shndx]
                self.module.constant_vars.append(ConstantVar(name, bank, sym.st_value, sym.st_size))
            else:
                self.fail(
                    place, "not a kind of symbol that Loom has", f"section {sym.st_shndx}, st_info {sym.st_info:#x}",
                    "a function, a label in its code, a shared, global or constant variable",
                )  # fmt: skip
        for fn in self.module.functions:
            if fn.name not in seen:
                self.fail(".symtab", f"no symbol for function {fn.name}", expected="one global FUNC symbol each")
            if variables.get(fn.name, 0) != len(fn.shared):
                self.fail(".symtab", f"shared variables of {fn.name} are missing", variables.get(fn.name, 0))
        if variables.get(".global", 0) != len(self.module.globals):
            self.fail(".symtab", "global variables are missing", variables.get(".global", 0))
        if symtab.header.sh_info > count:
            self.fail(".symtab, sh_info", "no such symbol", symtab.header.sh_info, f"at most {count}")

    def function_symbol(self, place: str, name: str, sym: Container, fn: Function, seen: set[str]) -> None:
        """Check the symbol of a function, and add its name to `seen`."""
        if name != fn.name or name in seen:
            self.fail(place, "function symbol does not name its section", repr(name), repr(fn.name))
        seen.add(name)
        self.want(place, "st_value", sym.st_value, 16 * fn.address)
        self.want(place, "st_size", sym.st_size, 16 * len(fn.instrs))

    def label(self, place: str, name: str, sym: Container, fn: Function) -> None:
        """Add a label to its function."""
        index, rest = divmod(sym.st_value - 16 * fn.address, 16)
        if rest or not 0 <= index < len(fn.instrs) or sym.st_size:
            self.fail(
                f"{place}, st_value", "label lies outside its section or on no instruction", f"{sym.st_value:#x}",
                f"{16 * fn.address:#x}..{16 * (fn.address + len(fn.instrs) - 1):#x}",
            )  # fmt: skip
        if index in fn.labels:
            self.fail(place, "two labels on one instruction", repr(name), repr(fn.labels[index]))
        fn.labels[index] = name

    def notes(self, section: _Section) -> None:
        """Read the provenance records."""
        at, data = 0, section.data
        if not data:
            self.fail(section.name, "empty", expected="a note, or no section")
        while at < len(data):
            place = f"{section.name}, offset {at:#x}"
            if len(data) - at < 12:
                self.fail(place, "truncated note", f"{len(data) - at} bytes", "12 or more")
            sizes = [int.from_bytes(data[at + k : at + k + 4], "little") for k in (0, 4)]
            length = 12 + sum((s + 3) // 4 * 4 for s in sizes)
            if length > len(data) - at:
                self.fail(place, "note lies outside its section", f"{length} bytes", f"at most {len(data) - at}")
            note = self.parse(elf.NOTE, data[at : at + length], place)
            self.want(place, "n_type", note.type, elf.NOTE_PROVENANCE)
            if note.name != elf.NOTE_OWNER:
                self.fail(place, "note of another owner", repr(note.name[:20]), repr(elf.NOTE_OWNER))
            try:
                record = parse_record(note.desc)
            except ValueError as error:
                self.fail(place, str(error), repr(note.desc[:40]), "one JSON object")
            self.module.provenance.append(record)
            at += length
