"""`share --profile`: what a run has executed, not its loops, decides which variables are shared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call

MACHINE = ["--machine", "gpgpusim-sharing"]
TEXT = """.kernel k
.block 32
.auto_reconv
.param out, 8
.param n, 4
.shared first 5120 4 0
.shared second 5120 4 5120
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    MOV R2, c[0][out]
    MOV R3, c[0][out+0x4]
    IMAD.WIDE R2, R0, 0x4, R2
    MOV R4, R0
    STS.32 [R1], R4
    LDS.32 R5, [R1]
    ISETP.GT.AND P0, PT, R0, c[0][n], PT
    @P0 BRA out, out
    MOV R6, RZ
turn:
    STS.32 [R1], R4
    LDS.32 R7, [R1]
    IADD3 R4, R4, R7, RZ
    IADD3 R6, R6, 0x1, RZ
    ISETP.LT.AND P1, PT, R6, 0x8, PT
    @P1 BRA turn, out
out:
    STS.32 [R1+0x1400], R4
    LDS.32 R8, [R1+0x1400]
    IADD3 R8, R8, R5, RZ
    LOP3 R8, R8, R5, RZ, 0x3c
    LOP3 R8, R8, R4, RZ, 0x3c
    LOP3 R8, R8, R5, RZ, 0x3c
    LOP3 R8, R8, R4, RZ, 0x3c
    STS.32 [R1+0x1400], R8
    LDS.32 R8, [R1+0x1400]
    STG.32 [R2], R8
    EXIT
.end
"""
"""The loop accesses `first`, where `n` is large; by loops `first` is in use for longer than `second`."""
LAUNCH = """kernel = "k"
grid = 4
block = 32

[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = [32]

[[argument]]
name = "n"
kind = "scalar"
dtype = "i32"
value = {n}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    (tmp_path / "k.lasm").write_text(TEXT)
    answer = call("asm", str(tmp_path / "k.lasm"), "-o", str(tmp_path / "k.loom"))
    assert answer.code == 0, answer.err
    return str(tmp_path / "k.loom")


def launch(tmp_path: Path, n: int) -> list[str]:
    (tmp_path / f"{n}.toml").write_text(LAUNCH.format(n=n))
    return ["--launch", str(tmp_path / f"{n}.toml"), *MACHINE, "--engine", "python"]


def profile(tmp_path: Path, kernel: str, n: int) -> str:
    scheduled, file = str(tmp_path / "scheduled.loom"), str(tmp_path / f"{n}.json")
    assert call("schedule", kernel, *MACHINE, "-o", scheduled).code == 0
    answer = call("run", scheduled, *launch(tmp_path, n), "--profile", file)
    assert answer.code == 0, answer.err
    return file


def shared(kernel: str, *options: str) -> list[str]:
    (one,) = call("share", kernel, *options, "--sharing", "1:5120", "--no-emulate", "--json").json["versions"]
    shown: list[str] = one["shared"]
    return shown


def test_a_run_without_the_loop_chooses_another_variable(tmp_path: Path, kernel: str) -> None:
    run = launch(tmp_path, 31)
    assert shared(kernel, *run) == ["second"]
    assert shared(kernel, *run, "--profile", profile(tmp_path, kernel, 31)) == ["second"]
    assert shared(kernel, *run, "--profile", profile(tmp_path, kernel, -1)) == ["first"]


def test_the_layout_is_in_the_record_as_no_profile_is_at_hand_later(tmp_path: Path, kernel: str) -> None:
    made, ran = str(tmp_path / "made.loom"), profile(tmp_path, kernel, -1)
    line = ["share", kernel, *launch(tmp_path, -1), "--sharing", "1:5120", "--profile", ran, "--no-emulate"]
    answer = call(*line, "-o", made)
    assert answer.code == 0, answer.err
    assert f"Weights: executions of the run of {ran}, by 4 warps, not loops.\n" in answer.out
    assert call(*line, "--json").json["profile"]["warps"] == 4
    assert "k: blocks share memory two by two, 1:5120: proven" in call("verify", kernel, made, *MACHINE).out
    text = call("disasm", made).out
    assert '"distances": [5120, -5120]' in text
    for other in ("[5120]", "[9999999, -5120]", "[-5120, 5120]", "[0, 0]"):
        (tmp_path / "other.lasm").write_text(text.replace("[5120, -5120]", other))
        assert call("asm", str(tmp_path / "other.lasm"), "-o", str(tmp_path / "other.loom")).code == 0
        assert call("verify", kernel, str(tmp_path / "other.loom"), *MACHINE).code == 1, other


def test_another_kernels_profile_is_refused(tmp_path: Path, kernel: str) -> None:
    ran = profile(tmp_path, kernel, -1)
    (tmp_path / "other.lasm").write_text(TEXT.replace("0x8, PT", "0x9, PT"))
    assert call("asm", str(tmp_path / "other.lasm"), "-o", str(tmp_path / "other.loom")).code == 0
    line = ["share", str(tmp_path / "other.loom"), *launch(tmp_path, -1), "--profile", ran]
    answer = call(*line)
    assert answer.code == 2
    assert "the profile is another binary's" in answer.err


def test_a_rewrite_with_pairs_is_weighed_likewise(tmp_path: Path, kernel: str) -> None:
    """The profile counts for what is shared, and is carried over to the shared kernel for its allocation."""
    made, ran = str(tmp_path / "made.loom"), profile(tmp_path, kernel, -1)
    line = ["rewrite", kernel, *launch(tmp_path, -1), "--registers", "8", "--sharing", "1:5120"]
    plain = call(*line, "--json").json
    found = call(*line, "--profile", ran, "-o", made, "--json").json
    assert (plain["pairs"]["chosen"]["shared"], found["pairs"]["chosen"]["shared"]) == (["second"], ["first"])
    assert (found["verified"], found["profile"]["warps"]) == (True, 4)
    assert call("verify", kernel, made, *MACHINE).code == 0


def test_a_profile_is_carried_over_by_instruction_maps(tmp_path: Path, kernel: str) -> None:
    from binalloc.isa.sets.files import load
    from binalloc.pipeline.profile import carried, load_profile

    ran = load_profile(profile(tmp_path, kernel, 31))
    made = str(tmp_path / "made.loom")
    line = ["share", kernel, *launch(tmp_path, 31), "--sharing", "1:5120", "--edges", "jump", "--no-emulate"]
    assert call(*line, "-o", made).code == 0
    original, shared = load(kernel), load(made)
    counts = carried(ran, original, shared, "k").executions(shared, "k")["k"]
    before = ran.executions(original, "k")["k"]
    origin = shared.function("k").origin
    assert origin is not None
    assert len(counts) == len(shared.function("k")) > len(before)
    kept = [(at, old) for at, old in enumerate(origin.index) if old >= 0]
    assert [counts[at] for at, _ in kept] == [before[old] for _, old in kept]
    for at, old in enumerate(origin.index):
        behind = [n for n in origin.index[at:] if n >= 0]
        assert counts[at] == (before[behind[0]] if behind else 0), old
