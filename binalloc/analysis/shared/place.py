"""Instructions of a kernel and its callees are named by `Place`."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A place is an instruction of a kernel's call graph."""

    function: str  #: name of the function
    word: int  #: word in it
