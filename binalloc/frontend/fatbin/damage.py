"""This module reads files that may be damaged: it checks every size against the length of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from construct import Struct

from binalloc.errors import MalformedInput

_REMEDY = "The file is truncated or damaged."  # the remedy of every error that `Piece.fail` raises


@dataclass(frozen=True)
class FilePiece:
    """A piece is a part of a file."""

    data: bytes
    path: str  #: of the file, for messages
    place: str = ""  #: where the piece is in the file, for messages

    def fail(self, message: str, *, at: int | None = None, found: object = None, expected: object = None) -> NoReturn:
        """Raise MalformedInput. at: byte of the piece."""
        where = [self.place] if self.place else []
        where += [] if at is None else [f"byte {at}"]
        raise MalformedInput(
            message, file=self.path or None, place=", ".join(where) or None, found=found, expected=expected,
            remedy=_REMEDY,
        )  # fmt: skip

    def record(self, what: Struct, at: int, name: str) -> Any:
        """Return the record that begins at byte `at`. name: what it is, for the message where it is cut off."""
        size = what.sizeof()
        return what.parse(self.part(at, size, name).data)

    def part(self, at: int, size: int, name: str, place: str = "") -> FilePiece:
        """Return `size` bytes from byte `at` on, as a piece.

        name: what they are, for the message where the piece is too short. place: the place of the part; this piece's
        place by default. Raises MalformedInput where the piece is too short.
        """
        if at < 0 or size < 0 or at + size > len(self.data):
            found = f"{size} bytes at byte {at}"
            self.fail(f"{name} does not lie within", found=found, expected=f"at most {len(self.data)} bytes together")
        return FilePiece(self.data[at : at + size], self.path, place or self.place)
