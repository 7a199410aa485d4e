"""This module checks the surroundings of the rewritten kernel: other kernels, and functions that are called by address.

Functions are compared by content: operations, operands, guards, resources, and, through calls, their callees. Their
names and instruction maps do not matter. Control codes and addresses may differ, except for the addresses of functions
that an indirect call may enter. A code address is a number that may have come from anywhere, so where the original
calls by address, the same function must have the same address. Needs both modules; returns findings and changes
nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from binalloc.isa.instruction import Function, Module
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.verify.report import Finding


def check_surroundings(
    original: Module, rewritten: Module, kernel: str, also: Collection[str] = ()
) -> list[Finding]:
    """Return findings about everything but `kernel` and the kernels in `also`, which have checks of their own."""
    out = []
    compare = _Contents(original, rewritten)
    after = {fn.name: fn for fn in rewritten.functions if fn.info.is_kernel}
    for fn in original.functions:
        if not fn.info.is_kernel or fn.name == kernel:
            continue
        new = after.get(fn.name)
        if new is None:
            out.append(Finding("kernel", "a kernel of the original is missing", fn.name))
        elif fn.name not in also and (difference := compare.difference(fn, new)):
            out.append(
                Finding("kernel", "another kernel was changed: it needs a check of its own", fn.name, found=difference)
            )
    known = {fn.name for fn in original.functions if fn.info.is_kernel}
    out += [Finding("kernel", "a kernel that the original has not", name) for name in after if name not in known]
    if any(i.control == Flow.CALL_INDIRECT for fn in original.functions for i in fn.instrs):
        out += _by_address(original, rewritten, compare)
    return out


def changed_kernels(original: Module, rewritten: Module) -> list[str]:
    """Return kernels of both modules that differ in content, callees included: the others need no proof of their
    own."""
    compare = _Contents(original, rewritten)
    before = {fn.name: fn for fn in original.functions if fn.info.is_kernel}
    return [
        fn.name
        for fn in rewritten.functions
        if fn.info.is_kernel and fn.name in before and compare.difference(before[fn.name], fn)
    ]


def _by_address(original: Module, rewritten: Module, compare: _Contents) -> list[Finding]:
    """Check that every function of the original that an indirect call may enter has kept its address."""
    out = []
    for fn in original.functions:
        if not fn.addressable:
            continue
        new = rewritten.at(fn.address)
        if new is None or not new.addressable:
            found = "no function there" if new is None else f"{new.name}, which indirect calls cannot enter"
        else:
            found = compare.difference(fn, new)
        if found:
            message = "an indirect call may enter this function, which is no longer where it was"
            out.append(Finding("address", message, fn.name, expected=f"{fn.name} at word {fn.address}", found=found))
    return out


class _Contents:
    """`_Contents` compares functions by content; it remembers pairs that are being compared or are equal."""

    def __init__(self, original: Module, rewritten: Module) -> None:
        self.original, self.rewritten = original, rewritten
        self.equal: set[tuple[int, int]] = set()

    def difference(self, old: Function, new: Function) -> str:
        """Return where `new` differs from `old`, or a callee from its counterpart; "" if nowhere."""
        seen: set[tuple[int, int]] = set()
        work = [(old, new)]
        while work:
            one, other = work.pop()
            if (id(one), id(other)) in seen | self.equal:
                continue
            seen.add((id(one), id(other)))
            found = self._apart(one, other)
            if found:
                return found
            work += self._calls(one, other)
        self.equal |= seen
        return ""

    def _apart(self, old: Function, new: Function) -> str:
        """Return the first difference of two functions by themselves; "" if there is none."""
        if len(old.instrs) != len(new.instrs):
            return f"{new.name} has {len(new.instrs)} instructions, not {len(old.instrs)}"
        for i, (a, b) in enumerate(zip(old.instrs, new.instrs, strict=True)):
            if set_of(a) is not set_of(b) or not set_of(a).alike(a, b):
                return f"another instruction at {new.name}+{i}"
            if new.touches.get(i) not in (None, old.touches.get(i)):
                return f"other symbols of the address at {new.name}+{i}"
        after = vars(replace(new.info, machine=""))
        for name, value in vars(replace(old.info, machine="")).items():
            if value != after[name]:
                numbers = f", {after[name]} in place of {value}" if isinstance(value, int) else ""
                return f"another {name} of {new.name}{numbers}"
        return "" if old.shared == new.shared else f"other shared variables of {new.name}"

    def _calls(self, old: Function, new: Function) -> list[tuple[Function, Function]]:
        """Return the pairs of functions that the two call at the same word."""
        out = []
        for i, instr in enumerate(old.instrs):
            if instr.control == Flow.CALL:
                callees = self.original.callee(old, i), self.rewritten.callee(new, i)
                if callees[0] is not None and callees[1] is not None:
                    out.append((callees[0], callees[1]))
        return out
