"""The profile that weighs code, as JSON and as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count, one_line

if TYPE_CHECKING:
    from binalloc.pipeline.profile import Profile
    from binalloc.report.shapes.parts.common import WeighingProfile


def profile_json(profile: Profile) -> WeighingProfile:
    """Return where a profile comes from."""
    return {
        "file": profile.path,
        "machine": profile.machine,
        "partial": profile.partial,
        "warps": profile.entered,
    }


def profile_line(profile: Profile) -> str:
    """Return a line that says whose executions weigh the code, in place of its loops."""
    partial = ", which was stopped before its end" if profile.partial else ""
    name = one_line(profile.path) or "profile"
    return f"Weights: executions of the run of {name}{partial}, by {count(profile.entered, 'warp')}, not loops.\n"
