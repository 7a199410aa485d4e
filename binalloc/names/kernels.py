"""A kernel is found here by the name that a user gives: its name in the binary, its C++ name, or an unambiguous part of
that.

For `_ZN2ns1kIfLi4EEEvPT_` users may write the mangled name itself, `void ns::k<float, 4>(float*)`, the same without the
result, without the parameters (`ns::k<float, 4>`), without the template arguments (`ns::k`), and each of these without
leading scopes (`k`). Spaces do not count, nor do the suffixes and casts of literals (`k<4>` for `k<4u>`). Unnamed
namespaces may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from binalloc.errors import UsageError
from binalloc.names.demangle import demangle
from binalloc.names.spelling import Name, Part

_ANONYMOUS = "(anonymous namespace)"  # the name that c++filt gives to unnamed namespaces
_SPACES = re.compile(r"(?<!\w)\s+|\s+(?!\w)")  # blanks that do not separate two words
_LITERAL = re.compile(r"(?<=[<,])(?:\([\w: ]+\))?(-?\d+)(?:u|l|ul|ll|ull)?(?=[,>])")
"""An integer among template arguments, with its cast and suffix."""


def choose_kernel(wanted: str, kernels: Sequence[str], file: str | None = None) -> str:
    """Return the one of `kernels` that `wanted` means. file: the file that has them, for messages.

    A kernel of exactly that name comes before all others. Raises UsageError where none or several are meant.
    """
    if wanted in kernels:
        return wanted
    text = _squeezed(wanted)
    found = [kernel for kernel in kernels if text in spellings(kernel)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError("no such kernel", file=file, found=wanted, expected=_listed(kernels) or "none")
    raise UsageError(
        f"{len(found)} kernels are called that", file=file, found=wanted, expected=f"one of {_listed(found)}",
        remedy="Give more of the name: scopes, template arguments, parameters, or the whole mangled name.",
    )  # fmt: skip


def readable(kernel: str) -> str:
    """Return the C++ name without result and parameters, or the name itself where it is not C++."""
    name = demangle(kernel)
    return kernel if name is None else "::".join(map(str, name.parts))


def spellings(kernel: str) -> set[str]:
    """Return all names that a kernel may have instead of its mangled one, without spaces. The set is empty for names
    that are not C++."""
    name = demangle(kernel)
    if name is None:
        return set()
    out = {_squeezed(str(name))}
    named = tuple(part for part in name.parts if part.name != _ANONYMOUS)
    for parts in (name.parts, named):
        for first in range(len(parts)):
            out |= _forms(parts[first:], name)
    return out | {_LITERAL.sub(r"\1", text) for text in out}


def _forms(parts: tuple[Part, ...], name: Name) -> set[str]:
    """Return the name from some scope on, in three forms: with parameters, without them, without template arguments."""
    scopes, last = "".join(f"{part}::" for part in parts[:-1]), parts[-1]
    texts = {f"{scopes}{last}", f"{scopes}{last.name}"}
    if name.parameters is not None:
        texts |= {f"{text}({', '.join(name.parameters)})" for text in texts}
    return {_squeezed(text) for text in texts}


def _squeezed(text: str) -> str:
    """Return the text without the spaces that mean nothing: only a space between two words stays."""
    return _SPACES.sub("", text.strip())


def _listed(kernels: Sequence[str]) -> str:
    """Return the kernels as a message lists them."""
    return ", ".join(k if (text := readable(k)) == k else f"{text} ({k})" for k in kernels)
