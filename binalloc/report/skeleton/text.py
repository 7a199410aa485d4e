"""This module makes the text of a suggested launch file: its keys, each with its reason as a comment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from binalloc.names.kernels import readable
from binalloc.pipeline.skeleton.program import Skeleton
from binalloc.pipeline.skeleton.types import ArgumentEntry, KernelSkeleton
from binalloc.printable import one_line
from binalloc.report.skeleton.launch_text import toml_value

_LINE = 116
"""Most characters in a line of a comment, without its `# `. Chosen by hand, near the width of our own files."""
_HEAD = (
    "A skeleton made by `binalloc launch-skeleton`: facts from the code, and guesses where the code has none. Every "
    "comment is the reason for what follows it. LAUNCH.md describes all keys of launch files."
)


def launch_text(skeleton: Skeleton) -> str:
    """Return the text of the launch file."""
    lines = [*comment(_HEAD)]
    if not skeleton.sequence:
        lines += _launch(skeleton.kernels[0])
    else:
        lines += comment("One launch of each kernel, in the binary's order, every one with arguments of its own: give "
                         "kernels that work on the same data the same argument.")  # fmt: skip
    for name, refused in skeleton.left_out:
        lines += comment(f"Left out: {readable(name)}: {refused}")
    for entry in skeleton.entries:
        lines += ["", *_entry(entry)]
    if skeleton.sequence:
        for kernel, table in zip(skeleton.kernels, skeleton.table()["step"], strict=True):
            lines += ["", "[[step]]", *_head(kernel), *_keys(table, kernel.reasons)]
    return "\n".join(lines) + "\n"


def _launch(kernel: KernelSkeleton) -> Iterator[str]:
    yield from _head(kernel)
    table = kernel.table()
    table.pop("argument", None)
    yield from _keys(table, kernel.reasons)


def _head(kernel: KernelSkeleton) -> Iterator[str]:
    if kernel.signature:
        yield from comment(kernel.signature)
    for note in kernel.notes:
        yield from comment(note)


def _keys(table: dict[str, Any], reasons: dict[str, str]) -> Iterator[str]:
    """Yield a line for each key of a table, with its reason."""
    for key, value in table.items():
        reason = one_line(reasons[key]) if key in reasons else ""
        yield f"{key} = {toml_value(value)}" + (f"  # {reason}" if reason else "")


def _entry(entry: ArgumentEntry) -> Iterator[str]:
    parameter = entry.parameter and entry.parameter != entry.name
    reasons = ([entry.parameter] if parameter else []) + entry.reasons
    lines = ["[[argument]]", *(f"{key} = {toml_value(value)}" for key, value in entry.keys.items())]
    for reason in reasons:
        yield from comment(reason)
    yield from (f"# {line}" for line in lines) if entry.off else lines


def comment(text: str) -> Iterator[str]:
    """Yield the lines of a comment. text: may contain control characters, from names in foreign files."""
    line = ""
    for word in one_line(text).split(" "):
        if line and len(line) + 1 + len(word) > _LINE:
            yield f"# {line}"
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield f"# {line}"
