"""A program calls functions of Python files between launches with these functions.

Trusts the file: it is executed. The caller has the user's permission for that.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from binalloc.errors import UsageError
from binalloc.launch.file import load_function
from binalloc.launch.program.expressions import Number
from binalloc.launch.program.types import HostStep
from binalloc.launch.types import Array
from binalloc.launch.values import is_number
from binalloc.printable import quoted


def host_function(step: HostStep) -> Any:
    """Return the step's function; its file is executed."""
    return load_function(step.file, step.function, "host function", "See the step's host.file.")


def call_host(
    function: Any, step: HostStep, arrays: Mapping[str, Array], scalars: Mapping[str, Number | complex]
) -> dict[str, Number | complex]:
    """Call the step's function with the arguments that it names, and return the new values of scalars.

    It is called as f(arguments), a dict from names to numbers and arrays; it may change the arrays in place. It returns
    a dict from scalars to new values, or None. Raises UsageError where it raises or returns something else.
    """
    place = f"function {step.function}"
    given: dict[str, Any] = {name: arrays[name] if name in arrays else scalars[name] for name in step.arguments}
    try:
        with redirect_stdout(sys.stderr):  # our own stdout may be one JSON object
            found = function(given)
    except (Exception, SystemExit) as e:
        message = f"the host function raised {type(e).__name__}: {e}"
        raise UsageError(message, file=step.file, place=place) from e
    out: dict[str, Number | complex] = {}
    for name, value in _returned(found, step, place).items():
        value = value.item() if isinstance(value, np.generic) else value
        known = name in scalars and name in step.arguments
        if not known or not (is_number(value) or type(value) is type(scalars[name])):
            raise UsageError(
                "the host function returned no value of a scalar", file=step.file, place=place,
                found=f"{quoted(name)}: {type(value).__name__}",
                expected="numbers by the names of scalars among the step's arguments; arrays are changed in place",
            )  # fmt: skip
        out[name] = value
    return out


def _returned(found: object, step: HostStep, place: str) -> dict[str, Any]:
    """Return the dict that the function returned; None counts as an empty one."""
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UsageError(
            "the host function returned no dict", file=step.file, place=place, found=type(found).__name__,
            expected="None, or a dict from scalars' names to numbers",
        )  # fmt: skip
    return {str(name): value for name, value in found.items()}
