"""The numbers that allocation speaks of, each a type of its own."""

from __future__ import annotations

from typing import NewType

Value = NewType("Value", int)
"""Number of a value: 32 bits that some instruction defines."""
Register = NewType("Register", int)
"""Number of an architectural register, before or after allocation."""

Interval = tuple[int, int]
"""Points from the first up to but without the second."""
