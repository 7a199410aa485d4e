"""Machines that the multiplex paper does not have stand for themselves: nothing of the paper's is beside them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from binalloc.laboratory.multiplex.facts import multiplex_reproduction_json
from binalloc.laboratory.multiplex.run import MultiplexedCase
from binalloc.laboratory.multiplex.text import render_multiplex_reproduction
from binalloc.pipeline.sweeping.sweep import Tally
from tests.support.paths import ROOT


@cache
def kept() -> Any:
    found = json.loads((ROOT / "docs/measured/multiplex.json").read_text(encoding="utf-8"))
    return [k for k in found["kernels"] if k["machine"] == "gtx285"]


def reproduced(*machines: str) -> tuple[Any, str]:
    """Return the object and the text of outcomes that were measured on another machine."""
    cases = [
        MultiplexedCase(
            machine, k["kernel"], k["sample"],
            {**k, "shorter": None, "own": None, "free": {"speedup": k["free"], "blocks": k["free_blocks"]}},
        )
        for machine in machines for k in kept()
    ]  # fmt: skip
    found = multiplex_reproduction_json(cases, Tally(), False, "")
    return found, render_multiplex_reproduction(found)


def test_nothing_of_the_papers_is_beside_them() -> None:
    found, text = reproduced("a100")
    (machine,) = found["machines"]
    assert found["orders"] == []
    assert all((mean["paper"], mean["paper_largest"]) == (None, None) for mean in machine["means"])
    assert "the paper's  " not in text
    assert "orders" not in text
    assert "Geometric mean" not in text


def test_the_text_begins_with_what_is_left_to_gain() -> None:
    _, text = reproduced("h100")
    free, today = [k["free"] for k in kept()], [k["auto"]["today"]["speedup"] for k in kept()]
    assert all(k["limits"] == ["shared"] for k in kept())
    assert text.splitlines()[0] == (
        f"Shared memory limits 7 of 7 kernels on h100, 7 of them alone; free blocks gain {min(free):.2f} to "
        f"{max(free):.2f}, auto of today's GPUs {min(today):.2f} to {max(today):.2f}, emulated."
    )
    names = ", ".join(k["kernel"] for k in kept())
    assert f"Numbers of blocks are limited: {names} by shared.\n" in text


def test_they_come_behind_the_papers() -> None:
    found, text = reproduced("gtx285", "a100")
    first, second = text.splitlines()[:2]
    assert first.startswith("Geometric mean of the gains of best software versions")
    assert first.endswith("on gtx285 over 7 kernels (1.44).")
    assert second.startswith("Shared memory limits 7 of 7 kernels on a100")
    assert len(found["orders"]) > 0
