"""The structures of the Loom container are defined here with `construct`: ELF64 headers, symbols, notes and the
`.loom.*` sections.

Little-endian throughout. ISA.md, chapter "Container", describes every byte; `read.py` and `write.py` use these
definitions and nothing else to place a byte.
"""

from __future__ import annotations

import numpy as np
from construct import (
    Bytes,
    Const,
    GreedyBytes,
    If,
    Int8ul,
    Int16ul,
    Int32ul,
    Int64ul,
    Padded,
    PascalString,
    Prefixed,
    PrefixedArray,
    Struct,
    Terminated,
    this,
)

ISA_VERSION = 1  # in the header's e_flags; a binary of another version is refused
INFO_VERSIONS = (1, 2)  # versions of info records: the second one has the facts of its source
E_MACHINE = 0x4C4D  # "LM"; not a number any ABI has registered
# By the names and values of the ELF specification (System V gABI).
ET_EXEC = 2
EV_CURRENT = 1

SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE, SHT_NOBITS = 0, 1, 2, 3, 7, 8
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_INFO_LINK = 1, 2, 4, 0x40
STB_LOCAL, STB_GLOBAL = 0, 1
STT_NOTYPE, STT_OBJECT, STT_FUNC = 0, 1, 2
NOTE_OWNER = b"Loom\0"  # owner of the notes of .note.loom, as ELF asks for one
NOTE_PROVENANCE = 1  # the only type of note that Loom has

EHDR = Struct(
    "ident" / Bytes(16),
    "e_type" / Int16ul,
    "e_machine" / Int16ul,
    "e_version" / Int32ul,
    "e_entry" / Int64ul,
    "e_phoff" / Int64ul,
    "e_shoff" / Int64ul,
    "e_flags" / Int32ul,
    "e_ehsize" / Int16ul,
    "e_phentsize" / Int16ul,
    "e_phnum" / Int16ul,
    "e_shentsize" / Int16ul,
    "e_shnum" / Int16ul,
    "e_shstrndx" / Int16ul,
)

SHDR = Struct(
    "sh_name" / Int32ul,
    "sh_type" / Int32ul,
    "sh_flags" / Int64ul,
    "sh_addr" / Int64ul,
    "sh_offset" / Int64ul,
    "sh_size" / Int64ul,
    "sh_link" / Int32ul,
    "sh_info" / Int32ul,
    "sh_addralign" / Int64ul,
    "sh_entsize" / Int64ul,
)

SYM = Struct(
    "st_name" / Int32ul,
    "st_info" / Int8ul,
    "st_other" / Int8ul,
    "st_shndx" / Int16ul,
    "st_value" / Int64ul,
    "st_size" / Int64ul,
)

EHDR_BYTES, SHDR_BYTES, SYM_BYTES = 64, 64, 24  # bytes of an ELF header, a section header and a symbol, as above
IDENT = b"\x7fELF" + bytes([2, 1, 1, 0]) + bytes(8)
"""The e_ident: 64 bits, little-endian, ELF version 1, no particular system."""
BEGINNING = IDENT + Int16ul.build(ET_EXEC) + Int16ul.build(E_MACHINE)  # the file of every module begins so

NAME_STRING = PascalString(Int16ul, "utf8")  # a string with its length in front

SOURCE = Struct(  # the facts of the source in an info record of version 2
    "memory_model" / Int8ul,
    "smem_spilling" / Int8ul,
    "reserved" / Const(0, Int16ul),
    "max_registers" / Int32ul,
    "min_blocks" / Int32ul,
    "target" / NAME_STRING,
)

INFO = Struct(
    "version" / Int16ul,
    "kind" / Int8ul,  # 0 kernel, 1 function
    "local_stack" / Int8ul,
    "slot_pointer" / Int8ul,
    "registers" / Int8ul,
    "max_threads" / Int16ul,
    "block" / Int16ul[3],
    "reserved" / Const(0, Int16ul),
    "local_frame" / Int32ul,
    "local_bytes" / Int32ul,
    "spill_local" / Int32ul,
    "shared_bytes" / Int32ul,
    "slot_bytes" / Int32ul,
    "machine" / NAME_STRING,
    "params" / PrefixedArray(Int16ul, Struct("offset" / Int32ul, "size" / Int32ul, "name" / NAME_STRING)),
    "shared_align" / PrefixedArray(Int16ul, Int8ul),  # log2, one per symbol of .shared.<function>, in table order
    "source" / If(this.version == INFO_VERSIONS[1], SOURCE),
    Terminated,
)

LINES_HEADER = Struct(
    "files" / PrefixedArray(Int16ul, NAME_STRING),
    "count" / Int32ul,
)
LINE_ENTRY = np.dtype([("word", "<u4"), ("line", "<u4"), ("file", "<u2")])  # `count` of them follow, packed

TOUCHES_HEADER = Struct(
    "names" / PrefixedArray(Int16ul, NAME_STRING),
    "count" / Int32ul,
)
TOUCHES_ENTRY = np.dtype([("word", "<u4"), ("name", "<u2")])  # `count` of them follow, packed

MAP_HEADER = Struct("function" / NAME_STRING)
MAP_ENTRY = np.dtype("<i4")  # one per word follows

GLOBALS = Struct(  # of .loom.global: one per symbol of .global, in table order
    "variables"
    / PrefixedArray(Int32ul, Struct("align" / Int8ul, "data" / Prefixed(Int32ul, GreedyBytes))),  # align: log2
    Terminated,
)

NOTE = Struct(
    "namesz" / Int32ul,
    "descsz" / Int32ul,
    "type" / Int32ul,
    "name" / Padded((this.namesz + 3) // 4 * 4, Bytes(this.namesz)),
    "desc" / Padded((this.descsz + 3) // 4 * 4, Bytes(this.descsz)),
)
