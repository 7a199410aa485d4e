"""This module finds the functions that kernels call, directly or through others, and the recursive ones among them.

It needs the parsed module and scans each function that it finds. The functions that a call of a register may name are
added to the callees of the scan. Calls of functions without a body are no edges: they are refused where they are
lowered.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.frontend.lower.context.scan import Scan, scan
from binalloc.frontend.lower.context.targets import Targets
from binalloc.frontend.ptx import ast


class ReachedFunctions:
    """The functions reached from some kernels form a call graph."""

    def __init__(self, module: ast.PtxModule, targets: Targets, kernels: Iterable[str]) -> None:
        self.module, self.targets = module, targets
        self.scans: dict[str, Scan] = {}  #: function -> its scan
        self.order: list[str] = []  #: functions, callees before callers; functions of one cycle are neighbours
        #: recursive function -> all functions of its cycle, itself among them, in the order of `order`
        self.components: dict[str, tuple[str, ...]] = {}
        self._number: dict[str, int] = {}  #: function -> its number in the order of entry
        #: function not done -> the lowest number of a function not done that it is known to call
        self._lowest: dict[str, int] = {}
        self._open: list[str] = []  #: functions entered and not done
        for kernel in kernels:
            if kernel not in self.scans:
                self._visit(kernel)

    def below(self, name: str) -> list[str]:
        """Return `name` and all functions that it calls, directly or through others, each once, nearer ones first."""
        seen = {name: None}
        work = [name]
        while work:
            for callee in self.scans[work.pop(0)].callees:
                if callee not in seen:
                    seen[callee] = None
                    work.append(callee)
        return list(seen)

    def _visit(self, root: str) -> None:
        """Find strongly connected components by Tarjan's algorithm, depth first."""
        work = [(root, self._enter(root))]
        while work:
            name, pending = work[-1]
            if pending:
                callee = pending.pop()
                assert not self.module.functions[callee].is_entry, "the parser refuses calls of kernels"
                if callee not in self.scans:
                    work.append((callee, self._enter(callee)))
                elif callee in self._lowest:
                    self._lowest[name] = min(self._lowest[name], self._number[callee])
                continue
            work.pop()
            lowest = self._lowest[name]
            if work:
                caller = work[-1][0]
                self._lowest[caller] = min(self._lowest[caller], lowest)
            if lowest == self._number[name]:
                self._close(name)

    def _enter(self, name: str) -> list[str]:
        """Begin with a function. Return its callees, the first last."""
        self._number[name] = self._lowest[name] = len(self._number)
        self._open.append(name)
        function = self.module.functions[name]
        found = self.scans[name] = scan(function)
        for ins in found.indirect:
            for callee in self.targets.of(function, ins):
                found.callees.setdefault(callee, ins)
        for callee in list(found.callees):
            if self.module.functions[callee].body is None:
                del found.callees[callee]
        return list(reversed(found.callees))

    def _close(self, name: str) -> None:
        """Complete a component: the functions that were entered from its first one on and are not done."""
        first = self._open.index(name)
        members = tuple(reversed(self._open[first:]))
        del self._open[first:]
        self.order += members
        for member in members:
            del self._lowest[member]
        if len(members) > 1 or name in self.scans[name].callees:
            self.components |= dict.fromkeys(members, members)
