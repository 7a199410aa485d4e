"""This table has all allocators. A new one of ours is a file beside this one and a row here. Installed packages add
theirs by entry points."""

from __future__ import annotations

from binalloc.errors import Hint
from binalloc.plugins import entries
from binalloc.plugins.fault import PluginFault
from binalloc.plugins.table import Table
from binalloc.rows import by_name
from binalloc.transform.allocators.allocator import Allocator
from binalloc.transform.allocators.best import BEST
from binalloc.transform.allocators.cpsat import Cpsat
from binalloc.transform.allocators.installed import InstalledAllocator
from binalloc.transform.allocators.local import LOCAL
from binalloc.transform.allocators.ptxas_smem import PTXAS_SMEM
from binalloc.transform.allocators.regdem import REGDEM
from binalloc.transform.allocators.unified import UNIFIED

_BUILT_IN: dict[str, Allocator] = by_name((LOCAL, UNIFIED, PTXAS_SMEM, REGDEM, BEST, Cpsat()))
ALLOCATORS: Table[Allocator] = Table(_BUILT_IN, entries.ALLOCATORS, InstalledAllocator)
BASELINE = LOCAL.name  # allocator without slots, with which others are compared
DEFAULT = BEST.name  # allocator where none is named
OF_EVERY_LEVEL = (BEST.name, LOCAL.name, UNIFIED.name)
"""Allocators with which levels are compared in every case: ours, the one without slots, and the unified paper's."""


def find_allocator(name: str) -> Allocator:
    """Return the allocator called `name`. Raises UsageError with the known names, PluginFault where several packages
    have it."""
    return ALLOCATORS.find(name, "allocator", Hint("{allocator}"))


def wrong_plan(allocator: str, where: str, finding: str) -> PluginFault | None:
    """Return the error for a plan rejected by the checker, if an installed package's allocator made it. where: the
    wrong part."""
    made = ALLOCATORS.get(allocator)
    if not isinstance(made, InstalledAllocator):
        return None
    return PluginFault("gave a plan that is wrong", made.entry.place, where, finding)
