"""A launch of a kernel that has no launch file: what its skeleton says, as a launch that can be run."""

from __future__ import annotations

from binalloc.isa.instruction import Module
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.skeleton.make import skeleton_of
from binalloc.pipeline.skeleton.sizes import Three


def suggested_launch(module: Module, kernel: str, machine: Machine, block: Three | None = None) -> Launch:
    """The launch that `launch-skeleton` would write. block: as the user says. Raises as `skeleton_of`."""
    return parse_launch(skeleton_of(module, kernel, machine, block=block).table())
