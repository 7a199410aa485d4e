"""`binalloc machines` lists and shows machine models, and answers occupancy questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from binalloc.cli.options import integer, json_option
from binalloc.cli.terminal import SCHEMA_VERSION, fail, note, print_json, say
from binalloc.errors import UsageError
from binalloc.plugins.fault import PluginFault

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.machines import MachineListJson, MachinesJson, OccupancyAnswerJson


@click.command()
@click.argument("names", nargs=-1)
@json_option
@click.option("--occupancy", "ask", is_flag=True, help="Answer an occupancy question instead of listing machines.")
@click.option("--cc", help="Compute capability, e.g. 3.0 (or --machine).")
@click.option("--machine", "machine", metavar="NAME|FILE", help="Machine whose limits and rule to use.")
@click.option("--registers", type=integer(), default=32, show_default=True, help="Registers per thread.")
@click.option("--shared", type=integer(), default=0, show_default=True, help="Shared bytes per block.")
@click.option("--threads", type=integer(), default=256, show_default=True, help="Threads per block.")
@click.option("--cache-config", type=click.Choice(["none", "shared", "l1", "equal"]), default="none", show_default=True)
@click.option("--carveout", type=integer(), help="Shared-memory carve-out in per cent (cc 7.0 and up).")
def machines(
    names: tuple[str, ...],
    as_json: bool,
    ask: bool,
    cc: str | None,
    machine: str | None,
    registers: int,
    shared: int,
    threads: int,
    cache_config: str,
    carveout: int | None,
) -> None:
    """List machine models, show NAMES with units and sources, or answer an occupancy question for one."""
    from binalloc.models.machines.kernel_use import KernelUse
    from binalloc.report.machines import (
        machine_list_json,
        machines_json,
        occupancy_answer,
        render_machine_list,
        render_machines,
        render_occupancy,
    )

    broken: list[PluginFault] = []
    if ask:
        if len(names) > 1 or (names and machine):
            raise UsageError(
                "an occupancy question is about one machine", found=", ".join(filter(None, [*names, machine]))
            )
        machine = names[0] if names else machine
        use = KernelUse(registers, shared, threads, cache_config=cache_config, carveout=carveout)
        answer = occupancy_answer(cc, machine, use)
        text = render_occupancy(answer)
        found: MachineListJson | MachinesJson | OccupancyAnswerJson = {"schema_version": SCHEMA_VERSION, **answer}
    else:
        _only_with_occupancy()
        asked = list(names) + ([] if machine is None else [machine])
        if asked:
            described = machines_json(asked)
            text, found = render_machines(described), {"schema_version": SCHEMA_VERSION, **described}
        else:
            listed = machine_list_json(broken.append)
            text, found = render_machine_list(listed), {"schema_version": SCHEMA_VERSION, **listed}
    if as_json:
        print_json(found)
    else:
        say(text)
    for error in broken[1:]:
        note(f"error: {error}")
    if broken:
        fail(str(broken[0]), broken[0].exit_code)


def _only_with_occupancy() -> None:
    """Raise UsageError if an option of occupancy questions is given without --occupancy."""
    given = click.get_current_context().get_parameter_source
    for name in ("cc", "registers", "shared", "threads", "cache_config", "carveout"):
        if given(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is part of an occupancy question", remedy="Give --occupancy, too.")
