"""`--scheduler`: every command that measures has it, knows every row, and says which it was."""

from __future__ import annotations

import pytest

from binalloc.cli.tables import RowName
from binalloc.emulator.policies.schedulers.table import DEFAULT, SCHEDULERS
from tests.support.kits.cli import SAMPLES, call, launch, loom, refused
from tests.support.paths import ROOT

COMMANDS = {
    "run": [loom("callchain"), *launch("callchain")],
    "rewrite": [loom("callchain"), *launch("callchain"), "--registers", "24"],
    "demo": ["callchain", "--size", "test", "--samples", str(SAMPLES), "--engine", "python"],
}


@pytest.mark.parametrize("command", ["run", "rewrite"])
def test_the_answer_names_the_scheduler_that_ran(command: str) -> None:
    answers = {name: call(command, *COMMANDS[command], "--scheduler", name, "--json").json for name in SCHEDULERS}
    assert {name: answer["scheduler"] for name, answer in answers.items()} == {name: name for name in SCHEDULERS}
    cycles = [answer["cycles"] if command == "run" else answer["original"]["cycles"] for answer in answers.values()]
    assert len(set(cycles)) > 1


@pytest.mark.rotates("long commands")
def test_demo_runs_its_samples_by_the_scheduler_named() -> None:
    by_name = {name: call("demo", *COMMANDS["demo"], "--scheduler", name, "--json").json for name in (DEFAULT, "gto")}
    assert {name: answer["scheduler"] for name, answer in by_name.items()} == {name: name for name in by_name}
    (usual,), (other,) = (answer["rows"] for answer in by_name.values())
    assert usual["original"]["cycles"] != other["original"]["cycles"]


def test_without_the_option_it_is_the_usual_one() -> None:
    assert call("run", *COMMANDS["run"], "--json").json["scheduler"] == DEFAULT
    assert call("rewrite", *COMMANDS["rewrite"], "--no-emulate", "--json").json["scheduler"] is None


def test_the_text_says_it_where_it_is_not_the_usual_one() -> None:
    assert "1 SM, scheduler gto)" in call("run", *COMMANDS["run"], "--scheduler", "gto").out
    assert "(emulated, 1 SM)" in call("run", *COMMANDS["run"]).out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_errors_know_every_row(command: str) -> None:
    told = " ".join(call(command, "--help").out.split())
    assert [row.name for row in SCHEDULERS.values() if f"{row.name}: " not in told] == []
    line = refused(2, command, *COMMANDS[command], "--scheduler", "nosuch")
    assert "--scheduler" in line
    assert "'nosuch' is not one of 'lrr', 'gto', 'two_level', 'oldest'" in line


def test_shells_complete_its_names() -> None:
    row = RowName("binalloc.emulator.policies.schedulers.table", "SCHEDULERS")
    found = row.shell_complete(None, None, "")  # type: ignore[arg-type]
    assert [item.value for item in found] == ["lrr", "gto", "two_level", "oldest", "owf", "ccws", "tbas", "owl"]
    assert [item.value for item in row.shell_complete(None, None, "t")] == ["two_level", "tbas"]  # type: ignore[arg-type]


def test_the_pages_tell_every_row() -> None:
    for page in ("docs/questions/which_instruction_waits.md", "CHANGELOG.md", "binalloc/emulator/TIMING.md"):
        text = (ROOT / page).read_text()
        assert [name for name in SCHEDULERS if f"`{name}`" not in text] == [], page


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        ("tbas:enough=0", "enough=1 to 1024 or half or all"),
        ("tbas:enough=2000", "enough=1 to 1024 or half or all"),
        ("tbas:foo=1", "no parameter 'foo'"),
        ("tbas:next=youngest", "next=oldest or successor"),
        ("ccws:base=x", "base=1 to 65536"),
        ("ccws:base=1:base=2", "base comes twice"),
        ("owl:group=0", "group=1 to 1024"),
        ("owl:prefetch=all", "prefetch=0 to 1024 or row"),
        ("owl:when=busy", "when=idle or open"),
        ("lrr:a=1", "lrr has no parameters, found 'lrr:a=1'"),
    ],
)
def test_parameters_that_cannot_be_are_refused(scheduler: str, words: str) -> None:
    found = call("run", "x.loom", "--launch", "x.toml", "--scheduler", scheduler)
    assert found.code == 2
    assert words in " ".join(found.err.split())
