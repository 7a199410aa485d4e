"""Tables whose rows have names: what the command line offers by name is looked up in one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from binalloc.errors import Hint, UsageError


class Named(Protocol):
    @property
    def name(self) -> str:
        """As users write it."""


Row = TypeVar("Row", bound=Named)


def by_name(rows: Iterable[Row]) -> dict[str, Row]:
    """The rows by their names, in their order; no two may share one."""
    table: dict[str, Row] = {}
    for row in rows:
        assert row.name not in table, f"two rows of one table are called {row.name!r}"
        table[row.name] = row
    return table


def find(rows: Mapping[str, Row], name: str, what: str, place: Hint) -> Row:
    """The row called `name`.

    Args:
        what: what a row is, for the message; place: the library's parameter that the name was given for.

    Raises:
        UsageError: with the names there are.
    """
    if name not in rows:
        *others, last = rows or ("nothing, as there is none",)
        expected = f"{', '.join(others)} or {last}" if others else last
        raise UsageError(f"no such {what}", place=place, found=repr(name), expected=expected)
    return rows[name]


def number(rows: Mapping[str, Row], name: str, what: str, place: Hint) -> int:
    """The place of the row called `name` in its table, from 0 on. Arguments and errors as those of `find`."""
    return list(rows).index(find(rows, name, what, place).name)
