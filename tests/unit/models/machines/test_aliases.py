"""Machines by other names: GPUs as they are called, capabilities as compilers call them, and the nearest of those."""

from __future__ import annotations

import logging

import pytest

from binalloc.errors import UsageError
from binalloc.models.machines import reader
from binalloc.models.machines.aliases import PREFERRED, SHARED, by_target
from binalloc.models.machines.files import list_machines
from binalloc.models.machines.limits import LIMITS
from binalloc.models.machines.reader import load_machine

NAMES = {
    "A100": "a100", "NVIDIA A100-SXM4-80GB": "a100", "nvidia a100 80gb pcie": "a100", "RTX 4090": "rtx4090",
    "NVIDIA GeForce RTX 4090": "rtx4090", "rtx-4090": "rtx4090", "4090": "rtx4090", "GeForce_GTX_680": "gtx680",
    "Tesla T4": "t4", "NVIDIA H100 80GB HBM3": "h100", "NVIDIA H200": "h200", "L40S": "l40s", "B200": "b200",
    "Tesla V100-SXM2-16GB": "v100", "RTX5090": "rtx5090", "GTX 780 Ti": "gtx780ti", "Tesla C2075": "c2075",
}  # fmt: skip
TARGETS = {
    "sm_86": "rtx3070", "SM_86": "rtx3070", "86": "rtx3070", "8.6": "rtx3070", "compute_86": "rtx3070",
    "sm 86": "rtx3070", "sm_75": "t4", "7.5": "t4", "sm_80": "a100", "sm_90": "h100", "sm_90a": "h100",
    "sm_100a": "b200", "sm_100f": "b200", "sm_120": "rtx5090", "120a": "rtx5090", "12.0": "rtx5090",
    "sm_89": "rtx4090", "sm_70": "v100", "sm_30": "gtx680", "sm_35": "gtx780ti", "sm_20": "c2075", "sm_13": "gtx285",
}  # fmt: skip
NEAREST = {
    "sm_10": "gtx285", "sm_21": "c2075", "sm_32": "gtx680", "sm_37": "gtx780ti", "sm_50": "v100", "sm_52": "v100",
    "sm_60": "v100", "sm_61": "v100", "sm_62": "v100", "sm_72": "v100", "sm_87": "rtx3070", "sm_88": "rtx4090",
    "sm_101": "b200", "sm_103": "b200", "sm_103a": "b200", "sm_110": "b200", "sm_120f": "rtx5090", "sm_121a": "rtx5090",
    "sm_130": "rtx5090",
}  # fmt: skip

OTHERS = ("gtx285-gpgpusim", "gtx480-16k", "gem5gpu-batching", "gem5gpu-batching-8k")
"""Machines that no target means: another split of a card, and papers' simulators of cards."""


@pytest.mark.parametrize(("text", "name"), list((NAMES | TARGETS | NEAREST).items()))
def test_a_machine_by_another_name(text: str, name: str) -> None:
    assert load_machine(text).name == name


@pytest.mark.parametrize(("target", "name"), [(t, n) for t, n in (TARGETS | NEAREST).items() if t.startswith("sm_")])
def test_a_target_says_why(target: str, name: str) -> None:
    found = by_target(target)
    assert found is not None
    assert found.machine == name
    own = load_machine(name).cc
    assert f"capability {own}" in found.why
    assert ("the nearest" in found.why) == (target in NEAREST and target != "sm_120f")


def test_every_capability_of_a_machine_stands_for_one_and_the_others_are_told() -> None:
    by_cc: dict[str, list[str]] = {}
    for name in list_machines():
        machine = load_machine(name)
        if machine.occupancy_rule.rule == "nvidia" and name not in OTHERS:
            by_cc.setdefault(machine.cc, []).append(name)
    assert by_cc.keys() == PREFERRED.keys() <= LIMITS.keys()
    assert {cc: tuple(names) for cc, names in by_cc.items() if len(names) > 1} == SHARED
    assert all(PREFERRED[cc] in names for cc, names in by_cc.items())


def test_what_a_capability_stands_for_is_told(caplog: pytest.LogCaptureFixture) -> None:
    reader._tell_once.cache_clear()
    with caplog.at_level(logging.INFO, "binalloc"):
        for text in ("sm_90", "sm_52", "RTX 4090", "h100"):
            load_machine(text)
    assert [record.getMessage() for record in caplog.records] == [
        "machine sm_90: h100, capability 9.0 (h200 has it, too)",
        "machine sm_52: v100, capability 7.0, the nearest: no machine has 5.2",
    ]


@pytest.mark.parametrize(
    ("text", "near"),
    [("rtx4080", "Perhaps rtx4090"), ("a10", "Perhaps a100"), ("gtx681", "Perhaps gtx680"), ("h101", "Perhaps h100")],
)
def test_an_unknown_name_suggests_near_ones(text: str, near: str) -> None:
    with pytest.raises(UsageError, match=near):
        load_machine(text)


@pytest.mark.parametrize("text", ["", "sm_", "sm_999", "999", "turing", "9" * 200, "sm_8x", "8.6.1", "\0", " "])
def test_nonsense_is_no_machine(text: str) -> None:
    with pytest.raises(UsageError, match="unknown machine"):
        load_machine(text)
