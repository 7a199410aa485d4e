"""This module lists what other installed packages offer under one of our groups of entry points. It lists names alone,
and imports nothing.

Source: the Python Packaging User Guide, "Entry points specification".
"""

from __future__ import annotations

import importlib
import logging
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from binalloc.plugins.fault import blaming

ALLOCATORS = "binalloc.allocators"
POLICIES = "binalloc.policies"
MACHINES = "binalloc.machines"
"""The three groups of entry points."""


@dataclass(frozen=True, order=True)
class PluginEntry:
    """An entry point names an object that an installed package offers."""

    name: str  #: as users write it
    package: str  #: the distribution and its version
    group: str  #: what it offers
    value: str  #: its place, `module:attribute`

    @property
    def place(self) -> str:
        """Return in words whose entry point it is."""
        return f"{self.package}, entry point {self.name} of {self.group}, {self.value}"

    @property
    def summary(self) -> str:
        """Return a line for lists of names, for which nothing is imported."""
        return f"of the installed package {self.package}"

    def load(self) -> Any:
        """Return the object that it names, as it is. Raises PluginFault where that fails."""
        with blaming(self.place, "cannot be imported", passing=()):
            return _resolved(self.value)

    def sources(self) -> list[Path]:
        """Return the Python files of the package or module that it is in, sorted; none are imported."""
        import importlib.util

        try:
            spec = importlib.util.find_spec(self.value.partition(":")[0].split(".")[0].strip())
        except (ImportError, ValueError):
            return []
        if spec is None or spec.origin is None:
            return []
        origin = Path(spec.origin)
        return sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]


def _resolved(value: str) -> Any:
    module, _, attributes = value.partition(":")
    found: Any = importlib.import_module(module.strip())
    for name in filter(None, attributes.split("[")[0].strip().split(".")):
        found = getattr(found, name)
    return found


def entries(group: str, own: frozenset[str]) -> dict[str, PluginEntry]:
    """Return the entry points of a group by their names, sorted.

    own: names that come with the tool; entry points of these names are ignored. Names that clash are left out, and a
    line in the log of the package names their owners.
    """
    found, clashes = _entries(group, own)
    for text in clashes:
        _tell_once(text)
    return dict(found)


def clashing(group: str, own: frozenset[str], name: str) -> str:
    """Return why the `name` of several packages is ignored, "" where that is not so."""
    return next((text for text in _entries(group, own)[1] if name not in own and text.startswith(repr(name))), "")


@cache
def _entries(group: str, own: frozenset[str]) -> tuple[dict[str, PluginEntry], tuple[str, ...]]:
    found: dict[str, list[PluginEntry]] = {}
    for entry in _installed(group):
        found.setdefault(entry.name, []).append(entry)
    alone: dict[str, PluginEntry] = {}
    clashes = []
    for name, mine in sorted(found.items()):
        places = " and ".join(entry.place for entry in mine)
        if name in own:
            clashes.append(f"{name!r} of {places} is ignored: binalloc has one of that name")
        elif len(mine) > 1:
            clashes.append(f"{name!r} is ignored, as several packages have one: {places}")
        else:
            alone[name] = mine[0]
    return alone, tuple(clashes)


def _installed(group: str) -> list[PluginEntry]:
    from importlib import metadata

    found = {
        PluginEntry(point.name, _package(point), group, point.value) for point in metadata.entry_points(group=group)
    }
    return sorted(found)


def _package(point: Any) -> str:
    """Return the distribution that has the entry point, and its version."""
    if point.dist is None:
        return "an unnamed package"
    return f"{point.dist.metadata['Name']} {point.dist.version}"


@cache
def _tell_once(text: str) -> None:
    logging.getLogger("binalloc").warning(text)
