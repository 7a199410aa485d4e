"""This module describes what device code takes for an array, whichever engine holds it."""

from __future__ import annotations

from typing import Protocol, overload


class Words(Protocol):
    """A row of words is an array of one dimension."""

    def __getitem__(self, i: int, /) -> int: ...

    def __setitem__(self, i: int, value: int, /) -> None: ...


class Grid(Protocol):
    """A grid is an array of two dimensions. One index gives a row of it."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @overload
    def __getitem__(self, at: int, /) -> Words: ...

    @overload
    def __getitem__(self, at: tuple[int, int], /) -> int: ...

    @overload
    def __getitem__(self, at: tuple[int, slice], /) -> Words: ...

    def __setitem__(self, at: tuple[int, int | slice], value: int, /) -> None: ...


class Cube(Protocol):
    """A cube is an array of three dimensions. One index gives a grid of it, two a row."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @overload
    def __getitem__(self, at: int, /) -> Grid: ...

    @overload
    def __getitem__(self, at: tuple[int, int], /) -> Words: ...

    @overload
    def __getitem__(self, at: tuple[int, int, int], /) -> int: ...

    def __setitem__(self, at: tuple[int, int | slice, int | slice], value: int, /) -> None: ...
