"""Files in the .npy format are read here without trust: the header is parsed as a literal, the data as plain numbers.

Nothing is ever unpickled and nothing mapped. A header's shape is compared with the expected one before any memory is
allocated for it. Understands versions 1.0 and 2.0 of the format: `numpy.save` writes these for plain arrays.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import IO, Any

import numpy as np

from binalloc.errors import MalformedInput
from binalloc.launch.elements.layout import Element, Struct, numpy_of
from binalloc.launch.numbers.dtypes import BF16, Array, copied, rounded
from binalloc.printable import quoted

_MAGIC = b"\x93NUMPY"  # the beginning of every .npy file
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}  # by version: bytes of the header's length
_HEADER_LIMIT = 10_000  # bytes of a header: NumPy's own limit
_KEYS = {"descr", "fortran_order", "shape"}  # keys of the header, all required


_REMEDY = "Save it with numpy.save from an array of that dtype and shape."


def read_npy(path: Path, element: Element, shape: tuple[int, ...]) -> Array:
    """Return the array in the file, in C order. Raises MalformedInput where it does not have those elements and that
    shape."""
    with path.open("rb") as stream:
        return read_npy_stream(stream, element, shape)


def read_npy_stream(stream: IO[bytes], element: Element, shape: tuple[int, ...]) -> Array:
    """Return the same from a stream, from its beginning to its end. For bf16 the file has 16 bits each, or floats of
    32."""
    try:
        header = _header(stream)
        dtype = _compare(header, element, shape)
        size = math.prod(shape) * dtype.itemsize
        data = stream.read(size + 1)
        if len(data) != size:
            raise MalformedInput(
                "the .npy file is not as long as its header says", expected=f"{size} bytes",
                found=f"more than {size} bytes of data" if len(data) > size else f"{len(data)} bytes of data",
            )  # fmt: skip
    except MalformedInput as error:
        error.remedy = _REMEDY
        raise
    flat = np.frombuffer(data, dtype)
    found = copied(flat.reshape(shape, order="F" if header["fortran_order"] else "C"))
    return rounded(found, BF16) if element == BF16 and dtype.kind == "f" else found


def _header(stream: IO[bytes]) -> dict[str, Any]:
    """Return the header's dictionary, each of its three values of its type."""
    start = stream.read(len(_MAGIC) + 2)
    if start[:-2] != _MAGIC:
        raise MalformedInput("not an .npy file", found=quoted(start), expected=quoted(_MAGIC))
    version = (start[-2], start[-1])
    if version not in _LENGTH_BYTES:
        found = f"{start[-2]}.{start[-1]}"
        raise MalformedInput("unknown version of the .npy format", found=found, expected="1.0 or 2.0")
    length = int.from_bytes(stream.read(_LENGTH_BYTES[version]), "little")
    if length > _HEADER_LIMIT:
        raise MalformedInput("the .npy header is too long", found=length, expected=f"at most {_HEADER_LIMIT} bytes")
    raw = stream.read(length)
    try:
        header = ast.literal_eval(raw.decode("latin-1").strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise MalformedInput("the .npy header is no dictionary", found=quoted(raw)) from error
    if not isinstance(header, dict) or set(header) != _KEYS:
        raise MalformedInput("the .npy header is no dictionary of its three keys", found=quoted(raw))
    sides = header["shape"]
    if not isinstance(sides, tuple) or not all(type(side) is int and side >= 0 for side in sides):
        raise MalformedInput("the .npy header has no shape", found=quoted(sides), expected="a tuple of sizes")
    if type(header["fortran_order"]) is not bool:
        raise MalformedInput("the .npy header has no order", found=quoted(header["fortran_order"]), expected="a bool")
    return header


def _compare(header: dict[str, Any], element: Element, shape: tuple[int, ...]) -> np.dtype[Any]:
    """Return the elements' dtype in the file. MalformedInput where the header describes another array. Objects have a
    dtype of their own, so they are refused here."""
    allowed = [numpy_of(element), *([np.dtype("<f4")] if element == BF16 else [])]
    for dtype in allowed:
        if header["shape"] == shape and _names(header["descr"], dtype):
            return dtype
    raise MalformedInput(
        "the array does not match its argument",
        found=f"{_dtype_name(header['descr'])} {quoted(list(header['shape']))}",
        expected=f"{_described(element)} {list(shape)}",
    )


def _names(descr: object, dtype: np.dtype[Any]) -> bool:
    """Return whether a header's words describe that dtype."""
    if dtype.names is None:
        return descr in (dtype.str, dtype.str.replace("<", "="), dtype.str[1:], dtype.name)
    if not isinstance(descr, list):
        return False
    try:
        return bool(np.lib.format.descr_to_dtype(descr) == dtype)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, SyntaxError):
        return False


def _described(element: Element) -> str:
    """Return an element as messages name it."""
    if isinstance(element, Struct):
        return f"structs {quoted(np.lib.format.dtype_to_descr(numpy_of(element)))}"
    return "bfloat16 as uint16 or float32" if element == BF16 else str(numpy_of(element))


def _dtype_name(descr: object) -> str:
    """Return a plain dtype by its usual name, anything else as it is."""
    known = {np.dtype(code).str: str(np.dtype(code)) for code in "bBhHiIlLqQefd?FD"}
    return known.get(descr, quoted(descr)) if isinstance(descr, str) else quoted(descr)
