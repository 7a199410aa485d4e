"""A device that is kept, from Python: arrays placed on it once, kernels launched on them one after the other.

Needs a module or the path of one. Leaves true: what lies on the device changes by launches, and by what its owner puts
there, alone; a first launch, of arrays that were placed in the order of its arguments, takes the cycles that
`launch_kernel` gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.emulator.host.cycles import DEFAULT_MAX_CYCLES
from binalloc.emulator.runs.session import Session
from binalloc.emulator.schedulers.table import DEFAULT as DEFAULT_SCHEDULER
from binalloc.errors import UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.arrays import TextureArray, array_on_device, bind_arrays, texture_argument
from binalloc.launch.dtypes import copied
from binalloc.launch.file import check_against
from binalloc.launch.linked import Pointer, put_addresses, without_objects
from binalloc.launch.types import Array, Launch
from binalloc.models.machines.model import Machine
from binalloc.pipeline.own_machine import own_machine
from binalloc.pipeline.steps import find_kernel
from binalloc.printable import quoted
from binalloc.testing.launching import LaunchResult, told
from binalloc.testing.loading import load_kernels
from binalloc.transform.schedule.schedule import schedule


class DeviceArray:
    """An array that lies on a device. shape, dtype: as it was given."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self.name = session, name
        held = session.memory.host[name]
        self.shape, self.dtype = held.shape, held.dtype

    @property
    def flat(self) -> Array:
        """The device's own memory, one axis in C order: changes of it are changes there. It stays so until another
        array is placed."""
        return self._session.memory.view(self.name).reshape(-1)

    @property
    def address(self) -> int:
        """Where its first byte lies: what a pointer to it is, in a field of 64 bits of another array."""
        return self._session.memory.addresses[self.name]

    def get(self) -> Array:
        """A copy of what it holds."""
        return copied(self._session.memory.view(self.name))

    def __repr__(self) -> str:
        return f"DeviceArray({self.name}, {self.dtype}, {list(self.shape)})"

    def set(self, values: Array | int | float | complex) -> None:
        """Put one value everywhere, or an array of its dtype and shape. UsageError for another array, and for a value
        that does not fit: integers keep their value, and finite numbers stay finite."""
        given = np.asarray(values)
        if given.ndim and (given.shape, given.dtype) != (self.shape, self.dtype):
            raise UsageError(
                "another array than the one on the device", place=self.name, found=f"{given.dtype} {list(given.shape)}",
                expected=f"{self.dtype} {list(self.shape)}, or one number",
            )  # fmt: skip
        if not given.ndim:
            given = _fitting(given, self.dtype, self.name)
        self._session.memory.view(self.name)[...] = given


_FITS = {"c": "biufc", "V": "V"}
"""NumPy's kinds of values for a kind of elements; numbers that are not complex for all others."""


def _fitting(value: Array, dtype: np.dtype[Any], place: str) -> Array:
    """One value as an element of an array."""
    if value.dtype.kind in _FITS.get(dtype.kind, "biuf") and (dtype.kind != "V" or value.dtype == dtype):
        with np.errstate(all="ignore"):
            made = value.astype(dtype)
        if dtype.kind == "V" or made == value or (dtype.kind in "fc" and (np.isfinite(made) or not np.isfinite(value))):
            return made
    found = quoted(str(value))
    raise UsageError("a value that does not fit", place=place, found=found, expected=f"one of type {dtype}")


class DeviceTexture:
    """A texture that lies on a device. handle: what a kernel gets."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self.name = session, name
        self.handle = session.memory.handles[name]

    def set(self, texels: Array) -> None:
        """Other texels of its dtype and shape, as a copy to a CUDA array gives it. UsageError for another array."""
        held = self._session.memory.images[self.name]
        if (texels.shape, texels.dtype) != (held.shape, held.dtype):
            raise UsageError(
                "other texels than those on the device", place=self.name, found=f"{texels.dtype} {list(texels.shape)}",
                expected=f"{held.dtype} {list(held.shape)}",
            )  # fmt: skip
        self._session.memory.view(self.name)[...] = texels


class Device:
    """One emulated device, its memory, and the kernels of a binary.

    launches: results of all launches, in their order; cycles: of all of them, which follow each other without a gap.
    From one launch to the next global memory, variables, textures and L2 stay; L1 and all else begin each launch empty.
    """

    def __init__(
        self,
        kernels: Module | str | Path,
        *,
        machine: Machine | str | Path | None = None,
        engine: str = "numba",
        scheduler: str = DEFAULT_SCHEDULER,
        sms: int = 1,
        max_cycles: int | None = DEFAULT_MAX_CYCLES,
        check: bool = False,
        race: bool = False,
    ) -> None:
        """A device with nothing on it but the binary's variables.

        kernels: a module, or the path of a binary (.loom) or of PTX. machine: as in `launch_kernel`. engine, scheduler,
        sms, check, race: of every launch, max_cycles of each, as in `run`.
        """
        module = kernels if isinstance(kernels, Module) else load_kernels(kernels, machine=machine)
        self.machine = own_machine(module, None, machine, runs=True)
        self._rescheduled = any(fn.info.machine != self.machine.name for fn in module)
        self.module = schedule(module, self.machine) if self._rescheduled else module
        self._session = Session(
            self.module, self.machine, Launch("", (1, 1, 1), (1, 1, 1)), {}, {}, engine=engine, sms=sms,
            scheduler=scheduler, max_cycles=max_cycles, check=check, race=race,
        )  # fmt: skip
        self.launches: list[LaunchResult] = []

    @property
    def cycles(self) -> int:
        return sum(result.cycles for result in self.launches)

    def array(self, values: Array) -> DeviceArray:
        """Place a copy of an array, in C order. Objects in it are pointers to arrays of this device, see
        `launch_kernel`. UsageError for elements that mean nothing to a kernel, or for none."""
        name = f"array{len(self._session.memory.host)}"
        self._session.memory.add_buffer(name, self._without_objects(array_on_device(values, "values"), "values"))
        return DeviceArray(self._session, name)

    def pointee(self, address: int) -> tuple[DeviceArray, int] | None:
        """The array of this device that an address is of, and the byte in it; the one behind its last counts. None for
        others."""
        memory = self._session.memory
        for name, held in memory.host.items():
            if 0 <= address - memory.addresses[name] <= held.nbytes:
                return DeviceArray(self._session, name), address - memory.addresses[name]
        return None

    def _without_objects(self, values: Array, where: str) -> Array:
        """An array with addresses in place of pointers to arrays of this device."""
        if not values.dtype.hasobject:
            return values
        plain = without_objects(values)
        put_addresses(values, plain, where, self._address)
        return plain

    def _address(self, pointer: Pointer, where: str) -> int:
        array = pointer.array
        if not isinstance(array, DeviceArray) or array._session is not self._session:
            raise UsageError(
                "a pointer to what does not lie on this device", place=where, found=type(array).__name__,
                expected="an array of this device",
            )  # fmt: skip
        if not 0 <= pointer.at <= array.flat.nbytes:
            raise UsageError(
                "a pointer beyond its array", place=where, found=f"byte {pointer.at}",
                expected=f"0 to {array.flat.nbytes}",
            )  # fmt: skip
        return array.address + int(pointer.at)

    def zeros(self, shape: int | Sequence[int], dtype: Any = np.float32) -> DeviceArray:
        """Place an array of zeros."""
        return self.array(np.zeros(tuple(shape) if not isinstance(shape, int) else shape, dtype))

    def texture(self, texture: TextureArray) -> DeviceTexture:
        """Place a texture with a copy of its texels. Raises as `launch_kernel` does for what is no texture."""
        name = f"texture{len(self._session.memory.images)}"
        argument, data = texture_argument(name, texture)
        self._session.memory.add_texture(argument, data)
        return DeviceTexture(self._session, name)

    def read_variable(self, name: str, dtype: Any = np.uint8) -> Array:
        """A copy of what a `__device__` or `__constant__` variable of the binary holds. UsageError where there is no
        such variable, or it is no whole number of elements."""
        data = np.frombuffer(self._session.memory.variable(name), np.uint8)
        if data.nbytes % np.dtype(dtype).itemsize:
            raise UsageError(
                "no whole number of elements", place=name, found=f"{data.nbytes} bytes", expected=f"those of {dtype}"
            )
        found: Array = data.view(dtype).copy()
        return found

    def write_variable(self, name: str, values: Array) -> None:
        """Fill a variable from its first byte on, as `cudaMemcpyToSymbol` does. UsageError where there is no such
        variable, or it is smaller."""
        self._session.memory.set_variable(name, np.ascontiguousarray(values).tobytes())

    def launch(
        self,
        kernel: str | None,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[object] = (),
        *,
        dynamic_shared: int = 0,
        cooperative: bool = False,
    ) -> LaunchResult:
        """Launch a kernel and wait for its end.

        kernel: its name, also in C++; None for the only one. args: for the parameters in their order, as in
        `launch_kernel`, but arrays and textures are those of this device. Raises as `launch_kernel` does; after a
        fault the device holds what the kernel had left by then.
        """
        fn = find_kernel(self.module, kernel)
        memory = self._session.memory
        given: list[object] = []
        addresses: dict[str, int] = {}
        for i, (value, size) in enumerate(zip(args, [p.size for p in fn.info.params] + [0] * len(args), strict=False)):
            self._require_own(value, i)
            if isinstance(value, Pointer):
                value = np.uint64(self._address(value, f"args[{i}]"))
            elif isinstance(value, np.void):
                value = self._without_objects(np.array(value), f"args[{i}]")[()]
            if isinstance(value, DeviceArray) and i < len(fn.info.params):
                addresses[fn.info.params[i].name] = memory.addresses[value.name]
                value = value.flat
            elif isinstance(value, DeviceTexture):
                value = np.uint32(value.handle) if size == 4 else np.uint64(value.handle)
            given.append(value)
        bound = bind_arrays(
            fn.info, fn.name, grid, block, given, dynamic_shared=dynamic_shared, cooperative=cooperative
        )
        check_against(bound.launch, fn.info, self.module.path or None)
        parameters = bound.launch.parameters([(p.name, p.offset, p.size) for p in fn.info.params], addresses)
        result = self._session.launch(bound.launch, parameters)
        found = told(result, bound.launch, self.module, rescheduled=self._rescheduled)
        self.launches.append(found)
        return found

    def _require_own(self, value: object, i: int) -> None:
        """UsageError for what lies on the host, or on another device."""
        if isinstance(value, DeviceArray | DeviceTexture) and value._session is self._session:
            return
        elsewhere = isinstance(value, DeviceArray | DeviceTexture)
        if elsewhere or isinstance(value, TextureArray) or (isinstance(value, np.ndarray) and value.ndim):
            what = "an array of the host" if isinstance(value, np.ndarray) else "a texture of the host"
            raise UsageError(
                "the argument does not lie on this device", place=f"args[{i}]",
                found="one of another device" if elsewhere else what, expected="one of this device",
                remedy="Place it with its methods array, zeros or texture.",
            )  # fmt: skip
