"""Policy `model`: what it takes, what it says, and what the demands behind it are."""

from __future__ import annotations

import pytest

from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.pipeline import Outcome, rewrite_kernel
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps import proof as steps
from tests.support.paths import sample_file

MACHINE = load_machine("gtx680")


def module_of(name: str) -> Module:
    path = sample_file(name)
    return load(path) if path.suffix == ".loom" else import_ptx(path.read_text(), path.stem, machine="gtx680").module


def request_for(name: str) -> Request:
    launch = load_launch(sample_file(name.split(".")[0] + ".toml"))
    return Request(kernel=launch.kernel, machine=MACHINE, launch=launch, policy="model", emulate=False)


def chosen(name: str) -> Outcome:
    return rewrite_kernel(module_of(name), request_for(name))


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("name", "blocks"), [("FDTD3d.ptx", 4), ("stencil3d.loom", 4), ("stencil2d.loom", 2), ("callchain.loom", 8)]
)
def test_it_takes_what_the_emulator_finds_fastest(name: str, blocks: int) -> None:
    """As `exhaustive` does at full size (README)."""
    found = chosen(name)
    assert not found.kept_original
    assert not found.by_order_alone
    assert found.rewritten.blocks_per_sm == blocks
    assert found.rewritten.cycles is None
    assert "by the model" in found.reason


@pytest.mark.rotates("long")
def test_of_levels_that_it_cannot_tell_apart_it_may_take_the_lesser() -> None:
    """nbody at 6 blocks gains 3 % more in the emulator, with words in local memory that 5 blocks need not."""
    found = chosen("nbody.loom")
    assert found.rewritten.blocks_per_sm == 5
    assert found.rewritten.local_bytes == 0


def test_order_alone_is_taken_where_no_level_gains() -> None:
    """matrixVector already has all the blocks that an SM holds; in another order it takes 0.804 of its cycles."""
    found = chosen("matrixVector.ptx")
    assert found.by_order_alone
    assert found.original.cycles is found.ordering is None
    assert found.rewritten.blocks_per_sm == found.given.blocks_per_sm


@pytest.mark.rotates("long")
def test_no_gain_leaves_the_original() -> None:
    """matmul at 6 to 8 blocks is slower in the emulator."""
    found = chosen("matmul.loom")
    assert found.kept_original
    assert [t.reason.endswith("by the model") or t.reason.startswith("as ") for t in found.tried] == [True] * 3


@pytest.mark.rotates("long")
def test_only_what_is_taken_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Module] = []
    monkeypatch.setattr(steps, "require_proof", lambda _, rewritten, *__: asked.append(rewritten))
    found = chosen("FDTD3d.ptx")
    assert len([t for t in found.tried if t.version is not None]) == 2
    assert asked == [found.rewritten.module]
    assert found.rewritten.proven
    asked.clear()
    alone = chosen("matrixVector.ptx")
    assert alone.by_order_alone
    assert asked == [alone.rewritten.module]


@pytest.mark.rotates("long")
def test_what_cannot_be_proven_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of FDTD3d's levels the better one is refused, then both; then the other order, too: the input is left."""
    refused: list[int] = []

    def refuse(_: Module, rewritten: Module, *__: object) -> None:
        if rewritten.functions[0].info.registers in refused:
            raise Refused("unproven")

    monkeypatch.setattr(steps, "require_proof", refuse)
    expected = [(4, "by the model"), (3, "by the model"), (2, "another order")]
    for registers, (blocks, words) in zip((0, 32, 40), expected, strict=True):
        refused.append(registers)
        found = chosen("FDTD3d.ptx")
        assert found.rewritten.blocks_per_sm == blocks
        assert words in found.reason
        assert [t.reason for t in found.tried if t.version is None] == ["unproven"] * (len(refused) - 1)
    refused.append(53)
    assert chosen("FDTD3d.ptx").kept_original
