"""The machine files that there are: each that comes with the tool is one machine, called as its file; installed
packages add theirs by entry points."""

from __future__ import annotations

import os
from pathlib import Path

from binalloc.plugins import entries
from binalloc.plugins.entries import Entry
from binalloc.plugins.fault import PluginFault, blaming

DEFAULT_MACHINE = "gtx680"
_DIRECTORY = Path(__file__).parent
_SHOWN = 200
"""Characters of what is no path that an error shows."""


def list_machines() -> list[str]:
    """Names of the machines that come with the package or with other installed ones, sorted."""
    return sorted([*built_in_machines(), *installed_machines()])


def built_in_machines() -> list[str]:
    """Names of the machines that come with the package, sorted."""
    return sorted(path.stem for path in _DIRECTORY.glob("*.toml"))


def installed_machines() -> dict[str, Entry]:
    """The machines of other installed packages, by name."""
    return entries.entries(entries.MACHINES, frozenset(built_in_machines()))


def machine_file(name: str) -> Path:
    """The file of the machine called `name`, which comes with the package."""
    return _DIRECTORY / f"{name}.toml"


def installed_file(entry: Entry) -> Path:
    """The file of an installed package's machine: its entry point names a path, or a function that gives one. Raises
    PluginFault where it is none."""
    found = entry.load()
    if callable(found):
        with blaming(entry.place):
            found = found()
    if not isinstance(found, str | os.PathLike) or not _is_file(found):
        raise PluginFault("names no machine file", entry.place, "", f"{repr(found)[:_SHOWN]}, which is no file's path")
    return Path(found)


def _is_file(path: str | os.PathLike[str]) -> bool:
    """As `Path.is_file`, which raises for what no file system takes as a name."""
    try:
        return Path(path).is_file()
    except (OSError, TypeError, ValueError):
        return False
