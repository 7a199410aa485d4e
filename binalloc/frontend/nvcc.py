"""This module compiles CUDA source to PTX where the vendor's compiler is installed: `nvcc -ptx -lineinfo`.

nvcc reads the source file itself and finds its includes as usual. It writes into a temporary folder, so that no file is
left beside the source.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from binalloc.errors import Hint, MalformedInput, UsageError
from binalloc.files import read_bytes

_SUFFIX = ".cu"  # the only file name extension that is taken for CUDA source
_ELF = b"\x7fELF"  # the magic number of ELF files
_LISTED = re.compile(r"compute_([0-9]{2,3})$", re.MULTILINE)  # a line of `nvcc --list-gpu-arch`, such as `compute_80`
_VERSION = re.compile(r"release ([0-9.]+)")  # the version in what `nvcc --version` prints
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)  # the first line with this word is quoted in the error message
HOW = "nvcc -ptx -arch=sm_75 -lineinfo FILE.cu -o FILE.ptx"
"""The command that compiles CUDA source to PTX, as error messages suggest it."""


@dataclass(frozen=True)
class CompiledCuda:
    """A compilation gives PTX, and says how it came about."""

    text: bytes  #: the PTX, not decoded
    note: str  #: what was done, in words


def is_cuda_source(data: bytes, path: str) -> bool:
    """Return whether a file already read is CUDA source: it has the suffix `.cu` and is no ELF file."""
    return path.endswith(_SUFFIX) and not data.startswith(_ELF)


def compile_cuda(path: str, capability: str | None) -> CompiledCuda:
    """Compile CUDA source and return its PTX.

    Args:
        path: the source.
        capability: the wanted architecture, as `8.0` or `sm_80`. nvcc compiles for its newest architecture that is no
            newer than this, else for its oldest. None: for its oldest.

    Raises UsageError where there is no nvcc. Raises MalformedInput where nvcc does not compile the source; the cause
    has everything that nvcc printed.
    """
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise UsageError(
            "this is CUDA source, and there is no nvcc on the path to compile it", file=path, expected="PTX",
            remedy=f"Compile it where the CUDA toolkit is, {HOW}, and give the PTX.",
        )  # fmt: skip
    architecture = _architecture(nvcc, path, capability)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.ptx"
        command = [nvcc, "-ptx", f"-arch={architecture}", "-lineinfo", path, "-o", str(out)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if done.returncode or not out.is_file():
            said = (done.stderr or done.stdout).strip()
            raise MalformedInput(
                f"nvcc does not compile it for {architecture}", file=path, found=_first_error(said) or "no message",
                remedy=Hint("What nvcc says is above."),
            ) from CompilerSays(said)  # fmt: skip
        text = read_bytes(out)
    return CompiledCuda(text, f"compiled by nvcc {_version(nvcc)} for {architecture} (-ptx -lineinfo)")


class CompilerSays(Exception):
    """`CompilerSays` has the text that a compiler printed, line by line."""


def _architecture(nvcc: str, path: str, capability: str | None) -> str:
    """Return the architecture to compile for, such as `compute_80`. Raises UsageError where nvcc lists none."""
    done = subprocess.run([nvcc, "--list-gpu-arch"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    there = sorted(int(number) for number in _LISTED.findall(done.stdout))
    if not there:
        raise UsageError(
            "nvcc does not say for which architectures it compiles", file=path, found=nvcc,
            expected="what `nvcc --list-gpu-arch` prints", remedy=f"Make the PTX yourself: {HOW}.",
        )  # fmt: skip
    digits = "".join(c for c in capability or "" if c.isdigit())
    wanted = int(digits) if digits else there[0]
    return f"compute_{max((one for one in there if one <= wanted), default=there[0])}"


def _version(nvcc: str) -> str:
    done = subprocess.run([nvcc, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = _VERSION.search(done.stdout)
    return found[1] if found else "of an unknown version"


def _first_error(text: str) -> str:
    lines = text.splitlines()
    return next((line for line in lines if _ERROR.search(line)), lines[0] if lines else "").strip()
