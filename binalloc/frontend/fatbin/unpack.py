"""This module unpacks compressed code. It never unpacks more bytes than the header says, nor more than a file may
have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from binalloc.errors import UsageError
from binalloc.files import FILE_LIMIT
from binalloc.frontend.fatbin.damage import FilePiece


def unpack(code: FilePiece, compression: str, size: int) -> bytes:
    """Unpack `size` bytes of code.

    Raises MalformedInput where the code has another size, or more bytes than a file may have. Raises UsageError where
    the package for its compression is not installed.
    """
    if compression == "none":
        return code.data
    if size > FILE_LIMIT:
        code.fail("code is too large when unpacked", found=f"{size} bytes", expected=f"at most {FILE_LIMIT}")
    if compression == "lz4":
        return _lz4(code, size)
    if compression != "zstd":
        code.fail("compressed in a way that is not known", expected="lz4 or zstd")
    return _zstd(code, size)


def _lz4(code: FilePiece, size: int) -> bytes:
    try:
        block: Any = import_module("lz4.block")
    except ModuleNotFoundError as error:
        raise _missing("lz4", code) from error
    try:
        found: bytes = block.decompress(code.data, uncompressed_size=size)
    except (block.LZ4BlockError, ValueError, MemoryError, OverflowError) as error:
        code.fail("cannot be unpacked (lz4)", found=error)
    return _of_size(code, found, size)


def _zstd(code: FilePiece, size: int) -> bytes:
    try:
        import zstandard
    except ModuleNotFoundError as error:
        raise _missing("zstandard", code) from error
    try:
        # A stream is read up to size + 1 bytes, whatever size the frame claims to have.
        with zstandard.ZstdDecompressor(max_window_size=FILE_LIMIT).stream_reader(code.data) as reader:
            found: bytes = reader.read(size + 1)
    except (zstandard.ZstdError, MemoryError) as error:
        code.fail("cannot be unpacked (zstd)", found=error)
    return _of_size(code, found, size)


def _of_size(code: FilePiece, found: bytes, size: int) -> bytes:
    if len(found) != size:
        length = f"{len(found)} bytes" if len(found) < size else "more"
        code.fail("unpacks to another size", found=length, expected=f"{size} bytes, as its header says")
    return found


def _missing(package: str, code: FilePiece) -> UsageError:
    return UsageError(
        f"{package} is not installed, which unpacks this file's PTX", file=code.path or None, place=code.place or None,
        remedy=f"Install {package}, or compile with nvcc -compress-mode=none.",
    )  # fmt: skip
