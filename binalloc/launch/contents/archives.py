"""Arrays of .npz files, and raw bytes, are read here without trust, and no more of them than the argument takes.

Needs the reader of .npy files. Nothing is ever unpickled. Of an archive only stored or deflated entries are read: their
decompression can be stopped.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path

import numpy as np

from binalloc.errors import MalformedInput
from binalloc.launch.contents.npy import read_npy_stream
from binalloc.launch.elements.layout import Element, numpy_of, size_of
from binalloc.launch.numbers.dtypes import Array, copied
from binalloc.printable import quoted

_UNDERSTOOD = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods of compression that numpy.savez and savez_compressed use."""
_LISTED = 20  # names of arrays in a message: more would not be read


def read_npz(path: Path, name: str, element: Element, shape: tuple[int, ...]) -> Array:
    """Return the array of that name in an archive of `numpy.savez`. Raises MalformedInput where there is none, or one
    of other elements or another shape."""
    try:
        with zipfile.ZipFile(path) as archive:
            known = [n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")]
            if name not in known:
                listed = ", ".join(quoted(n) for n in known[:_LISTED]) + (" and more" if len(known) > _LISTED else "")
                raise MalformedInput("the .npz file has no such array", found=quoted(name), expected=listed or "arrays")
            entry = archive.getinfo(f"{name}.npy")
            if entry.compress_type not in _UNDERSTOOD:
                raise MalformedInput(
                    "the array is compressed in another way", found=f"method {entry.compress_type}",
                    expected="stored or deflated, as numpy.savez and savez_compressed do",
                )  # fmt: skip
            with archive.open(entry) as stream:
                return read_npy_stream(stream, element, shape)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise MalformedInput(
            "the .npz file is damaged", found=quoted(str(error)), remedy="Save it with numpy.savez."
        ) from error


def read_raw(path: Path, offset: int, element: Element, shape: tuple[int, ...]) -> Array:
    """Return elements from byte `offset` of a file, little-endian. The bytes behind them do not count."""
    size = math.prod(shape) * size_of(element)
    with path.open("rb") as stream:
        length = stream.seek(0, 2)
        if length < offset + size:
            raise MalformedInput(
                "the file is too short", found=f"{length} bytes", expected=f"{size} bytes behind the first {offset}"
            )
        stream.seek(offset)
        data = stream.read(size)
    return copied(np.frombuffer(data, numpy_of(element)).reshape(shape))
