"""Policies of other installed packages: asked as ours are, and held to what a choice has to be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from binalloc.errors import KernelFault, LimitHit, Refused, UsageError
from binalloc.pipeline.policies.policy import Choice
from binalloc.plugins.entries import Entry
from binalloc.plugins.fault import PluginFault, blaming

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.request import Request
    from binalloc.pipeline.steps import Tried, Version

_PASSING = (Refused, LimitHit, KernelFault, UsageError)
"""What comes of what a policy builds and runs."""


@dataclass(frozen=True)
class InstalledPolicy:
    """entry: names an object with `measures` and `search(module, request, original)`, or a class that is made without
    arguments."""

    entry: Entry

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def summary(self) -> str:
        return self.entry.summary

    @property
    def measures(self) -> bool:
        return bool(_loaded(self.entry).measures)

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        found = _loaded(self.entry)
        with blaming(self.entry.place, passing=_PASSING):
            choice = found.search(module, request, original)
            wrong = _wrong(choice, module, request, original)
        if wrong:
            raise PluginFault("gave no choice", self.entry.place, f"{type(found).__name__}.search", wrong)
        request.prepared.proven.clear()  # what was proven may have been changed since: the proof is ours
        best = None if choice.best is None else replace(choice.best, proven=False)
        base = choice.base
        if base is not None and base is not original.given and base is not original.base:
            base = replace(base, proven=False)
        return replace(choice, best=best, base=base)  # type: ignore[no-any-return]  # `_wrong` has looked


@cache
def _loaded(entry: Entry) -> Any:
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
    """What makes it no choice for the kernel, "" where nothing does."""
    from binalloc.pipeline.steps import Tried

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
    best = choice.best
    if best is None:
        return ""
    if not any(t.version is not None and t.version.module is getattr(best, "module", None) for t in choice.tried):
        return "a best version that is of none of the levels tried"
    return _other_figures(best, request)


def _most_blocks(module: Module, request: Request, original: Original) -> int:
    from binalloc.models.machines.budget import levels
    from binalloc.pipeline.steps import kernel_use

    use = kernel_use(module.function(request.kernel), request.launch, request.block)
    return max((level.blocks for level in levels(request.machine, use)), default=original.given.blocks_per_sm)


def _no_level(tried: Tried, request: Request, most: int) -> str:
    budget, limit = tried.budget, request.machine.limits.registers_per_thread
    bounds = (("blocks", budget.blocks, most), ("registers", budget.registers, limit))
    for what, value, bound in bounds:
        if not isinstance(value, int) or not 1 <= value <= bound:
            return f"a level with {value!r} {what}, where there are 1 to {bound}"
    return "" if isinstance(budget.slots, int) and budget.slots >= 0 else f"a level with {budget.slots!r} slots"


def _other_figures(best: Version, request: Request) -> str:
    """Whether what it says of itself is what its binary is."""
    from binalloc.pipeline.steps import make_version

    found = make_version(best.module, request, {fn.name for fn in best.functions})
    for name in ("kernel", "registers", "local_bytes", "blocks_per_sm"):
        told, has = getattr(best, name), getattr(found, name)
        if told != has:
            return f"a version with {told!r} for {name}, where its binary has {has!r}"
    return ""
