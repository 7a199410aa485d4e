"""This is the table of all policies. A new one of ours is a file beside this one and a row here; installed packages add
theirs by entry points."""

from __future__ import annotations

from binalloc.errors import Hint
from binalloc.pipeline.policies.exhaustive import Exhaustive
from binalloc.pipeline.policies.installed import InstalledPolicy
from binalloc.pipeline.policies.measured import MeasuredPolicy
from binalloc.pipeline.policies.model import Model
from binalloc.pipeline.policies.policy import Policy
from binalloc.pipeline.policies.unified import UnifiedPolicy
from binalloc.plugins import entries
from binalloc.plugins.table import Table
from binalloc.rows import by_name

_BUILT_IN: dict[str, Policy] = by_name((Exhaustive(), UnifiedPolicy(), Model(), MeasuredPolicy()))
POLICIES: Table[Policy] = Table(_BUILT_IN, entries.POLICIES, InstalledPolicy)
DEFAULT = MeasuredPolicy.name
"""Name of the policy for requests with a launch: a few runs find better levels than the model alone."""
STATIC = Model.name
"""Name of the policy for requests without a launch, for which nothing can be run."""
UNIFIED = UnifiedPolicy.name
MEASURED = MeasuredPolicy.name


def find_policy(name: str) -> Policy:
    """Return the policy called `name`.

    Raises UsageError, with the known names, if there is none, and PluginFault if several packages have it.
    """
    return POLICIES.find(name, "policy", Hint("{policy}"))
