"""Files from and for whoever calls: read up to a limit, written whole or not at all."""

from __future__ import annotations

import os
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


def write_atomically(path: str | Path, data: bytes) -> None:
    """Replace or create `path` with `data`; on any error the old file stands and no temporary file stays behind.

    Raises UsageError where it cannot be written.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or pipe cannot be replaced
            return
        _replace(target, data)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        found = getattr(error, "strerror", None) or error
        raise UsageError("cannot write the file", file=str(path), found=found) from error


def _replace(target: Path, data: bytes) -> None:
    """By way of a new file beside it, which nobody else can have made."""
    temporary = target.parent / f".binalloc-{os.urandom(8).hex()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
