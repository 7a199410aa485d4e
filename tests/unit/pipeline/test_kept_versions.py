"""Versions that are kept are built once, and what cannot be built is refused again without trying."""

from __future__ import annotations

import pytest

from binalloc.errors import Refused
from binalloc.isa.sets.files import load
from binalloc.pipeline import steps
from binalloc.pipeline.request import Request
from tests.support.kits.cli import launch, loom


def test_once_kept_never_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load(loom("callchain"))
    request = Request(kernel="callchain", machine="gtx680", launch=launch("callchain")[1])
    assert steps.build_version(module, request, 8, 0) is not steps.build_version(module, request, 8, 0)
    request.prepared.versions = {}
    first = steps.build_version(module, request, 8, 0)
    other = steps.build_version(module, request, 8, 0, "local")
    with pytest.raises(Refused) as refused:
        steps.build_version(module, request, 2, 0)
    monkeypatch.setattr(steps, "_built", None)
    assert steps.build_version(module, request, 8, 0) is first
    assert steps.build_version(module, request, 8, 0, "local") is other is not first
    with pytest.raises(Refused) as again:
        steps.build_version(module, request, 2, 0)
    assert again.value is refused.value
