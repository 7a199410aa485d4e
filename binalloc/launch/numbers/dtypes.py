"""Types of elements have names in launch files, and their bits stand for numbers in the ways defined here.

Needs nothing but NumPy. NumPy has no bfloat16: such elements are carried as their 16 bits. `shown` and `rounded`
convert between these and 32-bit floats of their value. A pointer (`ptr`) is the 8 bytes of an address.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

BF16, POINTER = "bf16", "ptr"
DTYPES: dict[str, np.dtype[Any]] = {
    "i8": np.dtype("<i1"),
    "u8": np.dtype("<u1"),
    "i16": np.dtype("<i2"),
    "u16": np.dtype("<u2"),
    "i32": np.dtype("<i4"),
    "u32": np.dtype("<u4"),
    "i64": np.dtype("<i8"),
    "u64": np.dtype("<u8"),
    "f16": np.dtype("<f2"),
    BF16: np.dtype("<u2"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "c64": np.dtype("<c8"),
    "c128": np.dtype("<c16"),
    "bool": np.dtype("?"),
    POINTER: np.dtype("<u8"),
}
"""By name in launch files: NumPy's dtype of the elements."""
NUMBERS = tuple(name for name in DTYPES if name != POINTER)  # the types whose elements are numbers
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items() if name not in (BF16, POINTER)}
"""The reverse, without the types that NumPy does not have."""
PART = {"c64": "f32", "c128": "f64"}  # the type of the two parts of a complex number
POINTER_BYTES = DTYPES[POINTER].itemsize
Number = int | float | complex


def kind_of(dtype: str) -> str:
    """Return the kind of an element by NumPy's letters: i, u, f, c, b; p for a pointer."""
    return {BF16: "f", POINTER: "p"}.get(dtype, DTYPES[dtype].kind)


def name_of(dtype: np.dtype[Any]) -> str:
    """Return the type's name in launch files; NumPy's own for a type that they do not have."""
    return DTYPE_NAMES.get(dtype, str(dtype))


def rounded(values: object, dtype: str) -> Array:
    """Return numbers as elements of a dtype; floats are rounded to the nearest, ties to even, and beyond the largest to
    infinity."""
    if dtype != BF16:
        return np.array(values, DTYPES[dtype])  # in one step: large integers among others would else become floats
    with np.errstate(all="ignore"):
        given = np.asarray(values)
        given = given if given.dtype.kind == "f" else given.astype("<f8")
        wide = given.astype("<f4")
        if given.dtype.itemsize > 4:  # to odd first, so that rounding twice is as rounding once
            bits = wide.view("<u4")
            back = wide.astype(given.dtype)
            beyond = np.abs(back) > np.abs(given)
            odd = np.where(beyond, bits - np.uint32(1), bits) | np.uint32(1)
            inexact = (back != given) & np.isfinite(given)
            wide = np.where(inexact, odd, bits).astype("<u4").view("<f4")
    bits = wide.view("<u4")
    up = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    quiet = np.where(np.isnan(wide), bits | np.uint32(0x400000), up)
    return np.asarray(quiet >> np.uint32(16)).astype("<u2")


def shown(elements: Array, dtype: str) -> Array:
    """Return elements as numbers to compute with: bf16 as f32, all others as they are."""
    if dtype != BF16:
        return elements
    return np.asarray(elements.astype("<u4") << np.uint32(16)).view("<f4")


def copied(array: Array) -> Array:
    """Return a copy in C order with all its bytes: NumPy's own copies of structs leave the bytes of padding
    undefined."""
    if array.dtype.names is None or array.dtype.hasobject:
        return np.array(array, order="C")
    return np.array(array.view(f"V{array.dtype.itemsize}"), order="C").view(array.dtype)


def plain_bits(elements: Array) -> Array:
    """Return elements as unsigned integers of their size; an element of 16 bytes becomes a pair along one more axis."""
    whole = np.ascontiguousarray(elements)
    if whole.dtype.itemsize <= 8:
        return whole.view(f"<u{whole.dtype.itemsize}")
    return whole.view("<u8").reshape(*elements.shape, 2)
