"""The `binalloc` command line. Heavy imports happen inside the command that needs them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from binalloc.cli.common import (
    SCHEMA_VERSION,
    assemble_file,
    check_output,
    engine_option,
    fail,
    file_argument,
    integer,
    json_option,
    kernel_option,
    launch_option,
    load_module,
    load_two,
    machine_model,
    machine_of,
    machine_option,
    main,
    max_cycles_option,
    not_over,
    options,
    output_option,
    own_machine_option,
    print_json,
    progress,
    say,
    size_option,
    write_output,
)
from binalloc.cli.load import load_or_import
from binalloc.cli.tables import allocator_option, policy_option, scheduler_option
from binalloc.errors import UsageError

if TYPE_CHECKING:
    from binalloc.launch.file import Launch

# ---------------------------------------------------------------------------------------------------------------------
# Commands on binaries.


@main.command()
@options(file_argument, output_option, json_option)
@click.option("--schedule", "machine", metavar="NAME|FILE", help="Set control codes for that machine, too.")
def asm(file: str, output: str | None, machine: str | None, as_json: bool) -> None:
    """Assemble FILE (.lasm) into a Loom binary; without -o into FILE with the suffix .loom."""
    from binalloc.isa.container.files import write_module

    check_output(output, as_json)
    module = assemble_file(file)
    if machine is not None:
        from binalloc.transform.schedule.schedule import schedule

        module = schedule(module, machine_model(machine))
    data = write_module(module)
    output = output or _default_output(file, ".loom", as_json)
    not_over(output, file)
    write_output(output, data)
    if as_json:
        functions = [{"name": f.name, "kind": f.info.kind, "instructions": len(f)} for f in module]
        print_json({"schema_version": SCHEMA_VERSION, "output": output, "bytes": len(data), "functions": functions})


def _default_output(file: str, suffix: str, as_json: bool) -> str:
    if file == "-":
        if as_json:
            raise UsageError("with --json and standard input an output file must be named", remedy="Give -o FILE.")
        return "-"
    return os.path.splitext(file)[0] + suffix


@main.command()
@options(file_argument, output_option, json_option)
def disasm(file: str, output: str | None, as_json: bool) -> None:
    """Disassemble a binary; `binalloc asm` of the text gives the same bytes. The text goes to stdout without -o."""
    from binalloc.isa.text.disassembler import disassemble

    check_output(output, as_json)
    not_over(output, file)
    module, _ = load_module(file)
    text = disassemble(module)
    if output is not None or not as_json:
        write_output(output or "-", text.encode())
    if as_json:
        functions = [{"name": f.name, "kind": f.info.kind, "instructions": len(f)} for f in module]
        print_json({"schema_version": SCHEMA_VERSION, "output": output, "functions": functions, "text": text})


@main.command()
@options(file_argument, kernel_option, own_machine_option, json_option)
@click.option("--sections", is_flag=True, help="Sections and resources (the default view).")
@click.option("--cfg", is_flag=True, help="Basic blocks, edges, loops, call graph.")
@click.option("--webs", is_flag=True, help="Life-range table.")
@click.option("--pressure", is_flag=True, help="Register pressure per instruction, Max-live over calls.")
@click.option("--stack", is_flag=True, help="Stack layouts across calls: traditional, register stack, moving stack.")
@click.option("--minimum", is_flag=True, help="Fewest registers any allocation can do with.")
def inspect(file: str, kernel: str | None, machine: str | None, as_json: bool, **views: bool) -> None:
    """Show what is in a binary: sections, resources, control flow, live ranges, pressure, stack layouts.

    PTX is imported in memory first.
    """
    from binalloc.report.inspect import inspect_module, render_inspection

    chosen = [name for name, on in views.items() if on] or ["sections"]
    module, data = load_or_import(file, machine, kernel)
    found = inspect_module(module, data, kernel, chosen, machine_of(module, kernel, machine, runs=False))
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        say(render_inspection(found))


@main.command()
@options(file_argument, machine_option, output_option, json_option)
def schedule(file: str, machine: str, output: str | None, as_json: bool) -> None:
    """Set the control codes of every instruction for a machine.

    -o is needed, except where standard output is a pipe: the binary goes there.
    """
    from binalloc.isa.container.files import write_module
    from binalloc.transform.schedule.schedule import average_dispatch_interval
    from binalloc.transform.schedule.schedule import schedule as run_pass

    check_output(output, as_json)
    output = output or _required_output(as_json)
    not_over(output, file)
    module, _ = load_module(file)
    module = run_pass(module, machine_model(machine))
    write_output(output, write_module(module))
    if as_json:
        interval = {f.name: round(float(average_dispatch_interval(f)), 4) for f in module}
        print_json({"schema_version": SCHEMA_VERSION, "output": output, "average_dispatch_interval": interval})


def _required_output(as_json: bool) -> str:
    if as_json or sys.stdout is None or sys.stdout.isatty():
        raise UsageError("a binary is written: name the output", remedy="Give -o FILE (or -o - without --json).")
    return "-"


@main.command()
@options(
    file_argument,
    kernel_option,
    own_machine_option,
    launch_option,
    size_option,
    engine_option,
    max_cycles_option,
    json_option,
)
@scheduler_option
@click.option("--sms", type=integer(1), default=1, show_default=True, help="SMs to emulate.")
@click.option("--check", is_flag=True, help="Propagate poison from uninitialised registers and shared words.")
@click.option("--race", is_flag=True, help="Find shared-memory races between barriers.")
@click.option("--reference", is_flag=True, help="Compare the buffers with the launch file's reference.")
@click.option("--save", type=click.Path(file_okay=False), help="Folder for the final buffers as .npy files.")
def run(
    file: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    scheduler: str,
    sms: int,
    check: bool,
    race: bool,
    reference: bool,
    save: str | None,
) -> None:
    """Run a kernel on the SM emulator. Writes no file but the buffers of --save. PTX is imported in memory first."""
    from binalloc.report.run import render_run, run_to_dict

    loaded = _required_launch(launch, size)
    module, _ = load_or_import(file, machine, kernel or loaded.kernel)
    with progress(as_json) as show:
        found = run_to_dict(
            module,
            kernel,
            loaded,
            machine_of(module, kernel or loaded.kernel, machine, runs=True),
            {
                "engine": engine, "scheduler": scheduler, "max_cycles": max_cycles, "sms": sms, "check": check,
                "race": race,
            },
            reference=reference,
            save=save,
            progress=show,
        )
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        say(render_run(found))
    if found.get("reference") == "differs":
        sys.exit(1)


def _optional_launch(launch: str | None, size: str | None) -> Launch | None:
    if launch is not None:
        from binalloc.launch.file import load_launch

        return load_launch(launch, size)
    if size is not None:
        raise UsageError("--size chooses among a launch file's sizes", remedy="Give --launch FILE, too.")
    return None


def _required_launch(launch: str | None, size: str | None) -> Launch:
    if launch is None:
        raise UsageError("a launch file is needed", expected="--launch FILE")
    loaded = _optional_launch(launch, size)
    assert loaded is not None
    return loaded


# ---------------------------------------------------------------------------------------------------------------------
# Rewriting.


@main.command()
@options(
    file_argument,
    kernel_option,
    machine_option,
    launch_option,
    size_option,
    engine_option,
    max_cycles_option,
    output_option,
    json_option,
)
@click.option("--registers", type=integer(1), metavar="R", help="Registers per thread.")
@click.option("--slots", type=integer(0), metavar="S", help="Shared-memory slots per thread.")
@click.option("--blocks", type=integer(1), metavar="N", help="Blocks per SM; R and S follow from occupancy.")
@click.option("--auto", "automatic", is_flag=True, help="Choose the number of blocks (the default without R, S, N).")
@policy_option
@allocator_option
@scheduler_option
@click.option("--emulate/--no-emulate", default=None, help="Run both versions (default: where a launch is given).")
def rewrite(
    file: str,
    kernel: str | None,
    machine: str,
    launch: str | None,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    output: str | None,
    as_json: bool,
    registers: int | None,
    slots: int | None,
    blocks: int | None,
    automatic: bool,
    policy: str | None,
    allocator: str,
    scheduler: str,
    emulate: bool | None,
) -> None:
    """Rewrite a kernel for a register budget, a number of blocks, or the best of them; prove and measure it.

    The binary is written to -o FILE; without it the report is all there is. PTX is imported in memory first.
    """
    from binalloc.isa.container.files import write_module
    from binalloc.pipeline.pipeline import Request, add_provenance, find_kernel, rewrite_kernel
    from binalloc.pipeline.policies.table import DEFAULT as DEFAULT_POLICY
    from binalloc.report.rewrite import render_outcome

    check_output(output, as_json)
    not_over(output, file)
    if (automatic or policy) and not (registers is slots is blocks is None):
        raise UsageError(
            f"--{'auto' if automatic else 'policy'} chooses registers, slots and blocks itself",
            remedy="Leave out --registers, --slots and --blocks.",
        )
    if emulate and launch is None:
        raise UsageError("--emulate needs something to run", expected="--launch FILE")
    loaded = _optional_launch(launch, size)
    named = kernel or (loaded.kernel if loaded else None)
    module, data = load_or_import(file, machine, named)
    name = find_kernel(module, named).name
    if loaded is not None:
        from binalloc.launch.file import check_against

        check_against(loaded, module.function(name).info, module.path)
    with progress(as_json) as show:
        request = Request(
            kernel=name,
            machine=machine_model(machine),
            launch=loaded,
            registers=registers,
            slots=slots,
            blocks=blocks,
            policy=policy or DEFAULT_POLICY,
            allocator=allocator,
            emulate=loaded is not None if emulate is None else emulate,
            engine=engine,
            scheduler=scheduler,
            max_cycles=max_cycles,
            progress=show,
        )
        outcome = rewrite_kernel(module, request)
    if output is not None and outcome.verified:
        write_output(output, write_module(add_provenance(outcome, data)))
    if as_json:
        print_json(outcome.to_dict())
    elif output != "-":
        say(render_outcome(outcome))
        if output is None and outcome.verified:
            say("No file was written (-o FILE).\n")
    if not outcome.verified:
        fail(f"{name}: the rewritten binary does not give the same results; nothing was written", 1)


@main.command()
@click.argument("original", type=click.Path(allow_dash=True))
@click.argument("rewritten", type=click.Path(allow_dash=True))
@options(kernel_option, own_machine_option, launch_option, size_option, engine_option, max_cycles_option, json_option)
def verify(
    original: str,
    rewritten: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
) -> None:
    """Prove REWRITTEN equal to ORIGINAL with the symbolic checker, and its control codes free of hazards on every way
    through the code for the machine it records; with --launch, compare emulated runs.

    The runs are on REWRITTEN's machine; ORIGINAL is scheduled for it first where it is not.
    """
    from binalloc.report.verify import render_verification, verify_to_dict

    loaded = _optional_launch(launch, size)
    old, new = load_two(original, rewritten)
    ran_on = machine_of(new, kernel or (loaded.kernel if loaded else None), machine, runs=loaded is not None)
    with progress(as_json) as show:
        found = verify_to_dict(old, new, kernel, loaded, ran_on, engine, max_cycles, show)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        say(render_verification(found))
    if not found["verified"]:
        sys.exit(1)


@main.command()
@click.argument("original", type=click.Path(allow_dash=True))
@click.argument("rewritten", type=click.Path(allow_dash=True))
@options(kernel_option, json_option)
def diff(original: str, rewritten: str, kernel: str | None, as_json: bool) -> None:
    """Old and new code side by side, by the instruction map."""
    from binalloc.report.diff import diff_modules, render_diff

    old, new = load_two(original, rewritten)
    rows = diff_modules(old, new, kernel)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "functions": rows})
    else:
        say(render_diff(rows))


@main.command()
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
    from binalloc.report.machines import machines_to_dict, occupancy_answer, render_machines, render_occupancy

    if ask:
        if len(names) > 1 or (names and machine):
            raise UsageError(
                "an occupancy question is about one machine", found=", ".join(filter(None, [*names, machine]))
            )
        machine = names[0] if names else machine
        question = {"registers": registers, "shared_bytes": shared, "threads": threads}
        found = occupancy_answer(cc, machine, question, cache_config, carveout)
        text = render_occupancy(found)
    else:
        _only_with_occupancy()
        found = machines_to_dict(list(names) + ([machine] if machine else []))
        text = render_machines(found)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, **found})
    else:
        say(text)


def _only_with_occupancy() -> None:
    """Refuse the options of an occupancy question where none is asked."""
    given = click.get_current_context().get_parameter_source
    for name in ("cc", "registers", "shared", "threads", "cache_config", "carveout"):
        if given(name) is click.core.ParameterSource.COMMANDLINE:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{option} is part of an occupancy question", remedy="Give --occupancy, too.")


@main.command()
@options(machine_option, engine_option, max_cycles_option, json_option)
@click.option("--size", metavar="NAME", help="Use [sizes.NAME] of every launch file (test: a few blocks).")
@click.option("--samples", type=click.Path(file_okay=False), default="samples", show_default=True)
@click.argument("names", nargs=-1)
def demo(
    machine: str,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    size: str | None,
    samples: str,
    names: tuple[str, ...],
) -> None:
    """Rewrite the samples and print what each gains; the main job of `make demo`."""
    from binalloc.report.demo import render_demo, run_demo

    with progress(False) as show:
        rows = run_demo(samples, list(names), machine_model(machine), engine, size, show, max_cycles)
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "machine": machine, "rows": rows})
    else:
        say(render_demo(rows, machine))
    if not all(row["verified"] for row in rows):
        sys.exit(1)


from binalloc.cli import imports as cli_import  # noqa: E402  (registers its command)

__all__ = ["cli_import", "main"]
