"""PTX from clang: the CUDA of binalloc's own samples and a few sources of our own, with headers of neither side.

`clang -x cuda` compiles for the device without CUDA's headers where somebody declares what a source uses.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.foreign.producers.made import Made

ROOT = Path(__file__).parents[3]
HEADER = Path(__file__).parent / "clang_cuda.h"
VERSIONS = ("clang", "clang-14", "clang-16", "clang-17", "clang-18", "clang-19", "clang-20", "clang-21")
PARTS = "linked"
"""Of samples those whose files are parts of one program."""
WAYS = (("sm_70", "-O3"), ("sm_75", "-O0"), ("sm_80", "-O2"))


def own(only: set[str]) -> Iterator[Made]:
    """Every sample that a clang compiles."""
    for clang in (name for name in VERSIONS if shutil.which(name)):
        for source in sorted(p for p in (ROOT / "samples").rglob("*.cu") if p.parent.name != PARTS):
            for arch, level in WAYS if not only or source.stem in only else ():
                name = f"{source.parent.name}_{source.stem}.{clang}.{arch}{level}"
                yield Made("clang", name, lambda c=clang, s=source, a=arch, o=level: (compiled(c, s, a, o), ""))


def compiled(clang: str, source: Path, arch: str, level: str) -> str:
    """PTX, or RuntimeError with what clang said."""
    command = [clang, "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={arch}", level, "-S", "-nocudalib"]
    command += ["-nocudainc", "-std=c++17", "-w", f"-I{ROOT / 'samples'}", "-include", str(HEADER)]
    command += [str(source), "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(next((x for x in done.stderr.splitlines() if "error" in x), done.stderr[-200:]))
    return done.stdout
