"""Compiled code is cached in a folder. Numba's index of it is pickled: whoever can write there runs code as its reader.

A folder is used only where nobody else can replace it or change its contents. It and our folders in it must be real
folders of the user's own, closed to group and others. Every parent folder must belong to the user or to root, and must
be closed to others as well, or sticky as /tmp is. Otherwise this process makes a private folder and removes it at its
end; its children find it by `VARIABLE`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "BINALLOC_CACHE_DIR"  # environment variable with the root of the cache
_MADE: set[str] = set()  # private folders that this process has made
_OTHERS = stat.S_IWGRP | stat.S_IWOTH  # permission bits by which somebody else could write


def cache_folder(*parts: str) -> Path | None:
    """Return a folder for compiled code that only this user can write, made where there is none. parts: its path from
    the root of the cache.

    None where not even a new folder would be safe: others may rename what is in the folder for temporary files.
    """
    for root in _roots():
        folder = _own_folder(root, parts)
        if folder is not None:
            return folder
    return _private(parts)


def existing_folder(*parts: str) -> Path | None:
    """Return the folder that `cache_folder` would return, if it already exists. Makes none."""
    there = any(root.joinpath(*parts).is_dir() for root in _roots())
    return cache_folder(*parts) if there else None


def _roots() -> Iterator[Path]:
    """Yield the places to try in turn."""
    named = os.environ.get(VARIABLE)
    if named and os.path.isabs(named):
        yield Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    if cache and os.path.isabs(cache):
        yield Path(cache, "binalloc")
    elif os.path.isabs(home := os.path.expanduser("~")):
        yield Path(home, ".cache", "binalloc")
    with contextlib.suppress(OSError):  # no folder for temporary files at all
        yield Path(tempfile.gettempdir(), f"binalloc-{os.getuid()}")


def _own_folder(root: Path, parts: tuple[str, ...]) -> Path | None:
    """Return the folder `parts` of `root`, made where it is missing; None where a folder of this path is not safe."""
    try:
        above = Path(os.path.realpath(root.parent))
        above.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not all(_fit_to_hold(folder) for folder in (above, *above.parents)):
            return None
        folder = above / root.name
        for part in ("", *parts):
            folder = folder / part
            folder.mkdir(exist_ok=True, mode=0o700)
            if not _is_private(folder):
                return None
        return folder if os.access(folder, os.W_OK | os.X_OK) else None
    except OSError:
        return None


def _fit_to_hold(folder: Path) -> bool:
    """Return whether nobody but its owner and root can put another folder in the place of one in it."""
    found = os.lstat(folder)
    closed = not found.st_mode & _OTHERS or bool(found.st_mode & stat.S_ISVTX)
    return stat.S_ISDIR(found.st_mode) and found.st_uid in (0, os.getuid()) and closed


def _is_private(folder: Path) -> bool:
    """Return whether it is a real folder, no link to one, of the user's own that nobody else can write."""
    found = os.lstat(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & _OTHERS


def _private(parts: tuple[str, ...]) -> Path | None:
    """Return a new folder for this process and its children."""
    try:
        root = os.path.realpath(tempfile.mkdtemp(prefix="binalloc-"))
    except OSError:
        return None
    os.environ[VARIABLE] = root
    _MADE.add(root)
    atexit.register(_remove, root, os.getpid())
    return _own_folder(Path(root), parts)


def is_temporary(folder: Path) -> bool:
    """Return whether the folder is removed at the end of the process that made it."""
    return any(str(above) in _MADE for above in folder.parents)


def _remove(folder: str, maker: int) -> None:
    """Remove the folder at the maker's end, but not at the end of a process forked from it."""
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)
