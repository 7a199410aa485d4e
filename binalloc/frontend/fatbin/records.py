"""This module defines the records of NVIDIA's fat binaries, and of the files that hold them, with `construct`.

NVIDIA documents none of this. Fields are as nvcc 13.0 writes them: they were found by comparing files with the options
given to its tools. A section holds containers, one for each translation unit, padded to eight bytes. A container holds
entries, one for each architecture and kind of code. All numbers are little-endian.
"""

from __future__ import annotations

from construct import Bytes, Int16ul, Int32ul, Int64ul, Padding, Struct

MAGIC = 0xBA55ED50  # the first word of a container
BEGINNING = Int32ul.build(MAGIC)
"""A fat binary file begins so, since it begins with a container."""

CONTAINER = Struct(
    "magic" / Int32ul,
    "version" / Int16ul,
    "header_bytes" / Int16ul,
    "bytes" / Int64ul,  # size of all entries behind the header
)

ENTRY = Struct(
    "kind" / Int16ul,
    "version" / Int16ul,
    "header_bytes" / Int32ul,  # includes the name and the options behind these fields
    "bytes" / Int64ul,  # size of the code behind the header, padded
    "packed_bytes" / Int32ul,  # size of the code where it is compressed, else 0
    "options_at" / Int32ul,  # offset of an OPTIONS in the header, 0: none
    "minor" / Int16ul,
    "major" / Int16ul,
    "architecture" / Int32ul,
    "name_at" / Int32ul,  # offset of the translation unit's name in the header
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
"""Flags of an entry: 64 bits, compiled for a debugger, the two compressions; code for one architecture alone (sm_90a)
and for one family (sm_100f)."""

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
E_MACHINE_CUDA = 190  # the number of NVIDIA's GPUs in an ELF header
E_MACHINES_HOST = (21, 62, 183, 243)  # 64-bit PowerPC, x86-64, AArch64, RISC-V
SECTIONS = {".nv_fatbin": False, "__nv_relfatbin": True}
"""ELF sections that hold containers, and whether their code is to be linked (-rdc)."""
