"""This module recognises PTX text by its content."""

from __future__ import annotations

import re

_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>(?:\s+|//[^\n]*(?:\n|$)|/\*(?>(?:[^*]|\*(?!/))*)\*/)*)\.version\s", re.DOTALL
)
"""Every PTX module begins with `.version`, behind white space and comments (PTX ISA, section 11.1.1)."""
_ELF = b"\x7fELF"  # the magic number of ELF files


def is_ptx(data: bytes, path: str = "") -> bool:
    """Return whether `data` is PTX: it begins as PTX does, or its file has the suffix `.ptx` and is no ELF file."""
    return _BEGINNING.match(data) is not None or (path.endswith(".ptx") and not data.startswith(_ELF))
