"""The rows of these tables have names: whatever the command line offers by name is looked up in such a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a row is a whole number, which users may write behind the row's name: `name:parameter=value`."""

    name: str  #: as users write it
    field: str  #: where the value goes: a field of the emulated device's record
    summary: str  #: for the help of the command line
    default: int
    least: int = 1
    most: int = 1 << 20
    words: tuple[str, ...] = ()  #: names of the values from 0 on, where users write a name instead of a number
    named: tuple[tuple[str, int], ...] = ()  #: further values with names, beside numbers

    @property
    def expected(self) -> str:
        """Return what a user may write, for messages."""
        return " or ".join(self.words or (f"{self.least} to {self.most}", *dict(self.named)))

    @property
    def usual(self) -> str:
        """Return the default as a user would write it."""
        return self.words[self.default] if self.words else {n: name for name, n in self.named}.get(
            self.default, str(self.default)
        )

    def read(self, text: str) -> int | None:
        """Return the value that `text` stands for, None where it stands for none."""
        if self.words:
            return self.words.index(text) if text in self.words else None
        if text in dict(self.named):
            return dict(self.named)[text]
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1
        return value if self.least <= value <= self.most else None


class Adjustable(Named, Protocol):
    """A row may have parameters."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return the row's parameters."""


AdjustableRow = TypeVar("AdjustableRow", bound=Adjustable)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A row of a table has been chosen, with a value for each of its parameters."""

    number: int  #: the place of the row in its table, from 0
    name: str  #: the row's name
    values: dict[str, int]  #: a value for each parameter, by `Parameter.field`


def chosen(rows: Mapping[str, AdjustableRow], text: str, what: str, place: Hint) -> Chosen:
    """Return the row and the values that a user has chosen. `:parameter=value` may follow the row's name, for some of
    its parameters. Arguments are as in `find`.

    Raises:
        UsageError: there is no such row or parameter, a parameter comes twice, or its value is out of range.
    """
    name, *given = text.split(":")
    row = find(rows, name, what, place)
    values: dict[str, int] = {}
    known = {p.name: p for p in row.parameters}
    for part in given:
        key, _, value = part.partition("=")
        if key not in known or known[key].field in values:
            raise UsageError(
                f"{what} {name} has no parameter {key!r}" if key not in known else f"{key} comes twice",
                place=place, found=text, expected=f"each at most once: {', '.join(known) or 'no parameters'}",
            )  # fmt: skip
        read = known[key].read(value)
        if read is None:
            raise UsageError(f"{key} of {what} {name} out of range", place=place, found=part,
                             expected=f"{key}={known[key].expected}")  # fmt: skip
        values[known[key].field] = read
    defaults = {p.field: p.default for p in row.parameters}
    return Chosen(list(rows).index(name), name, defaults | values)
