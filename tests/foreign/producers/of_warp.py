"""PTX from Warp: a module of kernels of our own, with their adjoints, as it compiles it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import warp as wp

from tests.foreign.producers import warp_kernels
from tests.foreign.producers.made import Made

ARCHITECTURES = (75, 80, 90, 100)


def own(only: set[str]) -> Iterator[Made]:
    """The module for every architecture."""
    for arch in ARCHITECTURES if not only or "warp_kernels" in only else ():
        yield Made("warp", f"warp_kernels.sm_{arch}", lambda a=arch: (made_of(a), ""))


def made_of(arch: int) -> str:
    wp.config.quiet = True
    with tempfile.TemporaryDirectory() as folder:
        wp.compile_aot_module(warp_kernels, device="cpu", arch=arch, module_dir=folder, use_ptx=True)
        (place,) = Path(folder).glob("*.ptx")
        return place.read_text()
