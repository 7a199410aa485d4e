"""`binalloc asm` assembles text to a binary, and `binalloc disasm` turns a binary back into text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from binalloc.cli.files import check_output, not_over, write_output
from binalloc.cli.inputs import machine_model
from binalloc.cli.load import assemble_file, load_module
from binalloc.cli.options import all_of, file_argument, json_option, output_option
from binalloc.cli.terminal import SCHEMA_VERSION, print_json
from binalloc.errors import MalformedInput, UsageError

if TYPE_CHECKING:
    from binalloc.isa.instruction import Module
    from binalloc.report.shapes.commands.small import AsmJson, AssembledFunction, DisasmJson


@click.command()
@all_of(file_argument, output_option, json_option)
@click.option("--schedule", "machine", metavar="NAME|FILE", help="Set control codes for that machine, too.")
def asm(file: str, output: str | None, machine: str | None, as_json: bool) -> None:
    """Assemble FILE (.lasm) into a Loom binary. Without -o the binary is FILE with the suffix .loom."""
    from binalloc.isa.sets.files import write_module
    from binalloc.isa.sets.table import set_of

    check_output(output, as_json)
    module = assemble_file(file)
    if not (module.functions or module.globals):
        raise MalformedInput(
            "nothing to assemble",
            file=file,
            found="neither functions nor variables",
            expected=".kernel, .func or .global",
        )
    if machine is not None:
        from binalloc.transform.schedule.schedule import schedule

        module = schedule(module, machine_model(machine))
    data = write_module(module)
    output = output or _default_output(file, set_of(module).suffix, as_json)
    not_over(output, file, machine)
    write_output(output, data)
    if as_json:
        found: AsmJson = {
            "schema_version": SCHEMA_VERSION,
            "output": output,
            "bytes": len(data),
            "functions": _functions(module),
        }
        print_json(found)


def _default_output(file: str, suffix: str, as_json: bool) -> str:
    if file == "-":
        if as_json:
            raise UsageError("with --json and standard input an output file must be named", remedy="Give -o FILE.")
        return "-"
    return os.path.splitext(file)[0] + suffix


@click.command()
@all_of(file_argument, output_option, json_option)
def disasm(file: str, output: str | None, as_json: bool) -> None:
    """Disassemble a binary to text; `binalloc asm` of it gives the same bytes. Without -o the text goes to stdout."""
    from binalloc.isa.sets.files import disassemble

    check_output(output, as_json)
    not_over(output, file)
    module, _ = load_module(file)
    text = disassemble(module)
    if output is not None or not as_json:
        write_output(output or "-", text.encode())
    if as_json:
        found: DisasmJson = {
            "schema_version": SCHEMA_VERSION,
            "output": output,
            "functions": _functions(module),
            "text": text,
        }
        print_json(found)


def _functions(module: Module) -> list[AssembledFunction]:
    return [{"name": f.name, "kind": f.info.kind, "instructions": len(f)} for f in module]
