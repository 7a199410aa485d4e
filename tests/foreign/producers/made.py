"""A file of PTX that a producer makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Made:
    """producer, name: the folder and the file. make: gives the text, and what a launch must know, as JSON, or ""."""

    producer: str
    name: str
    make: Callable[[], tuple[str, str]]
