"""Results on an object that nobody changes any more are remembered here."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """`Once` keeps the results on one object, by the question that was asked."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def __call__(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, which is called the first time only. It may depend on the object and on `what`
        alone."""
        if what not in self._found:
            self._found[what] = make()
        found: T = self._found[what]
        return found
