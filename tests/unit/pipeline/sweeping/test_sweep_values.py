"""What sweeps take for the same launch, and for the same results, where buffers hold structs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from binalloc.emulator.host.runtime import Printed
from binalloc.launch.file import parse_launch
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.sweeping.keys import launch_digest
from binalloc.pipeline.sweeping.tasks import outputs_of
from tests.support.kits.launch.launch_files import buffer

PAIR = {"fields": [{"name": "a", "dtype": "u8"}, {"name": "c", "dtype": "c64"}, {"name": "to", "dtype": "ptr"}]}


def pairs(folder: Path, value: Any = 1, compare: Any = "exact", file: str = "a.npy", to: Any = 0) -> Launch:
    init = {"fields": {"a": {"file": file}, "c": {"kind": "constant", "value": value}, "to": {"values": [to, 0, 0]}}}
    data = buffer("Pair", 3, init, compare) | {"types": {"Pair": PAIR}}
    return parse_launch(data, path=str(folder / "l.toml"))


def test_keys_hang_on_values_and_on_files_of_single_fields(tmp_path: Path) -> None:
    machine = load_machine("gtx680")
    keys = []
    for content in ([1, 2, 3], [1, 2, 4]):
        np.save(tmp_path / "a.npy", np.array(content, "u1"))
        np.save(tmp_path / "b.npy", np.array(content, "u1"))
        keys.append(launch_digest("k", pairs(tmp_path), machine))
        assert launch_digest("k", pairs(tmp_path, file="b.npy"), machine) == keys[-1], "a file's name is none of it"
    keys += [launch_digest("k", pairs(tmp_path, **more), machine) for more in ({"value": [1, 2]}, {"to": "x"})]
    assert len(set(keys)) == 4


def test_results_are_the_same_whatever_lies_between_fields(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1, 2, 3], "u1"))
    for compare, order in (("exact", slice(None)), ("unordered", slice(None, None, -1))):
        launch = pairs(tmp_path, compare=compare)
        one = launch.make_buffers()["x"]
        other = one[order].copy()
        other.view("u1").reshape(3, -1)[:, 1:8] = 7
        third = other.copy()
        third["c"][1] = 2j
        found = [outputs_of(launch, _result(x)) for x in (one, other, third)]
        assert found[0] == found[1] != found[2]


def _result(x: Any) -> Any:
    return SimpleNamespace(buffers={"x": x}, globals={}, printed=Printed())
