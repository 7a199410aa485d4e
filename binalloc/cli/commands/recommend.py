"""`binalloc recommend` says how many blocks per SM to run, with how many registers and slots, and why."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from binalloc.cli.files import check_page, write_output
from binalloc.cli.group import SPELLINGS
from binalloc.cli.inputs import (
    fitting_launch,
    kernel_of,
    machine_from,
    machine_model,
    machine_of,
    optional_launch,
    require_machine,
    require_read_paper,
    require_runs,
    require_something_to_run,
)
from binalloc.cli.load import load_or_import
from binalloc.cli.options import (
    all_of,
    file_argument,
    json_option,
    kernel_option,
    launch_option,
    own_machines_option,
    page_option,
    size_option,
)
from binalloc.cli.request_options import GivenRequest, request_options, with_named_scheduler
from binalloc.cli.run_options import run_options
from binalloc.cli.terminal import SCHEMA_VERSION, fail, print_json, progress, say
from binalloc.errors import Refused

if TYPE_CHECKING:
    from binalloc.emulator.runs.options import RunOptions
    from binalloc.pipeline.advice.recommend import Recommendation
    from binalloc.pipeline.sharing.paired import Paired
    from binalloc.report.shapes.commands.recommend import RecommendationJson, RecommendJson, RefusedJson


@click.command()
@all_of(file_argument, kernel_option, own_machines_option, launch_option, size_option, json_option)
@request_options(
    "block", "policy", "readings", "allocator", "profile", "inline", "multiplex", "sharing", "schedulers", "emulate"
)
@run_options()
@click.option("--whole", is_flag=True, help="Run all blocks of large grids, where policy measured runs parts of them.")
@click.option("--certify", is_flag=True, help="Ask the exact allocator for a lower bound on the cost.")
@click.option("--papers", is_flag=True, help="Also report in the unified paper's terms: dispatch interval, Table 1.")
@page_option
def recommend(
    file: str,
    kernel: str | None,
    machine: str | None,
    launch: str | None,
    size: str | None,
    as_json: bool,
    wanted: GivenRequest,
    options: RunOptions,
    whole: bool,
    certify: bool,
    papers: bool,
    page: str | None,
) -> None:
    """Recommend a number of blocks per SM, with the registers and slots per thread that go with it, and say why.

    Without a launch the static policy `model` chooses. With a launch the levels with the best estimates are run, unless
    --policy or --no-emulate say otherwise. No binary is written: the report ends with the command that writes it. PTX
    is imported in memory first. --html needs binalloc[html].
    """
    from binalloc.pipeline.advice.recommend import recommend as recommended
    from binalloc.pipeline.pipeline import Request, find_kernel
    from binalloc.pipeline.policies.table import DEFAULT, MEASURED, STATIC
    from binalloc.report.recommend.facts import recommendation_to_dict, refusal_to_dict
    from binalloc.report.recommend.text import render_recommendation

    check_page(page, file, launch, wanted.profile)
    require_something_to_run(launch, wanted.emulate)
    wanted.require_sharing()
    for option, runs in (("--multiplex", wanted.multiplexes), ("--sharing", wanted.shares)):
        if runs:
            require_runs(option, launch, wanted.emulate)
    wanted = with_named_scheduler(wanted, options)
    running = launch is not None if wanted.emulate is None else wanted.emulate
    chosen = wanted.policy or (DEFAULT if running else STATIC)
    require_read_paper(wanted.readings, chosen)
    loaded, counted = optional_launch(launch, size), wanted.counted()
    named = kernel_of(kernel, loaded, counted)
    answers: list[RecommendationJson | RefusedJson] = []
    require_machine(machine)
    machines: list[str | None] = [None] if machine is None else list(dict.fromkeys(machine.split(",")))
    for one in machines:
        fields = wanted.fields() | {"policy": chosen, "sampled": chosen == MEASURED and not whole}
        request = Request(launch=loaded, options=options, emulate=running, profile=counted, **fields)
        try:
            with progress(as_json) as show:
                module, _ = load_or_import(file, one, named)
                name = find_kernel(module, named).name
                model = machine_of(module, name, one, runs=False)
                own = fitting_launch(loaded, module, name)
                asked = replace(request.with_options(machine=model), kernel=name, progress=show, launch=own)
                found = recommended(module, asked, certify)
        except Refused as error:
            if one is None or len(machines) == 1:
                raise
            refused = machine_model(one).name
            answers.append(refusal_to_dict(refused, error, SPELLINGS))
            text = f"{refused}: refused: {error.text(SPELLINGS)}\n"
        else:
            command = _command(found, file, one or model.name, launch, size)
            answer: RecommendationJson = {
                **recommendation_to_dict(module, found, command, SPELLINGS),
                "machine_from": machine_from(module, name, one, model),
            }
            answers.append(answer)
            text = render_recommendation(found.outcome, answer, papers)
        if not as_json:
            say(("\n" if len(answers) > 1 else "") + text)
    if page is not None:
        from binalloc.report.recommend.page import recommendation_page

        write_output(page, recommendation_page(answers, file, papers))
    if as_json:
        shown: RecommendJson = {"schema_version": SCHEMA_VERSION, "recommendations": answers}
        print_json(shown)
    if all(answer["refused"] for answer in answers):
        fail("refused on every machine", 1)


def _command(found: Recommendation, file: str, machine: str, launch: str | None, size: str | None) -> str:
    """Return the command line that writes the recommended version."""
    from binalloc.pipeline.block import block_text
    from binalloc.transform.allocators.table import DEFAULT
    from binalloc.transform.rewrite.ways import NONE

    request, chosen = found.outcome.request, found.chosen
    words = ["binalloc", "rewrite", file, "--kernel", chosen.kernel, "--machine", machine]
    words += [] if launch is None else ["--launch", launch]
    words += [] if size is None else ["--size", size]
    words += [] if launch is not None or request.block is None else ["--block", block_text(request.block)]
    allocator = request.allocator if found.multiplexed else chosen.allocator or request.allocator
    words += [] if allocator == DEFAULT else ["--allocator", allocator]
    words += [] if request.inline == NONE else ["--inline", request.inline]
    words += [] if request.profile is None else ["--profile", request.profile.path]
    if found.outcome.paired is not None:
        return shlex.join(_shared(words, found.outcome.paired, chosen.kernel))
    if found.multiplexed:
        policy = ["--policy", str(request.policy), "--whole-gpu", "--multiplex", request.multiplex]
        return shlex.join([*words, *policy, "-o", f"{chosen.kernel}.out.loom"])
    words += ["--blocks", str(chosen.blocks_per_sm)] if chosen.idle_slots else []
    registers, slots = str(chosen.registers), str(chosen.slots)
    return shlex.join([*words, "--registers", registers, "--slots", slots, "-o", f"{chosen.kernel}.out.loom"])


def _shared(words: list[str], paired: Paired, kernel: str) -> list[str]:
    """Return the command that writes a version whose blocks share memory two by two. words: of any version's."""
    taken = ["--sharing", paired.record.option]
    if paired.budget is None:
        words = [word if word != "rewrite" else "share" for word in words]
    else:
        budget = paired.budget
        taken += ["--registers", str(budget.registers), "--slots", str(budget.slots), "--scheduler", paired.scheduler]
    return [*words, *taken, "-o", f"{kernel}.out.loom"]
