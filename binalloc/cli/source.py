"""This module has the options that name a binary, the kernel in it, its machine and its launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.cli.gather import gathered
from binalloc.cli.inputs import optional_launches, required_launches
from binalloc.cli.options import file_argument, kernel_option, launch_option, own_machine_option, size_option

if TYPE_CHECKING:
    from binalloc.launch.program.types import Program
    from binalloc.launch.types import Launch


@dataclass(frozen=True)
class GivenSource:
    """The record holds a binary's options as they were given."""

    file: str  #: path of the binary; `-` for standard input
    kernel: str | None  #: name of the kernel
    machine: str | None  #: name of a machine, or path of its file
    launch: str | None  #: path of the launch file
    size: str | None  #: name of one of the launch file's sizes

    def any(self) -> Launch | Program | None:
        """Load the launch or the sequence of launches; None if no launch file is named."""
        return optional_launches(self.launch, self.size)

    def required(self) -> Launch | Program:
        """Load the launch or the sequence of launches. Raise UsageError if no launch file is named."""
        return required_launches(self.launch, self.size)


source_options = gathered(
    "source", GivenSource, file_argument, kernel_option, own_machine_option, launch_option, size_option
)
