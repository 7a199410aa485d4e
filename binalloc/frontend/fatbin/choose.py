"""Which PTX of a file is imported: one architecture of each translation unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from binalloc.errors import Hint, MalformedInput, UsageError
from binalloc.files import FILE_LIMIT, text_of
from binalloc.frontend.fatbin.entries import FatbinEntry
from binalloc.frontend.units import Unit

_ARCHITECTURE = re.compile(r"(?:sm_|compute_)?([0-9]{2,3}[af]?)")
_CODE = b".text."
"""In a cubin that holds code: the name of a section."""


@dataclass(frozen=True)
class Chosen:
    """units: what is imported. entries: where it lies. notes: what the user should know of what is not, in words."""

    units: list[Unit]
    entries: list[FatbinEntry]
    notes: list[str]


def choose(found: Sequence[FatbinEntry], path: str, architecture: str | None) -> Chosen:
    """The PTX to import of a file with CUDA code.

    architecture: `sm_75`, `compute_75` or `75`; without it each translation unit gives its oldest, of which the front
    end understands most. A text that is there twice is taken once. Raises MalformedInput where there is no PTX, or
    it cannot be unpacked; UsageError where there is none of that architecture.
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
    """An architecture as entries have it. Raises UsageError for what is none."""
    m = _ARCHITECTURE.fullmatch(text.strip())
    if m is None:
        raise UsageError("not an architecture", place=Hint("{architecture}"), found=text, expected="sm_75, for example")
    return f"sm_{m[1]}"


def architectures(found: Iterable[FatbinEntry]) -> list[str]:
    """Those of the entries, each once, the oldest first."""
    return sorted({entry.architecture for entry in found}, key=_age)


def _age(architecture: str) -> tuple[int, str]:
    digits = architecture.removeprefix("sm_").rstrip("af")
    return int(digits), architecture


def _units(chosen: Sequence[FatbinEntry], path: str) -> list[Unit]:
    """The texts, each once. Raises MalformedInput where they are more than one file may be."""
    out: dict[str, Unit] = {}
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
        out.setdefault(text, Unit(text, label(path, entry), whole=not entry.linked))
    return list(out.values())


def label(path: str, entry: FatbinEntry) -> str:
    """What messages call the PTX of an entry: `prog#2 (solve.cu)`, numbered as a listing does."""
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
    """Translation units of which there is machine code alone. What nvcc links for the device lies beside the units that
    it was linked from, and is none; nor is the empty code that it puts into every program."""
    linked = {entry.holder.member for entry in found if entry.holder.linked}
    with_ptx = {entry.unit for entry in found if entry.is_ptx}
    others = [entry for entry in found if entry.unit not in with_ptx and _has_code(entry)]
    return len({entry.unit for entry in others if entry.holder.linked or entry.holder.member not in linked})


def _has_code(entry: FatbinEntry) -> bool:
    return entry.compression != "none" or _CODE in entry.code.data


def _no_ptx(found: Sequence[FatbinEntry], path: str) -> MalformedInput:
    """What a file without PTX holds instead."""
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
