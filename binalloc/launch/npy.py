"""Reads .npy files without trusting them: the header is taken as a literal, the data as plain numbers.

Nothing is ever unpickled and nothing mapped; a header's shape is compared with the one expected before any memory is
taken for it. Understands versions 1.0 and 2.0 of the format, which is what `numpy.save` writes for plain arrays.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import IO, Any

import numpy as np

from binalloc.errors import MalformedInput
from binalloc.printable import quoted

_MAGIC = b"\x93NUMPY"
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}
_HEADER_LIMIT = 10_000
_KEYS = {"descr", "fortran_order", "shape"}


def read_npy(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[Any]]:
    """The array in the file, in C order. Raises MalformedInput where it is not one of that dtype and shape."""
    try:
        if not path.is_file():
            raise MalformedInput("no such file")
        with path.open("rb") as stream:
            header = _header(stream)
            _compare(header, dtype, shape)
            data = stream.read(math.prod(shape) * dtype.itemsize + 1)
    except OSError as error:
        raise MalformedInput("cannot read the .npy file", found=error.strerror) from error
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise MalformedInput(
            "the .npy file is not as long as its header says", found=f"{len(data)} bytes of data or more",
            expected=f"{math.prod(shape) * dtype.itemsize} bytes",
        )  # fmt: skip
    flat = np.frombuffer(data, dtype)
    return np.array(flat.reshape(shape, order="F" if header["fortran_order"] else "C"), dtype, order="C")


def _header(stream: IO[bytes]) -> dict[str, Any]:
    """The header's dictionary, each of its three values of its type."""
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


def _compare(header: dict[str, Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """MalformedInput where the header tells of another array. Objects have a dtype of their own, so they end here."""
    named = header["descr"] in (dtype.str, dtype.str.replace("<", "="), dtype.str[1:], dtype.name)
    if not named or header["shape"] != shape:
        raise MalformedInput(
            "the array does not match its argument",
            found=f"{_dtype_name(header['descr'])} {quoted(list(header['shape']))}",
            expected=f"{dtype} {list(shape)}",
        )


def _dtype_name(descr: object) -> str:
    """A plain dtype by its usual name, anything else as it stands."""
    known = {np.dtype(code).str: str(np.dtype(code)) for code in "bBhHiIlLqQefd?FD"}
    return known.get(descr, quoted(descr)) if isinstance(descr, str) else quoted(descr)
