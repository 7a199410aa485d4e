"""The binary that a command is about, the kernel in it, its machine and its launch: as the options name them."""

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
class Source:
    """The options that say it, as they were given. machine: a name or a file. size: of the launch file's sizes one."""

    file: str
    kernel: str | None
    machine: str | None
    launch: str | None
    size: str | None

    def any(self) -> Launch | Program | None:
        """The launch or the sequence of launches, if a file was given."""
        return optional_launches(self.launch, self.size)

    def required(self) -> Launch | Program:
        """Likewise; UsageError where no file was given."""
        return required_launches(self.launch, self.size)


source_options = gathered(
    "source", Source, file_argument, kernel_option, own_machine_option, launch_option, size_option
)
