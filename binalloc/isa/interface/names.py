"""What functions and variables may be called, whatever the instruction set."""

from __future__ import annotations

import re

NAME_LIMIT = 0xFFFF
"""Characters of a name: what the length of a string in a binary can say. C++ templates reach thousands."""

NAME = re.compile(rf"[A-Za-z_$][\w$.]{{0,{NAME_LIMIT - 1}}}", re.ASCII)


def of_the_compiler(variable: str) -> bool:
    """Whether a variable is none of the source's: texts of printf and assert, the runtime's own. No name in C++ has a
    `$`, and those that begin with two underlines are the compiler's."""
    return "$" in variable or variable.startswith("__")
