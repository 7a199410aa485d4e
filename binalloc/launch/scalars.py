"""Numbers of Python and NumPy become scalar arguments of a kernel here, by the sizes of its parameters.

Needs a parameter's size in bytes: binaries record no types. Leaves true: a number keeps exactly the value that was
given, or is refused; only a Python float may be rounded, to 32 bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from binalloc.launch.numbers.dtypes import DTYPE_NAMES, DTYPES, POINTER_BYTES

KINDS = "biufcV"  # NumPy's kinds of elements that are plain bits: numbers, truth values and structs
_OF_FLOATS = {4: "f32", 8: "f64"}  # by bytes of a parameter: the type of a Python float that is passed for it
_TAKES = {
    1: "an int, a bool, or numpy.int8, uint8 or bool_",
    2: "an int, or numpy.int16, uint16 or float16",
    4: "an int, a float, or numpy.int32, uint32 or float32",
    8: "an array for a pointer, a float, or numpy.int64, uint64, float64 or complex64",
}
"""By bytes of a parameter: the values that it takes, for messages."""


def is_scalar(value: object) -> bool:
    """Return whether it is a number, or a NumPy scalar of any kind."""
    return isinstance(value, bool | int | float | np.generic)


def takes(size: int) -> str:
    """Return the values that a parameter of `size` bytes takes, in words."""
    return f"{size} byte{'s' * (size != 1)}: {_TAKES.get(size, 'a NumPy scalar of a struct of that size')}"


def scalar_entry(value: Any, size: int) -> dict[str, Any] | None:
    """Return the launch file's entry of a scalar for a parameter of `size` bytes; None where it does not fit."""
    if isinstance(value, bool):
        value = np.bool_(value)
    if isinstance(value, np.generic):
        return _of_numpy(value, size)
    if isinstance(value, int):
        return _of_int(value, size)
    dtype = _OF_FLOATS.get(size)
    if dtype is None:
        return None
    with np.errstate(over="ignore"):
        rounded = float(np.array(value).astype(DTYPES[dtype]))
    if math.isinf(rounded) and math.isfinite(value):
        return None
    return {"kind": "scalar", "dtype": dtype, "value": value}


def _of_int(value: int, size: int) -> dict[str, Any] | None:
    """Return the entry of an int, which goes where its bits fit, with or without sign. It does not go to 8 bytes: these
    could be a pointer."""
    bits = 8 * size
    if size not in (1, 2, 4) or not -(1 << (bits - 1)) <= value < 1 << bits:
        return None
    return {"kind": "scalar", "dtype": f"{'i' if value < 0 else 'u'}{bits}", "value": value}


def _of_numpy(value: np.generic, size: int) -> dict[str, Any] | None:
    """Return the entry of a NumPy scalar, whose size must be the parameter's."""
    dtype = value.dtype
    if dtype.itemsize != size or dtype.hasobject or dtype.kind not in KINDS or not dtype.isnative:
        return None
    if dtype in DTYPE_NAMES:
        return {"kind": "scalar", "dtype": DTYPE_NAMES[dtype], "value": value.item()}
    if dtype.kind == "f" and size > POINTER_BYTES:
        return None  # long double, whose format is the host's own
    return {"kind": "struct", "fields": [{"dtype": "u8", "value": list(value.tobytes())}]}
