"""Samples by name: a binary (.loom) or PTX with its launch file, in a folder or in any folder below it."""

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


def find_samples(folder: Path) -> dict[str, Path]:
    """Every sample's path without its ending, by name in order, but for those with a sequence of launches: what
    takes one kernel does not take them. Raises UsageError where two have one name, or for none at all."""
    paths = {p.with_suffix("") for ending in (".loom", ".ptx") for p in folder.rglob(f"*{ending}")}
    found: dict[str, Path] = {}
    for path in sorted(paths):
        if not beside(path, ".toml").is_file() or _has_steps(beside(path, ".toml")):
            continue
        if path.name in found:
            raise UsageError("two samples of one name", file=str(path.parent), found=path.name)
        found[path.name] = path
    if not found:
        remedy = Hint("Run it in the repository, or give {samples}.")
        raise UsageError("no samples here", file=str(folder), remedy=remedy)
    return dict(sorted(found.items()))


def choose_samples(folder: Path, names: list[str]) -> list[Path]:
    """The samples called so, each once; for no names all but those of `APART`. A sample answers to its kernel's name,
    too: the papers' short one."""
    found = find_samples(folder)
    programs = [name for name, path in found.items() if path.parent.name not in APART]
    chosen = [found[name] if name in found else _by_kernel(folder, found, name) for name in names or programs]
    return list(dict.fromkeys(chosen))


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
