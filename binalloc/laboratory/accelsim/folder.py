"""A folder is made whole or not at all, and files in it may be written in another order than they are read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from binalloc.errors import UsageError

COPY = 1 << 20  # bytes copied at a time: few calls, and memory that does not matter


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn errors of the file system in the block into UsageError with the folder's name."""
    try:
        yield
    except OSError as error:
        raise UsageError("cannot write the folder", file=str(target), found=error.strerror or str(error)) from error


class NewFolder:
    """A NewFolder is filled at `path`, beside `target`. `keep` moves it to `target`; without that, `close` removes it.

    ours: names of files. A target with only these files is replaced. Raises UsageError if it has others, is no folder,
    or cannot be made.
    """

    def __init__(self, target: Path, ours: frozenset[str]) -> None:
        self.target, self._ours = target, ours
        with writing(target):
            _check_free(target, ours)
            self._room = tempfile.TemporaryDirectory(prefix=".binalloc-", suffix=".tmp", dir=target.parent)
            self.path = Path(self._room.name, "new")
            self.path.mkdir()

    def keep(self) -> None:
        """Move the folder to its target."""
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
        """Remove the folder if it was not kept."""
        self._room.cleanup()


def _check_free(target: Path, ours: frozenset[str]) -> None:
    """Raise UsageError unless `target` can be made, or is a folder with no files but `ours`."""
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
    """A Scratch keeps bytes in a file without a name. `put` returns their place; `copy` copies from there."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed by `close`
        self._end = 0

    def put(self, data: bytes) -> tuple[int, int]:
        """Append the bytes. Return their place: where they begin, and their number."""
        self._file.seek(self._end)
        self._file.write(data)
        start, self._end = self._end, self._end + len(data)
        return start, len(data)

    def copy(self, place: tuple[int, int], into: IO[bytes]) -> None:
        """Append the bytes at `place`, which `put` returned, to another file."""
        start, length = place
        self._file.seek(start)
        while length:
            part = self._file.read(min(length, COPY))
            into.write(part)
            length -= len(part)

    def close(self) -> None:
        """Remove the file, and the bytes with it."""
        self._file.close()
