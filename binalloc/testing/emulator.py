"""This module has the object that tests get as `binalloc_emulator`: it loads and launches kernels, and compares results
with expectations and baselines. It is independent of pytest."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.device.device import Device, DeviceArray, DeviceSurface
from binalloc.device.launching import LaunchResult, launch_kernel
from binalloc.device.loading import load_kernels
from binalloc.errors import UsageError
from binalloc.files import read_bytes, write_atomically
from binalloc.isa.instruction import Module
from binalloc.launch.elements.layout import element_of
from binalloc.launch.file import compare
from binalloc.launch.types import Argument, ArgumentKind, Array, Compare, CompareMode, Launch
from binalloc.models.machines.model import Machine
from binalloc.printable import quoted
from binalloc.testing.baseline import (
    Regression,
    allowed,
    baseline_file,
    baseline_text,
    faster,
    read_baseline,
    shown,
    spilling,
    worse,
)

Loaded = dict[tuple[object, ...], Module]
"""Modules by file and machine, for all tests of a run."""


class Emulator:
    """An emulator launches kernels for one test and judges their results.

    test_file: of the test; paths are relative to its folder, and baselines are in `binalloc_baselines` there. test: the
    part of the test's id after its file. update: whether baselines are written instead of compared. engine: the default
    engine of launches.
    """

    def __init__(self, test_file: Path, test: str, *, update: bool, engine: str, loaded: Loaded) -> None:
        self.test_file, self.test, self.update, self.engine = test_file, test, update, engine
        self.faster: list[str] = []
        self._loaded = loaded
        self._checked: dict[Path, bytes] = {}

    def load(self, path: str | Path, *, machine: Machine | str | Path | None = None, name: str | None = None) -> Module:
        """Return the kernels of a binary (.loom), or of PTX imported for `machine` (by default that of its `.target`).

        name: only this kernel of PTX. All tests of a run get the same module for one file: do not change it. Raises as
        `binalloc.launch_kernel` does.
        """
        place = self.test_file.parent / path
        if isinstance(machine, Machine) or not place.is_file():
            return load_kernels(place, machine=machine, name=name)
        stat = place.stat()
        key = (place.resolve(), stat.st_mtime_ns, stat.st_size, machine and str(machine), name)
        if key not in self._loaded:
            self._loaded[key] = load_kernels(place, machine=machine, name=name)
        return self._loaded[key]

    def launch(
        self,
        kernel: Module | str | Path,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[object] = (),
        **options: Any,
    ) -> LaunchResult:
        """Launch a kernel: `binalloc.launch_kernel`, with its options. Arrays in `args` change in place."""
        if not isinstance(kernel, Module):
            kernel = self.load(kernel, machine=options.get("machine"), name=options.get("name"))
        return launch_kernel(kernel, grid, block, args, **({"engine": self.engine} | options))

    def device(self, kernels: Module | str | Path, **options: Any) -> Device:
        """Return a `binalloc.Device` with its options, for successive launches on arrays that stay on it."""
        if not isinstance(kernels, Module):
            kernels = self.load(kernels, machine=options.get("machine"))
        return Device(kernels, **({"engine": self.engine} | options))

    def same(
        self, result: LaunchResult, array: Array | DeviceArray | DeviceSurface, expected: Array, *, rtol: float = 0.0,
        atol: float = 0.0,
    ) -> None:  # fmt: skip
        """Fail where `array` does not have the expected contents. It is an array of the launch, or it is on a device.

        The bits must be the same, or values within atol + rtol * |expected| where one of the two is given (NaN equals
        NaN then). Structs are compared field by field; a tolerance is for the floats in them. The message names kernel,
        parameter or array, and the first element that differs. Raises UsageError where dtype or shape differ, or for an
        array of no argument.
        """
        __tracebackhide__ = True
        name: str | None
        if isinstance(array, DeviceArray | DeviceSurface):
            name, array = array.name, array.get()
        else:
            name = next((name for name, given in result.arrays.items() if given is array), None)
        if name is None:
            raise UsageError("this array is no argument of the launch", expected=", ".join(result.arrays) or "none")
        element = element_of(array.dtype, name)
        if element is None:
            raise UsageError(
                "such elements are not compared", place=name, found=f"dtype {array.dtype}",
                expected="numbers, or structs of them", remedy="Compare a view of the array with NumPy.",
            )  # fmt: skip
        judged = Compare(CompareMode.TOLERANCE, rtol, atol) if rtol or atol else Compare()
        struct = None if isinstance(element, str) else element
        argument = Argument(name, ArgumentKind.BUFFER, "u8", array.shape, compare=judged, struct=struct)
        launch = Launch(result.kernel, result.grid, result.block, arguments=(argument,))
        differences = compare(launch, {name: np.asarray(expected)}, {name: array})
        _require(result, [str(difference) for difference in differences])

    def expect(
        self,
        result: LaunchResult,
        *,
        max_cycles: int | None = None,
        min_occupancy: float | None = None,
        max_registers: int | None = None,
        max_local_bytes: int | None = None,
        max_spill_bytes: int | None = None,
        max_counters: Mapping[str, float] | None = None,
    ) -> None:
        """Fail where a figure of the result is beyond its limit, whatever it was before.

        max_counters: by name in `result.stats`, `{"bank_conflict_cycles": 0}`. Raises UsageError for an unknown
        counter.
        """
        __tracebackhide__ = True
        found: dict[str, tuple[float, float | None]] = {
            "cycles": (result.cycles, max_cycles), "registers": (result.registers, max_registers),
        }  # fmt: skip
        under = ""
        if max_local_bytes is not None or max_spill_bytes is not None:
            spilled = spilling(result)
            found |= {
                name: (getattr(spilled, name), most)
                for name, most in (("local_bytes", max_local_bytes), ("spill_bytes", max_spill_bytes))
            }
            under = spilled.under
        found |= {name: (_counter(result, name), most) for name, most in (max_counters or {}).items()}
        limits = ((name, value, most) for name, (value, most) in found.items() if most is not None)
        wrong = [
            f"{name} {value:,}{under * (name in _SPILLS)}, expected at most {most:,}"
            for name, value, most in limits
            if value > most
        ]
        if min_occupancy is not None and result.occupancy < min_occupancy:
            wrong.append(f"occupancy {result.occupancy:.4g}, expected at least {min_occupancy:.4g}")
        _require(result, wrong)

    def check(
        self,
        result: LaunchResult,
        name: str | None = None,
        *,
        max_slowdown: str | float | None = "2%",
        max_more_registers: int | None = 0,
        max_more_local_bytes: int | None = 0,
        max_less_occupancy: float | None = 0.0,
    ) -> None:
        """Fail where the launch is worse than its stored baseline by more than is allowed. A limit of None: not
        compared.

        name: of this check, where the test has several. max_slowdown: more cycles, `2%` or 0.02. The next two count per
        thread; occupancy is at most 1. With --binalloc-update the baseline is written when the test has passed. Raises
        Regression with kernel, counter, baseline and value; also where there is no baseline, and says how to make it.
        Raises MalformedInput where the baseline is damaged, UsageError where it is of another launch or machine, and
        for two checks of one name.
        """
        __tracebackhide__ = True
        allow = allowed(max_slowdown, max_more_registers, max_more_local_bytes, max_less_occupancy)
        path = baseline_file(self.test_file, self.test, name)
        if path in self._checked:
            what = "without a name" if name is None else f"called {name!r}"
            raise UsageError(f"two checks {what} in one test", place=self.test, remedy="Give each a name of its own.")
        self._checked[path] = baseline_text(result, f"{self.test_file.name}::{self.test}")
        if self.update:
            return
        baseline = read_baseline(path, result)
        beaten = faster(result, baseline, allow)
        if beaten is not None:
            self.faster.append(beaten)
        sentences = worse(result, baseline, allow)
        if sentences:
            raise Regression(f"{'; '.join(sentences)}. Baseline: {shown(path)}")

    def write_baselines(self) -> list[tuple[str, bool]]:
        """Write the baselines of this test's checks, each whole or not at all. Return their files, and whether they
        have changed. Raises UsageError where one cannot be written."""
        written = []
        for path, text in self._checked.items():
            changed = not path.is_file() or read_bytes(path) != text
            if changed:
                try:
                    path.parent.mkdir(exist_ok=True)
                except OSError as error:
                    raise UsageError("cannot make the folder", file=str(path.parent), found=error.strerror) from error
                write_atomically(path, text)
            written.append((shown(path), changed))
        return written


_SPILLS = ("local_bytes", "spill_bytes")


def _counter(result: LaunchResult, name: str) -> float:
    value = result.stats.get(name)
    if not isinstance(value, int | float):
        near = difflib.get_close_matches(name, result.stats, 3)
        raise UsageError(
            "no such counter", place="max_counters", found=quoted(name), expected=", ".join(near) or "a number in stats"
        )
    return value


def _require(result: LaunchResult, wrong: list[str]) -> None:
    """Fail with what is wrong with the result, if anything."""
    __tracebackhide__ = True
    if wrong:
        raise Regression(f"{result.kernel} on {result.machine}: " + "\n".join(wrong))
