"""The rows of these tables have names: whatever the command line offers by name is looked up in such a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from binalloc.errors import Hint, UsageError


class Named(Protocol):
    """A row of a table has a name."""

    @property
    def name(self) -> str:
        """Return the name as users write it."""


Row = TypeVar("Row", bound=Named)


def by_name(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the rows by their names, in their order. No two may share a name."""
    table: dict[str, Row] = {}
    for row in rows:
        assert row.name not in table, f"two rows of one table are called {row.name!r}"
        table[row.name] = row
    return table


def find(rows: Mapping[str, Row], name: str, what: str, place: Hint) -> Row:
    """Return the row called `name`.

    Args:
        what: the kind of the rows, for the message.
        place: the library's parameter that the name was given for.

    Raises:
        UsageError: there is no such row; the message lists the names that exist.
    """
    if name not in rows:
        *others, last = rows or ("nothing, as there is none",)
        expected = f"{', '.join(others)} or {last}" if others else last
        raise UsageError(f"no such {what}", place=place, found=repr(name), expected=expected)
    return rows[name]


def number(rows: Mapping[str, Row], name: str, what: str, place: Hint) -> int:
    """Return the place of the row called `name` in its table, from 0. Arguments and errors are as in `find`."""
    return list(rows).index(find(rows, name, what, place).name)
