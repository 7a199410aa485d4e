"""Texels of PNG files are read here with Pillow, which is needed only for such a file.

Leaves true: channels have the bits of the file's. A picture that has fewer channels than the argument gets the missing
ones without loss; one that has more is refused. The first row is the uppermost.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.errors import MalformedInput, UsageError
from binalloc.launch.numbers.dtypes import Array
from binalloc.printable import quoted

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # by number of channels: Pillow's mode to convert to
_KEEPING = {
    1: ("1", "L"), 2: ("1", "L", "LA"), 3: ("1", "L", "P", "RGB"), 4: ("1", "L", "LA", "P", "PA", "RGB", "RGBA"),
}  # fmt: skip
"""By number of channels asked for: Pillow's modes of files that lose nothing in the conversion."""
_KEEPING_CLEAR = {"L": (2, 4), "P": (4,), "RGB": (4,)}
"""By mode: the numbers of channels that keep the colour that a file marks as transparent."""
_GREY = 0  # PNG's number of grey pictures
_START = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"  # the signature of PNG files, and length and name of the first chunk
_WIDTH_AT, _DEPTH_AT, _COLOUR_AT = 16, 24, 25  # bytes of a PNG file, as its specification has them


def read_png(path: Path, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return the picture as [height, width] or [height, width, channels]. Raises MalformedInput for one of another
    size, or with more channels or bits; UsageError where Pillow is not installed."""
    if dtype not in ("u8", "u16"):
        raise MalformedInput("a .png file has 8 or 16 bits a channel", found=dtype, expected="u8 or u16")
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in _MODES):
        raise MalformedInput("not the shape of a picture", found=list(shape), expected="[height, width, channels]")
    image = _opened(path, shape)
    with image:
        depth, colour = _bits(path)
        if depth == 16:
            return _deep(image, colour, dtype, shape)
        if dtype == "u16":
            raise MalformedInput("the picture has fewer bits a channel", found=depth, expected="16 for u16")
        channels = shape[2] if len(shape) == 3 else 1
        clear = "transparency" in image.info
        if image.mode not in _KEEPING[channels] or (clear and channels not in _KEEPING_CLEAR.get(image.mode, ())):
            more = f"of mode {image.mode} with a colour that is transparent" if clear else f"of mode {image.mode}"
            raise MalformedInput("the picture has more channels", found=more, expected=f"{channels} at most")
        return np.array(_loaded(image).convert(_MODES[channels])).reshape(shape)


def _deep(image: Any, colour: int, dtype: str, shape: tuple[int, ...]) -> Array:
    """Return a picture with 16 bits a channel. Pillow keeps all bits of grey ones alone."""
    clear = "transparency" in image.info
    if dtype != "u16" or colour != _GREY or clear or (len(shape) == 3 and shape[2] != 1):
        found = "16 bits of grey" if colour == _GREY else "16 bits of several channels"
        found += " with a colour that is transparent" * clear
        raise MalformedInput("such a picture cannot be read to the bit", found=found,
                             expected="8 bits a channel for u8, 16 bits of grey alone for u16")  # fmt: skip
    return np.array(_loaded(image)).astype("<u2").reshape(shape)


def _bits(path: Path) -> tuple[int, int]:
    """Return the bits of a channel, and PNG's number for the kind of channels."""
    head = _head(path)
    return head[_DEPTH_AT], head[_COLOUR_AT]


def _head(path: Path) -> bytes:
    """Return the file's beginning."""
    with path.open("rb") as stream:
        return stream.read(_COLOUR_AT + 1)


def _require_size(height: int, width: int, shape: tuple[int, ...]) -> None:
    """Refuse a picture of another height or width than the argument's."""
    if (height, width) != shape[:2]:
        raise MalformedInput(
            "the picture has another size", found=f"height {height}, width {width}",
            expected=f"height {shape[0]}, width {shape[1]}",
        )  # fmt: skip


@contextmanager
def _of_any_size(module: Any) -> Iterator[None]:
    """Disable Pillow's own limit of size in the body: the argument has a limit, and the picture has its size."""
    limit, module.MAX_IMAGE_PIXELS = module.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        module.MAX_IMAGE_PIXELS = limit


def _opened(path: Path, shape: tuple[int, ...]) -> Any:
    """Return the picture, which has the argument's size."""
    try:
        from PIL import Image
    except ImportError as error:
        raise UsageError(
            "Pillow, which reads .png files, is not installed", remedy="Install binalloc[png]."
        ) from error
    head = _head(path)
    if head.startswith(_START) and len(head) > _COLOUR_AT:  # before Pillow, which words huge sizes otherwise
        width, height = (int.from_bytes(head[at : at + 4]) for at in (_WIDTH_AT, _WIDTH_AT + 4))
        _require_size(height, width, shape)
    try:
        with warnings.catch_warnings(), _of_any_size(Image):
            warnings.simplefilter("ignore")
            image = Image.open(path, formats=["PNG"])
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise MalformedInput("not a .png file", found=quoted(str(error))) from error
    _require_size(image.height, image.width, shape)
    return image


def _loaded(image: Any) -> Any:
    """Return the picture with its pixels read."""
    try:
        image.load()
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise MalformedInput("the .png file is damaged", found=quoted(str(error))) from error
    return image
