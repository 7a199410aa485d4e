"""Enumerations that device code can use."""

from __future__ import annotations

from typing import ClassVar


class Codes:
    """An enumeration whose members are plain ints from 0 up, one for each annotation of the subclass, in their order.

    The `python` engine reads them as attributes of the class; for the `numba` engine, which knows no classes, `engine`
    puts a module of the same ints in its place. `names`: the members' names in small letters, by number.
    """

    names: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls.names = tuple(name.lower() for name in cls.__annotations__)
        for number, name in enumerate(cls.__annotations__):
            setattr(cls, name, number)
