"""Files that fill buffers are read here: the format of each, and its array.

Needs the formats' readers. Leaves true: a returned array has the argument's elements and shape, and no file makes us
allocate more memory than these need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from binalloc.errors import MalformedInput, UsageError
from binalloc.files import instead_of_file
from binalloc.launch.contents.archives import read_npz, read_raw
from binalloc.launch.contents.images import read_png
from binalloc.launch.contents.npy import read_npy
from binalloc.launch.contents.text import read_text
from binalloc.launch.elements.layout import Element, Struct
from binalloc.launch.numbers.dtypes import Array


class FileFormat(StrEnum):
    """A file has one of these formats. The end of its name decides unless the launch file does."""

    NPY = "npy"
    NPZ = "npz"
    CSV = "csv"
    PNG = "png"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file fills a buffer; its format and options say how it is read."""

    path: str
    format: FileFormat = FileFormat.NPY
    array: str = ""  #: name in an .npz file
    offset: int = 0  #: bytes in front of raw elements
    delimiter: str = ","  #: of text: between numbers of a line
    skip: int = 0  #: of text: lines in front of those with numbers


Reader = Callable[[InputFile, Path, Element, tuple[int, ...]], Array]
READERS: dict[FileFormat, Reader] = {
    FileFormat.NPY: lambda given, path, element, shape: read_npy(path, element, shape),
    FileFormat.NPZ: lambda given, path, element, shape: read_npz(path, given.array, element, shape),
    FileFormat.RAW: lambda given, path, element, shape: read_raw(path, given.offset, element, shape),
    FileFormat.CSV: lambda given, path, element, shape: read_text(
        path, given.delimiter, given.skip, _plain(element), shape
    ),
    FileFormat.PNG: lambda given, path, element, shape: read_png(path, _plain(element), shape),
}
"""By format: reads a file's array."""


def read_input(given: InputFile, element: Element, shape: tuple[int, ...], place: str, launch_path: str) -> Array:
    """Return the array in the file. place: the argument, for messages. MalformedInput where it is no array of those
    elements and that shape."""
    path = Path(given.path)
    try:
        other = instead_of_file(path)
        if other is not None:
            raise MalformedInput("not a file", found=other, expected=f"a file in the format {given.format}")
        found = READERS[given.format](given, path, element, shape)
        for values in _truths(found, element):
            if (values.view("u1") > 1).any():
                raise MalformedInput("not truth values", found=int(values.view("u1").max()), expected="bytes 0 and 1")
        return found
    except FileNotFoundError:
        where = f"{place}: init.file {given.path}"
        raise MalformedInput("no such file", file=launch_path or None, place=where) from None
    except OSError as error:
        raise MalformedInput(
            f"cannot read the .{given.format} file", file=launch_path or None, place=f"{place}: init.file {given.path}",
            found=error.strerror,
        ) from error  # fmt: skip
    except (MalformedInput, UsageError) as error:
        error.file, error.place = launch_path or None, f"{place}: init.file {given.path}"
        raise


def _truths(found: Array, element: Element) -> Iterator[Array]:
    """Yield the truth values in it; of structs member by member."""
    if element == "bool":
        yield found
    if isinstance(element, Struct):
        for leaf in element.leaves():
            if leaf.dtype == "bool":
                values = found
                for name, _ in leaf.path:
                    values = values[name]
                yield values


def _plain(element: Element) -> str:
    """Return a dtype. The schema lets no structs come here."""
    assert isinstance(element, str)
    return element
