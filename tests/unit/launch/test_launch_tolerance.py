"""Tolerances: of complex numbers with parts that are no finite numbers, wherever such numbers stand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.launch.file import compare, parse_launch
from binalloc.launch.numbers.dtypes import DTYPES
from tests.support.kits.launch.launch_files import buffer

NAN, INF = math.nan, math.inf
PAIR = {"fields": [{"name": "n", "dtype": "i32"}, {"name": "z", "dtype": "c64", "shape": 2}]}
OUTER = {"fields": [{"name": "in", "dtype": "Pair"}, {"name": "f", "dtype": "f16"}]}
NEAR = {"rtol": 1e-3, "atol": 1e-6}


def same(dtype: str, want: complex, got: complex, how: Any = NEAR) -> bool:
    """Whether a buffer of one such number counts as the same; and the number in a struct in a struct, which must not
    make a difference."""
    launch = parse_launch(buffer(dtype, 1, "zeros", how))
    plain = not compare(launch, *({"x": np.array([v], DTYPES[dtype])} for v in (want, got)))
    if dtype == "c64":
        nested = parse_launch(buffer("Outer", 1, "zeros", how) | {"types": {"Pair": PAIR, "Outer": OUTER}})
        one, other = (nested.make_buffers() for _ in range(2))
        one["x"]["in"]["z"][0, 1], other["x"]["in"]["z"][0, 1] = want, got
        assert plain == (not compare(nested, one, other))
    return plain


@pytest.mark.parametrize("dtype", ["c64", "c128"])
@pytest.mark.parametrize("odd", [NAN, INF, -INF])
def test_beside_a_part_that_is_not_finite_the_other_has_its_tolerance(dtype: str, odd: float) -> None:
    for a, b, expected in ((1.0, 1.0009, True), (1.0, 1.0012, False), (0.0, 5e-7, True), (0.0, 2e-6, False),
                           (NAN, NAN, True), (INF, INF, True), (INF, -INF, False), (INF, 3e38, False),
                           (1.0, NAN, False), (NAN, 1.0, False)):  # fmt: skip
        assert same(dtype, complex(odd, a), complex(odd, b)) == expected, (a, b)
        assert same(dtype, complex(a, odd), complex(b, odd)) == expected, (a, b)
    for found in (1.0, NAN, INF, -INF):
        alike = found == odd or (math.isnan(found) and math.isnan(odd))
        assert same(dtype, complex(odd, 1.0), complex(found, 1.0)) == alike
    assert not same(dtype, complex(1.0, 1.0), complex(odd, 1.0))


def test_finite_ones_are_compared_by_their_distance() -> None:
    assert same("c64", 3 + 4j, 3 + 4.0049j)
    assert not same("c64", 3 + 4j, 3 + 4.006j)
    assert same("c64", 1e6 + 0j, 1e6 + 900j)


def test_one_whose_size_is_beyond_f64_is_compared_part_by_part() -> None:
    large = complex(1.7e308, 1.7e308)
    assert same("c128", large, complex(1.7e308, 1.6999e308))
    assert not same("c128", large, complex(1.7e308, 1.0))
    assert not same("c128", large, complex(-1.7e308, 1.7e308))
    assert same("c128", large, large, {"atol": 1.0})
    assert not same("f64", 1.7e308, -1.7e308)


SOME = st.sampled_from([NAN, INF, -INF, 0.0, 1.0, 1.0005, 1.01, -1.0])


@settings(max_examples=200)
@given(st.lists(st.tuples(SOME, SOME), min_size=2, max_size=2))
def test_against_a_plain_rule(pair: list[tuple[float, float]]) -> None:
    (a, b), (c, d) = pair

    def near(want: float, got: float) -> bool:
        if math.isfinite(want) and math.isfinite(got):
            return abs(got - want) <= 1e-6 + 1e-3 * abs(want)
        return want == got or (math.isnan(want) and math.isnan(got))

    if math.isfinite(a) and math.isfinite(b):
        expected = math.isfinite(c) and math.isfinite(d) and math.hypot(c - a, d - b) <= 1e-6 + 1e-3 * math.hypot(a, b)
    else:
        expected = near(a, c) and near(b, d)
    assert same("c128", complex(a, b), complex(c, d)) == expected
