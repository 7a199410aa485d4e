"""This module chooses the PTX of a file that is imported: one architecture of each translation unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from binalloc.errors import Hint, MalformedInput, UsageError
from binalloc.files import FILE_LIMIT, text_of
from binalloc.frontend.fatbin.entries import FatbinEntry
from binalloc.frontend.units import TranslationUnit

_ARCHITECTURE = re.compile(r"(?:sm_|compute_)?([0-9]{2,3}[af]?)")
"""An architecture as users write it: `sm_90a`, `compute_75` or `75`."""
_CODE = b".text."
"""A cubin with code has a section whose name begins so. A cubin without the name is empty."""


@dataclass(frozen=True)
class Chosen:
    """A choice names the PTX that is imported from a file."""

    units: list[TranslationUnit]  #: the PTX that is imported
    entries: list[FatbinEntry]  #: the entries that hold it
    notes: list[str]  #: what the user should know of code that is not imported, in words


def choose(found: Sequence[FatbinEntry], path: str, architecture: str | None) -> Chosen:
    """Choose the PTX to import from a file with CUDA code.

    architecture: `sm_75`, `compute_75` or `75`. Without it, the PTX for the oldest architecture of each translation
    unit is chosen: the front end supports most of that. A text that occurs twice is taken once.

    Raises MalformedInput where there is no PTX, or where it cannot be unpacked. Raises UsageError where there is none
    of that architecture.
    """
    ptx = [entry for entry in found if entry.is_ptx]
    if not ptx:
        raise _no_ptx(found, path)
    wanted = None if architecture is None else architecture_of(architecture)
    there = architectures(ptx)
    if wanted is not None and wanted not in there:
        raise UsageError(
            f"no PTX for {wanted}", file=path or None, found=", ".join(there), expected="one of these",
        )  # fmt: skip
    chosen: list[FatbinEntry] = []
    missing = 0
    for unit in dict.fromkeys(entry.unit for entry in ptx):
        own = [entry for entry in ptx if entry.unit == unit]
        of = architectures(own)[0] if wanted is None else wanted
        chosen += [entry for entry in own if entry.architecture == of]
        missing += not any(entry.architecture == of for entry in own)
    units = _units(chosen, path)
    return Chosen(units, chosen, _notes(found, chosen, there, missing))


def architecture_of(text: str) -> str:
    """Return an architecture in the notation of entries, `sm_75`. Raises UsageError where the text is no
    architecture."""
    m = _ARCHITECTURE.fullmatch(text.strip())
    if m is None:
        raise UsageError("not an architecture", place=Hint("{architecture}"), found=text, expected="sm_75, for example")
    return f"sm_{m[1]}"


def architectures(found: Iterable[FatbinEntry]) -> list[str]:
    """Return the architectures of the entries, each once, the oldest first."""
    return sorted({entry.architecture for entry in found}, key=_age)


def _age(architecture: str) -> tuple[int, str]:
    digits = architecture.removeprefix("sm_").rstrip("af")
    return int(digits), architecture


def _units(chosen: Sequence[FatbinEntry], path: str) -> list[TranslationUnit]:
    """Return the texts as units, each once. Raises MalformedInput where they are larger than one file may be."""
    out: dict[str, TranslationUnit] = {}
    total = 0
    for entry in chosen:
        total += entry.unpacked
        if total > FILE_LIMIT:
            entry.code.fail("too much PTX in one file", found=f"{total} bytes", expected=f"at most {FILE_LIMIT}")
        data = entry.content().rstrip(b"\0")
        try:
            text = text_of(data)
        except UnicodeDecodeError as error:
            entry.code.fail("not UTF-8 text", at=error.start, found=error.reason)
        out.setdefault(text, TranslationUnit(text, label(path, entry), whole=not entry.linked))
    return list(out.values())


def label(path: str, entry: FatbinEntry) -> str:
    """Return the name of an entry's PTX for messages: `prog#2 (solve.cu)`, numbered as a listing does."""
    named = entry.name or entry.holder.member
    return f"{path}#{entry.number}" + (f" ({named})" if named else "")


def _notes(
    found: Sequence[FatbinEntry], chosen: Sequence[FatbinEntry], there: Sequence[str], missing: int
) -> list[str]:
    notes = []
    taken = architectures(chosen)
    if len(there) > 1:
        notes.append(f"PTX for {', '.join(there)}: importing that for {', '.join(taken)}")
    if missing:
        notes.append(f"{_units_in_words(missing)} without PTX for {taken[0]} left out")
    machine_code = _without_ptx(found)
    if machine_code:
        notes.append(f"{_units_in_words(machine_code)} without PTX left out, with machine code alone")
    return notes


def _units_in_words(number: int) -> str:
    return "one translation unit" if number == 1 else f"{number} translation units"


def _without_ptx(found: Sequence[FatbinEntry]) -> int:
    """Return the number of translation units with machine code and without PTX.

    Two kinds of code are not counted: the code that nvcc links from other units in the file, and the empty cubin that
    it puts into every program.
    """
    linked = {entry.holder.member for entry in found if entry.holder.linked}
    with_ptx = {entry.unit for entry in found if entry.is_ptx}
    others = [entry for entry in found if entry.unit not in with_ptx and _has_code(entry)]
    return len({entry.unit for entry in others if entry.holder.linked or entry.holder.member not in linked})


def _has_code(entry: FatbinEntry) -> bool:
    return entry.compression != "none" or _CODE in entry.code.data


def _no_ptx(found: Sequence[FatbinEntry], path: str) -> MalformedInput:
    """Return the error for a file without PTX. It names the kinds of code that the file has instead."""
    kinds: dict[str, list[FatbinEntry]] = {}
    for entry in found:
        kinds.setdefault(entry.kind, []).append(entry)
    words = {"cubin": "machine code (cubin)", "lto": "code for link-time optimisation"}
    texts = [f"{words.get(kind, kind)} of {', '.join(architectures(of))}" for kind, of in kinds.items()]
    return MalformedInput(
        "no PTX in this file", file=path or None, found=" and ".join(texts) or "no CUDA code", expected="PTX",
        remedy="Compile so that PTX is in it: nvcc -gencode arch=compute_75,code=compute_75, or "
        "code=[compute_75,sm_75] for both.",
    )  # fmt: skip
