"""This module compares a run's buffers with the reference that the launch file names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.launch.comparison import Difference
    from binalloc.launch.types import Launch


@dataclass(frozen=True)
class AgainstReference:
    """This record is the comparison of buffers with a launch file's reference."""

    differences: list[Difference]  #: first differing element of each buffer that differs

    @property
    def same(self) -> bool:
        """Return whether nothing differs."""
        return not self.differences


def require_reference(launch: Launch, path: str) -> None:
    """Raise UsageError if the launch names no reference. path: of the launch file."""
    if launch.reference is None:
        raise UsageError("the launch file names no reference", file=path or None, expected="[reference]")


def against_reference(
    launch: Launch, buffers: dict[str, Any], constants: dict[str, int | float] | None = None
) -> AgainstReference:
    """Compare buffers with the results of the launch's reference. constants: a program's constants, by name."""
    from binalloc.launch.file import compare, reference_outputs

    expected = reference_outputs(launch, launch.make_buffers(), constants)
    return AgainstReference(compare(launch, expected, {name: buffers[name] for name in expected}))
