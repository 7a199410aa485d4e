"""Random contents: every number lies in the range that the file gives, and those that always did are as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput
from binalloc.launch.file import parse_launch
from binalloc.launch.numbers.dtypes import DTYPES, rounded, shown
from tests.support.kits.launch.launch_files import buffer

FLOATS = ("f16", "bf16", "f32", "f64", "c64", "c128")


def drawn(dtype: str, count: int, **how: Any) -> Any:
    """Numbers as f64, those of complex ones real parts first."""
    found = parse_launch(buffer(dtype, count, {"kind": "random", "seed": 1} | how)).make_buffers()["x"]
    numbers = shown(found, dtype)
    parts = [numbers.real, numbers.imag] if numbers.dtype.kind == "c" else [numbers]
    return np.concatenate([part.astype("f8") for part in parts])


def as_numpy_draws(dtype: str, count: int, low: float, high: float) -> Any:
    """What NumPy's generator gives, rounded to the type without a look at the range."""
    rng = np.random.default_rng(1)
    if dtype in ("c64", "c128"):
        part = "f4" if dtype == "c64" else "f8"
        return np.concatenate([rng.uniform(low, high, count) for _ in range(2)]).astype(part).astype("f8")
    plain = rng.uniform(low, high, count).astype("f4" if dtype == "bf16" else DTYPES[dtype])
    return (shown(rounded(plain, dtype), dtype) if dtype == "bf16" else plain).astype("f8")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (1.0, 1.0 + 2.0**-7), (0.1, 0.4), (-0.3, -0.1), (-1.0, 1.0), (0.0, 1e-7)]
)
def test_uniform_ones_lie_in_their_range(dtype: str, low: float, high: float) -> None:
    if dtype == "f16" and high == 1e-7:
        low = -1e-7  # which has the subnormals next to zero and zero
    found = drawn(dtype, 20_000, low=low, high=high)
    plain = as_numpy_draws(dtype, 20_000, low, high)
    assert ((low <= found) & (found < high)).all()
    right = (low <= plain) & (plain < high)
    assert right.mean() > 0.2
    assert np.array_equal(found[right], plain[right])
    assert np.array_equal(np.signbit(found[right]), np.signbit(plain[right]))


@pytest.mark.parametrize(("dtype", "step"), [("f64", 2.0**-52), ("c128", 2.0**-52), ("f32", 2.0**-23)])
def test_a_range_of_one_number_has_that(dtype: str, step: float) -> None:
    assert set(drawn(dtype, 100, low=1.0, high=1.0 + step)) == {1.0}
    assert set(drawn(dtype, 100, low=-1.0 - 2 * step, high=-1.0 - step)) == {-1.0 - 2 * step}


def test_ends_that_the_type_does_not_have_are_not_passed() -> None:
    assert float(np.float16(0.3)) > 0.3
    found = drawn("f16", 20_000, low=float(np.float16(0.1)) + 1e-6, high=0.3)
    assert found.min() >= float(np.float16(0.1)) + 1e-6
    assert found.max() == float(np.nextafter(np.float16(0.3), np.float16(0)))


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("f32", 2**24 + 1, 2**24 + 8), ("f16", 2049, 4099), ("bf16", -1030, 259),
                               ("f64", 2**53 + 1, 2**53 + 8), ("c64", 2**24 + 1, 2**24 + 8)],
)  # fmt: skip
def test_integers_as_floats_lie_in_their_range(dtype: str, low: int, high: int) -> None:
    found = drawn(dtype, 5_000, distribution="integers", low=low, high=high)
    assert {low <= int(v) < high for v in found} == {True}
    assert (found == np.floor(found)).all()
    assert len(set(found)) > 1


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"])
def test_integers_reach_both_ends(dtype: str) -> None:
    signed = dtype.startswith("i")
    for low, high in [(0, 2), *([(-2, 1)] if signed else []), *([(3, 6)] if dtype != "bool" else [])]:
        found = parse_launch(
            buffer(dtype, 500, {"kind": "random", "distribution": "integers", "low": low, "high": high})
        ).make_buffers()["x"]
        assert set(found.astype(object).tolist()) == set(range(low, high))


@pytest.mark.parametrize(
    ("dtype", "how"),
    [("f16", {"low": 1.0001, "high": 1.0002}), ("bf16", {"low": 1.001, "high": 1.002}),
     ("f16", {"low": -65519.0, "high": -65504.0}), ("c64", {"low": 1.0 + 2.0**-40, "high": 1.0 + 2.0**-39}),
     ("f32", {"distribution": "integers", "low": 2**24 + 1, "high": 2**24 + 2})],
)  # fmt: skip
def test_a_range_without_a_number_of_the_type_is_refused(dtype: str, how: dict[str, Any]) -> None:
    with pytest.raises(MalformedInput, match=r"argument\[0\]\.init\.high: no number of the type is in the range"):
        drawn(dtype, 3, **how)


@settings(max_examples=300)
@given(st.sampled_from(("f16", "bf16", "f32", "f64")), st.floats(-6e4, 6e4), st.floats(-6e4, 6e4))
def test_any_range_is_kept_or_refused(dtype: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    found = np.zeros(0)
    said = ""
    try:
        found = drawn(dtype, 50, low=low, high=high)
    except MalformedInput as error:
        said = error.message
    assert (said == "") == bool(found.size)
    assert said in ("", "no number of the type is in the range", *(["empty range"] if low == high else []))
    assert ((low <= found) & (found < high)).all()
