"""The records of NVIDIA's fat binaries, and of the files that hold them, defined with `construct`.

NVIDIA documents none of this: fields are as nvcc 13.0 writes them, compared with what its tools were told to write. A
section holds containers, one for each translation unit, padded to eight bytes; a container holds entries, one for each
architecture and kind of code. Little-endian throughout.
"""

from __future__ import annotations

from construct import Bytes, Int16ul, Int32ul, Int64ul, Padding, Struct

MAGIC = 0xBA55ED50
BEGINNING = Int32ul.build(MAGIC)
"""How a fat binary file begins: with a container."""

CONTAINER = Struct(
    "magic" / Int32ul,
    "version" / Int16ul,
    "header_bytes" / Int16ul,
    "bytes" / Int64ul,  # of all entries behind the header
)

ENTRY = Struct(
    "kind" / Int16ul,
    "version" / Int16ul,
    "header_bytes" / Int32ul,  # with the name and the options, which lie behind these fields
    "bytes" / Int64ul,  # of the code behind the header, padded
    "packed_bytes" / Int32ul,  # of the code where it is compressed, else 0
    "options_at" / Int32ul,  # of an OPTIONS in the header, 0: none
    "minor" / Int16ul,
    "major" / Int16ul,
    "architecture" / Int32ul,
    "name_at" / Int32ul,  # of the translation unit's name in the header
    "name_bytes" / Int32ul,
    "flags" / Int64ul,
    Padding(8),
    "unpacked_bytes" / Int64ul,
)

OPTIONS = Struct("text_at" / Int32ul, "text_bytes" / Int32ul)

ENTRY_BYTES, CONTAINER_BYTES = ENTRY.sizeof(), CONTAINER.sizeof()

PTX, CUBIN, LTO = 1, 2, 8
KINDS = {PTX: "ptx", CUBIN: "cubin", LTO: "lto"}

WIDE, DEBUG, LZ4, ZSTD = 0x1, 0x2, 0x2000, 0x8000
SPECIFIC, FAMILY = 0x100000, 0x200000
"""Flags: 64 bits, debug, how it is compressed; sm_90a, sm_100f."""

ARCHIVE, THIN_ARCHIVE = b"!<arch>\n", b"!<thin>\n"
MEMBER = Struct(
    "name" / Bytes(16),
    Padding(32),  # date, owner, mode
    "bytes" / Bytes(10),  # decimal digits
    "end" / Bytes(2),
)
MEMBER_BYTES, MEMBER_END = MEMBER.sizeof(), b"`\n"

ELF = b"\x7fELF"
ELF_64_LITTLE = b"\x02\x01"
E_MACHINE_CUDA = 190
E_MACHINES_HOST = (21, 62, 183, 243)  # 64-bit PowerPC, x86-64, AArch64, RISC-V
SECTIONS = {".nv_fatbin": False, "__nv_relfatbin": True}
"""ELF sections that hold containers, and whether their code is to be linked (-rdc)."""
