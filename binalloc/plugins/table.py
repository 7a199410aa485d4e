"""This module has tables whose rows have names, with the rows of installed packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from binalloc.errors import Hint
from binalloc.plugins.entries import PluginEntry, clashing, entries
from binalloc.plugins.fault import PluginFault
from binalloc.rows import Named, find

Row = TypeVar("Row", bound=Named)


class Table(Mapping[str, Row]):
    """A table has the rows that come with the tool, in their order, then the rows of installed packages, sorted by
    name.

    Names are listed without an import. The object behind a row is imported when the row is first used.

    Args:
        built_in: the rows that come with the tool.
        group: of entry points.
        row: makes a row of an entry point.
    """

    def __init__(self, built_in: dict[str, Row], group: str, row: Callable[[PluginEntry], Row]) -> None:
        self.built_in, self.group, self._row = built_in, group, row
        self._own = frozenset(built_in)

    def entries(self) -> dict[str, PluginEntry]:
        """Return the entry points of installed packages."""
        return entries(self.group, self._own)

    def __getitem__(self, name: str) -> Row:
        found = self.entries()  # also for a name of ours, so that an entry point of the same name is reported
        return self.built_in[name] if name in self.built_in else self._row(found[name])

    def __iter__(self) -> Iterator[str]:
        yield from self.built_in
        yield from self.entries()

    def __len__(self) -> int:
        return len(self.built_in) + len(self.entries())

    def find(self, name: str, what: str, place: Hint) -> Row:
        """Return the row of a name, as `rows.find`. Raises PluginFault where several packages have that name."""
        if name not in self and (text := clashing(self.group, self._own, name)):
            raise PluginFault("is not alone", self.group, "", text)
        return find(self, name, what, place)
