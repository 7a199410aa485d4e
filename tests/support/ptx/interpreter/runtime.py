"""The CUDA runtime's functions that PTX declares and does not define, done by Python and the C library itself."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.support.ptx.interpreter.errors import InterpreterError

if TYPE_CHECKING:
    from tests.support.ptx.interpreter.interpreter import Gang

DIRECTIVE = re.compile(r"%([-+ #0]*)(\*|\d+)?(\.(?:\*|\d*))?(hh|h|ll|l|j|z|t)?([a-zA-Z%])")


class Reader:
    """One lane's view of generic memory."""

    def __init__(self, gang: Gang, lane: int) -> None:
        self.gang, self.lane = gang, lane
        self.only = np.zeros(gang.size, dtype=np.bool_)
        self.only[lane] = True

    def number(self, address: int, width: int) -> int:
        where = np.full(self.gang.size, address, dtype=np.uint64)
        return int(self.gang.generic.load(where, width, self.only)[self.lane])

    def text(self, address: int) -> bytes:
        out = bytearray()
        while byte := self.number(address + len(out), 1):
            out.append(byte)
        return bytes(out)


def formatted(form: str, take: Callable[[int], int], text: Callable[[int], bytes]) -> tuple[str, int]:
    """(text, arguments) of a valid format. take: the next argument of so many bytes. text: what is at an address."""
    count = 0

    def one(match: re.Match[str]) -> str:
        nonlocal count
        if match[0] == "%%":
            return "%"
        stars = [ctypes.c_int32(take(4)) for part in (match[2], match[3]) if part and "*" in part]
        count += len(stars) + 1
        conversion = match[5]
        value: object
        if conversion in "diuoxXc":
            value = ctypes.c_uint64(take(8)) if (match[4] or "")[:1] in tuple("ljzt") else ctypes.c_uint32(take(4))
        elif conversion in "fFeEgGaA":
            value = ctypes.c_double(np.uint64(take(8)).view(np.float64))
        elif conversion == "s":
            address = take(8)
            value = ctypes.c_char_p(text(address) if address else None)
        else:
            value = ctypes.c_void_p(take(8))
        buffer = ctypes.create_string_buffer(9000)
        ctypes.CDLL(None).snprintf(buffer, len(buffer), match[0].encode(), *stars, value)
        return buffer.value.decode("latin-1")

    return DIRECTIVE.sub(one, form), count


def vprintf(gang: Gang, lane: int, arguments: list[int]) -> int:
    reader = Reader(gang, lane)
    at = arguments[1]

    def take(width: int) -> int:
        nonlocal at
        at = -(-at // width) * width
        at += width
        return reader.number(at - width, width)

    text, count = formatted(reader.text(arguments[0]).decode("latin-1"), take, reader.text)
    gang.say(lane, text)
    return count


def malloc(gang: Gang, lane: int, arguments: list[int]) -> int:
    return gang.memory.allocate(arguments[0], 16) if arguments[0] else 0


def free(gang: Gang, lane: int, arguments: list[int]) -> int:
    if arguments[0]:
        gang.memory.release(arguments[0])
    return 0


def assertfail(gang: Gang, lane: int, arguments: list[int]) -> int:
    raise InterpreterError(f"assertion failed: {Reader(gang, lane).text(arguments[0])!r}")


PROVIDED: dict[str, Callable[[Gang, int, list[int]], int]] = {
    "vprintf": vprintf, "malloc": malloc, "free": free, "__assertfail": assertfail,
}  # fmt: skip
