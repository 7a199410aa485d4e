"""Versions that are kept are built once, and what cannot be built is refused again without trying."""

from __future__ import annotations

import pytest

from binalloc.errors import Refused
from binalloc.isa.sets.files import load
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps import build as steps
from binalloc.pipeline.steps import proof
from tests.support.kits.cli import launch, loom


def test_once_kept_never_built_or_proven_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(loom("callchain"))
    request = Request(kernel="callchain", machine="gtx680", launch=launch("callchain")[1])
    assert steps.build_version(module, request, 8, 0) is not steps.build_version(module, request, 8, 0)
    request.prepared.versions = {}
    first = steps.build_version(module, request, 8, 0)
    other = steps.build_version(module, request, 8, 0, "local")
    with pytest.raises(Refused) as refused:
        steps.build_version(module, request, 2, 0)
    monkeypatch.setattr(steps, "_built", None)
    monkeypatch.setattr(proof, "require_proof", None)
    assert steps.build_version(module, request, 8, 0).module is first.module
    assert steps.build_version(module, request, 8, 0, "local").module is other.module is not first.module
    with pytest.raises(Refused) as again:
        steps.build_version(module, request, 2, 0)
    assert again.value is refused.value
