"""This module makes keys for the tasks of a sweep: equal keys mean equal figures.

Keys are hashes of contents, never of file names or times, so that a file may be moved and touched. A change of binalloc
itself changes all keys.
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
"""Suffixes of the package's files on which figures depend. Machine files are left out: keys have a machine's digest."""
_OTHERS = ("networkx", "numba", "numpy", "ortools")
"""Packages whose versions may change figures."""


def key_of(parts: Sequence[object]) -> str:
    """Return 64 hexadecimal digits that change with any of the parts.

    parts: values that JSON can hold; others, such as complex numbers, count as their text.
    """
    return hashlib.sha256(json.dumps([package_digest(), *parts], default=str).encode()).hexdigest()


@lru_cache(maxsize=1)
def package_digest() -> str:
    """Return 64 hexadecimal digits that change with the code behind the figures.

    It is any source of this package and of installed allocators, and the versions of Python and of the packages used.
    """
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
    """Return the version of an installed package, "" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def binary_digest(binary: bytes) -> str:
    """Return 64 hexadecimal digits for a binary's bytes."""
    return hashlib.sha256(binary).hexdigest()


def launch_digest(kernel: str, launch: Launch, machine: Machine) -> str:
    """Return 64 hexadecimal digits for a launch of a kernel on a machine.

    The reference is left out, since no sweep runs it. Raises UsageError if a file that fills a buffer cannot be read.
    """
    said = asdict(launch) | {"path": "", "reference": None}
    for argument in said["arguments"]:
        _read_files(argument["init"])
    return key_of([kernel, said, machine.name, machine.digest])


def _read_files(init: dict[str, Any]) -> None:
    """Replace a file's name by the hash of its contents, in a buffer's `init` and in the parts of it."""
    if init["file"] is not None:
        init["file"]["path"] = binary_digest(read_bytes(init["file"]["path"]))
    for _, part in init["parts"]:
        _read_files(part)
