"""Without a launch: levels that more blocks could not make faster are not built."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.pipeline.pipeline import Outcome, rewrite_kernel
from binalloc.pipeline.policies import levels
from binalloc.pipeline.policies.model import ABOUT, GAIN, UNSURE, expectations
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps import build as steps
from tests.unit.pipeline.policies.test_model_policy import MACHINE, module_of, request_for


def looked_at(name: str) -> Outcome:
    return rewrite_kernel(module_of(name), Request(machine=MACHINE, policy="model"))


def test_what_cannot_gain_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    build = steps.build_unproven
    monkeypatch.setattr(steps, "build_unproven", lambda *a: built.append(a[2]) or build(*a))
    found = looked_at("particles.ptx")
    assert found.kept_original
    assert len(found.tried) == 4
    for level in found.tried:
        assert level.version is level.expected is None
        gain, words = level.reason.split("x ", 1)
        assert words == "by the model if nothing were spilled: not built"
        assert float(gain) * ABOUT < UNSURE
    assert not built


@pytest.mark.rotates("long")
def test_what_may_gain_is_built() -> None:
    found = looked_at("FDTD3d.ptx")
    assert [level.expected is not None for level in found.tried] == [True, True]
    assert found.rewritten.blocks_per_sm == 4


@pytest.mark.rotates("long")
def test_with_a_launch_every_level_is_built() -> None:
    found = rewrite_kernel(module_of("particles.ptx"), request_for("particles.ptx"))
    assert all(level.version is not None for level in found.tried)


@pytest.mark.rotates("long")
def test_what_is_in_local_memory_may_be_saved_at_any_level() -> None:
    """Nothing is known then of what its code would gain with nothing spilled."""
    module, request = module_of("particles.ptx"), Request(kernel="particles", machine=MACHINE, policy="model")
    given = rewrite_kernel(module, request).given
    spilled = replace(given, local_bytes=8)
    every = levels.Levels(module, request, spilled)

    class Flat:
        """Expects the same of all."""

        def rate(self, _: object) -> float:
            return 1.0

    told = expectations(every, every.upwards, Flat(), GAIN)  # type: ignore[arg-type]
    assert all("not built" not in level.reason for level, _ in told)
