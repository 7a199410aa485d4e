"""The pipeline: baselines, budgets, what a speedup is made of, and when the original is kept."""

from __future__ import annotations

import copy
from dataclasses import replace
from math import isclose, prod

import pytest

from binalloc.analysis.flow import callgraph
from binalloc.analysis.flow.cfg import build_cfg
from binalloc.errors import Refused, UsageError
from binalloc.isa.container import files as container
from binalloc.isa.sets.files import load
from binalloc.isa.text.assembler import assemble
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.explicit import explicit_budget
from binalloc.pipeline.pipeline import Request, build_version, rewrite_kernel
from tests.support.paths import sample_file

GTX680 = load_machine("gtx680")


def request(name: str, **options: object) -> Request:
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    return Request(launch.kernel, GTX680, launch, **options)  # type: ignore[arg-type]


def sample(name: str):
    return load(sample_file(f"{name}.loom"))


def wide_kernel(registers: int) -> str:
    """Straight-line code in which `registers` - 1 values are live at once."""
    lines = [".kernel wide", ".param out, 8", ".block 64, 1, 1", "S2R R0, SR_TID.X"]
    lines += [f"IMAD R{k}, R0, {k + 2}, R{k - 1}" for k in range(1, registers)]
    lines += [f"IMAD R0, R0, R{k}, R0" for k in (*range(1, registers), *range(1, registers))]
    lines += ["MOV R2, c[0][out]", "MOV R3, c[0][out+4]", "STG [R2], R0", "EXIT", ".end"]
    return "\n".join(lines)


def test_a_kernel_beyond_the_register_limit_has_local_as_its_baseline():
    outcome = rewrite_kernel(assemble(wide_kernel(100)), Request("wide", GTX680, registers=63, slots=8))
    assert outcome.original.allocated == "local"
    assert outcome.original.registers <= 63
    assert outcome.original.local_bytes > outcome.rewritten.local_bytes
    assert outcome.rewritten.slots == 8


def test_within_the_limit_the_baseline_is_the_original():
    outcome = rewrite_kernel(assemble(wide_kernel(50)), Request("wide", GTX680, registers=40, slots=0))
    assert outcome.original.allocated == ""
    assert outcome.original.registers == 50


@pytest.mark.rotates("long")
@pytest.mark.parametrize("allocator", ["local", "best"])
def test_the_factors_of_a_speedup_multiply_to_it(allocator):
    outcome = rewrite_kernel(sample("nbody"), request("nbody", registers=40, slots=4, allocator=allocator))
    assert outcome.verified
    assert isclose(prod(outcome.parts.values()), outcome.speedup, rel_tol=1e-9)
    if allocator == "local":
        assert outcome.parts["slots"] == 1.0


def test_explicit_blocks_give_the_registers_and_slots_of_their_level():
    budget = explicit_budget(sample("nbody"), request("nbody", blocks=6))
    assert (budget.blocks, budget.registers, budget.slots) == (6, 40, 8)


def test_slots_not_given_are_those_that_fit_beside_the_registers():
    assert explicit_budget(sample("nbody"), request("nbody", registers=40)).slots == 8
    assert explicit_budget(sample("nbody"), request("nbody", registers=40, slots=0)).slots == 0


def test_more_slots_than_shared_memory_are_refused():
    with pytest.raises(Refused, match="shared memory"):
        explicit_budget(sample("nbody"), request("nbody", registers=40, slots=100))


def test_more_registers_than_the_machine_has_are_a_usage_error():
    with pytest.raises(UsageError):
        explicit_budget(sample("nbody"), request("nbody", registers=64))


def test_lifting_is_found_at_the_originals_own_level():
    outcome = rewrite_kernel(sample("callchain"), request("callchain"))
    assert not outcome.kept_original
    assert outcome.rewritten.local_bytes == 0
    assert outcome.speedup > 1


@pytest.mark.rotates("long")
def test_the_search_never_returns_something_slower():
    for name in ("matmul", "stencil3d"):
        outcome = rewrite_kernel(sample(name), request(name))
        assert outcome.verified
        assert outcome.speedup >= 1.0
        if outcome.kept_original:
            assert outcome.reason


@pytest.mark.rotates("long")
def test_the_static_policy_needs_no_emulator():
    outcome = rewrite_kernel(sample("nbody"), request("nbody", policy="unified", emulate=False))
    assert outcome.original.cycles is None
    assert outcome.reason


def test_control_flow_is_analysed_once_for_all_versions(monkeypatch: pytest.MonkeyPatch):
    """The call graph of the input, and that of its normalised form: no version has one built of its own."""
    built = []

    def counting(fn):
        built.append(fn.name)
        return build_cfg(fn)

    monkeypatch.setattr(callgraph, "build_cfg", counting)
    module, asked = sample("callchain"), request("callchain", emulate=False)
    for registers in (8, 9, 11):
        asked = replace(asked, registers=registers, slots=2)
        outcome = rewrite_kernel(module, asked)
        reached = callgraph.build_callgraph(outcome.rewritten.module, "callchain").functions
        del built[-len(reached) :]
        assert {fn.name for fn in outcome.rewritten.functions} == set(reached)
    assert sorted(built) == sorted(2 * [fn.name for fn in outcome.original.functions])


def test_what_is_proven_is_what_the_written_bytes_say(monkeypatch: pytest.MonkeyPatch):
    """A writer that loses something is found out: the checker sees what a reader finds in the bytes."""
    module = load(sample_file("callchain.loom"))
    launch = load_launch(sample_file("callchain.toml"))
    request = Request("callchain", load_machine("gtx680"), launch, registers=8, slots=2)
    written = container.write_module

    def lossy(module):
        broken = copy.deepcopy(module)
        for fn in broken.functions:
            at = next((i for i, x in enumerate(fn.instrs) if x.op.name == "STG"), None)
            if at is not None:
                fn.instrs[at] = fn.instrs[at].replace(moff=fn.instrs[at].f["moff"] + 4)
        return written(broken)

    assert build_version(module, request, 8, 2).module.functions
    monkeypatch.setattr(container, "write_module", lossy)
    with pytest.raises(Refused, match="could not be proven"):
        build_version(module, request, 8, 2)


def test_blocks_asked_for_beside_registers_are_resident_or_refused():
    with pytest.raises(Refused, match=r"no room for 4 blocks .* 41 registers .* room for 2"):
        rewrite_kernel(sample("stencil3d"), request("stencil3d", blocks=4, registers=60, emulate=False))
    found = rewrite_kernel(sample("stencil3d"), request("stencil3d", blocks=3, registers=32, emulate=False))
    assert found.rewritten.blocks_per_sm >= 3
