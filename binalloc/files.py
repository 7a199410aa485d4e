"""Files from and for whoever calls: read up to a limit, written whole or not at all."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from binalloc.errors import UsageError

FILE_LIMIT = 64 << 20
"""Bytes of the longest file that any reader accepts."""


def read_bytes(path: str | Path) -> bytes:
    """What is in the file, of a longer one than FILE_LIMIT so much that its reader sees that it is too long. Raises
    UsageError where it cannot be opened."""
    try:
        with open(path, "rb") as file:
            return file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise UsageError("cannot read the file", file=str(path), found=error.strerror) from error


def instead_of_file(path: str | Path) -> str | None:
    """What lies there, in words, where it is not a file with an end: a folder, a device, a pipe; None for a file.
    Raises OSError as `os.stat` does, ValueError for a name that there cannot be."""
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def text_of(data: bytes) -> str:
    """The text of a file: UTF-8, with or without the mark that some editors put in front. Raises UnicodeDecodeError,
    which says so where the mark is that of UTF-16."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnicodeDecodeError("utf-8", data, 0, 2, "the byte order mark of UTF-16: save the file as UTF-8")
    return data.removeprefix(codecs.BOM_UTF8).decode()


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replace or create `path` with `data`; on any error the old file stands and no temporary file stays behind.

    Raises UsageError where it cannot be written.
    """
    with written_whole(path) as write:
        write(data)


@contextmanager
def written_whole(path: str | Path) -> Iterator[Callable[[bytes], object]]:
    """A file written piece by piece: what the body writes replaces `path` when the body has ended; where it ends with
    an exception the old file stands and no temporary file stays behind. A device or pipe cannot be replaced: it is
    written as it comes.

    Raises UsageError where it cannot be written.
    """
    target = Path(path)
    temporary = target.parent / f".binalloc-{os.urandom(8).hex()}.tmp"
    with _writing(path):
        direct = target.exists() and not target.is_file()
        flags = os.O_WRONLY if direct else os.O_WRONLY | os.O_CREAT | os.O_EXCL
        file = open(os.open(target if direct else temporary, flags, 0o666), "wb")  # noqa: SIM115

    def write(data: bytes) -> object:
        with _writing(path):
            return file.write(data)

    try:
        yield write
        with _writing(path):
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
def _writing(path: str | Path) -> Iterator[None]:
    """What goes wrong within is that the file cannot be written."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        found = getattr(error, "strerror", None) or error
        raise UsageError("cannot write the file", file=str(path), found=found) from error
