"""Spill assertions judge a kernel under its own directives, as its compiler would have it, and name them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from binalloc.device.device import Device
from binalloc.device.launching import LaunchResult
from binalloc.testing.baseline import Regression
from binalloc.testing.emulator import Emulator
from tests.support.ptx.bounded import bounded


@pytest.fixture
def emulator(tmp_path: Path) -> Emulator:
    return Emulator(tmp_path / "test_k.py", "test_it", update=False, engine="python", loaded={})


def launched(emulator: Emulator, directives: str) -> LaunchResult:
    (emulator.test_file.parent / "k.ptx").write_text(bounded(directives))
    arrays = [np.zeros(60 * 64, np.float32) for _ in range(2)]
    return emulator.launch("k.ptx", 1, 32, arrays, machine="a100")


def test_a_kernel_that_cannot_keep_its_bounds_without_spilling_fails(emulator: Emulator) -> None:
    result = launched(emulator, ".maxntid 256 .minnctapersm 8")
    assert result.spill_bytes == 0
    assert result.own is not None
    words = rf"spill_bytes {result.own.spill_bytes} under \.minnctapersm 8 \(32 of {result.registers} registers\)"
    with pytest.raises(Regression, match=rf"k on a100: {words}, expected at most 0"):
        emulator.expect(result, max_spill_bytes=0)
    with pytest.raises(Regression, match=r"local_bytes \d+ under \.minnctapersm 8"):
        emulator.expect(result, max_local_bytes=0)
    emulator.expect(result, max_spill_bytes=result.own.spill_bytes, max_registers=result.registers)


@pytest.mark.parametrize("directives", ["", ".maxntid 256 .minnctapersm 2", ".minnctapersm 8", ".maxnreg 300"])
def test_one_that_can_passes(emulator: Emulator, directives: str) -> None:
    result = launched(emulator, directives)
    assert result.own is None
    emulator.expect(result, max_spill_bytes=0, max_local_bytes=0)


def test_baselines_hold_what_it_spills_under_them(emulator: Emulator) -> None:
    plain = launched(emulator, "")
    emulator.update = True
    emulator.check(plain)
    emulator.write_baselines()
    again = Emulator(emulator.test_file, emulator.test, update=False, engine="python", loaded={})
    with pytest.raises(Regression, match=r"local_bytes \d+, baseline 0"):
        again.check(launched(again, ".maxnreg 24"))


def test_a_device_that_is_kept_judges_likewise(emulator: Emulator) -> None:
    (emulator.test_file.parent / "k.ptx").write_text(bounded(".maxnreg 24"))
    device: Device = emulator.device("k.ptx", machine="a100")
    arrays = [device.array(np.zeros(60 * 64, np.float32)) for _ in range(2)]
    with pytest.raises(Regression, match=r"under \.maxnreg 24"):
        emulator.expect(device.launch("k", 1, 32, arrays), max_spill_bytes=0)
