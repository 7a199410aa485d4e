"""This module finds machine files. Each file in this folder is one machine, and its name is the machine's; installed
packages add theirs by entry points."""

from __future__ import annotations

import os
from pathlib import Path

from binalloc.plugins import entries
from binalloc.plugins.entries import PluginEntry
from binalloc.plugins.fault import PluginFault, blaming

DEFAULT_MACHINE = "gtx680"
"""The first machine of the unified paper."""
_DIRECTORY = Path(__file__).parent
_SHOWN = 200
"""Characters that an error shows of a value that is no path: enough to recognise it in one line."""


def list_machines() -> list[str]:
    """Return the names of the machines that come with the package or with other installed ones, sorted."""
    return sorted([*built_in_machines(), *installed_machines()])


def built_in_machines() -> list[str]:
    """Return the names of the machines that come with the package, sorted."""
    return sorted(path.stem for path in _DIRECTORY.glob("*.toml"))


def installed_machines() -> dict[str, PluginEntry]:
    """Return the machines of other installed packages, by name."""
    return entries.entries(entries.MACHINES, frozenset(built_in_machines()))


def machine_file(name: str) -> Path:
    """Return the file of the machine called `name`, which comes with the package."""
    return _DIRECTORY / f"{name}.toml"


def installed_file(entry: PluginEntry) -> Path:
    """Return the file of an installed package's machine.

    The entry point names a path, or a function that returns one. Raises PluginFault where it is no file.
    """
    found = entry.load()
    if callable(found):
        with blaming(entry.place):
            found = found()
    if not isinstance(found, str | os.PathLike) or not _is_file(found):
        raise PluginFault("names no machine file", entry.place, "", f"{repr(found)[:_SHOWN]}, which is no file's path")
    return Path(found)


def _is_file(path: str | os.PathLike[str]) -> bool:
    """Do as `Path.is_file`, but return False where no file system can have the name."""
    try:
        return Path(path).is_file()
    except (OSError, TypeError, ValueError):
        return False
