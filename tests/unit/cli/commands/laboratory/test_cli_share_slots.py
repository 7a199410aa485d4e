"""`share --share-slots`: slots that are in use for a short time lie in the shared part."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call

KERNEL = """
.machine "gpgpusim-sharing"
.kernel k
    .registers 12
    .shared_bytes 4224
    .shared long 4224 4 0
    .slots 256 R5
    .block 512 1 1
    .param out 8
    S2R R5, SR_SLOTBASE
    S2R R0, SR_TID.X
    SHF.L.U32 R1, R0, 0x2, RZ
    STS.32 [R1+0x880], R0
    STS.32.SPILL [R5], R0
    MOV R6, 0x40
again:
    IADD3 R6, R6, -0x1, RZ
    ISETP.NE.AND P0, PT, R6, RZ, PT
    @P0 BRA again, uniform
    IADD3 R7, R0, 0x1, RZ
    STS.32.SPILL [R5+0x80], R7
    LDS.32.SPILL R3, [R5+0x80]
    LDS.32.SPILL R2, [R5]
    IADD3 R3, R2, R3, RZ
    LDS.32 R2, [R1+0x880]
    IADD3 R3, R2, R3, RZ
    S2R R4, SR_CTAID.X
    IMAD R4, R4, 0x200, R0
    MOV R8, c[0][out]
    MOV R9, c[0][out+4]
    IMAD.WIDE R8, R4, 0x4, R8
    STG.32 [R8], R3
    EXIT
.end
"""
"""512 threads with 4,224 bytes and two slots of 2,048 bytes each: one block and 8,064 bytes more fit into 16 KB. The
second slot is in use for two instructions, the rest for most of the kernel's."""
LAUNCH = """
kernel = "k"
grid = [4]
block = [512]

[[argument]]
name = "out"
kind = "buffer"
dtype = "u32"
shape = [2048]
init = "zeros"
"""
ENGINE = ["--engine", "python"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "k.lasm").write_text(KERNEL)
    (tmp_path / "k.toml").write_text(LAUNCH)
    made = tmp_path / "k.loom"
    answer = call("asm", str(tmp_path / "k.lasm"), "-o", str(made), "--schedule", "gpgpusim-sharing")
    assert answer.code == 0, answer.err
    return [str(made), "--launch", str(tmp_path / "k.toml")]


def test_slots_lie_in_the_shared_part(files: list[str], tmp_path: Path) -> None:
    found = call("share", *files, *ENGINE, "--share-slots", "--json").json
    assert [(one["private_slots"], one["proven"], one["same_results"]) for one in found["versions"]] == [
        (None, True, True), (1, True, True),
    ]  # fmt: skip
    private, shared = found["versions"]
    assert shared["weight"] < private["weight"] / 4
    assert shared["cycles"] < private["cycles"]
    assert found["chosen"] == 1
    assert shared["option"] == "1:6272:1"
    made = str(tmp_path / "made.loom")
    text = call("share", *files, *ENGINE, "--share-slots", "-o", made)
    assert f"{made} was written; it is run with sharing 1:6272:1, under owf." in text.out
    proof = call("verify", files[0], made)
    assert proof.code == 0, proof.out
    assert "1:6272:1: proven" in proof.out
    sharing = ["--sharing", "1:6272:1", "--scheduler", "owf"]
    run = call("run", made, *files[1:], *ENGINE, *sharing, "--check", "--json").json
    assert run["blocks_per_sm"] == 2


def test_what_share_slots_refuses(files: list[str], tmp_path: Path) -> None:
    given = call("share", *files, *ENGINE, "--share-slots", "--sharing", "1:2048:0")
    assert given.code == 2
    assert "expected PAIRS:BYTES, or no --share-slots" in given.err
    without = tmp_path / "without.loom"
    (tmp_path / "k.lasm").write_text(KERNEL.replace("    .slots 256 R5\n", "").replace(".SPILL [R5", " [R1"))
    assert call("asm", str(tmp_path / "k.lasm"), "-o", str(without)).code == 0
    none = call("share", str(without), *files[1:], *ENGINE, "--share-slots")
    assert none.code == 1
    assert "the kernel has no slots that blocks could share" in none.err


def test_a_record_that_does_not_fit_is_malformed(files: list[str], tmp_path: Path) -> None:
    """The numbers of slots in the record are not believed."""
    made = tmp_path / "made.loom"
    options = ["--share-slots", "--no-emulate", "--sharing", "1:8064"]
    assert call("share", *files, *ENGINE, *options, "-o", str(made)).code == 0
    data = made.read_bytes()
    for was, now in ((b'"numbers":[0,1]', b'"numbers":[0,0]'), (b'"slots":1', b'"slots":7')):
        assert data.count(was) == 1
        made.write_bytes(data.replace(was, now))
        answer = call("verify", files[0], str(made))
        assert answer.code in (1, 3), answer.out
