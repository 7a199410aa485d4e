"""binalloc: registers, shared-memory slots, local memory and occupancy for compiled SIMT binaries.

The names in `__all__` are the library's front door. Each is imported when it is first asked for, so that
`import binalloc` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from binalloc.version import VERSION

if TYPE_CHECKING:
    from binalloc.device.device import Device, DeviceArray, DeviceSurface, DeviceTexture
    from binalloc.device.launching import LaunchResult, launch_kernel
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.emulator.runs.program import Launched, Ran
    from binalloc.emulator.runs.run import Result, run, run_launch
    from binalloc.errors import BinallocError, Interrupted, KernelFault, LimitHit, MalformedInput, Refused, UsageError
    from binalloc.frontend.importer import import_ptx
    from binalloc.isa.instruction import Module
    from binalloc.isa.sets.files import assemble, disassemble, load, read_module, save, write_module
    from binalloc.launch.file import Launch, load_launch
    from binalloc.launch.handled import SurfaceArray, TextureArray
    from binalloc.launch.linked import Pointer
    from binalloc.launch.program.file import load_program
    from binalloc.launch.program.types import Program
    from binalloc.models.allocation.exact_colouring import ExactColouring, colour_exactly
    from binalloc.models.machines.budget import Budget
    from binalloc.models.machines.files import list_machines
    from binalloc.models.machines.kernel_use import KernelUse
    from binalloc.models.machines.model import Machine
    from binalloc.models.machines.occupancy import occupancy
    from binalloc.models.machines.reader import load_machine
    from binalloc.pipeline.advice.recommend import Recommendation, recommend
    from binalloc.pipeline.multiplex.kernel import multiplex
    from binalloc.pipeline.multiplex.multiplexing import Multiplexing
    from binalloc.pipeline.original import Original
    from binalloc.pipeline.pipeline import Outcome, Request, rewrite_kernel
    from binalloc.pipeline.policies.policy import Choice
    from binalloc.pipeline.running.program import run_program
    from binalloc.pipeline.sharing.kernel import share
    from binalloc.pipeline.sharing.sharing import Sharing
    from binalloc.pipeline.steps.build import build_version
    from binalloc.pipeline.steps.version import Tried
    from binalloc.pipeline.sweeping.kernel import sweep_kernel
    from binalloc.report.recommend.facts import recommendation_to_dict
    from binalloc.report.recommend.page import recommendation_page
    from binalloc.report.versions import outcome_to_dict
    from binalloc.transform.allocators.allocator import Plan, Problem
    from binalloc.transform.allocators.draft import Crowd, DraftFunction, draft_plan
    from binalloc.transform.schedule.schedule import schedule
    from binalloc.transform.spill.spill import Infeasible
    from binalloc.verify.checker import check

__version__ = VERSION

__all__ = [
    "BinallocError",
    "Budget",
    "Choice",
    "Crowd",
    "Device",
    "DeviceArray",
    "DeviceSurface",
    "DeviceTexture",
    "DraftFunction",
    "ExactColouring",
    "Infeasible",
    "Interrupted",
    "KernelFault",
    "KernelUse",
    "Launch",
    "LaunchResult",
    "Launched",
    "LimitHit",
    "Machine",
    "MalformedInput",
    "Module",
    "Multiplexing",
    "Original",
    "Outcome",
    "Plan",
    "Pointer",
    "Problem",
    "Program",
    "Ran",
    "Recommendation",
    "Refused",
    "Request",
    "Result",
    "RunOptions",
    "Sharing",
    "SurfaceArray",
    "TextureArray",
    "Tried",
    "UsageError",
    "__version__",
    "assemble",
    "build_version",
    "check",
    "colour_exactly",
    "disassemble",
    "draft_plan",
    "import_ptx",
    "launch_kernel",
    "list_machines",
    "load",
    "load_launch",
    "load_machine",
    "load_program",
    "multiplex",
    "occupancy",
    "outcome_to_dict",
    "read_module",
    "recommend",
    "recommendation_page",
    "recommendation_to_dict",
    "rewrite_kernel",
    "run",
    "run_launch",
    "run_program",
    "save",
    "schedule",
    "share",
    "sweep_kernel",
    "write_module",
]

_HOMES = {
    "launch.handled": ("SurfaceArray", "TextureArray"),
    "launch.linked": ("Pointer",),
    "launch.file": ("Launch", "load_launch"),
    "launch.program.file": ("load_program",),
    "launch.program.types": ("Program",),
    "emulator.runs.program": ("Launched", "Ran"),
    "emulator.runs.options": ("RunOptions",),
    "emulator.runs.run": ("Result", "run", "run_launch"),
    "errors": ("BinallocError", "Interrupted", "KernelFault", "LimitHit", "MalformedInput", "Refused", "UsageError"),
    "frontend.importer": ("import_ptx",),
    "isa.sets.files": ("assemble", "disassemble", "load", "read_module", "save", "write_module"),
    "isa.instruction": ("Module",),
    "models.allocation.exact_colouring": ("ExactColouring", "colour_exactly"),
    "models.machines.kernel_use": ("KernelUse",),
    "models.machines.budget": ("Budget",),
    "models.machines.files": ("list_machines",),
    "models.machines.model": ("Machine",),
    "models.machines.reader": ("load_machine",),
    "models.machines.occupancy": ("occupancy",),
    "pipeline.multiplex.kernel": ("multiplex",),
    "pipeline.multiplex.multiplexing": ("Multiplexing",),
    "pipeline.original": ("Original",),
    "pipeline.pipeline": ("Outcome", "Request", "rewrite_kernel"),
    "pipeline.policies.policy": ("Choice",),
    "pipeline.running.program": ("run_program",),
    "pipeline.advice.recommend": ("Recommendation", "recommend"),
    "pipeline.sharing.kernel": ("share",),
    "pipeline.sharing.sharing": ("Sharing",),
    "pipeline.steps.build": ("build_version",),
    "pipeline.steps.version": ("Tried",),
    "pipeline.sweeping.kernel": ("sweep_kernel",),
    "report.recommend.facts": ("recommendation_to_dict",),
    "report.recommend.page": ("recommendation_page",),
    "report.versions": ("outcome_to_dict",),
    "device.device": ("Device", "DeviceArray", "DeviceSurface", "DeviceTexture"),
    "device.launching": ("LaunchResult", "launch_kernel"),
    "transform.allocators.allocator": ("Plan", "Problem"),
    "transform.allocators.draft": ("Crowd", "DraftFunction", "draft_plan"),
    "transform.schedule.schedule": ("schedule",),
    "transform.spill.spill": ("Infeasible",),
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
