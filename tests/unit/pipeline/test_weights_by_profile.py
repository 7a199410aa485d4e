"""Profiles as files: what is written is read back, what is none is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from binalloc.emulator.runs.run import run
from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.instruction import Module
from binalloc.isa.sets.files import load
from binalloc.launch.file import load_launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.profile import Profile, profile_bytes, profile_of, read_profile
from binalloc.transform.schedule.schedule import schedule
from tests.support.kits.cli import loom
from tests.support.paths import sample_file

Json = dict[str, Any]


@pytest.fixture(scope="module")
def module() -> Module:
    return load(loom("callchain"))


@pytest.fixture(scope="module")
def counts(module: Module) -> dict[str, list[int]]:
    launch = load_launch(sample_file("callchain.toml"), "test")
    found = run(module, "callchain", launch, load_machine("gtx680"), engine="python")
    return {name: executed.tolist() for name, executed in found.counts.items()}


@pytest.fixture(scope="module")
def profile(module: Module) -> Profile:
    launch = load_launch(sample_file("callchain.toml"), "test")
    found = run(module, "callchain", launch, load_machine("gtx680"), engine="python")
    return profile_of(module, module.function("callchain"), found)


def test_what_is_written_is_read_back(profile: Profile, module: Module, counts: dict[str, list[int]]) -> None:
    again = read_profile(profile_bytes(profile), "p.json")
    assert again == replace(profile, path="p.json")
    assert again.executions(module, "callchain") == counts
    assert again.entered == counts["callchain"][0] == 24


def test_the_same_code_under_other_control_codes_is_the_same(profile: Profile, module: Module) -> None:
    other = schedule(module, load_machine("v100"))
    assert [fn.instrs for fn in other] != [fn.instrs for fn in module]
    assert profile.executions(other, "callchain") == profile.executions(module, "callchain")


@pytest.mark.parametrize("function", ["callchain", "B", "C"])
def test_one_instruction_changed_is_another_binary(function: str, profile: Profile, module: Module) -> None:
    functions = [replace(fn, instrs=list(fn.instrs)) for fn in module]
    changed = replace(module, functions=functions)
    instrs = changed.function(function).instrs
    k = next(k for k, i in enumerate(instrs) if "rd" in i.f and i.f["rd"] == 2)
    instrs[k] = instrs[k].replace(rd=3)
    with pytest.raises(UsageError, match="another binary"):
        profile.executions(changed, "callchain")


def test_another_kernel_is_refused(module: Module, profile: Profile) -> None:
    with pytest.raises(UsageError, match="another kernel"):
        replace(profile, kernel="other").executions(module, "callchain")


def _without(key: str) -> Callable[[Json], Json]:
    return lambda record: {k: v for k, v in record.items() if k != key}


def _rows(rows: object) -> Callable[[Json], Json]:
    return lambda record: {**record, "functions": {**record["functions"], "B": rows}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: [record], "not a JSON object"),
        *((_without(key), key) for key in
          ("profile_version", "kernel", "machine", "partial", "code_sha256", "functions")),
        (lambda record: record | {"profile_version": 2}, "another version; found 2; expected 1"),
        (lambda record: record | {"profile_version": True}, "profile_version"),
        (lambda record: record | {"partial": 1}, "partial"),
        (lambda record: record | {"functions": {"B": [[0, 1]]}}, "none of the kernel"),
        (_rows([]), "functions.B"),
        (_rows({}), "functions.B"),
        (_rows([[0]]), r"functions.B\[0\]"),
        (_rows([[0, 1.5]]), r"functions.B\[0\]"),
        (_rows([[0, True]]), r"functions.B\[0\]"),
        (_rows([[1, 1]]), r"functions.B\[0\]\[0\]: not a profile; found 1; expected 0"),
        (_rows([[0, 1], [5, 2], [5, 3]]), r"functions.B\[2\]\[0\]"),
        (_rows([[0, 1], [3, -1]]), r"functions.B\[1\]\[1\]: not a profile; found -1"),
        (_rows([[0, 1 << 63]]), r"functions.B\[0\]\[1\]"),
    ],
)  # fmt: skip
def test_what_is_no_profile_is_refused(change: Callable[[Json], object], said: str, profile: Profile) -> None:
    record = json.loads(profile_bytes(profile))
    with pytest.raises(MalformedInput, match=said):
        read_profile(json.dumps(change(record)).encode(), "p.json")


def test_one_that_is_cut_off_is_refused_wherever_it_is_cut(profile: Profile) -> None:
    data = profile_bytes(profile).rstrip()
    for end in range(0, len(data), 7):
        with pytest.raises(MalformedInput, match="not a profile"):
            read_profile(data[:end])


def test_words_behind_the_function_are_refused(profile: Profile, module: Module) -> None:
    long = replace(profile, stretches={**profile.stretches, "C": [(0, 1), (999, 2)]})
    with pytest.raises(MalformedInput, match="behind its function's end"):
        long.executions(module, "callchain")


def test_a_function_that_is_missing_is_refused(profile: Profile, module: Module) -> None:
    less = replace(profile, stretches={k: v for k, v in profile.stretches.items() if k != "C"})
    with pytest.raises(UsageError, match="another binary"):
        less.executions(module, "callchain")
