"""An allocator, a policy, a machine, a warp scheduler, an option of runs and an opcode of one's own: a file each, or a
row where there is a table, and the command line has them. What CONTRIBUTING.md promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from binalloc import list_machines
from binalloc.isa.table.opcodes import OPCODES
from tests.support.kits.cli import launch, loom
from tests.support.kits.extended import Extended
from tests.support.paths import MACHINES

ALLOCATOR = '''
"""As `best`, with a register left over."""

from __future__ import annotations

from dataclasses import replace

from binalloc.transform.allocators.allocator import Plan, Problem
from binalloc.transform.allocators.best import BEST


class Thrifty:
    name = "thrifty"
    summary = "as best, one register less than there are"

    def allocate(self, problem: Problem) -> Plan:
        return BEST.allocate(replace(problem, registers=problem.registers - 1))
'''
POLICY = '''
"""Six registers less than the original has, whatever that brings."""

from __future__ import annotations

from binalloc.isa.instruction import Module
from binalloc.models.machines.budget import Budget
from binalloc.pipeline.original import Original
from binalloc.pipeline.policies.policy import Choice
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.build import build_version
from binalloc.pipeline.steps.version import Tried


class SixLess:
    name = "sixless"
    summary = "six registers less than the original"
    measures = False

    def search(self, module: Module, request: Request, original: Original) -> Choice:
        given = original.given
        budget = Budget(given.blocks_per_sm + 1, given.registers - 6, 4)
        version = build_version(module, request, budget.registers, budget.slots)
        return Choice([Tried(budget, version)], version, "six less")
'''
SCHEDULER = '''
"""The warp in the lowest slot first."""

from __future__ import annotations

from typing import Any

from binalloc.emulator.policies.schedulers.scheduler import WarpScheduler
from binalloc.emulator.state.device import device
from binalloc.emulator.state.scan import lowest_bit


@device
def lowest(g: Any, s: Any, sch: int, eligible: int) -> int:
    return lowest_bit(eligible)


LOWEST = WarpScheduler("lowest", "the warp in the lowest slot", lowest)
'''
OPERATION = '''
"""What ANDN computes."""

from __future__ import annotations

from binalloc.emulator.state.device import device


@device(inline=True)
def andn(a: int, b: int) -> int:
    return int(a) & ~int(b) & 0xFFFFFFFF
'''
KERNEL = """.kernel k
.param out, 8
        S2R R0, SR_TID.X
        ANDN R1, R0, 0x5
        MOV R2, 0x4
        IMAD.WIDE R2, R0, R2, c[0][out]
        STG.32 [R2], R1
        EXIT
.end
"""
LAUNCH = """kernel = "k"
grid = 1
block = 32

[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = 32
"""
ALLOCATORS = "binalloc/transform/allocators"
POLICIES = "binalloc/pipeline/policies"
SCHEDULERS = "binalloc/emulator/policies/schedulers"
OPERATIONS = "binalloc/emulator/execute/table.py"


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    package = Extended(tmp_path_factory.mktemp("extended"))
    package.add_file(f"{ALLOCATORS}/thrifty.py", ALLOCATOR)
    imported = "from binalloc.transform.allocators.thrifty import Thrifty"
    package.add_named(f"{ALLOCATORS}/table.py", "Thrifty()", imported)
    package.add_file(f"{POLICIES}/six_less.py", POLICY)
    package.add_named(f"{POLICIES}/table.py", "SixLess()", "from binalloc.pipeline.policies.six_less import SixLess")
    _add_to_emulator(package)
    _add_option(package)
    text = (MACHINES / "gtx680.toml").read_text()
    toy = text.replace('name = "gtx680"', 'name = "toy"').replace("latency = { value = 9,", "latency = { value = 11,")
    package.add_file("binalloc/models/machines/toy.toml", toy)
    return package


def _add_to_emulator(package: Extended) -> None:
    package.add_file(f"{SCHEDULERS}/lowest.py", SCHEDULER)
    imported = "from binalloc.emulator.policies.schedulers.lowest import LOWEST"
    package.add_named(f"{SCHEDULERS}/table.py", "LOWEST", imported)
    iabs = '    _op(0x020, "IABS", "rd b", "", "alu", i, "absolute value")\n'
    free = min(set(range(0x20, 0x1000)) - OPCODES.keys())
    row = f'    _op({free:#05x}, "ANDN", "rd ra b", "", "alu", i, "a, without the bits of b")\n'
    package.add_row("binalloc/isa/table/opcodes.py", iabs, iabs + row)
    package.add_file("binalloc/emulator/arithmetic/andn.py", OPERATION)
    iabs = '    Operation("IABS", _INT, iabs, "b"),\n'
    package.add_row(
        OPERATIONS, iabs, iabs + '    Operation("ANDN", _INT, andn, "a b"),\n',
        "from binalloc.emulator.arithmetic.andn import andn",
    )  # fmt: skip


def _add_option(package: Extended) -> None:
    """An option of runs: its definition, its help and its one reader."""
    skews = "    skews: int = 0\n"
    package.add_row("binalloc/emulator/runs/options.py", skews, f"    slow: bool = False\n{skews}")
    skews = '    "skews": OptionRow(skews_option),\n'
    slow = '    "slow": OptionRow(click.option("--slow", is_flag=True, help="Blocks begin rarely."), usual=True),\n'
    package.add_row("binalloc/cli/run_options.py", skews, slow + skews)
    skew = '    device.put("skew", _skew(options.skew))\n'
    slow = '    if options.slow:\n        device.put("launch_interval", 5000)\n'
    package.add_row("binalloc/emulator/runs/run.py", skew, slow + skew)


def test_help_and_lists_have_what_was_added(extended: Extended) -> None:
    text = " ".join(extended.run("rewrite", "--help").split())
    for word in ("thrifty", "sixless"):
        assert word in text
    assert [m["name"] for m in extended.json("machines")["machines"]] == sorted([*list_machines(), "toy"])


def test_a_rewrite_by_all_that_was_added(extended: Extended) -> None:
    """stencil2d has 38 registers, the policy leaves it 32, of which the allocator leaves one; two blocks fit then."""
    line = [
        "rewrite", loom("stencil2d"), *launch("stencil2d", "python"), "--no-emulate", "--machine", "toy",
        "--allocator", "thrifty", "--policy", "sixless",
    ]  # fmt: skip
    answer = extended.json(*line)
    assert (answer["machine"], answer["allocator"]) == ("toy", "thrifty")
    assert (answer["rewritten"]["blocks_per_sm"], answer["rewritten"]["registers"]) == (2, 31)
    assert answer["reason"] == "six less"
    assert answer["verified"] is True


def test_a_run_by_a_scheduler_that_was_added(extended: Extended) -> None:
    assert "lowest" in extended.run("run", "--help")
    line = ["run", loom("callchain"), *launch("callchain", "python"), "--engine", "python", "--reference"]
    found = {name: extended.json(*line, "--scheduler", name) for name in ("lrr", "lowest")}
    assert {name: answer["scheduler"] for name, answer in found.items()} == {"lrr": "lrr", "lowest": "lowest"}
    assert {answer["reference"] for answer in found.values()} == {"same"}
    assert found["lrr"]["cycles"] != found["lowest"]["cycles"]


@pytest.mark.rotates("long commands")
def test_an_option_of_runs_that_was_added_reaches_every_run(extended: Extended, tmp_path: Path) -> None:
    given = [loom("callchain"), *launch("callchain", "python")]
    before, after = (extended.json("run", *given, *more)["cycles"] for more in ([], ["--slow"]))
    assert after > before + 5000
    budget = ["--registers", "12", "--slots", "0", "-o", str(tmp_path / "out.loom")]
    rewritten = extended.json("rewrite", *given, *budget, "--slow")
    assert rewritten["original"]["cycles"] == after
    again = [*launch("callchain", "python"), "--slow"]
    verified = extended.json("verify", loom("callchain"), str(tmp_path / "out.loom"), *again)
    assert verified["cycles"] == {"original": after, "rewritten": rewritten["rewritten"]["cycles"]}
    swept = ["sweep", *given, "--levels", "1", "--allocators", "local", "--jobs", "1", "--cache", str(tmp_path)]
    cycles = [extended.json(*swept, *more)["rows"][0]["cycles"] for more in ([], ["--slow"])]
    assert cycles == [before, after]  # the second finds nothing that the first one kept
    assert extended.python(
        "import binalloc, sys; binary, launched = sys.argv[1:];"
        "launch, module = binalloc.load_launch(launched, 'test'), binalloc.load(binary);"
        "print(binalloc.run(module, launch.kernel, launch, 'gtx680', engine='python', slow=True).cycles)",
        loom("callchain"), launch("callchain")[1],
    ) == f"{after}\n"  # fmt: skip


def test_an_opcode_that_was_added_is_assembled_scheduled_run_and_rewritten(extended: Extended, tmp_path: Path) -> None:
    source, binary, launched = tmp_path / "k.lasm", str(tmp_path / "k.loom"), tmp_path / "k.toml"
    source.write_text(KERNEL)
    launched.write_text(LAUNCH)
    extended.run("asm", str(source), "--schedule", "gtx680", "-o", binary)
    assert "ANDN R1, R0, 0x5" in extended.run("disasm", binary)
    extended.run("run", binary, "--launch", str(launched), "--engine", "python", "--save", str(tmp_path / "out"))
    (saved,) = (tmp_path / "out").glob("*.npy")
    assert np.load(saved).tolist() == [thread & ~5 for thread in range(32)]
    line = ["rewrite", binary, "--launch", str(launched), "--registers", "5", "--engine", "python"]
    assert extended.json(*line)["verified"] is True
