"""What values ask of registers, and which ones they get for the whole of their live ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NO_HOME = -1


@dataclass(frozen=True)
class Wishes:
    """busy: register -> points at which it is not to be had, but by `owner` of such a point. likes: by value, register
    -> weight of copies saved there. cost: by value, what a value without a home may cost."""

    busy: Mapping[int, list[int]]
    owner: Mapping[tuple[int, int], int]
    likes: Mapping[int, Mapping[int, float]]
    cost: list[float]


@dataclass
class Homes:
    """base: by bundle, NO_HOME for none. lost: cost of the bundles without."""

    base: list[int]
    lost: float
