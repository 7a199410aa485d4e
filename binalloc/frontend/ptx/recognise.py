"""Whether a file is PTX text, told by its content."""

from __future__ import annotations

import re

_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>(?:\s+|//[^\n]*(?:\n|$)|/\*(?>(?:[^*]|\*(?!/))*)\*/)*)\.version\s", re.DOTALL
)
"""What every PTX module begins with, behind white space and comments (PTX ISA, section 11.1.1)."""
_ELF = b"\x7fELF"


def is_ptx(data: bytes, path: str = "") -> bool:
    """Whether `data` is PTX: it begins as PTX does, or its file is called so and is no binary."""
    return _BEGINNING.match(data) is not None or (path.endswith(".ptx") and not data.startswith(_ELF))
