"""A section of a binary's file is described here, whatever the file's format is."""

from __future__ import annotations

from typing import NamedTuple


class FileSection(NamedTuple):
    """This is one section of a file."""

    name: str
    type: str  #: its kind, as the format names it
    address: int
    offset: int  #: of its first byte in the file
    bytes: int  #: its size
