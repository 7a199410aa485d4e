"""The machine of PTX is its target's unless another is asked for; a binary keeps its own; both are told, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from binalloc import Request, import_ptx, load, load_launch, recommend, rewrite_kernel, sweep_kernel
from binalloc.cli.main import main
from tests.support.kits.cli import loom
from tests.support.paths import sample_file

PTX = str(sample_file("cfd.ptx"))
TEXT = Path(PTX).read_text()
WHY = "target sm_75: capability 7.5 (rtx2060 has it, too)"


def ran(*args: str) -> tuple[str, str]:
    """Both streams of a command as it stands, which ends well."""
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr


def told(*args: str) -> Any:
    return json.loads(ran(*args, "--json")[0])


def of_target(folder: Path, target: str) -> str:
    """The sample as PTX for another GPU."""
    path = folder / f"{target}.ptx"
    path.write_text(TEXT.replace(".target sm_75", f".target {target}"))
    return str(path)


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("target", "machine"),
    [
        ("sm_75", "t4"), ("sm_80", "a100"), ("sm_86", "rtx3070"), ("sm_90a", "h100"), ("sm_100a", "b200"),
        ("sm_61", "v100"),
    ],
)
def test_import_is_for_the_targets_machine(target: str, machine: str, tmp_path: Path) -> None:
    out = str(tmp_path / "k.loom")
    _, err = ran("import-ptx", of_target(tmp_path, target), "-o", out)
    assert f"imported for {machine} (target {target}: capability " in err
    answer = told("import-ptx", of_target(tmp_path, target), "-o", out)
    assert answer["machine"] == machine
    assert answer["machine_from"].startswith(f"target {target}: capability ")
    assert load(out).kernels()[0].info.machine == machine


@pytest.mark.rotates("long commands")
def test_commands_that_read_ptx_take_the_targets_machine(tmp_path: Path) -> None:
    launch = PTX.replace(".ptx", ".toml")
    rewrite = ("rewrite", PTX, "--registers", "40", "--slots", "0", "--launch", launch, "--no-emulate")
    answer = told(*rewrite)
    assert (answer["machine"], answer["machine_from"]) == ("t4", WHY)
    assert f"imported in memory for t4 ({WHY}; --machine names another)" in ran(*rewrite)[1]
    compared = told("compare-allocators", PTX, "--registers", "40", "--slots", "0", "--allocators", "local")
    assert (compared["machine"], compared["machine_from"]) == ("t4", WHY)
    (advice,) = told("recommend", PTX, "--launch", launch, "--no-emulate")["recommendations"]
    assert (advice["machine"], advice["machine_from"]) == ("t4", WHY)


@pytest.mark.rotates("long commands")
def test_commands_that_show_and_run_say_which_machine(tmp_path: Path) -> None:
    launch = ("--launch", PTX.replace(".ptx", ".toml"), "--size", "test")
    chosen = [
        told("run", PTX, *launch, "--engine", "python"),
        told("inspect", PTX),
        told("launch-skeleton", PTX),
        *told("sweep", PTX, *launch, "--levels", "1", "--allocators", "local", "--cache", str(tmp_path))["machines"],
    ]
    assert [(one["machine"], one["machine_from"]) for one in chosen] == [("t4", WHY)] * 4
    assert (chosen[3]["file"], chosen[3]["kernel"]) == (PTX, "cfd")
    assert told("inspect", PTX, "--machine", "a100")["machine_from"] == "asked for"
    assert told("run", loom("callchain"), "--launch", loom("callchain").replace(".loom", ".toml"), "--size", "test",
                "--engine", "python")["machine_from"] == "the binary's own"  # fmt: skip


def test_a_sequence_says_which_machine() -> None:
    program = str(sample_file("sort.ptx"))
    answer = told("run", program, "--launch", program.replace(".ptx", ".toml"), "--size", "test", "--engine", "python")
    assert (answer["machine"], answer["machine_from"]) == ("t4", WHY)


def test_schedule_keeps_a_binarys_machine(tmp_path: Path) -> None:
    first, second = str(tmp_path / "k.loom"), str(tmp_path / "again.loom")
    ran("import-ptx", PTX, "--machine", "a100", "-o", first)
    answer = told("schedule", first, "-o", second)
    assert (answer["machine"], answer["machine_from"]) == ("a100", "the binary's own")
    assert Path(second).read_bytes() == Path(first).read_bytes()


def test_a_machine_that_is_named_is_taken(tmp_path: Path) -> None:
    answer = told("import-ptx", PTX, "--machine", "RTX 4090", "-o", str(tmp_path / "k.loom"))
    assert (answer["machine"], answer["machine_from"]) == ("rtx4090", "asked for")


@pytest.mark.rotates("long commands")
def test_a_binary_keeps_its_machine(tmp_path: Path) -> None:
    out = str(tmp_path / "k.loom")
    ran("import-ptx", PTX, "--machine", "a100", "-o", out)
    line = ("compare-allocators", out, "--registers", "40", "--slots", "0", "--allocators", "local")
    answer = told(*line)
    assert (answer["machine"], answer["machine_from"]) == ("a100", "the binary's own")
    assert told(*line[:1], loom("nbody"), *line[2:])["machine"] == "gtx680"


@pytest.mark.rotates("long commands")
def test_the_library_does_the_same() -> None:
    module = import_ptx(TEXT, "cfd.ptx").module
    assert module.kernels()[0].info.machine == "t4"
    outcome = rewrite_kernel(module, Request(registers=40, slots=0, launch=PTX.replace(".ptx", ".toml"), emulate=False))
    assert outcome.request.machine.name == "t4"
    small = load_launch(PTX.replace(".ptx", ".toml"), "test")
    rows = sweep_kernel(module, small, levels=(1,), allocators=("local",), engine="python")
    assert {row["machine"] for row in rows} == {"t4"}
    asked = Request(machine="gtx680", policy="model", launch=PTX.replace(".ptx", ".toml"), emulate=False)
    assert recommend(module, asked).outcome.request.machine.name == "gtx680"
    assert import_ptx(TEXT, machine="gtx680").module.kernels()[0].info.machine == "gtx680"
