"""This module defines wishes of values for registers, and homes, which are the registers for all their live ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NO_HOME = -1  # no register: a bundle without a home


@dataclass(frozen=True)
class Wishes:
    """Wishes say which registers values may have, and how much they prefer them."""

    busy: Mapping[int, list[int]]  #: register -> points at which it is only available to the `owner` of the point
    owner: Mapping[tuple[int, int], int]  #: (register, point) -> the value to which it is available
    likes: Mapping[int, Mapping[int, float]]  #: by value, register -> weight of copies saved there
    cost: list[float]  #: by value, the cost of having no home


@dataclass
class BundleHomes:
    """Homes are registers for the whole live ranges of bundles."""

    base: list[int]  #: by bundle, NO_HOME for none
    lost: float  #: cost of the bundles without a home
