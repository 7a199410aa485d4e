"""Names of kernels are shortened for tables: demangled, and cut to the width of a column."""

from __future__ import annotations

from binalloc.names.demangle import demangle
from binalloc.names.spelling import Part

MOST = 64  # characters of a name in a table: half a line of 120 columns stays for the figures; chosen by hand
_ELLIPSIS = "..."


def short_name(kernel: str, most: int = MOST) -> str:
    """Return the C++ name without result and parameters, of at most `most` characters. If that is too long, template
    arguments become `<...>`. Next the leading scopes are left out, and last the middle of the text. Names of other
    languages lose their middle at once."""
    name = demangle(kernel)
    if name is None:
        return _cut(kernel, most)
    tries = [name.parts, tuple(_bare(part) for part in name.parts), (_bare(name.parts[-1]),)]
    texts = ["::".join(map(str, parts)) for parts in tries]
    return next((text for text in texts if len(text) <= most), _cut(texts[-1], most))


def _bare(part: Part) -> Part:
    return part if not part.args else Part(part.name, (_ELLIPSIS,))


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    front = (most - len(_ELLIPSIS)) * 2 // 3
    back = most - len(_ELLIPSIS) - front
    return f"{text[:front]}{_ELLIPSIS}{text[len(text) - back:]}"
