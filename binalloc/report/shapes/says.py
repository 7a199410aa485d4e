"""The meaning of a field, beside the field: `cycles: Annotated[int, says("...")]`."""

from __future__ import annotations

from msgspec import Meta


def says(meaning: str) -> Meta:
    """Return the annotation that gives a field its meaning, in JSON.md and in the JSON Schema."""
    return Meta(description=meaning)
