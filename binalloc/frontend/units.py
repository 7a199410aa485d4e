"""What is imported together: PTX of translation units, each with its origin."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """PTX of one translation unit. path: where it came from, for messages. whole: compiled as a whole program (without
    -rdc): its names are its own."""

    text: str
    path: str = ""
    whole: bool = False

    @property
    def sha256(self) -> str:
        """Of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()
