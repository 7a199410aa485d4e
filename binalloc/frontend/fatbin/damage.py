"""Reading what may be damaged, or lie: every size is checked against what there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from construct import Struct

from binalloc.errors import MalformedInput

_REMEDY = "The file is truncated or damaged."


@dataclass(frozen=True)
class Piece:
    """Bytes of a file. path, place: of the file, and of the piece in it, for messages."""

    data: bytes
    path: str
    place: str = ""

    def fail(self, message: str, *, at: int | None = None, found: object = None, expected: object = None) -> NoReturn:
        """Raise MalformedInput; at: the byte of the piece."""
        where = [self.place] if self.place else []
        where += [] if at is None else [f"byte {at}"]
        raise MalformedInput(
            message, file=self.path or None, place=", ".join(where) or None, found=found, expected=expected,
            remedy=_REMEDY,
        )  # fmt: skip

    def record(self, what: Struct, at: int, name: str) -> Any:
        """The record that begins at a byte."""
        size = what.sizeof()
        return what.parse(self.part(at, size, name).data)

    def part(self, at: int, size: int, name: str, place: str = "") -> Piece:
        """`size` bytes from `at` on; name: what they are, for the message where they are not there. place: of the part,
        this one's where it is empty."""
        if at < 0 or size < 0 or at + size > len(self.data):
            found = f"{size} bytes at byte {at}"
            self.fail(f"{name} does not lie within", found=found, expected=f"at most {len(self.data)} bytes together")
        return Piece(self.data[at : at + size], self.path, place or self.place)
