"""These are the shapes of `machines`."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import Versioned
from binalloc.report.shapes.parts.versions import OccupancyJson
from binalloc.report.shapes.says import says


class AlternativeFigure(TypedDict):
    """Another source's word on a figure."""

    value: Annotated[bool | float | str, says("what another source says")]
    source: Annotated[str, says("that source")]


class FigureJson(TypedDict):
    """A figure of a machine."""

    value: Annotated[bool | float | str, says("a figure, see [MACHINES.md](../models/MACHINES.md)")]
    unit: Annotated[str, says("its unit")]
    source: Annotated[str, says("where it comes from")]
    alternatives: NotRequired[Annotated[list[AlternativeFigure], says("what other sources say")]]


class DerivedFigure(TypedDict):
    """A figure that follows from the others."""

    value: Annotated[float, says("a figure that follows from the others")]
    unit: Annotated[str, says("its unit")]


class ShortMachine(TypedDict):
    """A machine in a row."""

    name: Annotated[str, says("its name")]
    cc: Annotated[str, says("compute capability")]
    sms: Annotated[int, says("SMs")]
    registers_per_sm: Annotated[int, says("registers of an SM")]
    shared_per_sm: Annotated[int, says("shared memory of an SM")]
    threads_per_sm: Annotated[int, says("threads resident on an SM")]
    registers_per_thread: Annotated[int, says("most registers of a thread")]
    rule: Annotated[str, says("whose occupancy rule")]


class MachineJson(TypedDict):
    """A machine in full."""

    name: Annotated[str, says("its name")]
    description: Annotated[str, says("what its file says of it")]
    cc: Annotated[str, says("compute capability")]
    occupancy_rule: Annotated[str, says("whose occupancy rule")]
    digest: Annotated[str, says("equal digests mean equal figures")]
    figures: Annotated[
        dict[str, dict[str, FigureJson | str]],
        says("figures by section and name ([MACHINES.md](../models/MACHINES.md)); a unit's `port_group` is a name"),
    ]
    derived: Annotated[dict[str, DerivedFigure], says("figures that follow from the others, by name")]


class MachineListFields(TypedDict):
    """The fields of what `machines` prints without names."""

    machines: Annotated[list[ShortMachine], says("all known machines")]


class MachineListJson(Versioned, MachineListFields):
    """What `machines` prints without names."""


class MachinesFields(TypedDict):
    """The fields of what `machines` prints with names."""

    machines: Annotated[list[MachineJson], says("the named machines")]


class MachinesJson(Versioned, MachinesFields):
    """What `machines` prints with names."""


class OccupancyAnswerJson(Versioned, OccupancyJson):
    """What `machines --occupancy` prints: an [occupancy](#occupancy)."""
