"""`binalloc launch-skeleton` writes a launch file for a kernel that has none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from binalloc.cli.files import check_output, not_over, write_output
from binalloc.cli.inputs import machine_fields, machine_of
from binalloc.cli.load import load_or_import
from binalloc.cli.options import (
    all_of,
    block_of,
    file_argument,
    json_option,
    kernel_option,
    output_option,
    own_machine_option,
)
from binalloc.cli.terminal import SCHEMA_VERSION, note, print_json
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.skeleton import SkeletonJson


@click.command("launch-skeleton")
@all_of(file_argument, kernel_option, output_option, own_machine_option, json_option)
@click.option(
    "--block", "--block-dim", "block", metavar="X[xY[xZ]]",
    help="Threads of a block along x, y and z, where the binary does not say: 128, 32x16, 8x8x4.",
)  # fmt: skip
@click.option("--program", "sequence", is_flag=True, help="Write a sequence of launches, even for one kernel.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def launch_skeleton(
    file: str,
    kernel: str | None,
    output: str | None,
    machine: str | None,
    block: str | None,
    sequence: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a launch file for the kernel in FILE, derived from its parameters and their uses in the code: buffers,
    scalars, structs and textures, with types and matching sizes. A comment gives the reason for each.

    If FILE has several kernels and --kernel is not given, the result is a sequence of launches, one for each kernel.
    Kernels that call functions by computed addresses cannot be analysed and are left out. Without -o the file goes to
    stdout. It runs as it is, but check it before you trust numbers measured with it.
    """
    from binalloc.names.kernels import readable
    from binalloc.pipeline.skeleton.program import skeleton
    from binalloc.report.skeleton.facts import skeleton_to_dict
    from binalloc.report.skeleton.text import launch_text

    check_output(output, as_json)
    not_over(output, file, machine)
    if output not in (None, "-") and os.path.lexists(str(output)) and not force:
        raise UsageError("the output is there already", file=output, remedy="Give --force, or another -o FILE.")
    threads = block_of(block, "--block")
    module, _ = load_or_import(file, machine, kernel)
    model = machine_of(module, kernel, machine, runs=False)
    made = skeleton(module, kernel, model, block=threads, sequence=sequence)
    for name, refused in made.left_out:
        note(f"{readable(name)} left out: {refused}")
    text = launch_text(made)
    if output is not None or not as_json:
        write_output(output or "-", text.encode())
    if as_json:
        chosen = machine_fields(module, kernel, machine, model)
        found: SkeletonJson = {
            "schema_version": SCHEMA_VERSION,
            "output": output,
            **chosen,
            **skeleton_to_dict(made),
            "text": text,
        }
        print_json(found)
