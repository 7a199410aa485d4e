"""This module calls policies of other installed packages as it calls ours, and checks the choices that they return."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import inf
from types import UnionType
from typing import TYPE_CHECKING, Any, cast

from binalloc.errors import KernelFault, LimitHit, Refused, UsageError
from binalloc.isa.interface.places import SLOT_ROW
from binalloc.pipeline.policies.policy import Choice
from binalloc.plugins.entries import PluginEntry
from binalloc.plugins.fault import PluginFault, blaming

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps.version import Tried, Version

_PASSING = (Refused, LimitHit, KernelFault, UsageError)
"""Errors of the versions that a policy builds and runs. They pass through; any other error is blamed on the policy."""

_FIGURES = (
    *("kernel", "registers", "slots", "local_bytes", "shared_bytes"),
    *("blocks_per_sm", "occupancy", "limiters"),
)
"""Fields of a version that follow from its binary, so that they can be checked against it."""
_SAID: tuple[tuple[str, type | UnionType], ...] = (
    ("solver", list), ("explained", list), ("allocated", str), ("copies", int), ("name", str), ("allocator", str),
    ("idle_slots", int), ("bound", float | int | None),
)  # fmt: skip
"""Fields of a version that only its maker knows, with their types."""


@dataclass(frozen=True)
class InstalledPolicy:
    """This is a policy of another installed package."""

    #: names an object with `measures` and `search(module, request, original)`, or a class of such objects whose
    #: constructor takes no arguments
    entry: PluginEntry

    @property
    def name(self) -> str:
        """Return the name of the entry point."""
        return self.entry.name

    @property
    def summary(self) -> str:
        """Return a summary for the command line's help."""
        return self.entry.summary

    @property
    def measures(self) -> bool:
        """Return whether the policy runs levels in the emulator."""
        return bool(_loaded(self.entry).measures)

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        """Return the policy's choice, checked; its versions are proven and run again.

        Raises PluginFault if the policy fails, or if its result is no valid choice.
        """
        found = _loaded(self.entry)
        with blaming(self.entry.place, passing=_PASSING):
            choice = found.search(module, request, original)
            wrong = _wrong(choice, module, request, original)
        if wrong:
            raise PluginFault("gave no choice", self.entry.place, f"{type(found).__name__}.search", wrong)
        request.prepared.proven.clear()  # the policy may have changed modules after their proof: they are proven again
        best, base = choice.best, choice.base
        if base is not None and base is not original.given and base is not original.base:
            base = _ours(base, module, request)
        if best is None:
            return replace(choice, base=base)  # type: ignore[no-any-return]  # `_wrong` has looked
        taken = _ours(best, module, request)
        tried = [replace(t, version=taken) if _same(t.version, best) else t for t in choice.tried]
        return replace(choice, tried=tried, best=taken, base=base)  # type: ignore[no-any-return]


def _same(one: Version | None, other: Version) -> bool:
    """Return whether two versions have the same module."""
    return one is not None and one.module is other.module


def _ours(version: Version, module: Module, request: Request) -> Version:
    """Prove the version, and run it if the request says so. The policy's own proof and run are dropped."""
    from binalloc.pipeline.steps.measure import measure
    from binalloc.pipeline.steps.proof import prove

    unrun = replace(
        version, proven=False, cycles=None, stats={}, buffers={}, globals={}, printed=None, skewed=(), sampled=None,
        counts={},
    )  # fmt: skip
    proven = prove(module, request, unrun)
    return measure(proven, request) if request.emulate and request.launch is not None else proven


@cache
def _loaded(entry: PluginEntry) -> Any:
    """Return the object that an entry point names. Raises PluginFault if it is no policy."""
    found = entry.load()
    if isinstance(found, type):
        with blaming(entry.place):
            found = found()
    lacks = [name for name in ("measures", "search") if not hasattr(found, name)]
    if lacks or not callable(found.search) or not isinstance(found.measures, bool):
        what = f"{type(found).__name__}, which has no {lacks[0]}" if lacks else "`measures` that is no bool"
        raise PluginFault("is no policy", entry.place, "", what)
    return found


def _wrong(choice: object, module: Module, request: Request, original: Original) -> str:
    """Return why an object is no valid choice for the kernel, "" if it is one."""
    from binalloc.pipeline.steps.version import Tried

    if not isinstance(choice, Choice):
        return f"{type(choice).__name__}, not a Choice"
    if not isinstance(choice.reason, str) or not choice.reason.strip():
        return "a Choice without a reason"
    if not isinstance(choice.tried, list) or not all(isinstance(t, Tried) for t in choice.tried):
        return "levels that are no list of Tried"
    most = _most_blocks(module, request, original)
    for tried in choice.tried:
        if text := _no_level(tried, request, most):
            return text
    best, base = choice.best, choice.base
    if base is not None and (text := _no_version(base, request)):
        return f"a base that is {text}"
    if best is None:
        return ""
    if not any(t.version is not None and t.version.module is getattr(best, "module", None) for t in choice.tried):
        return "a best version that is of none of the levels tried"
    return _no_version(best, request)


def _most_blocks(module: Module, request: Request, original: Original) -> int:
    """Return the most blocks of the kernel that the machine can hold."""
    from binalloc.models.machines.budget import most_blocks
    from binalloc.pipeline.steps.kernels import kernel_use

    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    return most_blocks(request.machine, use) or original.given.blocks_per_sm


def _no_level(tried: Tried, request: Request, most: int) -> str:
    """Return why a level is not valid, "" if it is. most: the most blocks that the machine can hold."""
    from binalloc.models.machines.budget import Budget

    limits, budget = request.machine.limits, cast("object", tried.budget)
    if not isinstance(budget, Budget):
        return f"a level whose budget is {type(budget).__name__}"
    bounds = (
        ("blocks", budget.blocks, 1, most), ("registers", budget.registers, 1, limits.registers_per_thread),
        ("slots", budget.slots, 0, limits.shared_per_block // SLOT_ROW),
    )  # fmt: skip
    for what, value, least, bound in bounds:
        if type(value) is not int or not least <= value <= bound:
            return f"a level with {value!r} {what}, where there are {least} to {bound}"
    reason = cast("object", tried.reason)
    if not isinstance(reason, str):
        return f"a level whose reason is {type(reason).__name__}"
    if tried.expected is not None and not (isinstance(tried.expected, int | float) and 0 < tried.expected < inf):
        return f"a level that is expected to be {tried.expected!r} times as fast"
    return "" if tried.version is None else _no_version(tried.version, request)


def _no_version(version: object, request: Request) -> str:
    """Return why an object is no valid version, "" if it is one.

    Either it is no Version, a field has a wrong type, or its binary has other figures.
    """
    from binalloc.pipeline.steps.version import Version

    if not isinstance(version, Version):
        return f"{type(version).__name__}, not a Version"
    for name, kind in _SAID:
        if not isinstance(getattr(version, name), kind):
            return f"a version whose `{name}` is {type(getattr(version, name)).__name__}"
    cycles = version.cycles
    if cycles is not None and not (type(cycles) is int and cycles > 0):
        return f"a version of {cycles!r} cycles"
    if cycles is not None and not (request.emulate and request.launch is not None):
        return f"a version of {cycles} cycles, where nothing is run"
    return _other_figures(version, request)


def _other_figures(best: Version, request: Request) -> str:
    """Return, in words, the first figure of a version that differs from its binary's; "" if there is none."""
    from binalloc.pipeline.steps.version import make_version

    found = make_version(best.module, request, {fn.name for fn in best.functions})
    for name in _FIGURES:
        stated, has = getattr(best, name), getattr(found, name)
        if stated != has:
            return f"a version with {stated!r} for {name}, where its binary has {has!r}"
    return ""
