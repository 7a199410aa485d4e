"""Versions with registers and slots whose blocks share memory two by two: planned for what they take, and proven."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.errors import Refused, UsageError
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.isa.kinds import Flow
from binalloc.launch.file import load_launch
from binalloc.models.machines.budget import Budget
from binalloc.models.sharing.pairs import Pairing
from binalloc.pipeline.original import baseline
from binalloc.pipeline.pipeline import rewrite_kernel
from binalloc.pipeline.request import Request
from binalloc.pipeline.sharing import paired
from binalloc.pipeline.sharing.kernel import share
from binalloc.pipeline.sharing.paired import Maker
from binalloc.pipeline.sharing.plans import Plan
from binalloc.pipeline.steps.version import Version
from binalloc.verify.checker import check
from tests.support.paths import sample_file


def kernel(name: str) -> tuple[Module, Request]:
    source = sample_file(f"{name}.ptx").read_text()
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    module = import_ptx(source, f"{name}.ptx", machine="gpgpusim-sharing").module
    return module, Request(launch.kernel or name, "gpgpusim-sharing", launch, sharing="auto", engine="python")


def maker(name: str, **fields: object) -> Maker:
    module, request = kernel(name)
    request = replace(request, **fields)  # type: ignore[arg-type]
    return Maker(module, request, baseline(module, request))


def test_a_release_in_front_of_an_access_is_found_behind_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The allocator may reorder code; the checker that compares it with the shared kernel keeps releases in place."""
    made: list[Module] = []
    given = Maker._made

    def noted(self: Maker, pairing: Pairing, like: Version) -> tuple[Plan, Module]:
        found = given(self, pairing, like)
        made.append(found[1])
        return found

    monkeypatch.setattr(Maker, "_made", noted)
    (one,) = maker("SRAD2").allocated(Budget(0, 10, 0))
    code, before = one.version.module, made[-1]
    fn = code.function("SRAD2")
    (at,) = (n for n, instr in enumerate(fn.instrs) if instr.control == Flow.RELSSP)
    assert fn.origin is not None
    assert check(before, code, "SRAD2").ok
    loads = [n for n in range(at) if fn.instrs[n].name == "LDS"]
    for to in (loads[-1], loads[0]):
        instrs, index = list(fn.instrs), list(fn.origin.index)
        instrs.insert(to, instrs.pop(at))
        index.insert(to, index.pop(at))
        early = replace(fn, instrs=instrs, origin=replace(fn.origin, index=index))
        assert not check(before, replace(code, functions=[early]), "SRAD2").ok


def test_what_is_not_proven_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.verify.report import CheckReport, Finding

    failed = CheckReport(False, [Finding("release", "said so")])
    monkeypatch.setattr(paired, "check_shared", lambda *_: failed)
    with pytest.raises(Refused, match="it could not be proven that blocks of SRAD2 may share memory"):
        maker("SRAD2").allocated(Budget(0, 10, 0))
    with pytest.raises(Refused, match="could not be proven"):
        maker("SRAD2").as_it_came()


def test_a_version_that_takes_other_slots_is_planned_again() -> None:
    """With eight registers the shared kernel would take two slots where the original takes none; they leave no pair."""
    (one,) = maker("SRAD2").allocated(Budget(0, 8, 2))
    assert (one.version.registers, one.version.slots) == (8, 0)
    assert one.record.option == "1:4864"


def test_slots_that_are_not_named_are_those_that_leave_the_most_blocks() -> None:
    """A block of 2,048 threads' words has rows of 256 bytes: 5,888 bytes are left beside one block of NQU."""
    made = maker("NQU")
    budget = made.budget(10)
    assert budget.blocks == 2
    for slots, pairs in ((budget.slots, 1), (budget.slots + 1, 0)):
        use = made._use().given(10, slots)
        assert len([one for one in paired.given_by("auto")(made.planner.given(use).room) if one.blocks == 2]) == pairs


@pytest.mark.parametrize("fields", [
    {"sharing": "2"}, {"sharing": "1:"}, {"sharing": "auto", "multiplex": "today"}, {"sharing": "auto", "blocks": 2},
    {"sharing": "auto", "emulate": False}, {"sharing": "auto", "schedulers": ("none",)},
])  # fmt: skip
def test_requests_that_are_none(fields: dict[str, object]) -> None:
    module, request = kernel("SRAD2")
    with pytest.raises(UsageError):
        rewrite_kernel(module, replace(request, **fields))  # type: ignore[arg-type]


def test_from_python() -> None:
    module, request = kernel("SRAD2")
    found = share(module, request)
    assert found.chosen is not None
    assert found.chosen.option == "1:4864"
    assert isinstance(found.original, Version)
    unrun = share(module, replace(request, emulate=False), "0.1", release="postdom", moved=False)
    assert [one.version.cycles for one in unrun.tried] == [None]
    with pytest.raises(UsageError, match="one of opt, postdom, none"):
        share(module, request, release="early")
    with pytest.raises(UsageError, match="edges are about releases as early"):
        share(module, request, release="postdom", edges="jump")
    with pytest.raises(UsageError, match="launch"):
        share(module, replace(request, launch=None))
