"""A kernel's own directives are its budget wherever the user asks for none."""

from __future__ import annotations

from typing import Any

import pytest

from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.directives import compiled
from binalloc.pipeline.pipeline import Outcome, Request, rewrite_kernel
from binalloc.report.directives import directives_lines, unkept
from binalloc.report.rewrite import render_outcome
from binalloc.report.versions import outcome_to_dict
from tests.support.ptx.bounded import SMEM_SPILLING, bounded

A100 = load_machine("a100")


def imported(directives: str, body: str = "", live: int = 60) -> Module:
    return import_ptx(bounded(directives, body, live), machine=A100).module


def outcome_of(module: Module, **options: Any) -> Outcome:
    return rewrite_kernel(module, Request(machine=A100, policy="model", emulate=False, **options))


def told(outcome: Outcome) -> dict[str, Any]:
    found = outcome_to_dict(outcome)["directives"]
    assert isinstance(found, dict)
    return found


@pytest.mark.rotates("long")
@pytest.mark.parametrize(
    ("directives", "registers", "blocks"),
    [(".maxntid 256 .maxnreg 24", 24, None), (".maxntid 256 .minnctapersm 8", 32, 8), (".reqntid 1024", 64, None)],
)
def test_a_kernel_is_allocated_under_its_own_bounds(directives: str, registers: int, blocks: int | None) -> None:
    module = imported(directives, live=80)
    demand = module.function("k").info.registers
    assert demand > registers
    outcome = outcome_of(module)
    found = told(outcome)
    assert (found["demand"], found["registers"], found["blocks"]) == (demand, registers, blocks)
    assert not outcome.kept_original
    assert outcome.checked
    assert outcome.given.registers <= registers
    assert outcome.rewritten.registers <= registers
    assert outcome.rewritten.blocks_per_sm >= (blocks or 1)
    assert all(t.budget.registers <= registers and t.budget.blocks >= (blocks or 1) for t in outcome.tried)
    local, best = found["costs"]
    assert (local["allocator"], best["allocator"]) == ("local", "best")
    assert local["spill_bytes"] > best["spill_bytes"]
    assert (local["slots"], best["slots"] > 0) == (0, True)
    assert f"The input has {demand} registers, more than ." in render_outcome(outcome)
    assert " allows: original" in render_outcome(outcome)


@pytest.mark.rotates("long")
def test_the_rewritten_binary_keeps_them() -> None:
    before = imported(".maxntid 256 .maxnreg 32 .minnctapersm 4", SMEM_SPILLING)
    info = outcome_of(before).rewritten.module.function("k").info
    assert (info.max_registers, info.min_blocks, info.smem_spilling, info.target) == (32, 4, True, "sm_80")


@pytest.mark.rotates("long")
def test_the_pragma_adds_what_ptxas_makes_of_it() -> None:
    """ptxas 13.0.88 on sm_80 takes 20 KB of shared memory for such a kernel: 20 slots."""
    costs = told(outcome_of(imported(".maxntid 256 .minnctapersm 8", SMEM_SPILLING)))["costs"]
    assert [(cost["allocator"], cost["slots"]) for cost in costs[:2]] == [("local", 0), ("ptxas-smem", 20)]


@pytest.mark.rotates("long")
def test_a_kernel_that_keeps_to_them_costs_nothing() -> None:
    outcome = outcome_of(imported(".maxntid 256 .minnctapersm 2"))
    (cost,) = told(outcome)["costs"]
    assert (cost["allocator"], cost["slots"], cost["spill_bytes"]) == ("", 0, 0)
    assert "The input has" not in render_outcome(outcome)


@pytest.mark.rotates("long")
def test_what_a_size_alone_leaves_free_is_not_in_the_text() -> None:
    assert directives_lines(told(outcome_of(imported(".maxntid 256")))) == []


@pytest.mark.rotates("long")
@pytest.mark.parametrize(
    ("options", "overridden", "most"),
    [
        ({"registers": 40}, {".maxnreg 32": "registers", ".minnctapersm 8": "registers"}, 40),
        ({"blocks": 2}, {".minnctapersm 8": "blocks"}, 32),
        ({"slots": 0}, {}, 32),
    ],
)
def test_what_is_asked_for_overrides_them_and_that_is_told(
    options: dict[str, int], overridden: dict[str, str], most: int
) -> None:
    outcome = outcome_of(imported(".maxntid 256 .maxnreg 32 .minnctapersm 8"), **options)
    said = told(outcome)["said"]
    assert {d["text"]: d["overridden_by"] for d in said[::2] if d["overridden_by"]} == overridden
    assert most - 8 < outcome.rewritten.registers <= most
    for text, option in overridden.items():
        assert f"{text} is overridden by the {option} asked for." in render_outcome(outcome)


def test_bounds_that_the_machine_cannot_have_bound_nothing_and_that_is_told() -> None:
    outcome = outcome_of(imported(".maxntid 256 .maxnreg 300 .minnctapersm 9"))
    assert outcome.kept_original
    text = render_outcome(outcome)
    assert ".maxnreg 300: a100 has 255 registers per thread: it bounds nothing." in text
    assert ".minnctapersm 9: 9 blocks of 256 threads do not fit a100's 2048 threads per SM" in text


def test_blocks_that_shared_memory_has_no_room_for_are_told_with_those_that_fit() -> None:
    outcome = outcome_of(imported(".maxntid 256 .minnctapersm 8", ".shared .b8 s[30000];"))
    found = told(outcome)
    assert (found["blocks"], outcome.rewritten.blocks_per_sm) == (5, 5)
    room = "30,000 bytes of shared memory leave room for 5 blocks on a100: so many are kept to"
    assert [d["note"] for d in found["said"]] == ["", room]
    line = f".minnctapersm 8: at most 32 registers per thread, at least 8 blocks per SM ({room})."
    assert line in directives_lines(found)


def test_blocks_that_no_sm_holds_are_refused_with_the_directive_that_has_them() -> None:
    old = load_machine("gtx285")
    for size in (".maxntid 1024", ".reqntid 1024, 1, 1"):
        module = import_ptx(bounded(size, live=20), machine=old).module
        with pytest.raises(Refused, match=rf"no block fits .* 1,024 threads \(as {size} has it\)"):
            rewrite_kernel(module, Request(machine=old, policy="model", emulate=False))


def test_a_bound_below_the_fewest_of_the_real_compiler_is_raised_and_that_is_told() -> None:
    module = imported(".maxntid 256 .maxnreg 4")
    outcome = outcome_of(module)
    assert told(outcome)["registers"] == 24
    line = ".maxnreg 4: at most 24 registers per thread (24, the fewest that ptxas keeps to)."
    assert line in render_outcome(outcome)
    assert unkept(module.function("k"), A100)[0] == "k: .maxnreg 4: 24, the fewest that ptxas keeps to"


def test_bounds_that_no_code_keeps_to_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.models.machines import author_bounds

    monkeypatch.setattr(author_bounds, "FEWEST_REGISTERS", 2)
    module = imported(".maxntid 256 .maxnreg 2")
    with pytest.raises(Refused, match=r"2 registers per thread, as \.maxnreg 2 would have it"):
        outcome_of(module)
    with pytest.raises(Refused, match=r"what \.maxnreg 2 says"):
        compiled(module, "k", A100, module.function("k").info.registers)


def test_what_its_compiler_would_make_of_it() -> None:
    module = imported(".maxntid 256 .minnctapersm 8")
    demand = module.function("k").info.registers
    found = compiled(module, "k", A100, demand)
    assert found is not None
    assert (found.binding, found.registers, found.slots) == ((".minnctapersm 8",), 32, 0)
    assert found.spill_bytes > 0
    assert compiled(module, "k", A100, 32) is None
    eased = compiled(imported(".maxntid 256 .minnctapersm 8", SMEM_SPILLING), "k", A100, demand)
    assert eased is not None
    assert 0 < eased.spill_bytes < found.spill_bytes
