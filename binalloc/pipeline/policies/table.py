"""All policies. A new one is a file beside this one and a row here."""

from __future__ import annotations

from binalloc.errors import Hint
from binalloc.pipeline.policies.exhaustive import Exhaustive
from binalloc.pipeline.policies.measured import Measured
from binalloc.pipeline.policies.model import Model
from binalloc.pipeline.policies.policy import Policy
from binalloc.pipeline.policies.unified import Unified
from binalloc.rows import by_name, find

POLICIES: dict[str, Policy] = by_name((Exhaustive(), Unified(), Model(), Measured()))
DEFAULT = "exhaustive"
STATIC = Model.name
"""Where nothing can be run."""
UNIFIED = Unified.name
MEASURED = Measured.name


def find_policy(name: str) -> Policy:
    """The policy called `name`. Raises UsageError with the known names."""
    return find(POLICIES, name, "policy", Hint("{policy}"))
