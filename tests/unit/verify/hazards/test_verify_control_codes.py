"""`binalloc verify` and control codes: findings, exit code, JSON, and what it says where it cannot check."""

from __future__ import annotations

from pathlib import Path

import pytest

from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load, write_module
from tests.support.kits.cli import ROOT, call, launch, loom


def _changed(folder: Path, index: int, **control: int) -> str:
    """The sample callchain with another control code at one word of its kernel."""
    module = load(loom("callchain"))
    instrs = module.functions[0].instrs
    instrs[index] = instrs[index].replace(ctrl=instrs[index].ctrl._replace(**control))
    return _saved(folder, module)


def _saved(folder: Path, module: Module) -> str:
    (folder / "changed.loom").write_bytes(write_module(module))
    return str(folder / "changed.loom")


def _with_stall() -> int:
    """A word of the kernel whose stall count is needed."""
    return next(i for i, instr in enumerate(load(loom("callchain")).functions[0].instrs) if instr.ctrl.stall == 9)


def test_a_wrong_stall_count_is_named_and_fails(tmp_path: Path) -> None:
    at = _with_stall()
    answer = call("verify", loom("callchain"), _changed(tmp_path, at, stall=8))
    assert answer.code == 1
    assert answer.out.startswith("callchain: symbolic check passed\ncontrol codes: 1 HAZARD on gtx680\n")
    assert f"callchain+{at + 1}: RAW hazard: `" in answer.out
    assert f"8 cycles after `" in answer.out  # noqa: F541
    assert f"at callchain+{at} where 9 are needed" in answer.out


def test_the_json_says_the_same(tmp_path: Path) -> None:
    at = _with_stall()
    answer = call("verify", loom("callchain"), _changed(tmp_path, at, stall=8), "--json")
    found = answer.json
    assert (answer.code, found["verified"], found["checked"]) == (1, False, True)
    codes = found["control_codes"]
    assert (codes["ok"], codes["machines"], codes["notes"]) == (False, ["gtx680"], [])
    (hazard,) = codes["hazards"]
    assert (hazard["machine"], hazard["kind"], hazard["function"], hazard["index"]) == (
        "gtx680", "RAW", "callchain", at + 1,
    )  # fmt: skip
    assert (hazard["producer_function"], hazard["producer_index"]) == ("callchain", at)
    assert (hazard["cycles_found"], hazard["cycles_needed"]) == (8, 9)


def test_a_dropped_scoreboard_fails_where_the_emulator_would_stop(tmp_path: Path) -> None:
    instrs = load(loom("callchain")).functions[0].instrs
    at = next(i for i, instr in enumerate(instrs) if instr.ctrl.wbar != 7)
    changed = _changed(tmp_path, at, wbar=7)
    assert call("run", changed, *launch("callchain")).code == 5
    answer = call("verify", loom("callchain"), changed)
    assert answer.code == 1
    assert f"`{instrs[at].name}" in answer.out
    assert "which raises no scoreboard for it" in answer.out


def test_a_binary_that_is_not_scheduled_is_said_to_be_unchecked(tmp_path: Path) -> None:
    module = load(loom("callchain"))
    for fn in module:
        fn.info.machine = ""
    changed = _saved(tmp_path, module)
    answer = call("verify", loom("callchain"), changed)
    assert answer.code == 0
    assert "control codes NOT CHECKED: callchain" in answer.out
    assert "`binalloc schedule` sets them" in answer.out
    assert "no hazard" not in answer.out
    codes = call("verify", loom("callchain"), changed, "--json").json["control_codes"]
    assert (codes["ok"], codes["machines"], len(codes["notes"])) == (None, [], 1)


def test_a_machine_of_ones_own_is_asked_for_and_used(tmp_path: Path) -> None:
    text = (ROOT / "binalloc/models/machines/gtx680.toml").read_text().replace('name = "gtx680"', 'name = "mine"')
    (tmp_path / "mine.toml").write_text(text)
    slower = text.replace("[units.alu]", "[units.alu]", 1)
    begin = slower.index("[units.alu]")
    slower = slower[:begin] + slower[begin:].replace("latency = { value = 9", "latency = { value = 10", 1)
    (tmp_path / "slower.toml").write_text(slower)
    out = str(tmp_path / "mine.loom")
    assert call("schedule", loom("callchain"), "--machine", str(tmp_path / "mine.toml"), "-o", out).code == 0
    unknown = call("verify", loom("callchain"), out)
    assert unknown.code == 0
    assert "scheduled for mine, which is no known model" in unknown.out
    assert "give its machine file" in unknown.out
    given = call("verify", loom("callchain"), out, "--machine", str(tmp_path / "mine.toml"))
    assert given.out.endswith("control codes: no hazard on mine\n")
    wrong = call("verify", loom("callchain"), out, "--machine", str(tmp_path / "slower.toml"))
    assert wrong.code == 1
    assert "where 10 are needed" in wrong.out


@pytest.mark.parametrize("machine", ["c2075", "gtx680"])
def test_what_rewrite_writes_has_no_hazard(machine: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out.loom")
    options = ("--registers", "8", "--slots", "2", "--no-emulate", "--machine", machine, "-o", out)
    assert call("rewrite", loom("callchain"), *options, *launch("callchain")).code == 0
    codes = call("verify", loom("callchain"), out, "--json").json["control_codes"]
    assert (codes["ok"], codes["machines"], codes["hazards"]) == (True, [machine], [])
