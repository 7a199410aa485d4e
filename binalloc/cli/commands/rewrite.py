"""`binalloc rewrite`: allocate, rewrite, prove, measure."""

from __future__ import annotations

import click

from binalloc.cli.commands.rewrite_program import refuse_for_program, rewrite_a_program
from binalloc.cli.files import check_output, not_over, write_output
from binalloc.cli.inputs import (
    kernel_of,
    machine_from,
    machine_of,
    optional_launches,
    optional_profile,
    require_launch_fits,
    require_machine,
    require_read_paper,
    require_something_to_run,
)
from binalloc.cli.load import load_or_import
from binalloc.cli.options import (
    block_of,
    block_option,
    emulate_option,
    engine_option,
    file_argument,
    host_steps_option,
    inline_option,
    integer,
    json_option,
    kernel_option,
    launch_option,
    layout_option,
    max_cycles_option,
    options,
    output_option,
    own_machine_option,
    profile_option,
    refuse_for_one_launch,
    size_option,
    skews_option,
)
from binalloc.cli.tables import allocator_option, policy_option, reading_option, scheduler_option, solver_limit_option
from binalloc.cli.terminal import fail, print_json, progress, say
from binalloc.errors import UsageError
from binalloc.transform.allocators.allocator import CPSAT, SOLVER_LIMIT


@click.command()
@options(
    file_argument,
    kernel_option,
    own_machine_option,
    launch_option,
    size_option,
    block_option,
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
@reading_option
@allocator_option
@solver_limit_option
@layout_option
@profile_option
@inline_option
@scheduler_option
@skews_option
@click.option("--explain", is_flag=True, help="Say for each value that left the registers why, and where it went.")
@emulate_option
@host_steps_option
def rewrite(
    file: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    block: str | None,
    engine: str,
    max_cycles: int | None,
    output: str | None,
    as_json: bool,
    registers: int | None,
    slots: int | None,
    blocks: int | None,
    automatic: bool,
    policy: str | None,
    readings: tuple[str, ...],
    allocator: str,
    solver_limit: float | None,
    layout: str,
    profile: str | None,
    inline: str,
    scheduler: str,
    skews: int,
    explain: bool,
    emulate: bool | None,
    host_steps: bool,
) -> None:
    """Rewrite a kernel for a register budget, a number of blocks, or the best of them; prove and measure it. Where the
    launch file has a sequence of launches, each of its kernels, or that of --kernel.

    The binary is written to -o FILE; without it the report is all there is. PTX is imported in memory first.
    """
    from binalloc.isa.sets.files import write_module
    from binalloc.launch.program.types import Program
    from binalloc.models.search.unified import reading_of
    from binalloc.pipeline.pipeline import Request, add_provenance, find_kernel, rewrite_kernel
    from binalloc.pipeline.policies.table import DEFAULT as DEFAULT_POLICY
    from binalloc.pipeline.program_rewrite import STATIC_POLICY
    from binalloc.report.explain import explanation, render_explanation
    from binalloc.report.rewrite import render_outcome

    check_output(output, as_json)
    require_machine(machine)
    not_over(output, file, launch, machine, profile)
    if automatic or policy:
        _alone("--auto" if automatic else "--policy", (registers, slots, blocks))
    require_read_paper(readings, policy)
    given_block = block_of(block, "--block")
    if solver_limit is not None and allocator != CPSAT:
        raise UsageError("--solver-limit is of the allocator that has a solver", expected=f"--allocator {CPSAT}")
    _require_launch(launch, emulate, skews)
    loaded = optional_launches(launch, size)
    if isinstance(loaded, Program):
        refuse_for_program(click.get_current_context().params, loaded)
        request = Request(
            registers=registers, slots=slots, blocks=blocks,
            policy=policy or STATIC_POLICY, reading=reading_of(readings), allocator=allocator, engine=engine,
            scheduler=scheduler, solver_limit=SOLVER_LIMIT if solver_limit is None else solver_limit, layout=layout,
            inline=inline, max_cycles=max_cycles,
        )  # fmt: skip
        rewrite_a_program(file, kernel, machine, loaded, request, output, host_steps=host_steps, as_json=as_json)
        return
    refuse_for_one_launch(click.get_current_context())
    counted = optional_profile(profile)
    named = kernel_of(kernel, loaded, counted)
    module, data = load_or_import(file, machine, named)
    name = find_kernel(module, named).name
    model = machine_of(module, name, machine, runs=False)
    require_launch_fits(loaded, module, name)
    with progress(as_json) as show:
        request = Request(
            kernel=name,
            machine=model,
            launch=loaded,
            block=given_block,
            registers=registers,
            slots=slots,
            blocks=blocks,
            policy=policy or DEFAULT_POLICY,
            reading=reading_of(readings),
            allocator=allocator,
            emulate=loaded is not None if emulate is None else emulate,
            engine=engine,
            scheduler=scheduler,
            skews=skews,
            solver_limit=SOLVER_LIMIT if solver_limit is None else solver_limit,
            layout=layout,
            explain=explain,
            profile=counted,
            inline=inline,
            max_cycles=max_cycles,
            progress=show,
        )
        outcome = rewrite_kernel(module, request)
    if output is not None and outcome.verified:
        write_output(output, write_module(add_provenance(outcome, data)))
    told = explanation(request.prepared_for(module).module, outcome.rewritten.explained) if explain else None
    if as_json:
        chosen = {"machine_from": machine_from(module, name, machine, model)}
        print_json(outcome.to_dict() | chosen | ({} if told is None else {"explanation": told}))
    elif output != "-":
        say(render_outcome(outcome))
        if told is not None:
            say(render_explanation(told, outcome.rewritten.copies))
        if output is None and outcome.verified:
            say("No file was written (-o FILE).\n")
    if not outcome.verified:
        fail(f"{name}: the rewritten binary does not give the same results; nothing was written", 1)


def _require_launch(launch: str | None, emulate: bool | None, skews: int) -> None:
    """Usage error where there is nothing to run, but something is said of running it."""
    require_something_to_run(launch, emulate)
    if skews and (launch is None or emulate is False):
        raise UsageError("--skews says how often to emulate again", expected="--launch FILE, without --no-emulate")


def _alone(option: str, given: tuple[int | None, ...]) -> None:
    """Usage error where a budget was given beside an option that chooses it."""
    if any(number is not None for number in given):
        raise UsageError(
            f"{option} chooses registers, slots and blocks itself",
            remedy="Leave out --registers, --slots and --blocks.",
        )
