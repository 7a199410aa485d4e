"""`multiplex --scheme vtb-pipe` and `--barriers named`: what is written runs and is proven again; bad options."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kits.cli import call, refused
from tests.support.paths import sample_file

pytestmark = pytest.mark.usefixtures("shared_versions")

FFT = str(sample_file("fourierTransform.ptx"))
LAUNCH = ["--launch", str(sample_file("fourierTransform.toml")), "--size", "test"]
NAMED = ["--scheme", "vtb", "--barriers", "named"]


@pytest.mark.rotates("long commands")
@pytest.mark.parametrize("options", [["--scheme", "vtb-pipe"], [*NAMED, "--merge", "2"]])
def test_what_is_written_runs_and_is_proven_again(options: list[str], tmp_path: Path) -> None:
    made = str(tmp_path / "fft.loom")
    line = ["multiplex", FFT, *LAUNCH, "--machine", "gtx480-16k", *options, "--regions", "as-is", "-o", made, "--json"]
    (version,) = call(*line).json["schemes"]
    assert version["proven"]
    assert version["same_results"]
    assert (version["scheme"], version["merge"]) == (options[1], 2)
    assert version["barriers"] == ("named" if "--barriers" in options else "block")
    assert version["speedup"] > 1
    run = call("run", made, *LAUNCH, "--check", "--race", "--json").json
    assert run["cycles"] == version["cycles"]
    assert call("verify", FFT, made, "--machine", "gtx480-16k").code == 0


@pytest.mark.parametrize(("options", "message"), [
    (["--scheme", "vtb-pipe", "--merge", "3"], "a pipe is of two virtual blocks"),
    (["--scheme", "vtb-pipe", "--barriers", "named"], "--barriers belongs to another scheme"),
    (["--scheme", "hw", "--barriers", "block"], "--barriers belongs to another scheme"),
    (["--scheme", "vtb-pipe", "--over", "1"], "--over belongs to another scheme"),
])  # fmt: skip
def test_options_of_another_scheme(options: list[str], message: str) -> None:
    assert message in refused(2, "multiplex", FFT, *LAUNCH, "--machine", "gtx285", *options)


def test_a_machine_without_named_barriers() -> None:
    found = call("multiplex", FFT, *LAUNCH, "--machine", "gtx285", *NAMED, "--regions", "as-is", "--json")
    assert found.code == 1
    for version in found.json["schemes"]:
        assert "the machine has no named barriers; found gtx285, compute capability 1.3" in version["refused"]
        assert "Use --barriers block." in version["refused"]
