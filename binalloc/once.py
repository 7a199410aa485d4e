"""A memory of what was worked out of something that nobody changes any more."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """It keeps what has been found of one thing, by what was asked."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def __call__(self, what: Hashable, make: Callable[[], T]) -> T:
        """It answers what `make` gives, called the first time only: nothing but that thing and `what` decides it."""
        if what not in self._found:
            self._found[what] = make()
        found: T = self._found[what]
        return found
