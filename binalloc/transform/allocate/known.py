"""What the attempts at one budget have found of single functions, for attempts that ask the same again.

Attempts differ in some functions only: with latencies hidden or not, with fewer registers for one callee. What a
function becomes follows from its callees' contracts, its registers and the prices of memory, which are the key here;
its virtual code alone from where those callees have arguments and results. It lives as long as the budget's problem
does; what is in it nobody changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from binalloc.transform.allocate.functions.function import OneFunction
from binalloc.transform.virtual.analysed import Analysed
from binalloc.transform.virtual.contract import Contract

Callees = tuple[Hashable, ...]
"""A function's callees, and what their contracts say."""


@dataclass
class Known:
    """codes: virtual code by function, its arguments in memory and interfaces of its callees. functions: by the same,
    but callees' contracts, and the registers that there are, as bits."""

    codes: dict[tuple[str, Callees], Analysed] = field(default_factory=dict)
    functions: dict[tuple[str, Callees, int], OneFunction] = field(default_factory=dict)

    def code(self, name: str, callees: Callees, make: Callable[[], Analysed]) -> Analysed:
        """A function's virtual code. callees: by interface. make: gives it where it is not known."""
        found = self.codes.get((name, callees))
        if found is None:
            found = self.codes[name, callees] = make()
        return found

    def function(
        self, given: Analysed, callees: Callees, available: int, contracts: Mapping[str, Contract]
    ) -> OneFunction:
        """callees: by content. given: the function's code, from `code` for the same. contracts: of those at least."""
        key = given.code.function.name, callees, available
        found = self.functions.get(key)
        if found is None:
            found = self.functions[key] = OneFunction(given, available, dict(contracts))
        return found


def by_content(callees: Iterable[str], contracts: Mapping[str, Contract]) -> Callees:
    """The key of a function that calls those."""
    return tuple((name, contracts[name].content) for name in sorted(set(callees)))


def by_interface(callees: Iterable[str], contracts: Mapping[str, Contract]) -> Callees:
    """The key of the virtual code of a function that calls those."""
    return tuple((name, contracts[name].interface) for name in sorted(set(callees)))
