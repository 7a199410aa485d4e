"""Builds what samples/ keeps built: PTX from *.cu (where nvcc is installed), Loom binaries from *.lasm and *.ptx.

    python samples/build.py            # write the .loom files that are out of date, also those of *.ptx
    python samples/build.py --check    # only say what is out of date; exit code 1 if anything is
    python samples/build.py --ptx      # write the .ptx files that are out of date, the device runtime's too; without
                                       # nvcc say so and do nothing

The binaries of *.ptx are not kept in the repository: an import takes less than a second and they change with the front
end. A .ptx without a launch file beside it (that of the example project `ci`) is no sample: no binary is made of it.
Needs the package importable. Leaves true: each .loom is the bytes `build` returns for its source, scheduled for GTX680;
each .ptx is the text `compile_cuda` returns, which names no folder of the machine it was made on.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from binalloc.frontend.importer import import_ptx
from binalloc.isa.container.files import write_module
from binalloc.isa.text.assembler import assemble
from binalloc.models.machines.reader import load_machine
from binalloc.transform.schedule.schedule import schedule

SAMPLES = Path(__file__).parent
MACHINE = "gtx680"
PTX_FOLDER = Path("/tmp/binalloc-ptx")
NVCC = ("nvcc", "-ptx", "-arch=sm_75", "-O3")
RUNTIME = SAMPLES.parent / "binalloc" / "frontend" / "runtime" / "runtime.cu"
"""The device runtime: a library, without lines, as those of the program it comes into are told of."""
LINKED = SAMPLES / "linked"
"""The sources of one program in several files, compiled to be linked."""


def sources(ending: str = "lasm") -> list[Path]:
    """The sample sources of one kind in all folders, in order of name."""
    return sorted(SAMPLES.rglob(f"*.{ending}"), key=lambda path: path.name)


def build(source: Path) -> bytes:
    """The binary of one source; messages and line tables name the source without its folder."""
    machine = load_machine(MACHINE)
    if source.suffix == ".ptx":
        return write_module(import_ptx(source.read_text(), source.name, machine=machine).module)
    return write_module(schedule(assemble(source.read_text(), source.name), machine))


def compile_cuda(source: Path) -> bytes:
    """What nvcc makes of one .cu file, `.file` lines cut down to the file's name. Raises CalledProcessError.

    nvcc hashes the source's path into names, so the same bytes on every machine need the same folder; and the same file
    name, whatever the sample is called: its kernel's, if it launches but one.
    """
    launch = source.with_suffix(".toml")
    name = (tomllib.loads(launch.read_text()) if launch.exists() else {}).get("kernel", source.stem) + source.suffix
    PTX_FOLDER.mkdir()
    try:
        shutil.copy(source, PTX_FOLDER / name)
        _bring_included(source, PTX_FOLDER)
        options = ["-rdc=true"] if source == RUNTIME or source.parent == LINKED else []
        options += [] if source == RUNTIME else ["-lineinfo"]
        done = subprocess.run([*NVCC, *options, name, "-o", "-"], cwd=PTX_FOLDER, check=True, stdout=subprocess.PIPE)
    finally:
        shutil.rmtree(PTX_FOLDER)
    return re.sub(r'(?m)^(\s*\.file\s+\d+\s+")[^"]*/', r"\1", done.stdout.decode()).encode()


def _bring_included(source: Path, to: Path) -> None:
    """Copy what a source includes, and what that includes. "name" goes beside the source in `to`; "folder/name", of
    another folder of samples, goes to a folder of that name, which may lie in others."""
    for folder, name in re.findall(r'(?m)^#include "(?:([\w/]+)/)?(\w+\.cuh?)"', source.read_text()):
        there, found = (to / folder, SAMPLES / folder / name) if folder else (to, source.parent / name)
        there.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, there)
        _bring_included(found, there)


def bring_up_to_date(made: list[tuple[Path, Path]], maker: Callable[[Path], bytes], check: bool) -> int:
    """Compare each target with what its source makes, and write it unless `check`. How many were out of date."""
    stale = 0
    for source, target in made:
        content = maker(source)
        if not target.exists() or target.read_bytes() != content:
            stale += 1
            print(f"{target.name}: {'out of date' if check else 'written'}")
            if not check:
                target.write_bytes(content)
    return stale


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    if "--ptx" in arguments:
        if shutil.which(NVCC[0]) is None:
            print("nvcc is not installed: the .ptx files stay as they are")
            return 0
        cuda = [*sources("cu"), RUNTIME]
        stale = bring_up_to_date([(s, s.with_suffix(".ptx")) for s in cuda], compile_cuda, check)
    else:
        samples = [s for s in (*sources(), *sources("ptx")) if s.with_suffix(".toml").exists()]
        stale = bring_up_to_date([(s, s.with_suffix(".loom")) for s in samples], build, check)
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
