"""This module compares a block size that is given beside a binary with the binary and with the launch file.

Needs nothing. Leaves true: where a block size is given, the kernel's own directives and the launch allow it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from binalloc.errors import Hint, UsageError
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.isa.instruction import FunctionInfo
    from binalloc.launch.types import Launch

Three = tuple[int, int, int]
"""Sides of a block or grid along x, y and z."""


def block_text(block: Three) -> str:
    """Return a block size as users write it: `128`, `32x16`, `8x8x4`."""
    sides = list(block)
    while len(sides) > 1 and sides[-1] == 1:
        sides.pop()
    return "x".join(map(str, sides))


def require_block(block: Three | None, info: FunctionInfo, launch: Launch | None, binary: str | None = None) -> None:
    """Refuse a block size that contradicts the kernel's record in the binary, or the launch.

    block: None if none is given. Raises UsageError that names both sides.
    """
    if block is None:
        return
    required = tuple(side or 1 for side in info.block)
    if any(info.block) and block != required:
        x, y, z = required
        raise UsageError(
            "the block size contradicts the binary's .reqntid", file=binary or None, place=Hint("{block}"),
            found=block_text(block), expected=block_text((x, y, z)),
            remedy=Hint("Leave out {block}: the kernel was compiled for that block size."),
        )  # fmt: skip
    if info.max_threads and prod(block) > info.max_threads:
        raise UsageError(
            "the block size exceeds the binary's launch bound (.maxntid)", file=binary or None, place=Hint("{block}"),
            found=f"{block_text(block)}, {count(prod(block), 'thread')}",
            expected=f"at most {count(info.max_threads, 'thread')}",
        )  # fmt: skip
    if launch is not None and launch.block != block:
        raise UsageError(
            "the block size contradicts the launch file", file=launch.path or None, place=Hint("{block}"),
            found=block_text(block), expected=block_text(launch.block),
            remedy=Hint("Leave out {block}, or give another {launch} file."),
        )  # fmt: skip
