"""The plain values that a TOML parser gives are checked here, for launch and machine files.

Needs a dict as `toml_file.read_toml` leaves it. A format declares its keys and asks a `TomlPlace` for the values. Each
value is returned with the type and range asked for, or refused with file, key, what was found and what was expected.
The checks are shared; each format words its errors in a subclass of its own.
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
    """A place is a dotted key in a TOML file. Its first five methods raise errors in the format's own words."""

    file: str  #: path of the file, for messages
    key: str = ""  #: the dotted key; "" for the whole file

    @abstractmethod
    def unknown_key(self, unknown: list[str], allowed: Collection[str]) -> NoReturn:
        """Raise: the table at this place has the keys `unknown`, and may have the keys `allowed` only."""

    @abstractmethod
    def missing_key(self, name: str, table: dict[str, Any]) -> NoReturn:
        """Raise: the table at this place, `table`, lacks the key `name`."""

    @abstractmethod
    def wrong_type(self, value: object, kind: type, bounds: str = "") -> NoReturn:
        """Raise: `value` is no `kind`. bounds: the expected range of an integer, for the message."""

    @abstractmethod
    def out_of_range(self, value: float, bounds: str) -> NoReturn:
        """Raise: `value` is of the right type and outside its range."""

    @abstractmethod
    def unknown_choice(self, value: object, choices: Collection[str]) -> NoReturn:
        """Raise: `value` is none of `choices`."""

    def sub(self, name: str) -> Self:
        """Return the place of the key `name` in the table at this place."""
        return type(self)(self.file, f"{self.key}.{name}" if self.key else name)

    def fail(self, message: str, found: object = None, expected: object = None, remedy: str | None = None) -> NoReturn:
        """Raise MalformedInput for this place. Arguments are as in `BinallocError`."""
        raise MalformedInput(
            message, file=self.file or None, place=self.key, found=found, expected=expected, remedy=remedy
        )

    def typed(self, value: object, kind: type[_T], bounds: str = "") -> _T:
        """Return `value`, which must be a `kind`; true and false do not count as integers."""
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            self.wrong_type(value, kind, bounds)
        return value

    def table(self, value: object) -> dict[str, Any]:
        found: dict[str, Any] = self.typed(value, dict)
        return found

    def only_keys(self, table: dict[str, Any], allowed: Collection[str]) -> None:
        """Refuse keys of the table that are not in `allowed`: nobody would read them."""
        unknown = [str(key) for key in table if key not in allowed]
        if unknown:
            self.unknown_key(unknown, allowed)

    def required(self, table: dict[str, Any], name: str) -> Any:
        """Return the value of a key that the table must have."""
        if name not in table:
            self.missing_key(name, table)
        return table[name]

    def one_of(self, value: object, choices: Iterable[_S]) -> _S:
        """Return the one of `choices` that `value` spells."""
        known = list(choices)
        found = next((choice for choice in known if choice == value), None)
        if found is None:
            self.unknown_choice(value, known)
        return found

    def integer(self, value: object, low: int, high: int) -> int:
        """Return `value`, which must be an integer from `low` to `high`."""
        bounds = f"{low} to {high}"
        number = self.typed(value, int, bounds)
        if not low <= number <= high:
            self.out_of_range(number, bounds)
        return number
