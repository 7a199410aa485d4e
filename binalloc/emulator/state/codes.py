"""This module has the base class of the enumerations that device code can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class Codes:
    """A subclass is an enumeration whose members are plain ints. They count from 0 in the order of the subclass's
    annotations.

    The `python` engine reads the members as attributes of the class. The `numba` engine knows no classes: `engine`
    gives it a module with the same ints in the place of the class. The keyword argument `numbers` is for members that
    another table numbers; it has their numbers by their names in small letters.
    """

    #: the subclass's own members in small letters; the index is the member's number, but with `numbers`
    names: ClassVar[tuple[str, ...]]
    members: ClassVar[dict[str, int]] = {}  #: numbers by name of all members, inherited ones included

    def __init_subclass__(cls, numbers: Mapping[str, int] | None = None) -> None:
        cls.names = tuple(name.lower() for name in cls.__annotations__)
        own = {name: i if numbers is None else numbers[name.lower()] for i, name in enumerate(cls.__annotations__)}
        for name, number in own.items():
            setattr(cls, name, number)
        cls.members = cls.members | own
