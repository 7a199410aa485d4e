"""Samples are found by name: a binary (.loom) or PTX with its launch file, in a folder or any folder inside it.

A program in several files of PTX has a folder of its own, with one launch file of any name. All PTX of the folder is
linked.
"""

from __future__ import annotations

from pathlib import Path

from binalloc.errors import BinallocError, Hint, UsageError
from binalloc.files import read_bytes
from binalloc.toml_file import read_toml

APART = ("batching", "micro", "overlay", "sharing", "table1")
"""Folders whose samples are taken only by their names, never as part of all. `batching` is about pages of memory;
`micro` measures a machine, and has nothing to allocate; `overlay` is about shared memory; `sharing` is for one
machine's shared memory; `table1` has benchmarks that other folders have, too, at the unified paper's block sizes."""


def beside(sample: Path, ending: str) -> Path:
    """Return the path of a sample's file with an ending (".toml"). The sample's name may have dots."""
    return sample.with_name(sample.name + ending)


def sources(sample: Path) -> list[Path]:
    """Return the files of a sample's program: its binary, else its PTX, else all PTX of its folder.

    The folder counts only if it has one launch file and several files of PTX; otherwise the list is empty.
    """
    for ending in (".loom", ".ptx"):
        if beside(sample, ending).is_file():
            return [beside(sample, ending)]
    folder = sample.parent
    parts = sorted(folder.glob("*.ptx"))
    return parts if len(parts) > 1 and len(list(folder.glob("*.toml"))) == 1 else []


def find_samples(folder: Path) -> dict[str, Path]:
    """Return the samples with one launch and one file, by name in order, as paths without their endings.

    Commands for single kernels use it. Raises UsageError if two samples have one name, or if there is none.
    """
    return _some({name: path for name, path in _find(folder).items() if not _is_program(path)}, folder)


def choose_samples(folder: Path, names: list[str], *, programs: bool = False) -> list[Path]:
    """Return the samples with these names, each once; if there are no names, all outside the folders `APART`.

    A name may also be a kernel's name, such as the short ones of papers. programs: choose also among samples in several
    files, and, after all others, samples with a sequence of launches; otherwise only among those of `find_samples`.
    Raises UsageError for a name that no sample or several kernels have, and as `find_samples` does.
    """
    found = _some(_find(folder), folder) if programs else find_samples(folder)
    found = dict(sorted(found.items(), key=lambda item: _has_steps(beside(item[1], ".toml"))))
    every = [name for name, path in found.items() if not lies_apart(path, folder)]
    chosen = [found[name] if name in found else _by_kernel(folder, found, name) for name in names or every]
    return list(dict.fromkeys(chosen))


def lies_apart(sample: Path, folder: Path) -> bool:
    """Return whether a sample of `folder` lies in one of the folders `APART`, or in a folder inside of one."""
    return not set(APART).isdisjoint(sample.relative_to(folder).parts[:-1])


def _find(folder: Path) -> dict[str, Path]:
    """Return all samples by name, in order. Raises UsageError if two have one name."""
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
    """Return whether a sample has a sequence of launches, or is in several files."""
    return len(sources(sample)) > 1 or _has_steps(beside(sample, ".toml"))


def _has_steps(launch: Path) -> bool:
    """Return whether a launch file has a sequence of launches. One that cannot be read has none."""
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
    """Return the kernel's name in the launch file; None if that cannot be read (its run says why)."""
    try:
        return read_toml(beside(path, ".toml"), "launch file").get("kernel")
    except BinallocError:
        return None
