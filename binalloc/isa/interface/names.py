"""This module has rules for names of functions and variables, which hold for every instruction set."""

from __future__ import annotations

import re

NAME_LIMIT = 0xFFFF
"""Characters of a name: the length of a string in a binary has 16 bits. Names of C++ templates have thousands."""

NAME = re.compile(rf"[A-Za-z_$][\w$.]{{0,{NAME_LIMIT - 1}}}", re.ASCII)
"""Names as compilers of PTX make them; a dot never comes first: labels begin so."""


def of_the_compiler(variable: str) -> bool:
    """Return whether a variable is not from the source: texts of printf and assert, or the runtime's own. No name in
    C++ has a `$`, and names that begin with two underlines are the compiler's."""
    return "$" in variable or variable.startswith("__")
