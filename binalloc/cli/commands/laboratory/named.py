"""The commands that repeat papers' experiments look here for what the user named: machines, kernels, samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from binalloc.cli.files import read_file
from binalloc.cli.load import subjects_of
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.pipeline.sweeping.configuration import Subject


def require_known(names: Sequence[str], known: Iterable[str], what: str) -> None:
    """Raise UsageError if a name is unknown. what: the message of the error."""
    for name in names:
        if name not in known:
            raise UsageError(what, found=name, expected=", ".join(known))


def named_machines(machine: str | None, known: Sequence[str]) -> list[str]:
    """Return the machines that --machine lists, or all of the paper's. Raise UsageError for another one."""
    named = list(dict.fromkeys(machine.split(","))) if machine else list(known)
    require_known(named, known, "no machine of the paper's")
    return named


def opened(
    found: Mapping[str, Path], samples: Path, sample: str, size: str | None, machine: str
) -> tuple[Module, Subject]:
    """Return a sample's module, and its launch on a machine. found: samples by name. Raise UsageError if it is
    missing."""
    from binalloc.laboratory.samples import beside
    from binalloc.launch.file import load_launch

    if sample not in found:
        raise UsageError("a sample is missing", file=str(samples), found="no " + sample, expected=sample)
    file = str(beside(found[sample], ".ptx"))
    launch = load_launch(beside(found[sample], ".toml"), size)
    module, (subject,) = subjects_of(read_file(file), file, launch, machine)
    return module, subject
