"""`--profile`: written by `run`, read by `rewrite` and `compare-allocators`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.kits.cli import call, launch, loom, refused, rescheduled, stopped

RARE = """.kernel rare
.block 32
.param out, 8
        MOV R2, c[0][out]
        MOV R3, c[0][out+4]
        LDG R10, [R2]
        LDG R11, [R2+4]
        LDG R12, [R2+8]
        LDG R13, [R2+12]
        MOV R20, 50
        MOV R5, 1
loop:   ISETP.NE.AND P0, PT, R20, 7, PT
        @P0 BRA next, next
        IADD3 R5, R5, R10, R11              // once in fifty rounds
next:   ISETP.NE.AND P0, PT, R20, 9, PT
        @P0 BRA often, join
        LOP3 R5, R5, R10, R11, 0x96         // likewise
        BRA join
often:  IADD3 R5, R5, R12, R13              // otherwise
join:   IADD3 R20, R20, -1, RZ
        ISETP.NE.AND P0, PT, R20, RZ, PT
        @P0 BRA loop, end
end:    IADD3 R5, R5, R10, R11
        IADD3 R5, R5, R12, R13
        STG [R2], R5
        EXIT
.end
"""
LAUNCH = """kernel = "rare"
grid = 2
block = 32
[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = 64
init = "zeros"
"""


SMALL = ["--registers", "6", "--slots", "2", *launch("callchain"), "--no-emulate"]


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("profile") / "callchain.json")
    answer = call("run", loom("callchain"), *launch("callchain"), "--profile", path)
    assert answer.code == 0
    assert f"Profile: {path}, executions by 24 warps" in answer.out
    return path


def test_rewrite_says_whose_weights_it_took(profile: str) -> None:
    command = ["rewrite", loom("callchain"), *SMALL]
    answer = call(*command, "--profile", profile, "--explain")
    assert answer.code == 0
    assert f"Weights: executions of the run of {profile}, by 24 warps, not loops." in answer.out
    assert call(*command, "--profile", profile, "--json").json["profile"] == {
        "file": profile, "machine": "gtx680", "partial": False, "warps": 24,
    }  # fmt: skip
    assert call(*command, "--json").json["profile"] is None
    assert "Weights:" not in call(*command).out


def test_compare_allocators_says_it_too(profile: str) -> None:
    command = ["compare-allocators", loom("callchain"), "--registers", "6", "--slots", "2", "--allocators", "best"]
    plain, weighed = call(*command), call(*command, "--profile", profile)
    assert "cost: by loops and calls" in plain.out
    assert "cost: by executions" in weighed.out
    assert "by 24 warps, not loops" in weighed.out
    found = [call(*command, *more, "--json").json for more in ([], ["--profile", profile])]
    assert (found[0]["profile"], found[1]["profile"]["warps"]) == (None, 24)
    costs = [one["kernels"][0]["rows"][0]["cost"] for one in found]
    assert costs[0] != costs[1]  # ten rounds of the loop estimated, fewer counted


@pytest.mark.parametrize("registers", ["5", "4"])
def test_spill_code_leaves_what_runs_often(registers: str, tmp_path: Path) -> None:
    """Where the blocks with the most accesses are not those that run most, fewer spill accesses run."""
    binary, toml, counted = (str(tmp_path / name) for name in ("rare.loom", "rare.toml", "rare.json"))
    (tmp_path / "rare.lasm").write_text(RARE)
    (tmp_path / "rare.toml").write_text(LAUNCH)
    assert call("asm", str(tmp_path / "rare.lasm"), "--schedule", "gtx680", "-o", binary).code == 0
    run = ["--launch", toml, "--engine", "python"]
    assert call("run", binary, *run, "--profile", counted).code == 0
    accesses = []
    for n, weights in enumerate(([], ["--profile", counted])):
        out = str(tmp_path / f"{n}.loom")
        command = ["rewrite", binary, "--registers", registers, "--slots", "0", "--no-emulate", *weights, "-o", out]
        assert call(*command).code == 0
        accesses.append(call("run", out, *run, "--json").json["stats"]["spill_accesses"])
    assert accesses[1] < accesses[0]


def test_the_profile_names_the_kernel(profile: str, tmp_path: Path) -> None:
    text = call("disasm", loom("callchain")).out + ".kernel other\n EXIT\n.end\n"
    two = str(tmp_path / "two.loom")
    assert call("asm", "-", "-o", two, "--schedule", "gtx680", stdin=text.encode()).code == 0
    command = ["compare-allocators", two, "--registers", "6", "--slots", "0", "--allocators", "best"]
    assert [k["kernel"] for k in call(*command, "--json").json["kernels"]] == ["callchain", "other"]
    command += ["--profile", profile]
    assert [k["kernel"] for k in call(*command, "--json").json["kernels"]] == ["callchain"]
    assert "another kernel's" in refused(2, *command, "--kernel", "other")


def test_code_under_other_control_codes_may_use_it(profile: str, tmp_path: Path) -> None:
    other = rescheduled("callchain", "v100", tmp_path)
    assert call("rewrite", other, *SMALL, "--profile", profile).code == 0


@pytest.mark.parametrize("command", ["rewrite", "compare-allocators"])
def test_a_profile_of_another_binary_is_refused(command: str, profile: str, tmp_path: Path) -> None:
    text = call("disasm", loom("callchain")).out
    changed = text.replace("FMUL R4, R2, R3", "FMUL R4, R2, R2", 1)
    assert changed != text
    other = str(tmp_path / "other.loom")
    assert call("asm", "-", "-o", other, stdin=changed.encode()).code == 0
    said = refused(2, command, other, "--registers", "6", "--slots", "0", "--profile", profile)
    assert profile in said
    assert "another binary's" in said
    assert "--profile" in said


def test_what_is_no_profile_is_refused(profile: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    command = ["rewrite", loom("callchain"), *SMALL, "--profile", str(bad)]
    assert "cannot read" in refused(2, *command)
    data = Path(profile).read_bytes()
    record = json.loads(data)
    damage = {
        "not JSON": data[:-20],
        "another version": json.dumps(record | {"profile_version": 9}).encode(),
        "found -3": json.dumps(record | {"functions": record["functions"] | {"C": [[0, -3]]}}).encode(),
        "not a profile": b"\xff\xfe\x00",
    }
    for said, content in damage.items():
        bad.write_bytes(content)
        assert said in refused(3, *command)


def test_a_run_that_is_stopped_leaves_what_it_counted(tmp_path: Path) -> None:
    path = str(tmp_path / "p.json")
    stopped(4, loom("callchain"), *launch("callchain"), "--max-cycles", "300", "--profile", path)
    assert json.loads(Path(path).read_text())["partial"] is True
    answer = call("rewrite", loom("callchain"), *SMALL, "--profile", path)
    assert answer.code == 0
    assert "which was stopped before its end" in answer.out


def test_a_profile_is_not_written_over_inputs_nor_over_another_output(tmp_path: Path) -> None:
    run = ["run", loom("callchain"), *launch("callchain")]
    assert "overwrite its own input" in refused(2, *run, "--profile", loom("callchain"))
    path = str(tmp_path / "x.json")
    assert "--series and --profile" in refused(2, *run, "--profile", path, "--series", path)
    assert "folder" in refused(2, *run, "--profile", str(tmp_path / "no" / "p.json"))
    Path(path).write_text("{}")
    command = ["rewrite", loom("callchain"), "--registers", "6", "--profile", path, "-o", path]
    assert "overwrite its own input" in refused(2, *command)
