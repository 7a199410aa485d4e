"""This module turns the skeleton of a kernel without a launch file into a launch that can be run."""

from __future__ import annotations

from binalloc.isa.instruction import Module
from binalloc.launch.schema import parse_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.block import Three
from binalloc.pipeline.skeleton.make import skeleton_of


def suggested_launch(module: Module, kernel: str, machine: Machine, block: Three | None = None) -> Launch:
    """Return the launch that `launch-skeleton` would write.

    block: the user's block size; None to choose one. Raises what `skeleton_of` raises.
    """
    return parse_launch(skeleton_of(module, kernel, machine, block=block).table())
