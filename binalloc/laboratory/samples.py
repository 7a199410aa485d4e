"""Samples by name: a binary (.loom) or PTX with its launch file, in a folder or in any folder below it.

A program in several files of PTX has a folder of its own: a launch file of any name and all PTX in it, which is linked.
"""

from __future__ import annotations

from pathlib import Path

from binalloc.errors import BinallocError, Hint, UsageError
from binalloc.files import read_bytes
from binalloc.toml_file import read_toml

APART = ("micro", "table1")
"""Folders of samples that are taken by their names only: those that measure a machine, in which there is nothing to
allocate, and the unified paper's benchmarks once more, with its block sizes."""


def beside(sample: Path, ending: str) -> Path:
    """One of a sample's files; a name may have dots."""
    return sample.with_name(sample.name + ending)


def sources(sample: Path) -> list[Path]:
    """The files that a sample's program is in: its binary, or its PTX, or, where neither lies beside its launch file,
    all PTX of its folder; [] where that is no program's own, as it has another launch file or one file alone."""
    for ending in (".loom", ".ptx"):
        if beside(sample, ending).is_file():
            return [beside(sample, ending)]
    folder = sample.parent
    parts = sorted(folder.glob("*.ptx"))
    return parts if len(parts) > 1 and len(list(folder.glob("*.toml"))) == 1 else []


def find_samples(folder: Path) -> dict[str, Path]:
    """Every sample's path without its ending, by name in order, but for those with a sequence of launches or in several
    files: what takes one kernel does not take them. Raises UsageError where two samples have one name, or for none."""
    return _some({name: path for name, path in _find(folder).items() if not _is_program(path)}, folder)


def choose_samples(folder: Path, names: list[str], *, programs: bool = False) -> list[Path]:
    """The samples called so, each once; for no names all but those of `APART`. A sample answers to its kernel's name,
    too: the papers' short one. programs: also those in several files and, behind all others, those with a sequence of
    launches; otherwise those of `find_samples` alone."""
    found = _some(_find(folder), folder) if programs else find_samples(folder)
    found = dict(sorted(found.items(), key=lambda item: _has_steps(beside(item[1], ".toml"))))
    every = [name for name, path in found.items() if path.parent.name not in APART]
    chosen = [found[name] if name in found else _by_kernel(folder, found, name) for name in names or every]
    return list(dict.fromkeys(chosen))


def _find(folder: Path) -> dict[str, Path]:
    """All samples by name, in order."""
    paths = {p.with_suffix("") for p in folder.rglob("*.toml")}
    found: dict[str, Path] = {}
    for path in sorted(path for path in paths if sources(path)):
        if path.name in found:
            raise UsageError("two samples of one name", file=str(path.parent), found=path.name)
        found[path.name] = path
    return dict(sorted(found.items()))


def _some(found: dict[str, Path], folder: Path) -> dict[str, Path]:
    if not found:
        remedy = Hint("Run it in the repository, or give {samples}.")
        raise UsageError("no samples here", file=str(folder), remedy=remedy)
    return found


def _is_program(sample: Path) -> bool:
    """Whether it has a sequence of launches, or is in several files."""
    return len(sources(sample)) > 1 or _has_steps(beside(sample, ".toml"))


def _has_steps(launch: Path) -> bool:
    """Whether a launch file has a sequence of launches; one that does not read has none."""
    try:
        if b"step" not in read_bytes(launch):
            return False
        return "step" in read_toml(launch, "launch file")
    except BinallocError:
        return False


def _by_kernel(folder: Path, found: dict[str, Path], name: str) -> Path:
    matches = [path for path in found.values() if _kernel(path) == name]
    if len(matches) != 1:
        raise UsageError("no such sample", file=str(folder), found=name, expected=", ".join(found))
    return matches[0]


def _kernel(path: Path) -> object:
    """The name in the launch file, None where that does not read: the sample's own run says what is wrong with it."""
    try:
        return read_toml(beside(path, ".toml"), "launch file").get("kernel")
    except BinallocError:
        return None
