"""Checks of the plain values that a TOML parser gives, for launch and machine files.

Needs a dict as `toml_file.read_toml` leaves it. A format declares its keys and asks a `TomlPlace` for the values: each
is returned with the type and range asked for, or refused with file, key, what was found and what was expected. What
is checked stands here; how a refusal is worded each format says in a subclass of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, Self, TypeVar

from binalloc.errors import MalformedInput

_T = TypeVar("_T")
_S = TypeVar("_S", bound=str)


@dataclass(frozen=True)
class TomlPlace(ABC):
    """A place in a file: a dotted key, "" for the whole of it. The first five methods are the format's wording."""

    file: str
    key: str = ""

    @abstractmethod
    def unknown_key(self, unknown: list[str], allowed: Collection[str]) -> NoReturn:
        """Keys in the table at this place that are none of `allowed`."""

    @abstractmethod
    def missing_key(self, name: str, table: dict[str, Any]) -> NoReturn:
        """`table`, which is here, lacks `name`."""

    @abstractmethod
    def wrong_type(self, value: object, kind: type, bounds: str = "") -> NoReturn:
        """`value` is no `kind`. bounds: the range of an integer, for the words of what was expected."""

    @abstractmethod
    def out_of_range(self, value: float, bounds: str) -> NoReturn:
        """`value` is of the right type and outside its range."""

    @abstractmethod
    def unknown_choice(self, value: object, choices: Collection[str]) -> NoReturn:
        """`value` is none of `choices`."""

    def sub(self, name: str) -> Self:
        """The place of a key of the table that is here."""
        return type(self)(self.file, f"{self.key}.{name}" if self.key else name)

    def fail(self, message: str, found: object = None, expected: object = None, remedy: str | None = None) -> NoReturn:
        raise MalformedInput(
            message, file=self.file or None, place=self.key, found=found, expected=expected, remedy=remedy
        )

    def typed(self, value: object, kind: type[_T], bounds: str = "") -> _T:
        """`value`, which must be a `kind`; true and false are no integers."""
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            self.wrong_type(value, kind, bounds)
        return value

    def table(self, value: object) -> dict[str, Any]:
        found: dict[str, Any] = self.typed(value, dict)
        return found

    def only_keys(self, table: dict[str, Any], allowed: Collection[str]) -> None:
        """Refuses keys that nobody reads."""
        unknown = [str(key) for key in table if key not in allowed]
        if unknown:
            self.unknown_key(unknown, allowed)

    def required(self, table: dict[str, Any], name: str) -> Any:
        """The value of a key that must be there."""
        if name not in table:
            self.missing_key(name, table)
        return table[name]

    def one_of(self, value: object, choices: Iterable[_S]) -> _S:
        """The one of `choices` that `value` spells."""
        known = list(choices)
        found = next((choice for choice in known if choice == value), None)
        if found is None:
            self.unknown_choice(value, known)
        return found

    def integer(self, value: object, low: int, high: int) -> int:
        bounds = f"{low} to {high}"
        number = self.typed(value, int, bounds)
        if not low <= number <= high:
            self.out_of_range(number, bounds)
        return number
