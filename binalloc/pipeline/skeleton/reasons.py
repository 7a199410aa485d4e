"""This module says in words where something is read or written."""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.pipeline.skeleton.parameters.values import CodePlace, ValueGraph

_MOST = 8
"""Upper limit on lines that a reason lists, so that it stays one readable comment. Chosen by hand."""


def where(values: ValueGraph, places: Iterable[CodePlace]) -> str:
    """Return code places as text: `lines 12, 14 of k.cu`, or `instructions 3, 9` without a line table.

    Instructions of another function than the kernel have its name, too.
    """
    kernel = values.program.graph.kernel
    lines: dict[str, list[int]] = {}
    instructions: dict[str, list[int]] = {}
    for place in sorted(set(places)):
        line = values.line(place)
        found, key, number = (
            (lines, line[0], line[1]) if line is not None else (instructions, place.function, place.word)
        )
        if number not in found.setdefault(key, []):
            found[key].append(number)
    texts = [f"{_listed('line', sorted(found))} of {file}" for file, found in lines.items()]
    for function, numbers in instructions.items():
        of = "" if function == kernel else f" of {function}"
        texts.append(_listed("instruction", sorted(numbers)) + of)
    return "; ".join(texts)


def _listed(noun: str, numbers: list[int]) -> str:
    """Return a noun with numbers, at most `_MOST` of them."""
    shown = ", ".join(map(str, numbers[:_MOST])) + (", ..." if len(numbers) > _MOST else "")
    return f"{noun}{'s' if len(numbers) > 1 else ''} {shown}"
