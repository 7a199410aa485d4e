"""Files are read up to a limit here, and written whole or not at all."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from binalloc.errors import UsageError

FILE_LIMIT = 64 << 20
"""Bytes of the longest file that any reader accepts: a wrong or endless file must not fill the memory. Chosen by
hand."""


def read_bytes(path: str | Path) -> bytes:
    """Return the content of the file. A file longer than FILE_LIMIT is cut one byte behind the limit: its reader sees
    that it is too long. Raises UsageError where the file cannot be opened."""
    try:
        with open(path, "rb") as file:
            return file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise UsageError("cannot read the file", file=str(path), found=error.strerror) from error


def instead_of_file(path: str | Path) -> str | None:
    """Return in words what `path` is where it is not a regular file: a folder, a device, a pipe, a socket; None for a
    regular file. Raises OSError as `os.stat` does, ValueError for an impossible name."""
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def text_of(data: bytes) -> str:
    """Return the text of a UTF-8 file, without the byte order mark that some editors put in front. Raises
    UnicodeDecodeError. Where the mark is that of UTF-16, the error says so."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnicodeDecodeError("utf-8", data, 0, 2, "the byte order mark of UTF-16: save the file as UTF-8")
    return data.removeprefix(codecs.BOM_UTF8).decode()


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replace or create `path` with `data`. On any error the old file stays as it was, and no temporary file is left.

    Raises UsageError where it cannot be written.
    """
    with written_whole(path) as write:
        write(data)


@contextmanager
def written_whole(path: str | Path) -> Iterator[Callable[[bytes], object]]:
    """Give the body a function that writes a piece of a new file. It replaces `path` when the body has ended.

    Where the body ends with an exception, the old file stays as it was, and no temporary file is left. A device or pipe
    cannot be replaced: its pieces are written at once. Raises UsageError where the file cannot be written.
    """
    target = Path(path)
    temporary = target.parent / f".binalloc-{os.urandom(8).hex()}.tmp"
    with writing(path):
        direct = target.exists() and not target.is_file()
        flags = os.O_WRONLY if direct else os.O_WRONLY | os.O_CREAT | os.O_EXCL
        file = open(os.open(target if direct else temporary, flags, 0o666), "wb")  # noqa: SIM115

    def write(data: bytes) -> object:
        with writing(path):
            return file.write(data)

    try:
        yield write
        with writing(path):
            file.flush()
            if not direct:
                os.fsync(file.fileno())
            file.close()
            if not direct:
                os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            file.close()
        if not direct:
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn errors of the operating system in the body into a UsageError: the file cannot be written."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        found = getattr(error, "strerror", None) or error
        raise UsageError("cannot write the file", file=str(path), found=found) from error
