"""`binalloc import-ptx`: PTX text to a Loom binary."""

from __future__ import annotations

import os
import re

import click

from binalloc.cli.files import check_output, decoded, not_over, read_file, shown, write_output
from binalloc.cli.inputs import machine_model
from binalloc.cli.load import imported_text
from binalloc.cli.options import file_argument, json_option, machine_option, options, output_option
from binalloc.cli.terminal import SCHEMA_VERSION, note, print_json, progress, say
from binalloc.errors import MalformedInput, UsageError
from binalloc.printable import count

_DIMENSIONS = 3
_SIZE = re.compile(r"\s*[0-9]{1,9}\s*")


@click.command("import-ptx")
@options(file_argument, output_option, machine_option, json_option)
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Only this kernel; may be repeated.")
@click.option("--skip-unsupported", "skip", is_flag=True, help="Leave out kernels that cannot be imported, and say so.")
@click.option("--block-dim", metavar="X[,Y[,Z]]", help="Block size of all launches; recorded as required.")
def import_ptx(
    file: str,
    output: str | None,
    machine: str,
    kernels: tuple[str, ...],
    skip: bool,
    block_dim: str | None,
    as_json: bool,
) -> None:
    """Turn FILE (.ptx, as `nvcc -ptx` writes it) into a Loom binary; without -o into FILE with the suffix .loom.

    Prints what each kernel needs: its register demand (registers without any limit) and Max-live among them.
    """
    import dataclasses

    from binalloc.isa.sets.files import write_module

    check_output(output, as_json)
    block = _block_of(block_dim)
    output = output or _default_output(file)
    not_over(output, file, machine)
    data = read_file(file)
    if data.startswith(b"\x7fELF"):
        raise MalformedInput("this is a binary, not PTX", file=shown(file), expected="what `nvcc -ptx` writes")
    text = decoded(data, file)
    model = machine_model(machine)
    with progress(as_json) as show:
        show(f"{shown(file)}: importing")
        imported = imported_text(text, shown(file), model, kernels=kernels or None, block_dim=block, skip=skip)
        data = write_module(imported.module)
    write_output(output, data)
    for left in imported.left_out:
        for refusal in left.refusals:
            inside = f" (in {refusal.function})" if refusal.function != left.kernel else ""
            note(f"{left.kernel} left out{inside}: {refusal.error}")
    for kernel in imported.kernels:
        if kernel.registers > model.sm.registers_per_thread:
            most = f"{model.name} has {model.sm.registers_per_thread} per thread"
            registers = count(kernel.registers, "register")
            text = f"{kernel.name} reserves {registers}, {most}: rewrite it before it runs there"
            note(text)
    if as_json:
        rows = [dataclasses.asdict(kernel) for kernel in imported.kernels]
        left_out = [left.to_dict() for left in imported.left_out]
        found = {"output": output, "bytes": len(data), "kernels": rows, "left_out": left_out}
        print_json({"schema_version": SCHEMA_VERSION, **found})
    elif output != "-":
        from binalloc.report.imported import render_import

        say(render_import(imported.kernels, output))


def _default_output(file: str) -> str:
    if file == "-":
        raise UsageError("standard input has no name to derive the output's from", remedy="Give -o FILE.")
    return os.path.splitext(file)[0] + ".loom"


def _block_of(text: str | None) -> tuple[int, int, int] | None:
    """--block-dim as three sizes."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) > _DIMENSIONS or not all(_SIZE.fullmatch(part) for part in parts):
        raise UsageError("--block-dim is no block size", found=text, expected="X, X,Y or X,Y,Z")
    x, y, z = (*(int(part) for part in parts), 1, 1)[:3]
    if not (1 <= x <= 1024 and 1 <= y <= 1024 and 1 <= z <= 64 and x * y * z <= 1024):
        expected = "1 to 1024, 1 to 1024, 1 to 64, and at most 1024 threads together"
        raise UsageError("--block-dim is no block size", found=text, expected=expected)
    return x, y, z
