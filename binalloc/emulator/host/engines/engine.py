"""The two engines run device functions as plain Python (`python`), or compiled together and cached on disk (`numba`).

Needs every device function to find the others among its module's globals. The `numba` engine rebuilds each function of
`device.REGISTRY` with those globals replaced by compiled versions, and the functions of `bits.py` and `scan.py` by
their counterparts in `bits_numba.py` and `scan_numba.py`, and enumerations by modules of ints. Only the entry point is
cached. The cache folder is keyed by a hash of all sources, including the texts generated from tables, because Numba
itself notices no change in an imported file.

A package may carry the compiled functions (`carried/core.py`). Where they were made from these very sources, for a CPU
such as this one, they are the `numba` engine, and Numba is not even loaded. BINALLOC_COMPILE=1 in the environment has
the functions compiled all the same.

BINALLOC_BOUNDSCHECK=1 in the environment chooses a build of the `numba` engine that checks every index against its
array: an IndexError in place of a wild access, at about half the speed. It is for tests, and cached separately.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from binalloc.emulator.carried.core import Core, find_core
from binalloc.emulator.carried.sources import REPLACED, device_hash
from binalloc.emulator.host.engines.cache import cache_folder, existing_folder, is_temporary
from binalloc.emulator.host.engines.compiling import device_function, one_program
from binalloc.emulator.sm import device_loop
from binalloc.emulator.state.codes import Codes
from binalloc.emulator.state.device import APART, INLINED, REGISTRY
from binalloc.emulator.state.memories import Array
from binalloc.emulator.state.records import Record, Sparse, dtype_of
from binalloc.errors import UsageError

ENGINES = ("numba", "python")
_LOG = logging.getLogger(__name__)

Records = Sequence[Record] | NDArray[np.void]
"""Records in the form of the engine: objects for `python`, a structured array for `numba`."""
Value = int | Sequence[int] | NDArray[np.int64]
"""The value of a field of a record: a number, or the first elements of an array."""


class Engine:
    """An engine makes records and runs quanta over them. `name` is "python" or "numba"."""

    def __init__(self, name: str, run_quantum: Callable[..., int]) -> None:
        self.name = name
        self.run_quantum = run_quantum

    def records(self, kind: type[Record], n: int) -> Records:
        """Return n zeroed records that device code can index."""
        return [kind() for _ in range(n)] if self.name == "python" else np.zeros(n, dtype_of(kind))

    def put(self, records: Records, i: int, name: str, value: Value) -> None:
        """Set a field (or a whole array field) of record i."""
        if isinstance(records, np.ndarray):
            if isinstance(value, (int, np.integer)):
                records[name][i] = value
            else:
                records[name][i, : len(value)] = value
            return
        old = getattr(records[i], name)
        if isinstance(value, (int, np.integer)):
            setattr(records[i], name, int(value))
        elif isinstance(old, (list, Sparse)):
            setattr(records[i], name, [int(v) for v in value] + [0] * (len(old) - len(value)))
        else:
            setattr(records[i], name, value)

    def view(self, records: Records, i: int, name: str) -> NDArray[np.int64]:
        """Return an array field of record i, not copied where the engine has it as an array."""
        return np.asarray(records[name][i] if isinstance(records, np.ndarray) else getattr(records[i], name))

    def get(self, records: Records, i: int, name: str) -> Any:
        """Return a field of record i: int or array."""
        value = records[name][i] if isinstance(records, np.ndarray) else getattr(records[i], name)
        return np.array(value) if isinstance(value, (list, Sparse, np.ndarray)) else int(value)


def engine(name: str, *, checking: bool = False) -> Engine:
    """Return the engine called `name`; UsageError for another name. The first use of "numba" compiles or loads the
    cache.

    checking: with the poison and race modes built in (`python` always has them).
    """
    if name == "python":
        return Engine(name, _quiet(device_loop.run_quantum))
    if name == "numba":
        return Engine(name, _compiled(checking, bounds_checked()))
    raise UsageError("unknown engine", place="engine", found=name, expected=" or ".join(ENGINES))


def _quiet(function: Callable[..., int]) -> Callable[..., int]:
    """Return the function with NumPy's warnings off. NumPy scalars wrap as compiled code does, and the warnings would
    only be noise."""

    def run(*args: object) -> int:
        with np.errstate(all="ignore"):
            return function(*args)

    return run


def source_hash() -> str:
    """Return a hash over all sources of compiled code, and over the versions that compile it."""
    import llvmlite
    import numba

    versions = f"{sys.version} {numba.__version__} {llvmlite.__version__} {np.__version__}"
    return hashlib.sha256(f"{versions} {device_hash()}".encode()).hexdigest()[:20]


def bounds_checked() -> bool:
    """Return whether the environment asks for the build that checks indices."""
    return os.environ.get("BINALLOC_BOUNDSCHECK", "") not in ("", "0")


def name_of_build(checking: bool, bounds: bool) -> str:
    """Return the name that distinguishes one build of the device functions from another, in cache folder and
    symbols."""
    return ("checking" if checking else "plain") + ("_bounds" if bounds else "")


@lru_cache(maxsize=4)
def _compiled(checking: bool, bounds: bool) -> Callable[..., int]:
    """Return the compiled `run_quantum`: the one that the package carries or else Numba's."""
    core = _carried(checking, bounds)
    return core.run_quantum if isinstance(core, Core) else _of_numba(checking, bounds, core)


def _carried(checking: bool, bounds: bool) -> Core | str:
    """Return the core that the package carries, or why there is none to use: empty where none is carried or asked
    for."""
    if bounds or os.environ.get("BINALLOC_COMPILE", "") not in ("", "0"):
        return ""
    return find_core(name_of_build(checking, bounds))


def _of_numba(checking: bool, bounds: bool, refused: str) -> Callable[..., int]:
    """Return `run_quantum` from Numba's cache, or compiled when it is first called. Each of the builds has a cache
    folder of its own. refused: why the core that the package carries is not used."""
    import numba

    config: Any = numba.core.config
    saved = config.CACHE_DIR
    folder = cache_folder(source_hash(), name_of_build(checking, bounds))
    config.CACHE_DIR = str(folder)
    try:
        dispatcher = build(checking=checking, boundscheck=bounds, cache=folder is not None)
    finally:
        config.CACHE_DIR = saved
    if folder is None or not _in_cache(folder):
        forever = folder is not None and not is_temporary(folder)
        kept = f"kept in {folder}" if forever else "for this run alone, as no folder is safe to keep it in"
        if refused:
            _LOG.info("the compiled emulator that the package carries is not used: %s", refused)
        _LOG.info("compiling the emulator, about a minute; %s", kept)

    entries: list[Callable[..., int]] = []

    def run(g: object, sms: object, arrays: Iterable[Array], *rest: int) -> int:
        """Call the compiled entry directly from the second call on: Numba takes longer to find the arguments' types
        than a cycle does."""
        if entries and all(array.flags.carray for array in arrays):
            return int(entries[0](g, sms, arrays, *rest))
        with one_program(dispatcher.__name__):
            status = int(dispatcher(g, sms, arrays, *rest))
        entries[:] = [made.entry_point for made in dispatcher.overloads.values()]
        assert len(entries) == 1, "the emulator's arrays have changed their types"
        return status

    return run


def _in_cache(folder: Path) -> bool:
    return any(folder.rglob("*.nbi"))


def described(*, checking: bool = False) -> str:
    """Return in words where the machine code of the "numba" engine comes from."""
    bounds = bounds_checked()
    core = _carried(checking, bounds)
    if isinstance(core, Core):
        return f"carried by the package, for {core.label.cpu}"
    folder = existing_folder(source_hash(), name_of_build(checking, bounds))
    here = f"in {folder}" if folder is not None and _in_cache(folder) else "made when it is first needed"
    return here + (f"; the package's own is not used: {core}" if core else "")


def build(
    entry: str = "binalloc.emulator.sm.device_loop.run_quantum",
    boundscheck: bool = False,
    checking: bool = True,
    cache: bool = True,
) -> Any:
    """Return the entry, with all registered device functions rebuilt as compiled ones.

    boundscheck: an index beyond an array raises IndexError. cache: keep the entry on disk, in Numba's folder.

    The functions' names contain the build's. Numba numbers the functions of each process afresh, so builds cached by
    different processes would have equal symbols, and a process that loads both would run the first for either.
    """
    modules = {name: importlib.import_module(name) for name in {f.__module__ for f in REGISTRY.values()}}
    namespaces: dict[str, dict[str, object]] = {name: dict(module.__dict__) for name, module in modules.items()}
    for namespace in namespaces.values():
        if "CHECKING" in namespace:
            namespace["CHECKING"] = checking
        namespace |= {name: _ints(value) for name, value in namespace.items() if _is_codes(value)}
    compiled: dict[int, object] = {}
    for key, function in sorted(REGISTRY.items()):
        assert isinstance(function, FunctionType)
        twin = FunctionType(
            function.__code__, namespaces[function.__module__], function.__name__, function.__defaults__
        )
        twin.__qualname__ = f"{name_of_build(checking, boundscheck)}.{function.__qualname__}"
        twin.__module__ = function.__module__
        compiled[id(function)] = device_function(
            twin, entry=key == entry, inline=key in INLINED, apart=key in APART, boundscheck=boundscheck, cache=cache
        )
    for plain, native in REPLACED.items():
        _replace(importlib.import_module(plain), importlib.import_module(native), compiled)
    for namespace in namespaces.values():
        for name, value in namespace.items():
            if id(value) in compiled:
                namespace[name] = compiled[id(value)]
    return compiled[id(REGISTRY[entry])]


def _is_codes(value: object) -> TypeGuard[type[Codes]]:
    return isinstance(value, type) and issubclass(value, Codes)


def _ints(codes: type[Codes]) -> ModuleType:
    """Return an enumeration as a module of ints: compiled code takes their values as constants."""
    module = ModuleType(codes.__name__)
    vars(module).update(codes.members)
    return module


def _replace(plain: ModuleType, native: ModuleType, compiled: dict[int, object]) -> None:
    """Enter the compiled counterparts of the plain functions of a module."""
    for name, function in vars(plain).items():
        if isinstance(function, FunctionType) and function.__module__ == plain.__name__:
            compiled[id(function)] = getattr(native, name)
