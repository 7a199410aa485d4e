"""A folder that is there whole or not at all, and files in it that are written in another order than they are read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from binalloc.errors import UsageError

COPY = 1 << 20
"""Bytes that are copied at a time."""


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """UsageError, which names the folder, for what the system refuses within."""
    try:
        yield
    except OSError as error:
        raise UsageError("cannot write the folder", file=str(target), found=error.strerror or str(error)) from error


class NewFolder:
    """A folder to fill, `path`, beside `target`; it becomes `target` by `keep` and goes away by `close` otherwise.

    ours: names of files. A target that holds nothing else is replaced; UsageError where it holds anything more, is no
    folder, or cannot be made.
    """

    def __init__(self, target: Path, ours: frozenset[str]) -> None:
        self.target, self._ours = target, ours
        with writing(target):
            _check_free(target, ours)
            self._room = tempfile.TemporaryDirectory(prefix=".binalloc-", suffix=".tmp", dir=target.parent)
            self.path = Path(self._room.name, "new")
            self.path.mkdir()

    def keep(self) -> None:
        """Put it where it belongs."""
        old = Path(self._room.name, "old")
        with writing(self.target):
            _check_free(self.target, self._ours)
            replaced = self.target.is_dir()
            if replaced:
                os.replace(self.target, old)
            try:
                os.replace(self.path, self.target)
            except OSError:
                if replaced:
                    os.replace(old, self.target)
                raise

    def close(self) -> None:
        """Remove what was not kept."""
        self._room.cleanup()


def _check_free(target: Path, ours: frozenset[str]) -> None:
    if not target.is_symlink() and not target.exists():
        return
    if target.is_symlink() or not target.is_dir():
        raise UsageError("this is no folder", file=str(target), expected="the name of a folder to make")
    others = sorted(p.name for p in target.iterdir() if p.name not in ours)
    if others:
        raise UsageError(
            "the folder holds other files", file=str(target), found=others[0],
            expected="no such folder, an empty one, or an earlier trace", remedy="Name another folder.",
        )  # fmt: skip


class Scratch:
    """Bytes put aside in a file without a name: `put` says where they are, `copy` appends them to another file."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed by `close`
        self._end = 0

    def put(self, data: bytes) -> tuple[int, int]:
        """Where they begin, and how many there are."""
        self._file.seek(self._end)
        self._file.write(data)
        start, self._end = self._end, self._end + len(data)
        return start, len(data)

    def copy(self, place: tuple[int, int], into: IO[bytes]) -> None:
        """Append what `put` has put at a place."""
        start, length = place
        self._file.seek(start)
        while length:
            part = self._file.read(min(length, COPY))
            into.write(part)
            length -= len(part)

    def close(self) -> None:
        """The bytes are gone."""
        self._file.close()
