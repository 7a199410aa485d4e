"""`binalloc import-ptx` translates PTX to a Loom binary."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from binalloc.cli.files import check_output, not_over, read_file, shown, write_output
from binalloc.cli.inputs import machine_fields, machine_model, machine_of
from binalloc.cli.load import entries_of, imported_for, imported_units, units_of
from binalloc.cli.options import all_of, block_of, json_option, output_option, own_machine_option
from binalloc.cli.terminal import SCHEMA_VERSION, note, print_json, progress, say
from binalloc.errors import MalformedInput, UsageError
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.importing import EntriesJson, ImportJson


@click.command("import-ptx")
@click.argument("files", type=click.Path(allow_dash=True), nargs=-1, required=True, metavar="FILE...")
@all_of(output_option, own_machine_option, json_option)
@click.option("--arch", "architecture", metavar="sm_NN", help="Architecture whose PTX to take, if a file has several.")
@click.option("--list", "listing", is_flag=True, help="Only list the code in objects, programs and libraries.")
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Only this kernel; may be repeated.")
@click.option("--skip-unsupported", "skip", is_flag=True, help="Leave out kernels that cannot be imported, and say so.")
@click.option("--block-dim", metavar="X[,Y[,Z]]", help="Block size of all launches; recorded as required.")
@click.option("--stack", type=int, metavar="BYTES", help="Stack of each thread, for recursion; 1,024 by default.")
def import_ptx(
    files: tuple[str, ...],
    output: str | None,
    machine: str | None,
    architecture: str | None,
    listing: bool,
    kernels: tuple[str, ...],
    skip: bool,
    block_dim: str | None,
    stack: int | None,
    as_json: bool,
) -> None:
    """Turn FILE (.ptx, as `nvcc -ptx` writes it) into a Loom binary. Without -o the binary is FILE with the suffix
    .loom. Several files are the parts of one program (`nvcc -rdc=true -ptx`): they are linked, and -o names the binary.
    FILE may also be an object, a program, a library or a .fatbin that nvcc compiled with PTX in it.

    Prints what each kernel needs, among it the register demand (registers without any limit) and Max-live.
    """

    from binalloc.isa.sets.files import write_module
    from binalloc.report.directives import unkept

    _each_once(files)
    if listing:
        _print_entries(files, output, as_json)
        return
    check_output(output, as_json)
    block = block_of(block_dim)
    output = output or _default_output(files)
    not_over(output, *files, machine)
    asked = None if machine is None else machine_model(machine)
    units = [unit for file in files for unit in units_of(read_file(file), file, architecture, asked)]
    with progress(as_json) as show:
        show(f"{', '.join(map(shown, files))}: importing")
        imported = imported_units(units, asked, kernels=kernels or None, block_dim=block, skip=skip, stack=stack)
        data = write_module(imported.module)
    write_output(output, data)
    model = machine_of(imported.module, None, machine, runs=False)
    if machine is None:
        note(f"imported for {imported_for(imported.module, machine)}")
    for left in imported.left_out:
        for refusal in left.refusals:
            inside = f" (in {refusal.function})" if refusal.function != left.kernel else ""
            note(f"{left.kernel} left out{inside}: {refusal.error}")
    if not imported.kernels:
        functions = count(len(imported.module.functions), "function")
        note(f"no kernel, {functions}: nothing here can be run; import it together with the file that has the kernels")
    for kernel in imported.kernels:
        if kernel.registers > model.sm.registers_per_thread:
            most = f"{model.name} has {model.sm.registers_per_thread} per thread"
            registers = count(kernel.registers, "register")
            text = f"{kernel.name} reserves {registers}, {most}: rewrite it before it runs there"
            note(text)
        for text in unkept(imported.module.function(kernel.name), model):
            note(text)
    if as_json:
        from binalloc.report.imported import import_json

        found: ImportJson = {
            "schema_version": SCHEMA_VERSION,
            **import_json(imported, units, output, len(data)),
            **machine_fields(imported.module, None, machine, model),
        }
        print_json(found)
    elif output != "-":
        from binalloc.report.imported import render_import

        say(render_import(imported.kernels, output))


def _print_entries(files: tuple[str, ...], output: str | None, as_json: bool) -> None:
    """Print the pieces of CUDA code in the files, for --list. Raise MalformedInput for a file of text."""
    from binalloc.report.fatbin import entries_to_dict, render_entries

    if output is not None:
        raise UsageError("--list writes no file", found=f"-o {output}", remedy="Leave out one of the two.")
    found = []
    for file in files:
        entries = entries_of(read_file(file), file)
        if entries is None:
            raise MalformedInput(
                "--list shows the code in objects, programs, libraries and fat binaries", file=shown(file),
                found="text", expected="such a file",
            )  # fmt: skip
        found.append((shown(file), entries))
    if as_json:
        listed: EntriesJson = {"schema_version": SCHEMA_VERSION, **entries_to_dict(found)}
        print_json(listed)
    else:
        say(render_entries(found))


def _each_once(files: tuple[str, ...]) -> None:
    """Raise UsageError if a file is given twice, also under two names."""
    seen: dict[str, str] = {}
    for file in files:
        place = file if file == "-" else os.path.realpath(file)
        if place in seen:
            found = None if seen[place] == file else f"it is {shown(seen[place])}"
            raise UsageError("the same file twice", file=shown(file), found=found, remedy="Give it once.")
        seen[place] = file


def _default_output(files: tuple[str, ...]) -> str:
    if len(files) > 1:
        raise UsageError("several files give the output no name", remedy="Give -o FILE.")
    file = files[0]
    if file == "-":
        raise UsageError("standard input has no name to derive the output's from", remedy="Give -o FILE.")
    return os.path.splitext(file)[0] + ".loom"
