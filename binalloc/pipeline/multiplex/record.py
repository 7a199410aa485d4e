"""This module writes and reads what a binary's record says of the scheme by which blocks use shared memory in turns."""

from __future__ import annotations

from collections.abc import Iterator

from binalloc.bitset import bits
from binalloc.errors import MalformedInput
from binalloc.isa.instruction import Module
from binalloc.launch.merged import DYNAMIC, merge_of
from binalloc.launch.merged import MERGED as HOW_MERGED
from binalloc.pipeline.multiplex.build import ALONE, BLOCK, MERGED, NAMED, SCHEMES, Built, Wanted
from binalloc.pipeline.steps.record import MULTIPLEXED
from binalloc.printable import quoted

SHORTENED = "shorter_regions"
"""Key in a provenance record for whether access regions were made shorter first."""
OWN_WORDS = "own_words"
"""Key in a provenance record for whether words of one thread went to its local memory first; missing where not."""
BARRIERS = "barriers"
"""Key in a provenance record for the barriers at which merged blocks take turns."""
PRIVATE = "private_bytes"
"""Key in a provenance record for the private bytes of the original, as pairs of first byte and end."""
_MOST = 1 << 20  # bytes of shared memory: no GPU has as many


def how_made(wanted: Wanted, built: Built | None) -> dict[str, object]:
    """Return what the record of a version says of its scheme."""
    how: dict[str, object] = {MULTIPLEXED: wanted.scheme, SHORTENED: wanted.shorter}
    if wanted.own:
        how[OWN_WORDS] = True
    if built is not None:
        how[DYNAMIC] = built.launch.dynamic_shared
    if built is not None and built.merge is not None:
        how |= {HOW_MERGED: built.merge.record(), BARRIERS: wanted.barriers}
    if built is not None and built.cut:
        how[PRIVATE] = [list(span) for span in _spans(built.cut)]
    return how


def was_made(module: Module, kernel: str) -> Wanted | None:
    """Return the version that a kernel is by the binary's record; None if it is none whose blocks take turns.

    Raises MalformedInput if the record is no such record, or contradicts the kernel.
    """
    found = [record for record in module.provenance if record.get("kernel") == kernel and MULTIPLEXED in record]
    if not found:
        return None
    said = found[-1]
    scheme, shorter, merge = said[MULTIPLEXED], said.get(SHORTENED, False), merge_of(module, kernel)
    spans, barriers = _read_spans(said.get(PRIVATE, [])), said.get(BARRIERS, BLOCK)
    own = said.get(OWN_WORDS, False)
    known = scheme in (*SCHEMES, *ALONE) and barriers in (BLOCK, NAMED)
    if not known or type(shorter) is not bool or type(own) is not bool or spans is None:
        raise _wrong(module, kernel, str(said)[:80], f"a scheme ({', '.join(SCHEMES)}), and what belongs to it")
    if (scheme in MERGED) != (merge is not None):
        what = "no merged blocks" if merge is None else "merged blocks"
        raise _wrong(module, kernel, f"{scheme} and {what}", "a scheme that fits the kernel")
    private = sum((1 << end) - (1 << first) for first, end in spans) if PRIVATE in said else None
    count = None if merge is None else merge.count
    return Wanted(str(scheme), count, str(barriers), shorter=shorter, own=own, private=private)


def _wrong(module: Module, kernel: str, found: str, expected: str) -> MalformedInput:
    return MalformedInput(
        "the record does not say how blocks use shared memory in turns", file=module.path or None,
        place=f"provenance of {quoted(kernel)}", found=found, expected=expected,
    )  # fmt: skip


def _read_spans(said: object) -> list[tuple[int, int]] | None:
    """Return which bytes a record says are private: spans in order, apart from each other. None if it does not say."""
    found: list[tuple[int, int]] = []
    for span in said if isinstance(said, list) else [None]:
        last = found[-1][1] if found else 0
        match span:
            case [int(first), int(end)] if last <= first < end <= _MOST:
                found.append((first, end))
            case _:
                return None
    return found


def _spans(private: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of a bitset, each as its first member and its end."""
    first = end = -1
    for number in bits(private):
        if number != end:
            if end >= 0:
                yield first, end
            first = number
        end = number + 1
    if end >= 0:
        yield first, end
