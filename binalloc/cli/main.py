"""This module assembles the `binalloc` command line. Heavy imports happen inside the command that needs them."""

from __future__ import annotations

import click

from binalloc.cli.commands.assembly import asm, disasm
from binalloc.cli.commands.compare import compare
from binalloc.cli.commands.demo import demo
from binalloc.cli.commands.import_ptx import import_ptx
from binalloc.cli.commands.inspect import diff, inspect
from binalloc.cli.commands.laboratory.batches import batches
from binalloc.cli.commands.laboratory.multiplex import multiplex
from binalloc.cli.commands.laboratory.reproduce import reproduce
from binalloc.cli.commands.laboratory.share import share
from binalloc.cli.commands.laboratory.smem_cost import smem_cost
from binalloc.cli.commands.launch_skeleton import launch_skeleton
from binalloc.cli.commands.machines import machines
from binalloc.cli.commands.recommend import recommend
from binalloc.cli.commands.rewrite import rewrite
from binalloc.cli.commands.run import run
from binalloc.cli.commands.schedule import schedule
from binalloc.cli.commands.sweep import sweep
from binalloc.cli.commands.verify import verify
from binalloc.cli.group import CommandGroup
from binalloc.cli.terminal import say
from binalloc.printable import one_line
from binalloc.version import VERSION


def _show_version(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """Print the version of the tool and the origin of its compiled emulator, for --version, and exit."""
    if not asked or context.resilient_parsing:
        return
    from binalloc.emulator.host.engines.engine import described

    say(f"binalloc, version {VERSION}\n{one_line(f'emulator: compiled code {described()}')}\n")
    context.exit()


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Registers, shared-memory slots, local memory and occupancy for compiled SIMT binaries.

    Exit codes: 0 done; 1 the answer is no (verification failed, infeasible, refused); 2 usage; 3 malformed input;
    4 a limit was hit; 5 the emulated kernel faulted; 6 stopped at --break; 70 a defect of binalloc; 130 interrupted;
    143 terminated.

    FILE may be - for standard input. With --json an error is one object with the key "error" on stdout. To get
    completion in the shell: eval "$(_BINALLOC_COMPLETE=bash_source binalloc)", or zsh_source, or fish_source.
    """


for _command in (
    asm, batches, compare, demo, diff, disasm, import_ptx, inspect, launch_skeleton, machines, multiplex, recommend,
    reproduce, rewrite, run, schedule, share, smem_cost, sweep, verify,
):  # fmt: skip
    main.add_command(_command)
