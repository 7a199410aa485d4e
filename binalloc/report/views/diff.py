"""This module shows original and rewritten code side by side, lined up by the instruction map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.errors import UsageError
from binalloc.isa.instruction import Function, Module
from binalloc.isa.sets.table import set_of

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.small import DiffFunction, DiffRow


def diff_modules(old: Module, new: Module, kernel: str | None) -> list[DiffFunction]:
    """Return the rows of each function of the rewrite, or of the functions that a kernel reaches.

    A row has an instruction of the original, the one that stands for it in the rewrite, or both. A function without an
    instruction map is compared word by word. kernel: name; None for all functions. Raise UsageError if the original
    lacks a function, or if the rewrite is of another original.
    """
    if kernel is not None:
        from binalloc.pipeline.pipeline import find_kernel, reachable

        names = {fn.name for fn in reachable(new, find_kernel(new, kernel).name)}
    else:
        names = {fn.name for fn in new}
    words = {fn.origin.function: fn.origin.inlined for fn in new if fn.origin is not None and fn.name in names}
    if any(words.values()):
        old = _inlined(old, words)
    known = {fn.name: fn for fn in old}
    out: list[DiffFunction] = []
    for fn in new:
        if fn.name not in names:
            continue
        source = fn.origin.function if fn.origin else fn.name
        if source not in known:
            raise UsageError("the original has no such function", file=old.path or None, found=source)
        out.append({"function": fn.name, "original": source, "rows": _rows(known[source], fn)})
    return out


def _inlined(old: Module, words: dict[str, list[int]]) -> Module:
    """Return the original with calls inlined as in the rewrite. words: by function, as the rewrite records them.

    Raise UsageError if they cannot be inlined.
    """
    from binalloc.verify.reading.inlined import NotInlined, with_inlined

    try:
        return with_inlined(old, words)
    except NotInlined as error:
        raise UsageError(
            f"the rewrite is of another original: word {error.word} cannot be inlined", file=old.path or None,
            found=str(error),
        ) from error  # fmt: skip


def _rows(old: Function, new: Function) -> list[DiffRow]:
    """Return the rows of a function in the order of the new code, with deleted words before their successors."""
    origin = (
        new.origin.index if new.origin else list(range(min(len(old), len(new)))) + [-1] * max(0, len(new) - len(old))
    )
    rows: list[DiffRow] = []
    position = 0
    for index, source in enumerate(origin):
        while 0 <= source < len(old) and position < source:
            rows.append(_row(old, position, new, -1))
            position += 1
        rows.append(_row(old, source if source < len(old) else -1, new, index))
        position = max(position, source + 1)
    rows += [_row(old, k, new, -1) for k in range(position, len(old))]
    return rows


def _row(old: Function, i: int, new: Function, j: int) -> DiffRow:
    """Return a row. i, j: words of the old and the new function; -1 for none."""
    left = _text(old, i) if i >= 0 else ""
    right = _text(new, j) if j >= 0 else ""
    kind = "inserted" if i < 0 else "deleted" if j < 0 else "same" if left == right else "changed"
    return {"old_index": i, "old": left, "new_index": j, "new": right, "kind": kind}


def _text(fn: Function, index: int) -> str:
    return set_of(fn.instrs[index]).text(fn.instrs[index])


_MARK = {"same": " ", "changed": "|", "inserted": ">", "deleted": "<"}  # as `diff --side-by-side` has them


def render_diff(functions: Sequence[DiffFunction]) -> str:
    """Return the functions as text, old code on the left and new code on the right."""
    lines = []
    for fn in functions:
        lines.append(f"{fn['original']} -> {fn['function']}\n")
        width = min(64, max([len(r["old"]) for r in fn["rows"]], default=0))
        for r in fn["rows"]:
            old = f"{r['old_index']:5d} {r['old']}" if r["old_index"] >= 0 else ""
            new = f"{r['new_index']:5d} {r['new']}" if r["new_index"] >= 0 else ""
            lines.append(f"{old:{width + 6}s} {_MARK[r['kind']]} {new}".rstrip() + "\n")
    return "".join(lines)
