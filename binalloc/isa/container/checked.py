"""Every part of reading a file refuses bad contents with these messages, which name file, section and field."""

from __future__ import annotations

from typing import Any, NoReturn

from construct import ConstructError, Struct

from binalloc.errors import MalformedInput

DAMAGED = "The file is truncated, damaged, or not a Loom binary."  # the remedy where nothing better is known


class Checked:
    """`Checked` checks values, records and strings of the file at `path`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def fail(
        self, place: str, message: str, found: object = None, expected: object = None, remedy: str = DAMAGED
    ) -> NoReturn:
        """Raise MalformedInput for a place in the file."""
        raise MalformedInput(
            message, file=self.path or None, place=place, found=found, expected=expected, remedy=remedy
        )

    def want(self, place: str, name: str, found: int, expected: int, remedy: str = DAMAGED) -> None:
        """Refuse a field whose value is not the expected one. place: its section or header."""
        if found != expected:
            self.fail(f"{place}, {name}", "unexpected value", f"{found:#x}", f"{expected:#x}", remedy)

    def parse(self, what: Struct, data: bytes, place: str) -> Any:
        """Return `what` from `data`; construct's errors become MalformedInput."""
        try:
            return what.parse(data)
        except (ConstructError, UnicodeDecodeError, ValueError) as error:
            lines = str(error).strip().splitlines()
            self.fail(place, f"cannot be read: {lines[-1] if lines else type(error).__name__}")

    def string_table(self, strings: bytes, place: str) -> None:
        """Refuse bytes that are no string table."""
        if not strings or strings[0] or strings[-1]:
            self.fail(place, "not a string table", repr(strings[:1] + strings[-1:]), "zero bytes first and last")

    def string(self, strings: bytes, offset: int, place: str) -> str:
        """Return the string of a string table that begins at `offset`."""
        if offset >= len(strings):
            self.fail(place, "name lies outside the string table", offset, f"below {len(strings)}")
        raw = strings[offset : strings.index(b"\0", offset)]
        try:
            return raw.decode("ascii")
        except UnicodeDecodeError:
            self.fail(place, "name is not ASCII", repr(raw[:40]))
