"""Budgets that cannot be kept: exit 1, the reason, and a figure that is exact: it is done, one less (one more slot or
block) is not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from binalloc.errors import Refused
from binalloc.isa.sets.files import load, write_module
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.pipeline import Request, rewrite_kernel
from binalloc.transform.allocate import attempt
from binalloc.transform.allocate.functions.registers import Infeasible
from binalloc.transform.allocators.table import ALLOCATORS
from binalloc.transform.rewrite.rewrite import fewest_registers, prepare, rewrite_to_budget
from tests.support.generator.programs import BEFORE, generate
from tests.support.kits.cli import call, launch, loom, refused
from tests.support.paths import sample_file

FIGURE = re.compile(r"at (?:least|most) ([0-9]+)")


def figure(error: str) -> int:
    found = FIGURE.search(error)
    assert found is not None, error
    return int(found[1])


def many_results(count: int, block: int = 64) -> str:
    """A call of a function that leaves so many registers: no allocation does with fewer."""
    lines = [".kernel k", ".param out, 8", f".block {block}, 1, 1", "S2R R0, SR_TID.X", "CALL f"]
    lines += [f"IADD3 R0, R0, R{k}, RZ" for k in range(1, count)]
    lines += ["MOV R2, c[0][out]", "MOV R3, c[0][out+4]", "STG [R2], R0", "EXIT", ".end", ".func f"]
    lines += [f"IMAD R{k}, R0, {k + 2}, RZ" for k in reversed(range(count))]
    return "\n".join([*lines, "RET", ".end"])


def many_values(count: int, block: int) -> str:
    """Loaded values that are all live at once: each that leaves the registers is a slot."""
    lines = [".kernel k", ".param out, 8", f".block {block}, 1, 1", "MOV R2, c[0][out]", "MOV R3, c[0][out+4]"]
    lines += [f"LDG R{k}, [R2+{4 * k}]" for k in range(4, 4 + count)]
    lines += ["MOV R0, 0"] + [f"IADD3 R0, R0, R{k}, RZ" for k in (*range(4, 4 + count), *range(4, 4 + count))]
    return "\n".join([*lines, "STG [R2], R0", "EXIT", ".end"])


# -- registers


@pytest.mark.rotates
@pytest.mark.parametrize("preset", ["wide", "structured"])
@pytest.mark.parametrize("seed", [2, 3, 5, 6])
def test_the_fewest_registers_are_exact(preset: str, seed: int) -> None:
    """Random programs with calls and wide operands: no number below does, and slots change nothing about that. Whole
    registers that stay because calls hand them over make regdem ask for more."""
    module, _ = generate(preset, seed, **(BEFORE if preset == "wide" else {}))
    prepared = prepare(module, module.kernels()[0].name)
    least = fewest_registers(prepared)
    assert least is not None
    for name in ALLOCATORS:
        own = fewest_registers(prepared, 0, name)
        assert own is not None
        assert own >= least if name == "regdem" else own == least
        assert rewrite_to_budget(prepared, own, 4, name, solver_limit=0.01).module.functions
        with pytest.raises(Infeasible):
            rewrite_to_budget(prepared, own - 1, 4, name)
    for registers in range(1, least):
        with pytest.raises(Infeasible):
            rewrite_to_budget(prepared, registers, 0)


@pytest.mark.rotates
@pytest.mark.parametrize("slots", [[], ["--slots", "2"]])
@pytest.mark.parametrize("name", ["callchain", "stencil2d", "reduction"])
def test_the_command_names_the_fewest_registers(name: str, slots: list[str], tmp_path: Path) -> None:
    file = str(tmp_path / "k.loom") if name == "reduction" else loom(name)
    if name == "reduction":
        assert call("import-ptx", str(sample_file("reduction.ptx")), "-o", file).code == 0
    command = ["rewrite", file, *launch(name), "--no-emulate", *slots]
    least = figure(refused(1, *command, "--registers", "1"))
    assert call(*command, "--registers", str(least)).code == 0
    said = refused(1, *command, "--registers", str(least - 1))
    assert f"expected at least {least}. Ask for more --registers." in said


def test_a_machine_may_have_too_few() -> None:
    """Where not even the original runs, and where a block's threads leave each too few of those there are."""
    with pytest.raises(Refused, match=r"at least 80, and gtx680 has 63 for each of 64 threads"):
        rewrite_kernel(assemble(many_results(80)), Request("k", "gtx680", registers=40, slots=0))  # type: ignore[arg-type]
    with pytest.raises(Refused, match=r"at least 40, and c2075 has 32 for each of 1,024 threads"):
        rewrite_kernel(assemble(many_results(40, 1024)), Request("k", "c2075", blocks=1))  # type: ignore[arg-type]


def test_the_most_blocks_are_exact() -> None:
    module = assemble(many_results(50, 256))

    def asked(blocks: int) -> Request:
        return Request("k", "gtx680", blocks=blocks)  # type: ignore[arg-type]

    with pytest.raises(Refused) as refusal:
        rewrite_kernel(module, asked(8))
    found = re.search(r"which ([0-9]+) blocks leave", str(refusal.value))
    assert found is not None, str(refusal.value)
    most = int(found[1])
    assert rewrite_kernel(module, asked(most)).verified
    with pytest.raises(Refused):
        rewrite_kernel(module, asked(most + 1))


def test_an_exact_choice_that_finds_no_registers_leaves_the_heuristics_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other callees may leave their callers less: what is feasible does not depend on the solver."""
    prepared = prepare(load(loom("callchain")), "callchain")
    least = fewest_registers(prepared)
    assert least is not None
    plain = attempt.colour_functions

    def failing(
        one: attempt.Attempt, spill: attempt.Spill = attempt.by_regions, *, improve: attempt.Improve | None = None
    ) -> None:
        if improve is not None:
            raise Infeasible("no room")
        plain(one, spill)

    monkeypatch.setattr(attempt, "colour_functions", failing)
    found = rewrite_to_budget(prepared, least, 0, "cpsat")
    assert write_module(found.module) == write_module(rewrite_to_budget(prepared, least, 0, "best").module)


# -- slots


@pytest.mark.rotates
@pytest.mark.parametrize("machine", ["gtx680", "c2075", "gtx285", "v100", "rtx3070", "h100"])
@pytest.mark.parametrize("block", [64, 480])
def test_the_most_slots_are_exact(machine: str, block: int, tmp_path: Path) -> None:
    """With a kernel that has use for all of them."""
    file = tmp_path / "k.loom"
    file.write_bytes(write_module(assemble(many_values(50, block))))
    command = ["rewrite", str(file), "--machine", machine, "--registers", "12"]
    most = figure(refused(1, *command, "--slots", "100000"))
    assert f"at most {most}" in refused(1, *command, "--slots", str(most + 1))
    found = call(*command, "--slots", str(most), "--json").json
    assert found["verified"]
    assert found["rewritten"]["blocks_per_sm"] >= 1
    if block > 64:
        assert found["rewritten"]["slots"] > 0


def test_shared_memory_of_the_kernels_own_leaves_fewer_slots() -> None:
    asked = Request("", load_machine("gtx680"), load_launch(sample_file("matmul.toml"), "test"), registers=20)
    module = load(loom("matmul"))
    with pytest.raises(Refused) as refusal:
        rewrite_kernel(module, replace(asked, slots=1000, emulate=False))
    most = figure(str(refusal.value))
    assert rewrite_kernel(module, replace(asked, slots=most, emulate=False)).verified
    with pytest.raises(Refused, match=f"at most {most} slots"):
        rewrite_kernel(module, replace(asked, slots=most + 1, emulate=False))


# -- limits of the solver


@pytest.mark.rotates("long")
def test_a_solver_that_is_cut_off_gives_the_best_so_far_and_a_bound() -> None:
    small = ["rewrite", loom("stencil2d"), "--registers", "16", "--slots", "2", "--allocator", "cpsat"]
    cut = call(*small, "--solver-limit", "0")
    assert cut.code == 0
    assert "limit hit" in cut.out
    assert "proven optimal" in call(*small).out
    command = ["rewrite", loom("nbody"), "--registers", "40", "--slots", "4", "--allocator", "cpsat"]
    reports = call(*command, "--solver-limit", "0", "--json").json["solver"]
    assert all(report["status"] in ("unknown", "feasible") for report in reports)
    assert all(0 <= report["bound"] <= report["value"] for report in reports)
    report = next(one for one in reports if one["function"] == "nbody")
    best = call(*command, "--json").json["solver"]  # the kernel's; and its callee's, where that makes do with less
    assert {"nbody"} <= {one["function"] for one in best}
    assert all(one["status"] == "optimal" and one["bound"] <= one["value"] for one in best)
    assert report["bound"] <= sum(one["value"] for one in best) <= report["value"]
