"""`multiplex --no-emulate`: versions are built, proven and written without a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.kits.cli import call, refused
from tests.support.paths import sample_file

FFT = str(sample_file("fourierTransform.ptx"))
LAUNCH = ["--launch", str(sample_file("fourierTransform.toml")), "--size", "test"]
COMMAND = ["multiplex", FFT, *LAUNCH, "--machine", "gtx285", "--no-emulate"]


@pytest.mark.rotates("long commands")
def test_no_figure_of_a_run_is_there() -> None:
    found = call(*COMMAND, "--scheme", "vtb", "--json").json
    assert (found["original"]["cycles"], found["original"]["blocks_per_sm"]) == (None, 1)
    made = [version for version in found["schemes"] if not version["own_words"]]
    for version in (found["shorter"], *made):
        assert version["proven"]
        assert not {"cycles", "speedup", "same_results"} & version.keys()
    numbers = [(v["merge"], v["shorter_regions"]) for v in made]
    assert numbers == [(2, False), (4, False), (2, True), (4, True)]
    text = call(*COMMAND, "--scheme", "vtb").out
    assert text.startswith("FFT: 4 versions built for gtx285, 4 of them proven; none was emulated\n"
                           "The original has 1 block per SM, limited by shared; it was not run.\n")  # fmt: skip
    assert re.search(r"\nvtb of 2 +- +- +\d", text)
    assert "not compared  proven\n" in text


@pytest.mark.rotates("long commands")
@pytest.mark.parametrize(("scheme", "name"), [
    (["vtb", "--merge", "4"], "vtb of 4"), (["vtb-pipe"], "vtb-pipe of 2"), (["hw"], "hw"),
])  # fmt: skip
def test_a_version_is_written_that_runs_and_is_proven_again(tmp_path: Path, scheme: list[str], name: str) -> None:
    made = str(tmp_path / "fft.loom")
    answer = call(*COMMAND, "--scheme", *scheme, "--regions", "as-is", "-o", made)
    assert answer.code == 0, answer.err
    assert f"/fft.loom: {name} was written.\n" in answer.out
    assert ("adapt the original's launch file" in answer.out) == (scheme[0] != "hw")
    assert "proven for blocks of 64 x 1 x 1" in call("verify", FFT, made, "--machine", "gtx285").out
    run = call("run", made, *LAUNCH, "--machine", "gtx285", "--reference", "--check", "--race", "--json")
    assert run.code == 0, run.err


def test_without_a_proof_the_answer_is_no(monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.pipeline.multiplex import multiplexing

    monkeypatch.setattr(multiplexing, "unproven_step", lambda *_: "something")
    answer = call(*COMMAND, "--scheme", "hw", "--regions", "as-is")
    assert answer.code == 1
    assert "No proof of hw: something\n" in answer.out
    assert answer.err.endswith("FFT: none of its versions is proven\n")


def test_what_does_not_fit_is_refused() -> None:
    line = ["multiplex", str(sample_file("slidingMD5.ptx")), "--launch", str(sample_file("slidingMD5.toml")),
            "--machine", "gtx285", "--no-emulate", "--regions", "as-is"]  # fmt: skip
    answer = call(*line, "--scheme", "hw")
    assert answer.code == 1
    assert "No hw: no block fits on an SM of gtx285" in answer.out


@pytest.mark.parametrize(("options", "message"), [
    (["--scheme", "auto"], "--scheme auto measures versions in the emulator; expected the command without --no-em"),
    (["--share"], "--share measures versions"), (["--timeline"], "--timeline measures versions"),
    (["--scheme", "hw", "-o", "x.loom"], "without runs nothing says which regions are faster; found -o; expected --r"),
])  # fmt: skip
def test_what_needs_runs_is_refused(options: list[str], message: str) -> None:
    assert message in refused(2, *COMMAND, *options)
