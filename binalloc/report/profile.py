"""This module reports by which profile code is weighted, as JSON and as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binalloc.printable import count, one_line

if TYPE_CHECKING:
    from binalloc.pipeline.profile import Profile
    from binalloc.report.shapes.parts.common import WeighingProfile


def profile_json(profile: Profile) -> WeighingProfile:
    """Return the origin of a profile: its file, its machine and its warps."""
    return {
        "file": profile.path,
        "machine": profile.machine,
        "partial": profile.partial,
        "warps": profile.entered,
    }


def profile_line(profile: Profile) -> str:
    """Return a line that names the run whose executions weight the code, in place of its loops."""
    return weights_line(profile_json(profile))


def weights_line(found: WeighingProfile) -> str:
    """Return that line from JSON."""
    partial = ", which was stopped before its end" if found["partial"] else ""
    name = one_line(found["file"]) or "profile"
    return f"Weights: executions of the run of {name}{partial}, by {count(found['warps'], 'warp')}, not loops.\n"
