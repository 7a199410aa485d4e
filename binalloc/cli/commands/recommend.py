"""`binalloc recommend`: how many blocks, with how many registers and slots, and why."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from binalloc.cli.files import check_page, write_output
from binalloc.cli.inputs import (
    kernel_of,
    machine_from,
    machine_model,
    machine_of,
    optional_launch,
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
    inline_option,
    json_option,
    kernel_option,
    launch_option,
    max_cycles_option,
    options,
    own_machines_option,
    page_option,
    profile_option,
    size_option,
)
from binalloc.cli.tables import allocator_option, policy_option, reading_option, scheduler_option
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.errors import Refused
from binalloc.printable import one_line

if TYPE_CHECKING:
    from binalloc.pipeline.recommend import Recommendation


@click.command()
@options(
    file_argument,
    kernel_option,
    launch_option,
    size_option,
    block_option,
    engine_option,
    max_cycles_option,
    json_option,
)
@own_machines_option
@policy_option
@reading_option
@allocator_option
@profile_option
@inline_option
@scheduler_option
@click.option("--whole", is_flag=True, help="Run all blocks of large grids, where policy measured runs parts of them.")
@click.option("--certify", is_flag=True, help="Ask the exact allocator what no allocation costs less than.")
@emulate_option
@click.option("--papers", is_flag=True, help="Tell, too, in the unified paper's words: dispatch interval, Table 1.")
@page_option
def recommend(
    file: str,
    kernel: str | None,
    launch: str | None,
    size: str | None,
    block: str | None,
    engine: str,
    max_cycles: int | None,
    as_json: bool,
    machine: str | None,
    policy: str | None,
    readings: tuple[str, ...],
    allocator: str,
    profile: str | None,
    inline: str,
    scheduler: str,
    whole: bool,
    emulate: bool | None,
    certify: bool,
    papers: bool,
    page: str | None,
) -> None:
    """How many blocks per SM a kernel should run with, with how many registers and slots per thread, and why.

    Without a launch the static policy `model` chooses; with one the levels that it expects most of are run, unless
    --policy or --no-emulate say otherwise. No binary is written: the report ends with the command that does it. PTX
    is imported in memory first. --html needs binalloc[html].
    """
    from binalloc.models.search.unified import reading_of
    from binalloc.pipeline.pipeline import Request, find_kernel
    from binalloc.pipeline.policies.table import DEFAULT, MEASURED, STATIC
    from binalloc.pipeline.recommend import recommend as recommended
    from binalloc.report.recommend.facts import recommendation_to_dict, refusal_to_dict
    from binalloc.report.recommend.text import render_recommendation

    check_page(page, file, launch, profile)
    require_something_to_run(launch, emulate)
    running = launch is not None if emulate is None else emulate
    chosen = policy or (DEFAULT if running else STATIC)
    require_read_paper(readings, chosen)
    loaded, counted = optional_launch(launch, size), optional_profile(profile)
    named = kernel_of(kernel, loaded, counted)
    told: list[dict[str, Any]] = []
    require_machine(machine)
    machines: list[str | None] = [None] if machine is None else list(dict.fromkeys(machine.split(",")))
    for one in machines:
        request = Request(
            launch=loaded,
            block=block_of(block, "--block"),
            policy=chosen,
            reading=reading_of(readings),
            allocator=allocator,
            emulate=running,
            engine=engine,
            scheduler=scheduler,
            profile=counted,
            inline=inline,
            max_cycles=max_cycles,
            sampled=chosen == MEASURED and not whole,
        )
        try:
            with progress(as_json) as show:
                module, _ = load_or_import(file, one, named)
                name = find_kernel(module, named).name
                require_launch_fits(loaded, module, name)
                model = machine_of(module, name, one, runs=False)
                found = recommended(module, replace(request, kernel=name, machine=model, progress=show), certify)
        except Refused as error:
            if one is None or len(machines) == 1:
                raise
            refused = machine_model(one).name
            told.append(refusal_to_dict(refused, error))
            text = f"{refused}: refused: {one_line(str(error))}\n"
        else:
            told.append(recommendation_to_dict(module, found, _command(found, file, one or model.name, launch, size)))
            told[-1]["machine_from"] = machine_from(module, name, one, model)
            text = render_recommendation(found.outcome, told[-1], papers)
        if not as_json:
            say(("\n" if len(told) > 1 else "") + text)
    if page is not None:
        from binalloc.report.recommend.page import recommendation_page

        write_output(page, recommendation_page(told, file, papers))
    if as_json:
        print_json({"schema_version": SCHEMA_VERSION, "recommendations": told})
    if all(entry["refused"] for entry in told):
        fail("refused on every machine", 1)


def _command(found: Recommendation, file: str, machine: str, launch: str | None, size: str | None) -> str:
    """The command that writes the recommended version."""
    from binalloc.pipeline.block import block_text
    from binalloc.transform.allocators.table import DEFAULT
    from binalloc.transform.rewrite.ways import NONE

    request, chosen = found.outcome.request, found.chosen
    words = ["binalloc", "rewrite", file, "--kernel", chosen.kernel, "--machine", machine]
    words += [] if launch is None else ["--launch", launch]
    words += [] if size is None else ["--size", size]
    words += [] if launch is not None or request.block is None else ["--block", block_text(request.block)]
    allocator = chosen.allocator or request.allocator
    words += [] if allocator == DEFAULT else ["--allocator", allocator]
    words += [] if request.inline == NONE else ["--inline", request.inline]
    words += [] if request.profile is None else ["--profile", request.profile.path]
    words += ["--blocks", str(chosen.blocks_per_sm)] if chosen.idle_slots else []
    registers, slots = str(chosen.registers), str(chosen.slots)
    return shlex.join([*words, "--registers", registers, "--slots", slots, "-o", f"{chosen.kernel}.out.loom"])
