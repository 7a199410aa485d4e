"""This module defines the numbers that allocation works with, each as a type of its own."""

from __future__ import annotations

from typing import NewType

Value = NewType("Value", int)
"""Number of a value: 32 bits that some instruction defines."""
Register = NewType("Register", int)
"""Number of an architectural register, before or after allocation."""

Interval = tuple[int, int]
"""A half-open interval of points: the first belongs to it, the second does not."""
