"""The kept results of `reproduce batching` hang together, and the page on them says what they say."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from binalloc.laboratory.batching.kernels import BENCHMARKS
from binalloc.laboratory.batching.schemes import SCHEMES
from binalloc.laboratory.batching.text import render_batching_reproduction
from binalloc.report.shapes.commands.laboratory import ReproduceBatchingJson
from tests.support.kits.report.shapes import problems
from tests.support.paths import ROOT

FOLDER = ROOT / "docs/measured"
TITLES = {
    "owl": "OWL", "temp": "TEMP", "temp_tbas": "TEMP+TBAS", "bw_aware": "BW-AWARE", "batching_bw": "Batching+BW",
    "dispatch_only": "dispatch of TEMP alone", "colours_only": "colours of TEMP alone",
}  # fmt: skip


@cache
def results() -> Any:
    return json.loads((FOLDER / "batching.json").read_text(encoding="utf-8"))


def page() -> str:
    return (FOLDER / "batching.md").read_text(encoding="utf-8")


def test_all_was_run_with_the_same_results() -> None:
    found = results()
    assert problems(found, ReproduceBatchingJson) == []
    assert not found["partial"]
    assert not found["missing"]
    assert len(found["kernels"]) == 2 * len(BENCHMARKS)
    for kernel in found["kernels"]:
        assert kernel["status"] == "ok"
        assert list(kernel["schemes"]) == [scheme.name for scheme in SCHEMES]
        assert all(run["same_results"] for run in kernel["schemes"].values())


def test_the_text_is_that_of_the_figures() -> None:
    text = (FOLDER / "batching.txt").read_text(encoding="utf-8")
    assert text.rstrip() == render_batching_reproduction(results()).rstrip()


@pytest.mark.parametrize("scheme", list(TITLES))
def test_the_page_has_the_means(scheme: str) -> None:
    changes = {m["row_bytes"]: m["changes"] for m in results()["means"] if (m["of"], m["scheme"]) == ("all", scheme)}
    (row,) = (line for line in page().splitlines() if line.startswith(f"| {TITLES[scheme]} |"))
    shown = [f"{changes[4096][name]:+.1f} % ({changes[8192][name]:+.1f} %)" for name in ("speed", "energy")]
    assert row.split(" | ")[1:3] == shown


def test_the_page_counts_sentences_and_classes() -> None:
    holds = [one["holds"] for one in results()["sayings"]]
    assert f"Of {holds.count(True) + holds.count(False)} of the paper's sentences" in page()
    assert f"{holds.count(True)} hold and {holds.count(False)} do not" in page()
    classes = [kernel["class"] for kernel in results()["kernels"] if kernel["row_bytes"] == 4096]
    assert (classes.count("C1"), classes.count("C2"), classes.count("C3")) == (1, 0, 9)
