"""Runs the command line in-process and holds what every command must keep: streams, exit codes, no traceback."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from binalloc.cli.main import main
from tests.support.paths import ROOT, sample_file

SAMPLES = ROOT / "samples"
OF_A_MACHINE = (
    "compare-allocators", "import-ptx", "inspect", "launch-skeleton", "recommend", "rewrite", "run", "sweep",
)  # fmt: skip
NAMES = ("callchain", "matmul", "nbody", "stencil2d", "stencil3d")


@dataclass
class Answer:
    """Exit code and both streams of one command."""

    code: int
    out: str
    err: str
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def loom(name: str) -> str:
    return str(sample_file(f"{name}.loom"))


def launch(name: str, engine: str = "numba") -> list[str]:
    """Options for the small launch of a sample; on "python" where the emulator is another than the one compiled."""
    return ["--launch", str(sample_file(f"{name}.toml")), "--size", "test", "--engine", engine]


def call(*args: str, stdin: bytes | None = None) -> Answer:
    """Run one command; fails if anything but SystemExit came out of it, or if it met a defect."""
    result = CliRunner().invoke(main, on_gtx680(args), input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code != 70, result.stderr
    assert "Traceback" not in result.output
    return Answer(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)


def on_gtx680(args: tuple[str, ...]) -> list[str]:
    """The command, on the machine that the tests' figures are of where it reads PTX and names none: that of the target
    is `test_target_machine`'s."""
    named = any(arg.startswith("--machine") or arg in ("--help", "--list") for arg in args)
    reads = bool(args) and args[0] in OF_A_MACHINE and any(arg.endswith((".ptx", ".txt")) for arg in args[1:])
    return [*args, "--machine", "gtx680"] if reads and not named else list(args)


def refused(code: int, *args: str, stdin: bytes | None = None) -> str:
    """Run a command that must fail with `code`: one line on stderr, nothing on stdout; with --json an error object
    that says the same. Returns the line."""
    answer = call(*args, stdin=stdin)
    assert answer.code == code, (answer.code, answer.err)
    assert answer.out == ""
    assert answer.err.startswith("binalloc: error: ")
    assert answer.err.count("\n") == 1, answer.err
    again = call(*args, "--json", stdin=stdin)
    assert again.code == code
    assert again.json["error"]["exit_code"] == code
    assert again.json["schema_version"] == 1
    return answer.err


def stopped(code: int, *args: str) -> str:
    """`run` that is stopped on its way: one line on stderr, what is known on stdout, and the same with --json. Returns
    the line."""
    answer, again = call("run", *args), call("run", *args, "--json")
    assert (answer.code, again.code) == (code, code)
    assert answer.err.startswith("binalloc: error: ")
    assert answer.err.count("\n") == 1, answer.err
    found = again.json
    assert found["partial"] is True
    assert found["error"]["exit_code"] == code
    assert answer.out.startswith(f"PARTIAL, {found['blocks_ended']:,} of {found['blocks']:,} blocks ended: ")
    assert f"{found['cycles']:,} cycles" in answer.out
    return answer.err


def rescheduled(name: str, machine: str, folder: Path) -> str:
    """A sample scheduled for another machine, as a file."""
    out = folder / f"{machine}.loom"
    assert call("schedule", loom(name), "--machine", machine, "-o", str(out)).code == 0
    return str(out)
