"""The compiled device functions depend on these sources: every file that has device code, constants of it or the way in
which it is compiled, and the texts generated from tables. One hash covers all of it: compiled code with another is
stale."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from binalloc.emulator.sm import device_loop
from binalloc.emulator.state.device import GENERATED, REGISTRY

REPLACED = {
    "binalloc.emulator.arithmetic.bits": "binalloc.emulator.arithmetic.bits_numba",
    "binalloc.emulator.state.scan": "binalloc.emulator.state.scan_numba",
}
"""Modules whose functions are replaced in compiled code by those from another module."""

EMULATOR = "binalloc.emulator"  # the package that has the rooms
ROOMS = ("arithmetic", "channels", "checks", "execute", "memory", "pages", "policies", "sm", "state")
"""The emulator's rooms with device code, records and constants."""

_OTHERS = (
    "binalloc.emulator.carried.core",
    "binalloc.emulator.host.engines.compile_costs",
    "binalloc.emulator.host.engines.compiling",
    "binalloc.emulator.host.engines.engine",
    "binalloc.emulator.packing.machine_code",
    "binalloc.isa.instruction",
    "binalloc.isa.interface.places",
    "binalloc.isa.kinds",
    "binalloc.isa.runtime",
    "binalloc.isa.table.fields",
    "binalloc.isa.table.opcodes",
    "binalloc.isa.timing",
    "binalloc.rows",
)
"""Modules outside of these rooms that device code takes constants from, or that compile or call it."""


def source_files() -> dict[str, Path]:
    """Return the files by the names of their modules, in the order of the names."""
    assert device_loop.__name__ in {function.__module__ for function in REGISTRY.values()}, "nothing is registered yet"
    names = {function.__module__ for function in REGISTRY.values()} | set(_OTHERS)
    for room in ROOMS:
        folder = _file_of(f"{EMULATOR}.{room}").parent
        for path in folder.rglob("*.py"):
            within = path.relative_to(folder).with_suffix("").parts
            names.add(".".join((EMULATOR, room, *within)).removesuffix(".__init__"))
    return {name: _file_of(name) for name in sorted(names)}


def device_hash() -> str:
    """Return 64 hexadecimal digits that change with any of the files and texts."""
    digest = hashlib.sha256()
    for name, path in source_files().items():
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    for key in sorted(GENERATED):
        digest.update(f"{key} {len(GENERATED[key])}\n{GENERATED[key]}".encode())
    return digest.hexdigest()


def _file_of(module: str) -> Path:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)
