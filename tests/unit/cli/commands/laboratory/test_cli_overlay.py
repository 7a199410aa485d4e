"""`share --overlay`: variables lie over one another; the version is proven, run, compared, written and verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.kits.cli import call
from tests.support.paths import sample_file

WORDS = 2048  # of each array: 8 KB, so that an SM of a v100 holds 6 blocks with two arrays and 12 with one
KERNEL = f"""
.kernel k
.param out, 8
.param in, 8
.shared a, {4 * WORDS}, 16, 0
.shared b, {4 * WORDS}, 16, {4 * WORDS}
S2R R0, SR_TID.X
SHF.L.U32 R1, R0, 0x2, RZ
LOP3 R2, R1, 0x40, RZ, 0x3c
S2R R7, SR_CTAID.X
IMAD R10, R7, 0x40, R0
MOV R4, c[0][out]
MOV R5, c[0][out+0x4]
MOV R12, c[0][in]
MOV R13, c[0][in+0x4]
IMAD.WIDE R4, R10, 0x4, R4
IMAD.WIDE R12, R10, 0x4, R12
LDG.32 R8, [R12]
MOV R6, 0x0
round:
STS.32 [R1+a+0x100], R8
BAR.SYNC 0
LDS.32 R3, [R2+a+0x100]
IADD3 R8, R3, 0x5, R6
BARRIER
STS.32 [R1+b+0x100], R8
BAR.SYNC 0
LDS.32 R3, [R2+b+0x100]
IADD3 R8, R3, 0x3, R6
BAR.SYNC 0
IADD3 R6, R6, 0x1, RZ
ISETP.LT.AND P1, PT, R6, 0x8, PT
@P1 BRA round, after
after:
STG.32 [R4], R8
EXIT
.end
"""
LAUNCH = """
kernel = "k"
grid = [GRID]
block = [64]

[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = [WORDS]

[[argument]]
name = "in"
kind = "buffer"
dtype = "u32"
shape = [WORDS]
init = { kind = "arange" }
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the kernel and its launch."""
    made(tmp_path, "k", KERNEL.replace("BARRIER", "BAR.SYNC 0"))
    (tmp_path / "k.toml").write_text(LAUNCH.replace("GRID", "24").replace("WORDS", str(64 * 24)))
    return tmp_path


def made(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.lasm").write_text(text)
    answer = call("asm", str(folder / f"{name}.lasm"), "-o", str(folder / f"{name}.loom"))
    assert answer.code == 0, answer.err


def command(folder: Path, *options: str, name: str = "k", machine: str = "v100") -> list[str]:
    launch = ["--launch", str(folder / "k.toml"), "--engine", "python", "--machine", machine]
    return ["share", str(folder / f"{name}.loom"), *launch, "--overlay", *options]


def test_more_blocks_run_and_the_result_is_verified(files: Path) -> None:
    out = str(files / "over.loom")
    answer = call(*command(files, "-o", out, "--sms", "1"))
    assert answer.code == 0, answer.err
    first, second, third, *rest = answer.out.splitlines()
    assert first.startswith("k: 1.")
    assert first.endswith(" times as fast (emulated) with 12 blocks instead of 6")
    assert second == (
        "A block needs 8,192 bytes of shared memory instead of 16,384, the fewest that these variables can have. "
        "An SM of v100 holds 12 blocks (limited by shared) instead of 6 (limited by shared)."
    )
    assert third.endswith("(emulated), same results.")
    assert [line.split() for line in rest[3:5]] == [["a", "8,192", "0", "0", "b"], ["b", "8,192", "8,192", "0", "a"]]
    assert rest[5] == "The overlay is proven for blocks of the launch's size, and requires them."
    assert rest[-1] == f"{out} was written."
    launch = ["--launch", str(files / "k.toml"), "--machine", "v100"]
    run = call("run", out, *launch, "--engine", "python", "--check", "--race", "--json").json
    assert run["blocks_per_sm"] == 12
    verified = call("verify", str(files / "k.loom"), out, *launch)
    assert verified.code == 0, verified.err
    assert "k: variables lie over one another in shared memory: proven for blocks of 64 x 1 x 1" in verified.out
    shared = call("inspect", out, "--shared", "--block", "64").out
    assert "8,192" in shared


def test_json_says_which_variables_lie_over_which(files: Path) -> None:
    found = call(*command(files, "--no-emulate", "--json")).json
    assert [found[side]["shared_bytes"] for side in ("before", "after")] == [16384, 8192]
    assert [found[side]["blocks_per_sm"] for side in ("before", "after")] == [6, 12]
    assert [found[side]["cycles"] for side in ("before", "after")] == [None, None]
    assert [(one["variables"], one["address"], one["over"]) for one in found["variables"]] == [
        (["a"], 0, ["b"]), (["b"], 0, ["a"])
    ]  # fmt: skip
    assert (found["proven"], found["least"], found["same_results"], found["output"]) == (True, True, None, None)


def test_nothing_is_laid_over_with_no_barrier_between(files: Path) -> None:
    made(files, "apart", KERNEL.replace("BARRIER", "NOP"))
    answer = call(*command(files, "-o", str(files / "over.loom"), name="apart"))
    assert answer.code == 1
    assert answer.out == ""
    assert "k+18: no variable can lie over another: they meet" in answer.err
    assert "a is accessed at k+15 and b at k+18, with no barrier between them" in answer.err
    assert not (files / "over.loom").exists()


def test_an_access_that_nothing_is_known_of_is_named(files: Path) -> None:
    made(files, "unknown", KERNEL.replace("BARRIER", "BAR.SYNC 0").replace("STG.32 [R4], R8", "STS.32 [R8], R8"))
    answer = call(*command(files, name="unknown"))
    assert answer.code == 1
    assert "accesses cannot be attributed to variables; found an access that may go to a, b" in answer.err
    assert answer.err.strip().split("error: ")[1].startswith("k+26: ")


def test_where_no_block_is_gained_the_bytes_are_told_and_nothing_is_written(files: Path) -> None:
    text = (files / "k.toml").read_text().replace("block = [64]", "block = [1024]").replace("1536", str(1024 * 24))
    (files / "k.toml").write_text(text)
    made(files, "k", KERNEL.replace("BARRIER", "BAR.SYNC 0").replace("0x40, R0", "0x400, R0"))
    answer = call(*command(files, "--no-emulate", "-o", str(files / "over.loom")))
    assert answer.code == 1
    assert answer.out.startswith("k: no block is gained: an SM of v100 holds 2 blocks as before, limited by warps\n")
    assert "8,192 bytes of shared memory instead of 16,384" in answer.out
    assert "nothing is written" in answer.err
    assert not (files / "over.loom").exists()


@pytest.mark.parametrize(
    "option",
    [["--sharing", "0.1"], ["--sharing", "auto"], ["--layout", "move"], ["--share-slots"], ["--profile", "p.json"]],
)
def test_blocks_share_nothing_meanwhile(files: Path, option: list[str]) -> None:
    answer = call(*command(files, *option))
    assert answer.code == 2
    assert f"{option[0]}: blocks share nothing where variables are laid over one another" in answer.err
    assert call(*command(files, "--sharing", "off", "--no-emulate")).code == 0


def test_the_result_is_shared_two_by_two_and_verified_in_two_steps(tmp_path: Path) -> None:
    sample, over, pairs = sample_file("contrast.ptx"), str(tmp_path / "over.loom"), str(tmp_path / "pairs.loom")
    given = ["--launch", str(sample.with_suffix(".toml")), "--size", "test", "--machine", "gtx680", "--no-emulate"]
    assert call("share", str(sample), *given, "--overlay", "-o", over).code == 0
    shared = call("share", over, *given, "-o", pairs)
    assert shared.out.startswith("contrast: 10 blocks instead of 5, 10 of them in pairs;"), shared.err
    verified = call("verify", str(sample), pairs, "--machine", "gtx680", "--json")
    assert verified.code == 0, verified.err
    turns = verified.json["turns"]
    assert [(turn["scheme"].split()[0], turn["proven"]) for turn in turns] == [("overlay", True), ("share", True)]


def test_the_result_in_another_order_is_verified_in_either_step(tmp_path: Path) -> None:
    """Both binaries have a map of instructions. That of the second leads to the first, whose own is the identity."""
    sample, over, other = sample_file("contrast.ptx"), str(tmp_path / "over.loom"), str(tmp_path / "other.loom")
    given = ["--launch", str(sample.with_suffix(".toml")), "--size", "test", "--machine", "gtx680"]
    assert call("share", str(sample), *given, "--no-emulate", "--overlay", "-o", over).code == 0
    found = call("rewrite", over, *given, "--json", "-o", other).json
    assert found["ordering"] > 1, "else the order of instructions would be the same"
    for original in (str(sample), over):
        verified = call("verify", original, other, "--machine", "gtx680")
        assert verified.code == 0, verified.out


def test_variables_that_lie_over_one_another_already(files: Path) -> None:
    out = str(files / "over.loom")
    assert call(*command(files, "--no-emulate", "-o", out)).code == 0
    answer = call(*command(files, name="over"))
    assert (answer.code, answer.out) == (1, "")
    assert "over.loom: k: variables of the kernel lie over one another already" in answer.err
    assert "found a binary that was overlaid, with 8,192 bytes of shared memory" in answer.err
    assert "Start with the original." in answer.err


@pytest.mark.parametrize("release", ["opt", "none"])
def test_blocks_that_share_memory_already(tmp_path: Path, release: str) -> None:
    """Such a binary is none that variables could be moved in again, whether it has releases or not."""
    sample, pairs = sample_file("contrast.ptx"), str(tmp_path / "pairs.loom")
    given = ["--launch", str(sample.with_suffix(".toml")), "--size", "test", "--machine", "gpgpusim-sharing"]
    line = ["share", str(sample), *given, "--no-emulate", "--release", release, "-o", pairs]
    assert call(*line).code == 0
    for again in (["share", pairs, *given, "--overlay"], ["share", pairs, *given], ["recommend", pairs, *given,
                  "--sharing", "auto"]):  # fmt: skip
        answer = call(*again)
        assert (answer.code, answer.out) == (1, "")
        what = "the kernel releases shared memory" if release == "opt" else "blocks of the kernel share memory"
        assert f"{what} already" in answer.err
        assert "Start with the original." in answer.err


def test_a_record_of_other_variables_is_no_proof(files: Path) -> None:
    """The binary is not the original's overlay: of a kernel with one variable less, or with a barrier less."""
    out = str(files / "over.loom")
    assert call(*command(files, "--no-emulate", "-o", out)).code == 0
    one = KERNEL.replace("BARRIER", "BAR.SYNC 0").replace(f".shared b, {4 * WORDS}, 16, {4 * WORDS}\n", "")
    made(files, "one", one.replace(f".shared a, {4 * WORDS}", f".shared a, {8 * WORDS}").replace("+b+", "+0x2000+"))
    found = call("verify", str(files / "one.loom"), out, "--machine", "v100")
    assert found.code == 1
    assert "the record of an overlay is one of other variables" in found.out
    made(files, "apart", KERNEL.replace("BARRIER", "NOP"))
    found = call("verify", str(files / "apart.loom"), out, "--machine", "v100", "--json")
    assert found.code == 1
    (turn,) = json.loads(found.out)["turns"]
    assert (turn["scheme"], turn["proven"]) == ("overlay", False)
    assert "another may be written before the next barrier" in turn["missing"]


@pytest.mark.parametrize("field", ['"distances": [0, -', '"distances": [', '"bytes": '])
def test_a_record_that_leads_out_of_memory_is_no_proof(files: Path, field: str) -> None:
    """Its numbers may be any: those that no instruction can have, too."""
    out = str(files / "over.loom")
    assert call(*command(files, "--no-emulate", "-o", out)).code == 0
    text = call("disasm", out).out
    assert text.count(field) == 1
    (files / "forged.lasm").write_text(text.replace(field, f"{field}{10**20}"))
    forged = str(files / "forged.loom")
    assert call("asm", str(files / "forged.lasm"), "-o", forged).code == 0
    found = call("verify", str(files / "k.loom"), forged, "--machine", "v100")
    assert found.code == 1
    assert "the record of an overlay does not fit the kernel" in found.out
