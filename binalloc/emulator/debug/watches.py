"""Users write watchpoints as `BUFFER[+OFFSET[:SIZE]]`, or `0xADDRESS[:SIZE]` in global memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from binalloc.emulator.host.device import LaunchedDevice
from binalloc.emulator.runs.watch import ByteSpan
from binalloc.errors import Hint, UsageError
from binalloc.launch.file import variable_name

# numbers of at most 64 bits; [+OFFSET][:SIZE] behind a buffer's name; 0xADDRESS[:SIZE]
_NUMBER = r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,18})"
_REST = re.compile(rf"(?:\+{_NUMBER})?(?::{_NUMBER})?\Z")
_ADDRESS = re.compile(rf"(0[xX][0-9a-fA-F]{{1,16}})(?::{_NUMBER})?\Z")
_PREFIX = variable_name("")  # in front of a variable's name in `LaunchedDevice.places`; users leave it out


def known_places(device: LaunchedDevice) -> dict[str, tuple[int, int]]:
    """Return address and bytes of all that may be watched: buffers, and variables by their names."""
    return {name.removeprefix(_PREFIX): (start, end - start) for name, start, end in device.places() if end > start}


def element_of(device: LaunchedDevice, name: str) -> np.dtype[np.generic]:
    """Return the dtype of a buffer's elements. For a variable that the launch does not fill it is not known: words."""
    return device.host[name].dtype if name in device.host else np.dtype("<u4")


def span_of(device: LaunchedDevice, text: str) -> ByteSpan:
    """Return the bytes that `text` means. Without a size it is one element, or all of the buffer where no offset is
    given either. UsageError where it means none, or bytes outside of one buffer."""
    places = known_places(device)
    if found := _ADDRESS.match(text):
        return _by_address(device, places, text, int(found[1], 16), found[2])
    for name in sorted(places, key=len, reverse=True):
        rest = _REST.match(text.removeprefix(name)) if text.startswith(name) else None
        if rest is not None:
            start, size = places[name]
            offset = int(rest[1], 0) if rest[1] else 0
            element = element_of(device, name).itemsize
            length = int(rest[2], 0) if rest[2] else element if rest[1] else size
            if length < 1 or offset + length > size:
                raise _refused("the bytes are not in the buffer", text, f"bytes 0 to {size - 1} of {name}")
            return ByteSpan(name, start + offset, offset, length)
    raise _unknown(device, places, text)


def joined(spans: Sequence[ByteSpan]) -> list[ByteSpan]:
    """Return the same bytes, none of them twice. Spans of one buffer that overlap become one, in the place of the
    first."""
    out: list[ByteSpan] = []
    for span in spans:
        over = [each for each in out if each.name == span.name and each.start < span.end and span.start < each.end]
        place = out.index(over[0]) if over else len(out)
        one = span
        for each in over:
            first = min(one.start, each.start)
            one = ByteSpan(one.name, first, min(one.offset, each.offset), max(one.end, each.end) - first)
        out = [each for each in out if each not in over]
        out.insert(place, one)
    return out


def _by_address(
    device: LaunchedDevice, places: dict[str, tuple[int, int]], text: str, address: int, given: str | None
) -> ByteSpan:
    for name, (start, size) in places.items():
        if start <= address < start + size:
            length = int(given, 0) if given else min(element_of(device, name).itemsize, start + size - address)
            if length < 1 or address + length > start + size:
                raise _refused("the bytes are not in one buffer", text, f"bytes up to {start + size - 1:#x} of {name}")
            return ByteSpan(name, address, address - start, length)
    expected = ", ".join(f"{name} {start:#x} to {start + size - 1:#x}" for name, (start, size) in places.items())
    raise _refused("no buffer is at that address", text, expected or "a launch with buffers")


def _unknown(device: LaunchedDevice, places: dict[str, tuple[int, int]], text: str) -> UsageError:
    for name in device.host:
        if text.startswith(name) and name not in places and _REST.match(text.removeprefix(name)):
            return _refused(f"{name} is in constant memory or empty, which no kernel changes", text, ", ".join(places))
    expected = ", ".join(f"{name} ({size} bytes)" for name, (_, size) in places.items())
    return _refused("no such buffer to watch", text, expected or "a launch with buffers")


def _refused(message: str, found: str, expected: str) -> UsageError:
    remedy = "Write BUFFER, BUFFER+OFFSET, BUFFER+OFFSET:SIZE or 0xADDRESS:SIZE, all in bytes."
    return UsageError(message, place=Hint("{watch}"), found=found, expected=expected, remedy=remedy)
