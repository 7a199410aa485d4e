"""Results are kept here for the modules that were asked about last.

Nobody changes a module once it is made. So the versions of a kernel that are built from one module share what is found
of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from binalloc.isa.instruction import Module

_MOST = 4  # results of a function: they hold whole analyses
_Rest = ParamSpec("_Rest")
_Found = TypeVar("_Found")


def kept(function: Callable[Concatenate[Module, _Rest], _Found]) -> Callable[Concatenate[Module, _Rest], _Found]:
    """Return a function of a module and of arguments that can be hashed, which keeps its last results. A module is
    known by its identity."""
    results = OrderedDict[tuple[object, ...], tuple[Module, _Found]]()

    @wraps(function)
    def found(module: Module, /, *args: _Rest.args, **named: _Rest.kwargs) -> _Found:
        asked = (id(module), args, tuple(sorted(named.items())))
        if asked in results:
            results.move_to_end(asked)
            return results[asked][1]
        result = function(module, *args, **named)
        results[asked] = module, result  # the module is kept alive, so that no other gets its id
        if len(results) > _MOST:
            results.popitem(last=False)
        return result

    return found
