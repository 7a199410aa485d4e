"""This module has a device that is kept: arrays are placed on it once, and kernels are launched on them one after the
other.

Needs a module or the path of one. Leaves true: the contents of the device change only by launches, and by what its
owner puts there. A first launch takes the cycles of `launch_kernel`, if its arrays were placed in the order of its
arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.device.launching import LaunchResult, launch_result
from binalloc.device.loading import load_kernels
from binalloc.emulator.runs.options import RunOptions
from binalloc.emulator.runs.session import Session
from binalloc.errors import UsageError
from binalloc.isa.instruction import Module
from binalloc.launch.arrays import array_on_device, bind_arrays, handled_launch, parsed, runtime_keys
from binalloc.launch.handled import Entry, SurfaceArray, TextureArray
from binalloc.launch.linked import Pointer, put_addresses, without_objects
from binalloc.launch.merged import fitting, record_for
from binalloc.launch.numbers.dtypes import copied, name_of
from binalloc.launch.types import Array
from binalloc.models.machines.model import Machine
from binalloc.pipeline.own_machine import own_machine
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.printable import quoted
from binalloc.transform.schedule.schedule import schedule


class _OnDevice:
    """An array or surface on a device may be read and changed there."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self.name = session, name
        held = session.memory.host[name]
        self.shape, self.dtype = held.shape, held.dtype

    @property
    def flat(self) -> Array:
        """Return the device's own memory of it, as one axis in C order. Changes of it are changes on the device. It is
        valid until another array is placed."""
        return self._session.memory.view(self.name).reshape(-1)

    def get(self) -> Array:
        """Return a copy of its contents."""
        return copied(self._session.memory.view(self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.dtype}, {list(self.shape)})"

    def set(self, values: Array | int | float | complex) -> None:
        """Put one value everywhere, or an array of its dtype and shape.

        Raises UsageError for another array, and for a value that does not fit: integers keep their value, and finite
        numbers stay finite.
        """
        given = np.asarray(values)
        if given.ndim and (given.shape, given.dtype) != (self.shape, self.dtype):
            raise UsageError(
                "another array than the one on the device", place=self.name, found=f"{given.dtype} {list(given.shape)}",
                expected=f"{self.dtype} {list(self.shape)}, or one number",
            )  # fmt: skip
        if not given.ndim:
            given = _fitting(given, self.dtype, self.name)
        self._session.memory.view(self.name)[...] = given


class DeviceArray(_OnDevice):
    """A device array is an array in the memory of a device. shape, dtype: as it was given."""

    @property
    def address(self) -> int:
        """Return the address of its first byte: the value of a pointer to it in a 64-bit field of another array."""
        return self._session.memory.addresses[self.name]


class DeviceSurface(_OnDevice):
    """A device surface is a surface on a device. shape, dtype: of its texels, as they were given; handle: the value
    that a kernel gets."""

    def __init__(self, session: Session, name: str, made: SurfaceArray) -> None:
        super().__init__(session, name)
        self.handle, self.made = session.memory.handles[name], made


_FITS = {"c": "biufc", "V": "V"}
"""NumPy's kinds of values that fit each kind of elements. All other kinds of elements take numbers that are not
complex."""


def _fitting(value: Array, dtype: np.dtype[Any], place: str) -> Array:
    """Return one value as an element of an array. Raises UsageError where it does not fit."""
    if value.dtype.kind in _FITS.get(dtype.kind, "biuf") and (dtype.kind != "V" or value.dtype == dtype):
        with np.errstate(all="ignore"):
            made = value.astype(dtype)
        if dtype.kind == "V" or made == value or (dtype.kind in "fc" and (np.isfinite(made) or not np.isfinite(value))):
            return made
    found = quoted(str(value))
    raise UsageError("a value that does not fit", place=place, found=found, expected=f"one of type {dtype}")


_OF_THE_HOST = {
    np.ndarray: "an array of the host", TextureArray: "a texture of the host", SurfaceArray: "a surface of the host",
}  # fmt: skip


class DeviceTexture:
    """A device texture keeps its texels on a device between launches."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self.name = session, name
        self.handle = session.memory.handles[name]  #: value that a kernel gets

    def set(self, texels: Array) -> None:
        """Put other texels of its dtype and shape, as a copy to a CUDA array does. Of a mipmap they are level 0, and
        all other levels stay. Raises UsageError for another array."""
        held = self._session.memory.images.get(self.name)
        if held is None:
            raise UsageError(
                "the texture has no texels of its own", place=self.name, expected="changes of the memory that it reads"
            )
        if (texels.shape, texels.dtype) != (held.shape, held.dtype):
            raise UsageError(
                "other texels than those on the device", place=self.name, found=f"{texels.dtype} {list(texels.shape)}",
                expected=f"{held.dtype} {list(held.shape)}",
            )  # fmt: skip
        self._session.memory.view(self.name)[...] = texels


class Device:
    """A device is an emulated device with its memory, and the kernels of a binary.

    launches: results of all launches, in their order; cycles: of all of them, which follow each other without a gap.
    From one launch to the next global memory, variables, textures and L2 stay. L1 and everything else is empty when a
    launch begins.
    """

    def __init__(
        self,
        kernels: Module | str | Path,
        *,
        machine: Machine | str | Path | None = None,
        heap: int | None = None,
        printf_buffer: int | None = None,
        **options: Any,
    ) -> None:
        """Make a device with nothing on it but the binary's variables.

        kernels: a module, or the path of a binary (.loom) or of PTX. machine: as in `launch_kernel`. heap: bytes for
        `malloc` of kernels, 8 MiB by default. printf_buffer: bytes for the output of each launch, 1 MiB by default.
        options: how each launch runs, fields of `RunOptions` by name.
        """
        module = kernels if isinstance(kernels, Module) else load_kernels(kernels, machine=machine)
        self.machine = own_machine(module, None, machine, runs=True)
        self._rescheduled = any(fn.info.machine != self.machine.name for fn in module)
        self.module = schedule(module, self.machine) if self._rescheduled else module
        held = parsed({"kernel": "device", "grid": 1, "block": 1} | runtime_keys(heap, printf_buffer))
        self._session = Session(self.module, held, {}, {}, RunOptions(machine=self.machine, **options))
        self.launches: list[LaunchResult] = []

    @property
    def cycles(self) -> int:
        return sum(result.cycles for result in self.launches)

    def array(self, values: Array) -> DeviceArray:
        """Place a copy of an array, in C order.

        Objects in it are pointers to arrays of this device, see `launch_kernel`. Raises UsageError for elements that
        mean nothing to a kernel, or for an array without elements.
        """
        name = f"array{len(self._session.memory.host)}"
        self._session.memory.add_buffer(name, self._without_objects(array_on_device(values, "values"), "values"))
        return DeviceArray(self._session, name)

    def pointee(self, address: int) -> tuple[DeviceArray, int] | None:
        """Return the array of this device that an address is in, and the byte in it. The byte behind its last one
        counts. Return None for other addresses."""
        memory = self._session.memory
        for name, held in memory.host.items():
            if name not in memory.handles and 0 <= address - memory.addresses[name] <= held.nbytes:
                return DeviceArray(self._session, name), address - memory.addresses[name]
        return None

    def _without_objects(self, values: Array, where: str) -> Array:
        """Return an array with addresses in the place of pointers to arrays of this device."""
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
        """Place a texture with a copy of its texels. Raises as `launch_kernel` does for an object that is no texture.

        Where its data is an array or surface of this device, the texture reads that memory, with its contents at that
        time.
        """
        memory = self._session.memory
        name = f"texture{len(memory.handles)}"
        base = self._readable(texture.data)
        launch, data = handled_launch(name, texture, base)
        if base is None:
            memory.add_texture(launch.argument(name), data, launch.contents_of)
        else:
            memory.add_handle(launch.argument(name))
        return DeviceTexture(self._session, name)

    def surface(self, surface: SurfaceArray) -> DeviceSurface:
        """Place a surface with a copy of its texels. Raises as `launch_kernel` does for an object that is no
        surface."""
        name = f"array{len(self._session.memory.host)}"
        launch, data = handled_launch(name, surface)
        self._session.memory.add_buffer(name, data)
        self._session.memory.add_handle(launch.argument(name))
        return DeviceSurface(self._session, name, surface)

    def _readable(self, texels: object) -> Entry | None:
        """Return the entry of the array or surface of this device whose memory a texture reads, None for texels."""
        if not isinstance(texels, DeviceArray | DeviceSurface):
            return None
        if texels._session is not self._session:
            raise UsageError("a texture of what lies on another device", place="texture", expected="one of this device")
        dtype = name_of(texels.dtype)
        entry: Entry = {"name": texels.name, "kind": "buffer", "dtype": dtype, "shape": list(texels.shape)}
        if isinstance(texels, DeviceSurface):
            entry |= {"kind": "surface", "channels": texels.made.channels, "layers": texels.made.layers}
        return entry

    def read_variable(self, name: str, dtype: Any = np.uint8) -> Array:
        """Return a copy of the contents of a `__device__` or `__constant__` variable of the binary. Raises UsageError
        where there is no such variable, or it is no whole number of elements."""
        data = np.frombuffer(self._session.memory.variable(name), np.uint8)
        if data.nbytes % np.dtype(dtype).itemsize:
            raise UsageError(
                "no whole number of elements", place=name, found=f"{data.nbytes} bytes",
                expected=f"a multiple of the bytes of {dtype}",
            )  # fmt: skip
        found: Array = data.view(dtype).copy()
        return found

    def write_variable(self, name: str, values: Array) -> None:
        """Fill a variable from its first byte on, as `cudaMemcpyToSymbol` does. Raises UsageError where there is no
        such variable, or it is smaller."""
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
        """Run a kernel, and return when it has ended.

        kernel: its name, also in C++; None for the only one. args: for the parameters in their order, as in
        `launch_kernel`, but arrays and textures of this device. Raises as `launch_kernel` does; after a fault the
        device has what the kernel had left by then.
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
            elif isinstance(value, DeviceTexture | DeviceSurface):
                value = np.uint32(value.handle) if size == 4 else np.uint64(value.handle)
            given.append(value)
        record = record_for(self.module, fn.name, len(args))
        bound = bind_arrays(
            record, fn.name, grid, block, given, dynamic_shared=dynamic_shared, cooperative=cooperative
        )  # fmt: skip
        started = fitting(bound.launch, self.module, fn.name)
        parameters = started.parameters([(p.name, p.offset, p.size) for p in fn.info.params], addresses)
        result = self._session.launch(started, parameters)
        found = launch_result(result, started, self.module, self.machine, rescheduled=self._rescheduled)
        self.launches.append(found)
        return found

    def _require_own(self, value: object, i: int) -> None:
        """Raise UsageError for an object on the host, or on another device."""
        what = next((name for kind, name in _OF_THE_HOST.items() if isinstance(value, kind)), "")
        if isinstance(value, np.ndarray) and not value.ndim:
            what = ""
        if isinstance(value, DeviceArray | DeviceTexture | DeviceSurface) and value._session is not self._session:
            what = "one of another device"
        if what:
            raise UsageError(
                "the argument does not lie on this device", place=f"args[{i}]",
                found=what, expected="one of this device",
                remedy="Place it with its methods array, zeros, texture or surface.",
            )  # fmt: skip
