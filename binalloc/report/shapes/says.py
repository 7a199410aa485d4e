"""This module gives a field its meaning, beside the field: `cycles: Annotated[int, says("...")]`."""

from __future__ import annotations

from typing import Any

from pydantic import Field


def says(meaning: str) -> Any:
    """Return the annotation that gives a field its meaning, in JSON.md and in the JSON Schema."""
    return Field(description=meaning)
