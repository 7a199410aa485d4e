"""The compiled core that a package carries is found, checked and called here. This needs neither Numba nor LLVM.

A core is one build of the device functions as a shared library, `<build>.so`, with a *label* beside it, `<build>.json`.
The label says what the core was made from and for, and has the library's checksum. The library contains the label, too.
A core is used only where all of it is true: the same sources to the letter, this system, a CPU with the features that
the code needs, and a file unchanged since it was labelled. Otherwise it is not used, and the device functions are
compiled.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.carried.sources import device_hash

FOLDER = Path(__file__).parent  # the folder where a package carries its cores

ENTRY, IDENTITY = "binalloc_core_run_quantum", "binalloc_core_identity"
"""The library's symbols: the function that takes the arguments as words, and the label's text."""

NEEDS = {
    "x86-64-v3": (
        "abm", "avx", "avx2", "bmi1", "bmi2", "cx16", "f16c", "fma", "lahf_lm", "movbe", "pni", "popcnt", "sse4_1",
        "sse4_2", "ssse3", "xsave",
    ),
}  # fmt: skip
"""The kinds of CPU that cores are made for, with Linux' names of the features that they have beyond the first
x86-64."""

FAILED = -1  # the entry's result for an exception in it, which no device code raises

Elements = NDArray[np.generic]  # an array of any type

_FORMAT = 1  # of labels; a core with another one is not used
_LABEL_LIMIT = 64 << 10  # bytes read of a label at most: a label is far shorter, but a damaged file may have any size


@dataclass(frozen=True)
class CoreLabel:
    """A label says what a core was made from and for."""

    build: str  #: name of the build, as `engine.name_of_build` returns it
    sources: str  #: hash of the sources, `device_hash`
    system: str  #: as `sys.platform`
    machine: str  #: as `platform.machine()`
    cpu: str  #: kind of CPU, a key of `NEEDS`
    arrays: tuple[str, ...]  #: the arrays that it takes, each as `kind_of` describes it

    def text(self) -> str:
        """Return the label as it is written in the library."""
        return json.dumps({"format": _FORMAT, **vars(self)}, sort_keys=True)

    def file(self, library: bytes) -> str:
        """Return the label as it is written beside the library."""
        return json.dumps({"label": self.text(), "sha256": hashlib.sha256(library).hexdigest()}, indent=1) + "\n"

    @classmethod
    def here(cls, build: str, cpu: str, arrays: Sequence[str]) -> CoreLabel:
        """Return the label of a core that is made from these sources on a machine like this one."""
        return cls(build, device_hash(), sys.platform, platform.machine(), cpu, tuple(arrays))


class Core:
    """A core is one loaded library."""

    def __init__(self, label: CoreLabel, library: ctypes.CDLL) -> None:
        self.label = label
        self._entry = getattr(library, ENTRY)
        self._entry.restype, self._entry.argtypes = ctypes.c_int64, [ctypes.c_void_p]
        self._library = library

    def run_quantum(
        self, gpus: Elements, sms: Elements, arrays: Sequence[Elements], steps: int, limit: int
    ) -> int:
        """Run a quantum as `device_loop` does. Raises TypeError for arrays of another kind than the core was compiled
        for."""
        words: list[int] = []
        for array, kind in zip((gpus, sms, *arrays), self.label.arrays, strict=True):
            if kind_of(array) != kind:
                raise TypeError(f"the compiled core takes an array {kind}, not {kind_of(array)}")
            words += 0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides
        given = (ctypes.c_int64 * (len(words) + 2))(*words, steps, limit)
        status = int(self._entry(given))
        if status == FAILED:
            raise RuntimeError("the compiled core ended with an exception")
        return status


def kind_of(array: Elements) -> str:
    """Return type of the elements and number of dimensions, marked where compiled code could not take the array."""
    fit = array.flags.c_contiguous and array.flags.aligned and array.flags.writeable
    return f"{array.dtype.str}:{array.ndim}{'' if fit else ':odd'}"


def find_core(build: str) -> Core | str:
    """Return the core of that build that the package carries, or a text with the reason why there is none to use. It is
    empty where none is carried."""
    library = FOLDER / f"{build}.so"
    try:
        found = _read_label(FOLDER / f"{build}.json")
        code = library.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (ValueError, RecursionError):
        return "its label is damaged"
    text, checksum = found
    try:
        label = _parse(text)
    except (ValueError, TypeError, RecursionError):
        return "its label is of another kind"
    wrong = _unfit(label, build)
    if wrong:
        return wrong
    if hashlib.sha256(code).hexdigest() != checksum:
        return "the file is not as it was made"
    return _load(label, library)


def _read_label(path: Path) -> tuple[str, str]:
    """Return the label's text and the library's checksum. Raises OSError; ValueError for anything else than two
    texts."""
    with path.open("rb") as file:
        found = json.loads(file.read(_LABEL_LIMIT))
    if not isinstance(found, dict) or not all(isinstance(found.get(key), str) for key in ("label", "sha256")):
        raise ValueError
    return found["label"], found["sha256"]


def _parse(text: str) -> CoreLabel:
    """Return the label with this text. Raises ValueError or TypeError where it is no label of this format."""
    fields = json.loads(text)
    if not isinstance(fields, dict) or fields.pop("format", None) != _FORMAT:
        raise ValueError
    arrays = fields.pop("arrays", None)
    if not isinstance(arrays, list) or not all(isinstance(value, str) for value in (*fields.values(), *arrays)):
        raise ValueError
    return CoreLabel(**fields, arrays=tuple(arrays))


def _unfit(label: CoreLabel, build: str) -> str:
    """Return why a core with this label cannot be used here, or an empty text where it can."""
    if (label.system, label.machine) != (sys.platform, platform.machine()):
        return f"made for {label.system} on {label.machine}"
    if label.cpu not in NEEDS:
        return "made for a kind of CPU that is not known here"
    if lacking := [name for name in NEEDS[label.cpu] if name not in cpu_flags()]:
        return f"made for {label.cpu}, and this CPU lacks {', '.join(lacking)}"
    if label.build != build or label.sources != device_hash():
        return "made from other sources"
    return ""


def _load(label: CoreLabel, path: Path) -> Core | str:
    """Return the loaded core if the library contains this label, else a text that says why not."""
    try:
        library = ctypes.CDLL(str(path))
        inside = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, IDENTITY)))
        return Core(label, library) if inside == label.text().encode() else "the library bears another label"
    except (OSError, ValueError, AttributeError) as error:
        return f"cannot be loaded: {error}"


def cpu_flags() -> frozenset[str]:
    """Return the CPU's features, by Linux' names; none where the system does not list them."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()
