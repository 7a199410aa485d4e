"""This module keeps results for single functions that several attempts at one budget need.

Attempts differ in some functions only: with latencies hidden or not, with fewer registers for one callee. The
allocation of a function follows from its callees' contracts, its registers and the prices of memory; these are the key
here. Its virtual code only depends on where the callees have arguments and results. The store lives as long as the
budget's problem, and nobody changes its contents.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from binalloc.transform.allocate.functions.function import OneFunction
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.contract import Contract

Callees = tuple[Hashable, ...]  # a function's callees, with the content of their contracts


@dataclass
class ResultStore:
    """`ResultStore` keeps results for single functions, so that several attempts can share them."""

    #: virtual code by function, its arguments in memory and interfaces of its callees
    codes: dict[tuple[str, Callees], Analysed] = field(default_factory=dict)
    #: by the same, but callees' contracts; and the available registers, as bits
    functions: dict[tuple[str, Callees, int], OneFunction] = field(default_factory=dict)

    def code(self, name: str, callees: Callees, make: Callable[[], Analysed]) -> Analysed:
        """Return a function's virtual code. callees: by interface. make: called if the code is not known."""
        found = self.codes.get((name, callees))
        if found is None:
            found = self.codes[name, callees] = make()
        return found

    def function(
        self, given: Analysed, callees: Callees, available: int, contracts: Mapping[str, Contract]
    ) -> OneFunction:
        """Return the function with its registers. callees: by content. given: the function's code, from `code` for the
        same. contracts: of its callees at least."""
        key = given.code.function.name, callees, available
        found = self.functions.get(key)
        if found is None:
            found = self.functions[key] = OneFunction(given, available, dict(contracts))
        return found


def by_content(callees: Iterable[str], contracts: Mapping[str, Contract]) -> Callees:
    """Return the key of a function with these callees."""
    return tuple((name, contracts[name].content) for name in sorted(set(callees)))


def by_interface(callees: Iterable[str], contracts: Mapping[str, Contract]) -> Callees:
    """Return the key of the virtual code of a function with these callees."""
    return tuple((name, contracts[name].interface) for name in sorted(set(callees)))
