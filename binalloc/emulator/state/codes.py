"""Enumerations that device code can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class Codes:
    """An enumeration whose members are plain ints from 0 up, one for each annotation of the subclass, in their order.

    The `python` engine reads them as attributes of the class; for the `numba` engine, which knows no classes, `engine`
    puts a module of the same ints in its place. names: those of the subclass's own members in small letters, by
    number. members: all of them, with what it inherits. numbers: for members that another table numbers, by their
    names in small letters.
    """

    names: ClassVar[tuple[str, ...]]
    members: ClassVar[dict[str, int]] = {}

    def __init_subclass__(cls, numbers: Mapping[str, int] | None = None) -> None:
        cls.names = tuple(name.lower() for name in cls.__annotations__)
        own = {name: i if numbers is None else numbers[name.lower()] for i, name in enumerate(cls.__annotations__)}
        for name, number in own.items():
            setattr(cls, name, number)
        cls.members = cls.members | own
