"""Tables whose rows have names: what the command line offers by name is looked up in one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar


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
