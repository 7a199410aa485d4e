"""This module defines a translation unit: PTX with its origin."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class TranslationUnit:
    """A unit is the PTX of one translation unit. Several units are imported together."""

    text: str
    path: str = ""  #: where it came from, for messages
    #: whether it was compiled as a whole program (without -rdc), so that other units do not see its names
    whole: bool = False

    @property
    def sha256(self) -> str:
        """Return the hash of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()
