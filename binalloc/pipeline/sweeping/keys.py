"""What the figures of a sweep follow from, as numbers: equal keys, equal figures.

Keys hold contents, never names of files or times: a file may be moved and touched. That binalloc itself changed counts
as a change of everything.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from binalloc.files import read_bytes
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.transform.allocators.table import ALLOCATORS

_PACKAGE = Path(__file__).parents[2]
_SOURCES = (".py", ".ptx")
"""What of the package figures follow from; machine files are in the keys by their figures."""
_OTHERS = ("networkx", "numba", "numpy", "ortools")


def key_of(parts: Sequence[object]) -> str:
    """64 hexadecimal digits that change with any of the parts, which JSON can write, complex numbers as text."""
    return hashlib.sha256(json.dumps([package_digest(), *parts], default=str).encode()).hexdigest()


@lru_cache(maxsize=1)
def package_digest() -> str:
    """64 hexadecimal digits that change with any source of this package and of those that add allocators, and with the
    versions of what it uses."""
    digest = hashlib.sha256(f"{sys.version} {[_version(name) for name in _OTHERS]}".encode())
    for path in sorted(path for path in _PACKAGE.rglob("*") if path.suffix in _SOURCES):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()} {len(content)}\n".encode() + content)
    for entry in ALLOCATORS.entries().values():
        digest.update(f"{entry}\n".encode())
        for path in entry.sources():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def binary_digest(binary: bytes) -> str:
    """64 hexadecimal digits for a binary's bytes."""
    return hashlib.sha256(binary).hexdigest()


def launch_digest(kernel: str, launch: Launch, machine: Machine) -> str:
    """64 hexadecimal digits for what is launched where. The reference is left out: no sweep runs it. Raises UsageError
    where a file that fills a buffer cannot be read."""
    said = asdict(launch) | {"path": "", "reference": None}
    for argument in said["arguments"]:
        _read_files(argument["init"])
    return key_of([kernel, said, machine.name, machine.digest])


def _read_files(init: dict[str, Any]) -> None:
    """Puts a file's contents in place of its name."""
    if init["file"] is not None:
        init["file"]["path"] = binary_digest(read_bytes(init["file"]["path"]))
    for _, part in init["parts"]:
        _read_files(part)
