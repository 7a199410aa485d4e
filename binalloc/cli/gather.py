"""This module hands a command several options as one value, so that a new option changes no command's signature."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from binalloc.cli.options import all_of

Decorator = Callable[[Any], Any]


def gathered(name: str, make: Callable[..., Any], *decorators: Decorator) -> Decorator:
    """Return a decorator that gives a command several options and arguments as one parameter.

    Args:
        name: name of the parameter.
        make: function that makes its value from the values of the options, each by name.
        decorators: click's decorators for the options and arguments, in the order of the help.
    """
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
    """Return the names of the parameters that the decorators make."""

    def nothing() -> None:
        """Serve as the command that the decorators attach their parameters to."""

    made: list[click.Parameter] = getattr(all_of(*decorators)(nothing), "__click_params__", [])
    return [parameter.name for parameter in made if parameter.name is not None]
