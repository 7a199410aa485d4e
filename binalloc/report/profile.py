"""What reports say of the profile that weighs code."""

from __future__ import annotations

from typing import Any

from binalloc.printable import count, one_line


def profile_line(profile: dict[str, Any]) -> str:
    """One line: whose executions stand where loops would have been taken. profile: as `Profile.to_dict` gives it."""
    partial = ", which was stopped before its end" if profile["partial"] else ""
    name = one_line(profile["file"]) or "profile"
    return f"Weights: executions of the run of {name}{partial}, by {count(profile['warps'], 'warp')}, not loops.\n"
