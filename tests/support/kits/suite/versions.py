"""The search for the fastest version of a module, of which `multiplex` makes a dozen for a kernel, runs once in a run
for equal modules, launches and options, and access regions are made shorter once: most tests of the command are of one
sample."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

import pytest

from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import read_module, write_module
from binalloc.pipeline.multiplex import fit, multiplexing
from binalloc.pipeline.multiplex.shorter import Shorter, shorter_regions
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.kernels import reachable
from binalloc.pipeline.steps.version import Version
from binalloc.pipeline.sweeping.keys import binary_digest, launch_digest
from tests.support.kits.suite.once import once

APART = ("launch", "options", "progress", "prepared")
"""Fields of a request that are compared in another way, or on which no version depends."""


def share_versions(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """From here on `multiplex` takes from the folder what was found before, in this process or in another."""
    patch.setattr(multiplexing, "fastest", sharing_versions(fit.fastest, folder))
    patch.setattr(multiplexing, "shorter_regions", sharing_regions(shorter_regions, folder))


def sharing_versions(search: Callable[..., Version], folder: Path) -> Callable[..., Version]:
    """Return a search that looks in the folder first."""

    def found(module: Module, request: Request, name: str, *, slots: bool) -> Version:
        def make() -> tuple[bytes, list[str], Version]:
            version = search(module, request, name, slots=slots)
            names = [fn.name for fn in version.functions]
            return write_module(version.module), names, replace(version, module=cast(Module, None), functions=[])

        data, names, version = once(folder, key_of(module, request, name, slots), make)
        made = read_module(data, module.path)
        return replace(version, module=made, functions=reachable(made, request.kernel, names))

    return found


def sharing_regions(
    shorten: Callable[[Module, Request], Shorter], folder: Path
) -> Callable[[Module, Request], Shorter]:
    """Return a function that looks in the folder before it makes a kernel's access regions shorter."""

    def found(module: Module, request: Request) -> Shorter:
        def make() -> tuple[bytes, str]:
            shorter = shorten(module, request)
            return write_module(shorter.module), shorter.unproven

        data, unproven = once(folder, key_of(module, request, "shorter", False), make)
        return Shorter(read_module(data, module.path), unproven)

    return found


def key_of(module: Module, request: Request, name: str, slots: bool) -> str:
    """Return a key that changes with whatever the search depends on."""
    launch: Any = request.launch
    own = {one.name: getattr(request, one.name) for one in fields(request) if one.name not in APART}
    parts = (
        binary_digest(write_module(module)), launch_digest(request.kernel, launch, request.machine),
        request.options.figures(), own, name, slots,
    )  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()
