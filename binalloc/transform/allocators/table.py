"""All allocators. A new one is a file beside this one and a row here."""

from __future__ import annotations

from binalloc.errors import Hint
from binalloc.rows import by_name, find
from binalloc.transform.allocators.allocator import Allocator
from binalloc.transform.allocators.best import BEST
from binalloc.transform.allocators.cpsat import Cpsat
from binalloc.transform.allocators.local import LOCAL
from binalloc.transform.allocators.ptxas_smem import PTXAS_SMEM
from binalloc.transform.allocators.regdem import REGDEM
from binalloc.transform.allocators.unified import UNIFIED

ALLOCATORS: dict[str, Allocator] = by_name((LOCAL, UNIFIED, PTXAS_SMEM, REGDEM, BEST, Cpsat()))
BASELINE = LOCAL.name
DEFAULT = BEST.name
OF_EVERY_LEVEL = (BEST.name, LOCAL.name, UNIFIED.name)
"""Where levels are compared whatever it costs: ours, without slots, and as the unified paper has it."""


def find_allocator(name: str) -> Allocator:
    """The allocator called `name`. Raises UsageError with the known names."""
    return find(ALLOCATORS, name, "allocator", Hint("{allocator}"))
