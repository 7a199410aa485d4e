"""This module names the values of the original's functions, in the order of its calls.

Needs the original with calls inlined as the rewrite has them. Leaves for each function its webs. A function is named
once its callees have summaries; names at a return follow from the callers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.isa.instruction import Function, Module
from binalloc.isa.interface.view import NEVER
from binalloc.isa.kinds import Flow
from binalloc.names.kernels import readable
from binalloc.verify.reading.blocks import Blocks
from binalloc.verify.reading.code import FunctionCode, FunctionCodes
from binalloc.verify.reading.footprint import live_after_calls, summarise
from binalloc.verify.reading.names import Names
from binalloc.verify.reading.webs import NamedWebs, OriginalSummary, webs

MAX_CHAIN = 64  # nested calls that are followed, as many as the reconvergence stack has entries; a call takes one
_CALLS = (Flow.CALL, Flow.CALL_INDIRECT)  # words that enter a function


class Unfollowed(Exception):
    """`Unfollowed` is raised where the original's calls are beyond any proof."""


class TooMuch(Exception):
    """`TooMuch` is raised when the analysis gives up: a real program needs less work."""


@dataclass
class NamedFunction:
    """A named function is a function of the original with its values named."""

    code: FunctionCode  #: its code
    blocks: Blocks  #: its basic blocks
    summary: OriginalSummary  #: what it does to its caller's places
    calls: dict[int, OriginalSummary]  #: summaries of its callees, by call word


class NamedOriginal:
    """A named original has the functions of the original with their values named, each by the id of its function.

    stack: register known to hold 0 wherever they run, or NO_REGISTER.
    """

    def __init__(self, original: Module, names: Names, codes: FunctionCodes, stack: int) -> None:
        self.original, self.names, self.codes, self.stack = original, names, codes, stack
        self.functions: dict[int, NamedFunction] = {}
        self.webs: dict[int, NamedWebs] = {}

    def of(self, old: Function, above: tuple[str, ...] = ()) -> NamedFunction:
        """Return an original function with its values named. Raises Unfollowed for recursion, a chain that is too
        deep, and indirect calls: that kernel has to stay as it is."""
        if id(old) in self.functions:
            return self.functions[id(old)]
        require_followable(old.name, above)
        code = self.codes.of(old, self.stack)
        blocks = Blocks(code)
        reached = blocks.reached()
        calling = [i for i, v in enumerate(code.views) if v.control in _CALLS and v.guard != NEVER]
        executed = [i for i in calling if blocks.of(i) in reached]
        if any(code.views[i].control == Flow.CALL_INDIRECT for i in executed):
            where = f"({readable(old.name)} calls by address)"
            raise Unfollowed(f"indirect calls cannot be followed {where}: leave the kernel as it is")
        callees = self.original.callees(old)
        below = (*above, old.name)
        calls = {i: self.of(callees[i], below).summary for i in executed if i in callees}
        found = NamedFunction(code, blocks, summarise(code, calls, self.names), calls)
        self.functions[id(old)] = found
        if not above:
            self._name_values()
        return found

    def _name_values(self) -> None:
        """Name the values of all functions. A return reads places that one of the callers may read; a call takes places
        that are read so. Callers come before callees."""
        wanted: dict[int, int] = {}
        for key, named in reversed(self.functions.items()):
            callees = self.original.callees(named.code.fn)
            for i, places in live_after_calls(named.code, named.calls, self.names, wanted.get(key, 0)).items():
                wanted[id(callees[i])] = wanted.get(id(callees[i]), 0) | places
        for key, named in self.functions.items():
            if key not in self.webs:
                kernel = named.code.fn.info.is_kernel
                at_return = 0 if kernel else wanted.get(key, 0) & named.summary.writes
                callees = self.original.callees(named.code.fn)
                calls = {i: replace(s, behind=wanted.get(id(callees[i]), 0)) for i, s in named.calls.items()}
                self.webs[key] = webs(named.code, named.blocks, at_return, calls, self.names)


def require_followable(name: str, above: tuple[str, ...]) -> None:
    """Raise Unfollowed if a function calls itself through `above`, TooMuch if the chain is too deep."""
    if name in above:
        cycle = " -> ".join(map(readable, [*above[above.index(name) :], name]))
        raise Unfollowed(f"recursion cannot be followed ({cycle}): leave the kernel as it is")
    if len(above) >= MAX_CHAIN:
        raise TooMuch("so deep a call chain cannot be followed")
