"""Source files that a binary names, where they are at hand, and their lines."""

from __future__ import annotations

from pathlib import Path


def find_source(name: str, binary: str, folder: str | None = None) -> Path | None:
    """The source file of that name: below the folder given, else beside the binary, else where the name says."""
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
    """Its lines; None where there is none, or it cannot be read."""
    from binalloc.errors import UsageError
    from binalloc.files import read_bytes

    if path is None:
        return None
    try:
        return read_bytes(path).decode("utf-8-sig", "replace").split("\n")
    except UsageError:
        return None
