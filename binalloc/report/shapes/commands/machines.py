"""This module has the shapes of `machines`."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import Versioned
from binalloc.report.shapes.parts.versions import OccupancyJson
from binalloc.report.shapes.says import says


class AlternativeFigure(TypedDict):
    """This object is another value of a figure, from another source."""

    value: Annotated[bool | float | str, says("the other value")]
    source: Annotated[str, says("document that states the other value")]


class FigureJson(TypedDict):
    """This object is a figure of a machine."""

    value: Annotated[bool | float | str, says("value of the figure")]
    unit: Annotated[str, says("unit of the value")]
    source: Annotated[str, says("document and place that the value comes from")]
    alternatives: NotRequired[
        Annotated[
            list[AlternativeFigure],
            says("values that other sources state; left out where there are none"),
        ]
    ]


class DerivedFigure(TypedDict):
    """This object is a figure that is computed from others."""

    value: Annotated[float, says("value of the figure")]
    unit: Annotated[str, says("unit of the value")]


class ShortMachine(TypedDict):
    """This object describes a machine in short."""

    name: Annotated[str, says("name of the machine")]
    cc: Annotated[str, says("compute capability")]
    sms: Annotated[int, says("number of SMs")]
    registers_per_sm: Annotated[int, says("registers of an SM")]
    shared_per_sm: Annotated[int, says("shared memory of an SM, in bytes")]
    threads_per_sm: Annotated[int, says("most threads resident on an SM")]
    registers_per_thread: Annotated[int, says("most registers of a thread")]
    rule: Annotated[str, says("rule that counts resident blocks, by its author")]


class MachineJson(TypedDict):
    """This object describes a machine in full."""

    name: Annotated[str, says("name of the machine")]
    description: Annotated[str, says("description in the machine file")]
    cc: Annotated[str, says("compute capability")]
    occupancy_rule: Annotated[str, says("rule that counts resident blocks, by its author")]
    digest: Annotated[str, says("hash of all figures: machines with equal digests have equal figures")]
    figures: Annotated[
        dict[str, dict[str, FigureJson | str]],
        says(
            "figures by section and name ([MACHINES.md](../models/MACHINES.md)); the `port_group` of an execution unit "
            "is a name"
        ),
    ]
    derived: Annotated[dict[str, DerivedFigure], says("figures that are computed from others, by name")]


class MachineListFields(TypedDict):
    """This field has all known machines."""

    machines: Annotated[list[ShortMachine], says("all known machines")]


class MachineListJson(Versioned, MachineListFields):
    """`machines` prints this object where it is given no names."""


class MachinesFields(TypedDict):
    """This field has the named machines."""

    machines: Annotated[list[MachineJson], says("the named machines, in the order of the names")]


class MachinesJson(Versioned, MachinesFields):
    """`machines` prints this object where it is given names."""


class OccupancyAnswerJson(Versioned, OccupancyJson):
    """`machines --occupancy` prints this object."""
