"""Baselines and expectations, without pytest around them: files, names, comparison, and every refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import binalloc
from binalloc import LaunchResult, MalformedInput, UsageError
from binalloc.testing.baseline import Regression, baseline_file
from binalloc.testing.emulator import Emulator
from tests.support.ptx.axpy import BOTH

N = 40


@pytest.fixture(scope="module")
def result() -> LaunchResult:
    """Of a launch that left 2, 4, 6... in x."""
    x = np.arange(1, N + 1, dtype="f4")
    module = binalloc.import_ptx(BOTH, machine="gtx680").module
    return binalloc.launch_kernel(module, 2, 32, [x, 2.0, N], name="scale", engine="python")


def emulator(folder: Path, *, update: bool = False, test: str = "test_it") -> Emulator:
    return Emulator(folder / "test_file.py", test, update=update, engine="python", loaded={})


def stored(folder: Path, result: LaunchResult) -> Path:
    """The baseline of that result, written."""
    writer = emulator(folder, update=True)
    writer.check(result)
    assert [changed for _, changed in writer.write_baselines()] == [True]
    (path,) = (folder / "binalloc_baselines").iterdir()
    return path


def test_the_file_says_what_it_is_of_and_is_the_same_each_time(tmp_path: Path, result: LaunchResult) -> None:
    path = stored(tmp_path, result)
    assert path.name == "test_file.test_it.json"
    found = json.loads(path.read_text())
    assert found == {
        "schema_version": 1, "test": "test_file.py::test_it", "kernel": "scale", "machine": "gtx680",
        "scheduler": "lrr", "grid": [2, 1, 1], "block": [32, 1, 1], "dynamic_shared": 0, "sms": 1,
        "cycles": result.cycles, "registers": result.registers, "local_bytes": 0,
        "occupancy": round(result.occupancy, 6),
    }  # fmt: skip
    assert len(path.read_text().splitlines()) == len(found) + 2, "a line for each field"
    before = path.stat().st_mtime_ns, path.read_bytes()
    again = emulator(tmp_path, update=True)
    again.check(result)
    assert [changed for _, changed in again.write_baselines()] == [False]
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before
    judge = emulator(tmp_path)
    judge.check(result)
    assert judge.faster == []


def test_no_baseline_is_a_failure_that_says_how_to_make_one(tmp_path: Path, result: LaunchResult) -> None:
    with pytest.raises(Regression) as failure:
        emulator(tmp_path).check(result)
    path = tmp_path / "binalloc_baselines" / "test_file.test_it.json"
    assert str(failure.value) == (
        f"scale on gtx680: no baseline, {path} is missing. Write it with pytest --binalloc-update, look at it, and "
        "commit it."
    )
    assert not path.parent.exists()


def test_what_is_worse_is_told_with_value_baseline_and_limit(tmp_path: Path, result: LaunchResult) -> None:
    path = stored(tmp_path, replace(result, cycles=1000, registers=10, local_bytes=8, occupancy=0.5))
    for better in ({"cycles": 1020}, {"registers": 9}, {"local_bytes": 0}, {"occupancy": 0.75}):
        kept = {"cycles": 1000, "registers": 10, "local_bytes": 8, "occupancy": 0.5} | better
        emulator(tmp_path).check(replace(result, **kept))
    bad = replace(result, cycles=1021, registers=11, local_bytes=12, occupancy=0.4375)
    with pytest.raises(Regression) as failure:
        emulator(tmp_path).check(bad)
    assert str(failure.value) == (
        "scale on gtx680: cycles 1,021, baseline 1,000 (2.1% more); at most 1,020 (2% more) allowed; "
        "scale on gtx680: registers 11, baseline 10; at most 10 allowed; "
        "scale on gtx680: local_bytes 12, baseline 8; at most 8 allowed; "
        f"scale on gtx680: occupancy 0.4375, baseline 0.5; at least 0.5 allowed. Baseline: {path}"
    )
    loose: dict[str, Any] = {
        "max_slowdown": 0.021, "max_more_registers": 1, "max_more_local_bytes": 4, "max_less_occupancy": 0.0625,
    }  # fmt: skip
    emulator(tmp_path).check(bad, **loose)
    emulator(tmp_path).check(bad, **dict.fromkeys(loose))
    for name in loose:
        with pytest.raises(Regression, match="allowed") as one:
            emulator(tmp_path).check(bad, **dict.fromkeys(loose) | {name: 0})
        assert str(one.value).count("allowed") == 1


def test_what_is_faster_is_noted(tmp_path: Path, result: LaunchResult) -> None:
    stored(tmp_path, replace(result, cycles=1000))
    for cycles, told in ((981, []), (979, ["scale on gtx680: cycles 979, baseline 1,000"])):
        judge = emulator(tmp_path)
        judge.check(replace(result, cycles=cycles))
        assert judge.faster == told


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", "the baseline is not JSON"),
        ("{", "the baseline is not JSON"),
        ("<<<<<<< HEAD\n", "the baseline is not JSON"),
        ("[]", "the baseline is not a JSON object"),
        ("{}", "schema_version: the baseline has another schema; found None; expected 1"),
        ({"schema_version": 2}, "another schema; found 2; expected 1"),
        ({"cycles": -1}, "cycles: the baseline is damaged; found -1; expected a number, 0 or more"),
        ({"cycles": "many"}, "cycles: the baseline is damaged; found 'many'"),
        ({"cycles": None}, "cycles: the baseline is damaged; found None"),
        ({"registers": True}, "registers: the baseline is damaged; found True"),
        ({"grid": 2}, "grid: the baseline is damaged; found 2; expected a list"),
        ({"kernel": 7}, "kernel: the baseline is damaged; found 7; expected text"),
    ],
)
def test_a_damaged_baseline_is_told_with_what_to_do(
    tmp_path: Path, result: LaunchResult, text: str | dict[str, Any], refusal: str
) -> None:
    path = stored(tmp_path, result)
    path.write_text(text if isinstance(text, str) else json.dumps(json.loads(path.read_text()) | text))
    with pytest.raises(MalformedInput) as failure:
        emulator(tmp_path).check(result)
    assert refusal in str(failure.value)
    assert str(failure.value).startswith(f"{path}: ")
    assert str(failure.value).endswith("Take it from version control, or write it anew with pytest --binalloc-update.")
    stored_again = emulator(tmp_path, update=True)
    stored_again.check(result)
    stored_again.write_baselines()
    emulator(tmp_path).check(result)


@pytest.mark.parametrize(
    "other",
    [
        {"machine": "v100"}, {"kernel": "axpy"}, {"scheduler": "gto"}, {"grid": (3, 1, 1)}, {"block": (64, 1, 1)},
        {"dynamic_shared": 4}, {"sms": 2},
    ],
)  # fmt: skip
def test_a_baseline_of_another_launch_is_not_compared(
    tmp_path: Path, result: LaunchResult, other: dict[str, Any]
) -> None:
    stored(tmp_path, result)
    (key,) = other
    remedy = "Launch it with machine='gtx680', or write" if key == "machine" else "Write"
    with pytest.raises(
        UsageError, match=rf"json: {key}: the baseline is of another launch; found .*{remedy} it anew with"
    ):
        emulator(tmp_path).check(replace(result, **other))


def test_two_checks_of_a_test_need_two_names(tmp_path: Path, result: LaunchResult) -> None:
    judge = emulator(tmp_path, update=True)
    judge.check(result, "first")
    judge.check(result)
    with pytest.raises(UsageError, match=r"^test_it: two checks without a name in one test\. Give each"):
        judge.check(result)
    with pytest.raises(UsageError, match="two checks called 'first' in one test"):
        judge.check(result, "first")
    assert len(judge.write_baselines()) == 2


@pytest.mark.parametrize("name", ["max_more_registers", "max_more_local_bytes", "max_less_occupancy", "max_slowdown"])
def test_nonsense_allows_nothing(tmp_path: Path, result: LaunchResult, name: str) -> None:
    for value in (-1, "much"):
        with pytest.raises(UsageError):
            emulator(tmp_path).check(result, **{name: value})


def test_every_test_has_a_file_of_its_own_with_a_name_that_files_may_have() -> None:
    tests = [
        "test_a", "test_a[1]", "test_a[1-gtx680]", "TestA::test_a", "TestA.test_a/..", "test_a[a/b]", "test_a[a_b]",
        "test_a[a b]", "test_a[../../x]", "test_a[é]", "test_a[è]", "test_a[" + 300 * "x" + "]",
        "test_a[" + 300 * "x" + "y]", "test_a[\0]", "test_a[a:b]", "test_a[a.b]", "test_a[a::b]",
    ]  # fmt: skip
    files = [baseline_file(Path("/here/test_file.py"), test, None) for test in tests]
    files += [baseline_file(Path("/here/test_file.py"), "test_a", name) for name in ("one", "../two", "test_a")]
    assert len({str(path).lower() for path in files}) == len(files)
    for path in files:
        assert path.parent == Path("/here/binalloc_baselines")
        assert path.name.isascii()
        assert len(path.name) < 200
        assert not set(path.name) & set('/\\:*?"<>| \0')
    assert files[2].name == "test_file.test_a[1-gtx680].json"
    assert files[3].name == "test_file.TestA.test_a.json"


def test_expectations_are_told_one_by_one(tmp_path: Path, result: LaunchResult) -> None:
    judge = emulator(tmp_path)
    judge.expect(
        result, max_cycles=result.cycles, min_occupancy=result.occupancy, max_registers=result.registers,
        max_local_bytes=0, max_spill_bytes=0, max_counters={"spill_accesses": 0, "user_global_loads": 2},
    )  # fmt: skip
    with pytest.raises(Regression) as failure:
        judge.expect(
            replace(result, cycles=2000, spill_bytes=4, occupancy=0.25), max_cycles=1999, max_spill_bytes=0,
            max_counters={"user_global_loads": 1}, min_occupancy=0.5,
        )  # fmt: skip
    assert str(failure.value).splitlines() == [
        "scale on gtx680: cycles 2,000, expected at most 1,999",
        "spill_bytes 4, expected at most 0",
        "user_global_loads 2, expected at most 1",
        "occupancy 0.25, expected at least 0.5",
    ]
    for wrong in ("bank_conflicts", "stalls"):
        with pytest.raises(UsageError, match="no such counter"):
            judge.expect(result, max_counters={wrong: 0})


def test_results_are_compared_by_the_array_that_was_given(tmp_path: Path) -> None:
    judge = emulator(tmp_path)
    (tmp_path / "both.ptx").write_text(BOTH)
    x = np.arange(N, dtype="f4").reshape(5, 8)
    result = judge.launch("both.ptx", 2, 32, [x, 3.0, N], name="scale")
    expected = np.arange(N, dtype="f4").reshape(5, 8) * 3
    judge.same(result, x, expected)
    expected[3, 4] += 1
    with pytest.raises(Regression) as failure:
        judge.same(result, x, expected)
    assert str(failure.value) == ("scale on t4: x[3, 4]: 84.0, expected 85.0 (exact; 1 of 40 elements differ)")
    judge.same(result, x, expected, atol=1)
    judge.same(result, x, expected, rtol=0.02)
    with pytest.raises(Regression, match=r"x\[3, 4\].*tolerance"):
        judge.same(result, x, expected, rtol=0.01)
    with pytest.raises(UsageError, match=r"found float32 .* expected float64"):
        judge.same(result, x, expected.astype("f8"))
    with pytest.raises(UsageError, match="this array is no argument of the launch; expected x"):
        judge.same(result, x.copy(), expected)
    assert judge.load("both.ptx") is judge.load(tmp_path / "both.ptx")
    assert judge.load("both.ptx", machine="c2075").function("scale").info.machine == "c2075"
