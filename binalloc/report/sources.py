"""This module finds the source files that a binary names, and reads their lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def find_source(name: str, binary: str, folder: str | None = None) -> Path | None:
    """Return the path of a source file: in `folder`, else beside the binary, else where its name says; None if it is
    in none of these places.

    name: the file, as the binary names it. binary: path of the binary, "" if it has none.
    """
    path = Path(name)
    places = [] if folder is None else [Path(folder) / path, Path(folder) / path.name]
    places += [Path(binary).parent / path, Path(binary).parent / path.name] if binary else []
    for place in (*places, path):
        try:
            if place.is_file():
                return place
        except (OSError, ValueError):  # a name that no file can have
            continue
    return None


def read_source(path: Path | None) -> list[str] | None:
    """Return the lines of a source file; None for no file, and for one that cannot be read."""
    from binalloc.errors import UsageError
    from binalloc.files import read_bytes

    if path is None:
        return None
    try:
        return read_bytes(path).decode("utf-8-sig", "replace").split("\n")
    except UsageError:
        return None


def line_of(lines: Sequence[str] | None, number: int) -> str | None:
    """Return a line of a source file, numbered from 1; None if there is no file, or if it has fewer lines."""
    return lines[number - 1] if lines is not None and 0 < number <= len(lines) else None
