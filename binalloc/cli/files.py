"""This module reads and writes the files that the command line names; `-` stands for a standard stream."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from binalloc.cli.terminal import to_stdout
from binalloc.errors import MalformedInput, UsageError
from binalloc.files import FILE_LIMIT, read_bytes, text_of, write_atomically


def read_file(file: str) -> bytes:
    """Return the content of a file or of standard input. Raise UsageError if it cannot be read or is too large."""
    if file != "-":
        return read_bytes(file)
    if sys.stdin is None:
        raise UsageError("standard input is closed", remedy="Name a file.")
    try:
        return sys.stdin.buffer.read(FILE_LIMIT + 1)
    except OSError as e:
        raise UsageError("cannot read the file", file=file, found=e.strerror) from e


def shown(file: str) -> str:
    """Return the name of an input for messages and reports."""
    return "<stdin>" if file == "-" else file


def decoded(data: bytes, file: str) -> str:
    """Return the text of a file from its bytes. Raise MalformedInput if they are not UTF-8."""
    try:
        return text_of(data)
    except UnicodeDecodeError as e:
        raise MalformedInput("not UTF-8 text", file=shown(file), place=f"byte {e.start}", found=e.reason) from e


def write_output(output: str, data: bytes) -> None:
    """Write to stdout, or to a file under a temporary name first, so that the file appears whole or not at all."""
    if output == "-":
        to_stdout(data)
    else:
        write_atomically(output, data)


def check_output(output: str | None, as_json: bool, option: str = "-o") -> None:
    """Check an output before the work begins. Raise UsageError if --json wants stdout too, or if it cannot be written.

    option: the option that names the output.
    """
    if output == "-" and as_json:
        raise UsageError(f"--json and {option} - both want standard output", remedy=f"Give {option} FILE.")
    if output == "" or (output is not None and os.path.isdir(output)):
        raise UsageError("the output is no file's name", file=output or "''", remedy=f"Give {option} FILE.")
    folder = os.path.dirname(output or "") or "."
    if output not in (None, "-") and not os.path.isdir(folder):
        raise UsageError("the output's folder does not exist", file=output, found=folder)
    if output not in (None, "-") and (os.path.isfile(str(output)) or not os.path.exists(str(output))):
        _writable(folder, str(output))


def check_plot(plot: str | None, as_json: bool) -> None:
    """Check the file of --plot before the work begins. Raise UsageError for standard output, which takes the report,
    for a name that is no SVG file's, and as `check_output` does."""
    if plot == "-":
        raise UsageError("standard output takes the report", place="--plot", found=plot, remedy="Give --plot FILE.")
    check_output(plot, as_json, "--plot")
    if plot is not None and not plot.lower().endswith(".svg"):
        expected = "a name that ends in .svg"
        raise UsageError("the figure is written as SVG", place="--plot", found=plot, expected=expected)


def check_folder(output: str | None) -> None:
    """Check an output folder before the work begins. The command makes the folder and its missing parents itself."""
    if output is None:
        return
    if output == "":
        raise UsageError("the output is no folder's name", file="''", remedy="Name a folder.")
    there = os.path.abspath(output)
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise UsageError("cannot make the folder", file=output, found=f"{there}, which is none")
    _writable(there, output)


def _writable(folder: str, output: str) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError("nothing can be written to the output's folder", file=output, found=folder)


def not_over(output: str | None, *inputs: str | None, option: str = "-o") -> None:
    """Raise UsageError if the output would overwrite an input: a binary, a launch file or a machine file.

    inputs: file names. The name of a built-in machine may be among them; it is no file and does no harm.
    """
    if output in (None, "-") or not os.path.exists(str(output)):
        return
    for file in inputs:
        if file not in (None, "-") and os.path.exists(str(file)) and os.path.samefile(str(output), str(file)):
            remedy = f"Give another {option} FILE."
            raise UsageError("the output would overwrite its own input", file=output, remedy=remedy)


def check_page(page: str | None, *inputs: str | None) -> None:
    """Check the output of --html as `check_output` and `not_over` do, and that the libraries for it are installed."""
    if page is None:
        return
    from binalloc.report.page.library import require_page

    if page == "-":
        raise UsageError("standard output takes the report", place="--html", found=page, remedy="Give --html FILE.")
    check_output(page, False, "--html")
    not_over(page, *inputs, option="--html")
    require_page()


def apart(outputs: Mapping[str, str | None]) -> None:
    """Raise UsageError if two outputs would go to one file. outputs: files by the options that name them."""
    taken: dict[str, str] = {}
    for option, output in outputs.items():
        if output is None or output == "-":
            continue
        first = taken.setdefault(os.path.realpath(output), option)
        if first != option:
            remedy = f"Give another {option} FILE."
            raise UsageError(f"{first} and {option} both write this file", file=output, remedy=remedy)
