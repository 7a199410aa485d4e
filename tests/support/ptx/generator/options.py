"""What a random PTX program may hold, and what it is with its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TYPES = {"p": "pred", "h": "b16", "w": "b32", "d": "b64", "f": "f32", "g": "f64"}
BYTES = {"h": 2, "w": 4, "d": 8, "f": 4, "g": 8, "x": 2, "y": 2}
DTYPES: dict[str, Any] = {f"{c}": np.dtype(f"u{size}").type for c, size in BYTES.items()}
MARK = "    // statement"
INPUT_ELEMENTS = 64
APPROXIMATIONS = 24
"""Inexact results that a thread has room for, of each type."""


@dataclass
class Argument:
    """A kernel argument. compare: None (input), "bits", "f32", "f64" (NaN equals NaN), or a key of
    `differential.APPROXIMATE`."""

    name: str
    value: Any
    compare: str | None = None


@dataclass
class Program:
    text: str
    kernel: str
    grid: int
    block: tuple[int, int, int]
    arguments: list[Argument]
    seed: int


@dataclass
class Options:
    """What a program may hold. statements: of the kernel's body, roughly. live: multiplies the kernel's variables.
    recursion: how many calls of functions that call one another may be under way, 0 = none call themselves."""

    statements: int = 40
    functions: int = 3
    extra: bool = False
    families: tuple[str, ...] = ("integer", "predicate", "float", "conversion", "half")
    memory: bool = True
    control: bool = True
    warps: bool = True
    barriers: bool = True
    atomics: bool = True
    approximate: bool = True
    runtime: bool = False
    recursion: int = 0
    block: tuple[int, int, int] = (64, 1, 1)
    grid: int = 2
    live: int = 1


@dataclass
class Function:
    """A .func to be called: parameter classes (s: 16 bytes by value), result class or "" or "s"."""

    name: str
    parameters: str
    result: str
