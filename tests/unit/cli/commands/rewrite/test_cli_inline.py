"""`rewrite --inline`: what it says, what it writes, and what `verify`, `diff` and `--explain` make of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call, launch, loom, refused

CALLCHAIN = ["rewrite", loom("callchain"), "--registers", "6", "--slots", "0"]


@pytest.mark.rotates
@pytest.mark.parametrize(("how", "calls"), [("none", 0), ("once", 2), ("small", 2), ("all", 2)])
def test_calls_are_inlined_and_proven(how: str, calls: int, tmp_path: Path) -> None:
    out = str(tmp_path / "out.loom")
    command = [*CALLCHAIN, *launch("callchain"), "--inline", how]
    found = call(*command, "-o", out, "--json").json
    assert (found["inline"], found["inlined_calls"], found["verified"]) == (how, calls, True)
    assert (f"Inlined: {calls} calls ({how})." in call(*command).out) == bool(calls)
    text = call("disasm", out).out
    assert ("CALL" in text, ".inlined" in text, f'"inline": "{how}"' in text) == (not calls, bool(calls), bool(calls))
    assert call("verify", loom("callchain"), out, *launch("callchain")).code == 0
    assert call("asm", "-", "-o", "-", stdin=text.encode()).raw == Path(out).read_bytes()


def test_a_mistake_in_inlined_code_is_found(tmp_path: Path) -> None:
    """Also where the mistake is in a word that only a callee had."""
    out, bad = str(tmp_path / "out.loom"), str(tmp_path / "bad.loom")
    assert call(*CALLCHAIN, *launch("callchain"), "--inline", "all", "--no-emulate", "-o", out).code == 0
    text = call("disasm", out).out
    assert "0.25f" in text
    for change in (("0.25f", "0.5f"), (".inlined 18 29", ".inlined 18"), (".inlined 18 29", ".inlined 18 30")):
        assert change[0] in text
        assert call("asm", "-", "-o", bad, stdin=text.replace(*change).encode()).code == 0
        assert call("verify", loom("callchain"), bad).code == 1


def test_diff_shows_the_callee_beside_what_stands_for_it(tmp_path: Path) -> None:
    out, other = str(tmp_path / "out.loom"), str(tmp_path / "other.loom")
    assert call(*CALLCHAIN, *launch("callchain"), "--inline", "all", "--no-emulate", "-o", out).code == 0
    rows = call("diff", loom("callchain"), out, "--json").json["functions"][0]["rows"]
    assert any("0.25" in row["old"] and "0.25" in row["new"] for row in rows)
    assert not any("CALL" in row["old"] for row in rows)
    without = call("disasm", loom("callchain")).out.replace("CALL B", "NOP")
    assert call("asm", "-", "-o", other, stdin=without.encode()).code == 0
    assert "cannot be inlined" in refused(2, "diff", other, out)


def test_explanations_and_profiles_count_the_inlined_code(tmp_path: Path) -> None:
    profile = str(tmp_path / "p.json")
    run = launch("callchain")
    assert call("run", loom("callchain"), *run, "--profile", profile).code == 0
    command = [*CALLCHAIN, *run, "--no-emulate", "--inline", "once", "--explain"]
    told = call(*command, "--json").json["explanation"]
    assert told
    assert {value["function"] for value in told} == {"callchain"}
    assert call(*command, "--profile", profile).code == 0


def test_compare_allocators_inlines_too() -> None:
    command = ["compare-allocators", *CALLCHAIN[1:], "--allocators", "local,best"]
    plain, inlined = call(*command, "--json").json, call(*command, "--inline", "once", "--json").json
    assert (plain["inline"], inlined["inline"]) == ("none", "once")
    costs = [[row["cost"] for row in found["kernels"][0]["rows"]] for found in (plain, inlined)]
    assert costs[1] < costs[0]
    assert "Calls inlined first: once." in call(*command, "--inline", "once").out
    assert "is not one of" in refused(2, *command, "--inline", "some")
