"""An allocator, a policy and a machine of one's own: a file each, a row where there is a table, and the command line
has them. What CONTRIBUTING.md promises."""

from __future__ import annotations

import pytest

from tests.support.kits.cli import launch, loom
from tests.support.kits.extended import Extended
from tests.support.paths import MACHINES

ALLOCATOR = '''
"""As `best`, with a register left over."""

from __future__ import annotations

from dataclasses import replace

from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.heuristic import BEST


class Thrifty:
    name = "thrifty"
    summary = "as best, one register less than there are"

    def allocate(self, problem: Problem) -> Plan:
        return BEST.allocate(replace(problem, registers=problem.registers - 1))
'''
POLICY = '''
"""One block more than the original has."""

from __future__ import annotations

from binalloc.isa.instruction import Module
from binalloc.models.machines.budget import levels
from binalloc.pipeline.policies.policy import Choice
from binalloc.pipeline.steps import Request, Tried, Version, block_threads, build_version, user_shared


class OneMore:
    name = "onemore"
    summary = "one block more than the original"
    measures = False

    def search(self, module: Module, request: Request, original: Version) -> Choice:
        kernel = module.function(request.kernel)
        every = levels(request.machine, block_threads(kernel, request.launch), user_shared(kernel, request.launch))
        (budget,) = (b for b in every if b.blocks == original.blocks_per_sm + 1)
        version = build_version(module, request, budget.registers, budget.slots)
        return Choice([Tried(budget, version)], version, "one more")
'''
ALLOCATORS = "binalloc/transform/allocators"
POLICIES = "binalloc/pipeline/policies"


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    package = Extended(tmp_path_factory.mktemp("extended"))
    package.add_file(f"{ALLOCATORS}/thrifty.py", ALLOCATOR)
    package.add_row(
        f"{ALLOCATORS}/table.py", "(LOCAL, UNIFIED, BEST, Exact())", "(LOCAL, UNIFIED, BEST, Exact(), Thrifty())",
        "from binalloc.transform.allocators.thrifty import Thrifty",
    )  # fmt: skip
    package.add_file(f"{POLICIES}/one_more.py", POLICY)
    package.add_row(
        f"{POLICIES}/table.py", "(Exhaustive(), Unified())", "(Exhaustive(), Unified(), OneMore())",
        "from binalloc.pipeline.policies.one_more import OneMore",
    )  # fmt: skip
    text = (MACHINES / "gtx680.toml").read_text()
    toy = text.replace('name = "gtx680"', 'name = "toy"').replace("latency = { value = 9,", "latency = { value = 11,")
    package.add_file("binalloc/models/machines/toy.toml", toy)
    return package


def test_help_and_lists_have_what_was_added(extended: Extended) -> None:
    text = " ".join(extended.run("rewrite", "--help").split())
    for word in ("thrifty", "onemore"):
        assert word in text
    assert [m["name"] for m in extended.json("machines")["machines"]] == ["c2075", "gpgpusim-sharing", "gtx680", "toy"]


def test_a_rewrite_by_all_that_was_added(extended: Extended) -> None:
    """stencil2d has 38 registers and one block; two blocks get 32, of which the allocator leaves one."""
    line = [
        "rewrite", loom("stencil2d"), *launch("stencil2d"), "--no-emulate", "--machine", "toy",
        "--allocator", "thrifty", "--policy", "onemore",
    ]  # fmt: skip
    answer = extended.json(*line)
    assert (answer["machine"], answer["allocator"]) == ("toy", "thrifty")
    assert (answer["rewritten"]["blocks_per_sm"], answer["rewritten"]["registers"]) == (2, 31)
    assert answer["reason"] == "one more"
    assert answer["verified"] is True
