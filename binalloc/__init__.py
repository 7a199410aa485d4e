"""binalloc: registers, shared-memory slots, local memory and occupancy for compiled SIMT binaries.

The names in `__all__` are the library's front door. Each is imported when it is first asked for, so that
`import binalloc` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binalloc.emulator.launch import Launch, load_launch
    from binalloc.emulator.run import Result, run
    from binalloc.errors import BinallocError, KernelFault, LimitHit, MalformedInput, Refused, UsageError
    from binalloc.frontend.importer import import_ptx
    from binalloc.isa.assembler import assemble
    from binalloc.isa.container import load, read_module, save, write_module
    from binalloc.isa.disassembler import disassemble
    from binalloc.isa.instruction import Module
    from binalloc.models.machine import Machine, list_machines, load_machine
    from binalloc.models.occupancy import occupancy
    from binalloc.pipeline import Outcome, Request, rewrite_kernel
    from binalloc.transform.schedule import schedule
    from binalloc.verify.checker import check

__version__ = "0.1.0"

__all__ = [
    "BinallocError",
    "KernelFault",
    "Launch",
    "LimitHit",
    "Machine",
    "MalformedInput",
    "Module",
    "Outcome",
    "Refused",
    "Request",
    "Result",
    "UsageError",
    "__version__",
    "assemble",
    "check",
    "disassemble",
    "import_ptx",
    "list_machines",
    "load",
    "load_launch",
    "load_machine",
    "occupancy",
    "read_module",
    "rewrite_kernel",
    "run",
    "save",
    "schedule",
    "write_module",
]

_HOMES = {
    "emulator.launch": ("Launch", "load_launch"),
    "emulator.run": ("Result", "run"),
    "errors": ("BinallocError", "KernelFault", "LimitHit", "MalformedInput", "Refused", "UsageError"),
    "frontend.importer": ("import_ptx",),
    "isa.assembler": ("assemble",),
    "isa.container": ("load", "read_module", "save", "write_module"),
    "isa.disassembler": ("disassemble",),
    "isa.instruction": ("Module",),
    "models.machine": ("Machine", "list_machines", "load_machine"),
    "models.occupancy": ("occupancy",),
    "pipeline": ("Outcome", "Request", "rewrite_kernel"),
    "transform.schedule": ("schedule",),
    "verify.checker": ("check",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{home}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
