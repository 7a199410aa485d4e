"""`verify` of kernels whose blocks use shared memory in turns: the steps are made again, and each is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binalloc.isa.sets.files import load, write_module
from binalloc.models.machines.reader import load_machine
from tests.support.kits.cli import call, refused
from tests.unit.cli.commands.turns.conftest import MACHINE, Taken

PLAIN = ("--engine", "python")


def test_merged_blocks_are_proven(taken: Taken) -> None:
    found = call("verify", taken.binary, taken.made, "--launch", taken.launch, *PLAIN, "--json").json
    assert found["turns"] == [
        {"kernel": "chase", "scheme": "vtb of 4", "block": [64, 1, 1], "proven": True, "missing": None,
         "sharing": None, "by_symbol": 0, "order": None, "grid": None}
    ]
    assert (found["verified"], found["checked"], found["same_results"]) == (True, True, True)
    answer = call("verify", taken.binary, taken.made)
    assert answer.code == 0
    assert answer.out.startswith(
        "chase: blocks use shared memory in turns, vtb of 4: proven for blocks of 64 x 1 x 1\n"
        "chase: symbolic check passed\n"
    )


@pytest.mark.rotates
@pytest.mark.parametrize(("scheme", "regions"), [
    (("hw",), "shorter"),
    (("vtb", "--merge", "2"), "shorter"),
    (("vtb-pipe",), "as-is"),
    (("co-vtb", "--merge", "2"), "as-is"),
])  # fmt: skip
def test_what_multiplex_writes_is_proven(taken: Taken, tmp_path: Path, scheme: tuple[str, ...], regions: str) -> None:
    made = str(tmp_path / "made.loom")
    call("multiplex", taken.binary, "--launch", taken.launch, *MACHINE, "--scheme", *scheme, "--regions", regions,
         "-o", made)  # fmt: skip
    answer = call("verify", taken.binary, made)
    assert answer.code == 0, answer.out
    assert f"in turns, {scheme[0]}" in answer.out


@pytest.mark.parametrize(("old", "new"), [("BAR.SYNC 0", "NOP"), ("STS.32 [R", "STS.32 [0x4+R")])
def test_other_code_is_not_proven(taken: Taken, tmp_path: Path, old: str, new: str) -> None:
    made = str(tmp_path / "wrong.loom")
    text = call("disasm", taken.made).out
    assert old in text
    call("asm", "-", "-o", made, stdin=text.replace(old, new, 1).encode())
    answer = call("verify", taken.binary, made)
    assert answer.code == 1
    assert "symbolic check FAILED" in answer.out
    assert "so that it has to be the one of which they were made, by this binalloc" in answer.out


def test_a_step_that_its_checker_does_not_prove_is_said(taken: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.pipeline.proving import turns

    monkeypatch.setattr(turns, "unproven_step", lambda *_: "chase: something")
    answer = call("verify", taken.binary, taken.made)
    assert answer.code == 1
    assert answer.out.startswith("chase: blocks use shared memory in turns, vtb of 4: NOT proven\n")
    assert "symbolic check FAILED\n  chase: something\n" in answer.out


def test_a_step_that_changes_something_else_is_not_proven(taken: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheme's checker is about the kernel alone."""
    from dataclasses import replace

    from binalloc.pipeline.proving import turns

    build = turns.build

    def other(*given: Any) -> Any:
        built = build(*given)
        return replace(built, module=replace(built.module, constants={2: b"1234"}))

    old = replace(load(taken.binary), constants={2: b"1235"})
    monkeypatch.setattr(turns, "build", other)
    _, (proof,) = turns.prove_turns(old, load(taken.made), ["chase"], load_machine("gtx285"))
    assert not proof.proven
    assert "constant bank 2" in proof.missing


def test_remarks_say_which_original_they_are_about(taken: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker's original has merged blocks already, and other numbers of instructions than the user's."""
    from binalloc.pipeline.proving import check

    monkeypatch.setattr(check, "_check", lambda *_, **__: ([], ["chase+362: the original reads R37"], []))
    out = call("verify", taken.binary, taken.made).out
    remark = "  note: the original of 'chase' is here the kernel whose blocks take turns, made again by its record\n"
    assert remark + "  note: chase+362: the original reads R37\n" in out


def test_another_original_is_not_proven(taken: Taken, tmp_path: Path) -> None:
    other, text = str(tmp_path / "other.loom"), call("disasm", taken.binary).out
    assert "STS.32" in text
    call("asm", "-", "-o", other, stdin=text.replace("0x40", "0x20").encode())
    answer = call("verify", other, taken.made)
    assert answer.code == 1
    assert "symbolic check FAILED" in answer.out


def test_a_scheme_that_cannot_be_made_again_is_said(taken: Taken, tmp_path: Path) -> None:
    """The original has no access to shared memory any more, so that no block has to wait for its turn."""
    other = str(tmp_path / "other.loom")
    lines = call("disasm", taken.binary).out.splitlines()
    kept = [line.replace("STS.32", "NOP //").replace("LDS.32 R4, [R1]", "MOV R4, R6") for line in lines]
    text = "\n".join("    NOP" if "NOP //" in line else line for line in kept)
    call("asm", "-", "-o", other, stdin=f"{text}\n".encode())
    answer = call("verify", other, taken.made)
    assert answer.code == 1
    assert "the scheme cannot be made again of the original: chase: no block waits for shared memory" in answer.out


@pytest.mark.parametrize(("record", "found"), [
    ({"multiplexed": "other"}, "found {'kernel': 'chase'"),
    ({"multiplexed": "vtb", "shorter_regions": 1}, "found {'kernel': 'chase'"),
    ({"multiplexed": "vtb", "own_words": "yes"}, "found {'kernel': 'chase'"),
    ({"multiplexed": "hw"}, "found hw and merged blocks"),
    ({"multiplexed": "co-vtb", "private_bytes": [[8, 4]]}, "found {'kernel': 'chase'"),
    ({"multiplexed": "co-vtb", "private_bytes": [[0, 8], [4, 12]]}, "found {'kernel': 'chase'"),
    ({"multiplexed": "co-vtb", "private_bytes": "all"}, "found {'kernel': 'chase'"),
])  # fmt: skip
def test_a_record_that_says_nothing_sensible_is_refused(
    taken: Taken, tmp_path: Path, record: dict[str, object], found: str
) -> None:
    module = load(taken.made)
    module.provenance = [*module.provenance, {"kernel": "chase"} | record]
    made = tmp_path / "wrong.loom"
    made.write_bytes(write_module(module))
    said = refused(3, "verify", taken.binary, str(made))
    assert "the record does not say how blocks use shared memory in turns; " in said
    assert found in said


def test_a_record_that_contradicts_the_launch_is_refused(taken: Taken, tmp_path: Path) -> None:
    launch = tmp_path / "other.toml"
    launch.write_text(Path(taken.launch).read_text().replace("block = 64", "block = 32"))
    said = refused(3, "run", taken.made, "--launch", str(launch), *PLAIN)
    assert "the record says that other blocks were merged than the launch has; found blocks of (32, 1, 1)" in said
