"""`binalloc rewrite` and `verify` of launch files with a sequence of launches."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from binalloc.emulator.runs.program import Ran
from binalloc.isa.sets.files import load
from binalloc.pipeline import program_rewrite
from tests.support.kits.cli import call, refused
from tests.support.paths import ROOT, SAMPLES

FOLDER = SAMPLES / "programs"


def launch(name: str, *more: str) -> list[str]:
    return ["--launch", str(FOLDER / f"{name}.toml"), "--size", "test", "--engine", "numba", *more]


def imported(name: str, folder: Path) -> str:
    path = folder / f"{name}.loom"
    if not path.exists():
        assert call("import-ptx", str(FOLDER / f"{name}.ptx"), "-o", str(path)).code == 0
    return str(path)


@pytest.mark.rotates("long commands")
def test_all_kernels_are_rewritten_and_the_whole_is_compared(tmp_path: Path) -> None:
    source, out = imported("diffusion", tmp_path), str(tmp_path / "new.loom")
    found = call("rewrite", source, *launch("diffusion", "--registers", "10"), "-o", out, "--json").json
    assert (found["verified"], found["same_results"]) == (True, True)
    assert [k["name"] for k in found["kernels"]] == ["square", "reduce", "coefficients", "diffuse"]
    new = load(out)
    for k in found["kernels"]:
        assert new.function(k["kernel"]).info.registers == k["rewritten"]["registers"] <= 10
    for which, file in (("original", source), ("rewritten", out)):
        ran = call("run", file, *launch("diffusion", "--reference"), "--json").json
        assert ran["reference"] == "same"
        assert ran["cycles"] == found["cycles"][which]
        totals = {k["kernel"]: (k["launches"], k["cycles"]) for k in ran["kernels"]}
        assert totals == {k["kernel"]: (k["launches"][which], k["cycles"][which]) for k in found["kernels"]}
    assert [record.get("kernel") for record in new.provenance[1:]] == [k["kernel"] for k in found["kernels"]]
    verified = call("verify", source, out, *launch("diffusion", "--max-slowdown", "5%"), "--json").json
    assert verified["verified"] is True
    assert verified["cycles"] == found["cycles"]
    assert verified["kernels"] == [k["kernel"] for k in found["kernels"]]


@pytest.mark.rotates("long commands")
def test_one_kernel_is_rewritten_and_the_others_stay(tmp_path: Path) -> None:
    source, out = imported("lu", tmp_path), str(tmp_path / "new.loom")
    line = ["rewrite", source, *launch("lu"), "--kernel", "perimeter", "--registers", "12", "-o", out]
    found = call(*line, "--json").json
    (kernel,) = found["kernels"]
    assert (kernel["kernel"], kernel["rewritten"]["registers"]) == ("perimeter", 12)
    assert load(out).function("internal").info.registers == load(source).function("internal").info.registers
    assert "perimeter" in call(*line).out
    assert "emulated results same" in call("verify", source, out, *launch("lu")).out


def test_without_a_budget_a_policy_that_runs_nothing_chooses(tmp_path: Path) -> None:
    answer = call("rewrite", imported("sort", tmp_path), *launch("sort"))
    assert answer.code == 0
    assert "Symbolic check: passed. Emulated results: same." in answer.out
    assert answer.out.endswith("No file was written (-o FILE).\n")


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--skews", "1"], 2, "--skews applies to one launch only"), (["--explain"], 2, "--explain applies to one"),
        (["--policy", "measured"], 2, "the measured policy measures one launch"),
        (["--policy", "exhaustive"], 2, "the exhaustive policy measures one launch"),
        (["--no-emulate", "--registers", "9"], 2, "only a run says with which blocks"),
        (["--kernel", "minus"], 2, "no such kernel"), (["--registers", "1"], 1, "exchange"),
        (["--max-cycles", "5000", "--registers", "9"], 4, "(in round"),
    ],
)  # fmt: skip
def test_what_is_refused(more: list[str], code: int, message: str, tmp_path: Path) -> None:
    source = imported("sort", tmp_path)
    if code == 4:
        answer = call("rewrite", source, *launch("sort"), *more)
        assert (answer.code, "(the original)" in answer.err) == (4, True)
        return
    assert message in refused(code, "rewrite", source, *launch("sort"), *more)


@pytest.mark.rotates("long commands")
def test_a_kernel_that_is_never_launched_is_no_kernel_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text((FOLDER / "lu.toml").read_text().split("[reference]")[0].replace(
        'launch = "internal"\n', 'launch = "internal"\nwhen = 0\n').replace("n = 128", "n = 16"))  # fmt: skip
    source = imported("lu", tmp_path)
    line = ["rewrite", source, "--launch", str(tmp_path / "p.toml"), "--engine", "numba", "--registers", "30"]
    assert [k["name"] for k in call(*line, "--json").json["kernels"]] == ["diagonal", "perimeter"]
    text = (tmp_path / "p.toml").read_text().replace('launch = "internal"', 'launch = "diagonal"')
    (tmp_path / "p.toml").write_text(text)
    assert "the program launches no such kernel" in refused(2, *line, "--kernel", "internal")


def test_host_steps_need_leave_here_too(tmp_path: Path) -> None:
    source = imported("cluster", tmp_path)
    assert "Give --host-steps" in refused(2, "rewrite", source, *launch("cluster"), "--registers", "6")
    assert "Give --host-steps" in refused(2, "verify", source, source, *launch("cluster"))
    assert call("verify", source, source, *launch("cluster", "--host-steps")).code == 0
    one = ["--launch", str(SAMPLES / "loom" / "nbody.toml"), "--size", "test"]
    nbody = str(SAMPLES / "loom" / "nbody.loom")
    assert "applies to a sequence" in refused(2, "verify", nbody, nbody, *one, "--host-steps")
    assert "applies to a sequence" in refused(2, "rewrite", nbody, *one, "--host-steps")


def test_a_rewrite_that_leaves_another_variable_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = program_rewrite.run_steps
    runs: list[Ran] = []

    def other(*args: Any, **options: Any) -> Ran:
        found = usual(*args, **options)
        runs.append(found)
        if len(runs) == 2:
            found.globals["moved"] = found.globals["moved"] + 1
        return found

    monkeypatch.setattr(program_rewrite, "run_steps", other)
    text = (FOLDER / "cluster.toml").read_text().split("[reference]")[0].replace("n = 2048", "n = 200")
    text = text.replace('until = "moved[0] <= few"', 'until = 1')
    start = text.index('[[argument]]\nname = "moved"')
    text = text[:start] + text[text.index("[[step]]") :].replace('set = "moved"\nvalue = 0', 'set = "means"\nvalue = 0')
    host = text[text.index("host = {") : text.index('[[step.step]]\ncopy = "means"')]
    text = text.replace(host, 'set = "means"\nvalue = 1\n')
    (tmp_path / "p.toml").write_text(text)
    out = tmp_path / "new.loom"
    line = ["rewrite", imported("cluster", tmp_path), "--launch", str(tmp_path / "p.toml"), "--engine", "numba"]
    answer = call(*line, "--registers", "6", "-o", str(out))
    assert answer.code == 1
    assert "DIFFERENT" in answer.out
    assert ".global moved[0]" in answer.out
    assert answer.err.endswith("does not give the same results; nothing was written\n")
    assert not out.exists()


def test_two_binaries_that_differ_are_told_apart(tmp_path: Path) -> None:
    source, other = imported("sort", tmp_path), tmp_path / "other.loom"
    text = call("disasm", source).out
    changed = re.sub(r"(STG[^\n]*?), R\d+", r"\1, RZ", text, count=1)
    assert changed != text
    other.write_bytes(call("asm", "-", stdin=changed.encode()).raw)
    answer = call("verify", source, str(other), *launch("sort"), "--json")
    assert answer.code == 1
    assert answer.json["same_results"] is False
    assert answer.json["differences"][0].startswith("keys[")
    assert answer.json["checked"] is False


RECURSION = """[[argument]]
name = "n"
kind = "buffer"
dtype = "u32"
shape = 32
init = "ones"
""" + "".join(
    f'[[step]]\nlaunch = "{name}"\ngrid = 1\nblock = 32\narguments = ["n"]\n'
    for name in ("parity", "plain", "fibonacci")
)


@pytest.mark.rotates("long commands")
def test_kernels_that_reach_recursion_stay_as_they_are_beside_others(tmp_path: Path) -> None:
    source, out, steps = (str(tmp_path / name) for name in ("r.loom", "new.loom", "steps.toml"))
    Path(steps).write_text(RECURSION)
    assert call("import-ptx", str(ROOT / "tests/data/ptx/recursion.ptx"), "-o", source).code == 0
    line = ["rewrite", source, "--launch", steps, "--engine", "numba", "--registers", "16"]
    found = call(*line, "-o", out, "--json").json
    assert (found["verified"], [k["kernel"] for k in found["kernels"]]) == (True, ["plain"])
    assert [left["kernel"] for left in found["left_out"]] == ["parity", "fibonacci"]
    assert "even -> odd -> even" in found["left_out"][0]["reason"]
    assert "fibonacci: left out, kernel fibonacci: recursion" in call(*line).out
    assert "emulated results same" in call("verify", source, out, "--launch", steps, "--engine", "numba").out
    assert "kernel parity: recursion" in refused(1, *line, "--kernel", "parity")
    Path(steps).write_text(RECURSION.replace('"plain"', '"parity"'))
    assert "kernel parity: recursion" in refused(1, *line)
