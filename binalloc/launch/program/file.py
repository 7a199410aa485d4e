"""Files of programs are read here. They differ from files of one launch in that they have steps."""

from __future__ import annotations

from pathlib import Path

from binalloc.launch.file import parse_launch, read_table
from binalloc.launch.program.schema import parse_program
from binalloc.launch.program.types import Program
from binalloc.launch.types import Launch


def load_program(path: str | Path, size: str | None = None) -> Program:
    """Read and check a launch file with a sequence of launches. size: name of a `[sizes.<name>]` table, or None for the
    file's own numbers.

    Raises UsageError where the file cannot be read or lacks the size, MalformedInput for anything wrong inside it.
    """
    return parse_program(read_table(path), path=str(path), size=size)


def load_either(path: str | Path, size: str | None = None) -> Launch | Program:
    """Read and check a launch file, of one launch or of a sequence, as `load_launch` and `load_program` do."""
    table = read_table(path)
    parse = parse_program if "step" in table else parse_launch
    return parse(table, path=str(path), size=size)
