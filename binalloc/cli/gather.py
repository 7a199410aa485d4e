"""Options that a command gets as one value, in place of a parameter for each: a new one changes no command."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from binalloc.cli.options import all_of

Decorator = Callable[[Any], Any]


def gathered(name: str, make: Callable[..., Any], *decorators: Decorator) -> Decorator:
    """A decorator for commands. decorators: click's, for options and arguments, in the order of the help. The command
    gets what `make` makes of their values, which it is given by name, as its parameter `name`."""
    names = _names(decorators)

    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def command(**given: Any) -> Any:
            values = {one: given.pop(one) for one in names}
            assert name not in given, f"two parameters are called {name}"
            return function(**given, **{name: make(**values)})

        decorated: Callable[..., Any] = all_of(*decorators)(command)
        return decorated

    return apply


def _names(decorators: tuple[Decorator, ...]) -> list[str]:
    """The names of the parameters that the decorators make."""

    def nothing() -> None:
        """Takes the parameters."""

    made: list[click.Parameter] = getattr(all_of(*decorators)(nothing), "__click_params__", [])
    return [parameter.name for parameter in made if parameter.name is not None]
