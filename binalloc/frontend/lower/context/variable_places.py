"""This module places variables: in constant banks, module-scope device memory, local frames, and each kernel's shared
memory and parameters.

It needs the parsed module and the scans of its functions, and refuses variables that do not fit. Only variables that a
wanted kernel uses, directly or through its callees, are placed. So a kernel's static shared memory is exact; occupancy
depends on it. A function's shared variables (and texture handles) may have other places under another kernel. Then the
function is lowered once for each such placement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from binalloc.frontend.ir import STACK_BYTES
from binalloc.frontend.lower.context.frames import DYNAMIC_ALIGN, HANDLED, Place, align_up, place_frames, too_large
from binalloc.frontend.lower.context.reached import ReachedFunctions
from binalloc.frontend.lower.context.symbol_flow import DYNAMIC_KEY, Key, SymbolFlow
from binalloc.frontend.lower.context.targets import Targets
from binalloc.frontend.ptx import ast
from binalloc.frontend.unsupported import BY_KEY, NotSupported
from binalloc.isa.instruction import CONSTANTS_COPY, DYNAMIC, GLOBAL_VARIABLES, ConstantVar, GlobalVar, Param, SharedVar

GLOBALS_BASE = GLOBAL_VARIABLES
"""Address of the first module-scope `.global` variable (ISA.md: below the launch's buffers)."""

GLOBALS_END = 0x10000000  # end of the area for them: the launch's buffers begin here
CONST_BANK = 3  # constant bank of `.const` variables
DOUBLE_BANK = 2  # constant bank of f64 constants
BANK_BYTES = 1 << 16  # bytes of a constant bank: its offsets have 16 bits
SHARED_LIMIT = 1 << 24
"""Most bytes of shared memory that can be addressed: Loom's shared window has as many (WINDOW_SIZE)."""


class Doubles:
    """Constant bank 2 holds each f64 constant once."""

    def __init__(self) -> None:
        self._offsets: dict[int, int] = {}

    def place(self, bits: int) -> int | None:
        """Return the offset of the constant in the bank, or None where the bank is full."""
        offset = self._offsets.get(bits)
        if offset is None:
            if 8 * len(self._offsets) >= BANK_BYTES:
                return None
            offset = self._offsets[bits] = 8 * len(self._offsets)
        return offset

    def data(self) -> bytes:
        return b"".join(bits.to_bytes(8, "little") for bits in self._offsets)


@dataclass
class KernelPlaces:
    """A kernel has places of its own for variables whose places differ between kernels."""

    name: str
    reached: list[str]  #: functions in its call graph, itself first
    places: dict[str, Place] = field(default_factory=dict)  #: variable (see `_key`) -> place
    shared_bytes: int = 0  #: static shared memory
    shared: list[SharedVar] = field(default_factory=list)  #: the variables in it
    #: by variable, as `symbol_flow` has it, the name in `shared`; `DYNAMIC` for dynamic memory
    shared_names: dict[Key, str] = field(default_factory=dict)
    params: list[Param] = field(default_factory=list)
    local_bytes: int = 0  #: local bytes of the deepest chain of frames


class VariablePlaces:
    """Variable places are found for all variables that the wanted kernels of `module` use.

    stack_bytes: stack per thread for recursive functions.
    """

    def __init__(self, module: ast.PtxModule, kernels: Iterable[str], stack_bytes: int = STACK_BYTES) -> None:
        self.module = module
        self.targets = Targets(module)
        wanted = list(kernels)
        reached = ReachedFunctions(module, self.targets, wanted)
        self.scans = reached.scans  #: see `ReachedFunctions`
        self.order = reached.order  #: see `ReachedFunctions`
        self.components = reached.components  #: see `ReachedFunctions`
        #: from which shared variables addresses were computed
        self.symbols = SymbolFlow(module, self.order, [*wanted, *self.targets.taken])
        self.kernels: dict[str, KernelPlaces] = {}  #: by name
        self.constants = b""  #: bytes of bank 3
        #: (address, bytes) of the constants' copy in global memory, if one is needed
        self.constants_copy: tuple[int, int] | None = None
        #: in the order of their addresses, from GLOBALS_BASE one after the other, each aligned
        self.globals: list[GlobalVar] = []
        self.constant_vars: list[ConstantVar] = []
        #: (function, or "" for module scope, variable) -> place, if it is the same for all kernels
        self._fixed: dict[tuple[str, str], Place] = {}
        #: function -> the functions of its call graph
        self._closure = {name: reached.below(name) for name in self.order}
        self._place_memory()
        frames = place_frames(module, reached, self.in_memory, stack_bytes)
        self.frames, self.parameter_copies, self.stack = frames.spans, frames.copies, frames.stack  #: see `Frames`
        self._fixed |= frames.places
        for name in wanted:
            self.kernels[name] = self._kernel(name)

    # -- lookups

    def variable(self, function: str, name: str) -> ast.Variable | None:
        """Return the variable that `name` means in `function`: its own, else the module's."""
        found = self.module.functions[function].variables.get(name)
        return found if found is not None else self.module.variables.get(name)

    def place(self, function: str, name: str, kernel: KernelPlaces) -> Place | None:
        """Return the place of a variable for `function` called under `kernel`.

        Returns None for a name that is not declared or has no address.
        """
        own = self._fixed.get((function, name)) or kernel.places.get(_key(function, name))
        if own is not None or name in self.module.functions[function].variables:
            return own
        return self._fixed.get(("", name)) or kernel.places.get(_key("", name))

    def variant(self, function: str, kernel: KernelPlaces) -> tuple[tuple[str, Place], ...]:
        """Return the places on which the lowering of `function` under `kernel` depends. Equal variants share one
        routine."""
        keys = sorted(key for name in self._closure[function] for key in self._kernel_keys(name))
        return tuple((key, kernel.places[key]) for key in dict.fromkeys(keys))

    def touched(self, function: str, ins: ast.Instruction, kernel: KernelPlaces) -> tuple[str, ...]:
        """Return the names of the shared variables that a memory instruction of `function` touches under `kernel`,
        sorted. Returns none where they are not all known, and in a library: only kernels have variables there."""
        if not self.module.functions[kernel.name].is_entry:
            return ()
        names = {kernel.shared_names.get(key, "") for key in self.symbols.touched(function, ins)}
        return () if "" in names else tuple(sorted(names))

    # -- places that all kernels share

    def _used(self) -> list[tuple[str, ast.Variable]]:
        """Return (scope, variable) of the constant and global variables that are used, also through initialisers.

        Module scope ("") comes first, in the order of the text.
        """
        named = {name for function in self.order for name in self.scans[function].symbols}
        local = [
            (function, variable)
            for function in self.order
            for variable in self.module.functions[function].variables.values()
            if variable.space in ("global", "const")
        ]
        work = [v for v in self.module.variables.values() if v.name in named] + [v for _, v in local]
        seen = {id(v) for v in work}
        while work:
            for _, symbol, *_ in work.pop().relocations:
                other = self.module.variables.get(symbol)
                if other is not None and id(other) not in seen:
                    seen.add(id(other))
                    work.append(other)
        return [("", v) for v in self.module.variables.values() if id(v) in seen] + local

    def _place_memory(self) -> None:
        """Place the constant and global variables, and make their initial bytes. Raises NotSupported where they do not
        fit."""
        const = 0
        address = GLOBALS_BASE
        placed: list[tuple[str, ast.Variable]] = []
        for scope, v in self._used():
            if v.space not in ("global", "const") or v.type in ("texref", "samplerref", "surfref"):
                continue
            if v.external and v.init is None:
                continue
            placed.append((scope, v))
            if v.space == "const":
                const = align_up(const, v.align)
                self._fixed[scope, v.name] = ("const", const)
                const += v.size
                if const > BANK_BYTES:
                    raise too_large(v, f".const variables take {const} bytes", f"at most {BANK_BYTES}")
            else:
                address = align_up(address, v.align)
                self._fixed[scope, v.name] = ("global", address)
                address += v.size
                if address > GLOBALS_END:
                    raise too_large(
                        v, ".global variables are too large", f"at most {GLOBALS_END - GLOBALS_BASE} bytes"
                    )
        align = max((v.align for _, v in placed if v.space == "const"), default=4)
        if self._constants_are_generic(placed):
            self.constants_copy = align_up(address, align), max(const, 4)
        image = bytearray(const)
        for scope, v in placed:
            data = self._initial(scope, v)
            if v.space == "const":
                offset = self._fixed[scope, v.name][1]
                name = _plain(f"{scope}.{v.name}" if scope else v.name)
                self.constant_vars.append(ConstantVar(name, CONST_BANK, offset, v.size))
                image[offset : offset + len(data)] = data
            else:
                name = _plain(f"{scope}.{v.name}" if scope else v.name)
                offset = self._fixed[scope, v.name][1] - GLOBALS_BASE
                self.globals.append(GlobalVar(name, offset, v.size, v.align, data.rstrip(b"\0")))
        self.constants = bytes(image)
        if self.constants_copy is not None:
            address, size = self.constants_copy
            name, data = f"{CONSTANTS_COPY}{CONST_BANK}", self.constants.rstrip(b"\0")
            self.globals.append(GlobalVar(name, address - GLOBALS_BASE, size, align, data))

    def _constants_are_generic(self, placed: list[tuple[str, ast.Variable]]) -> bool:
        """Return whether a generic address of a constant is made, by `cvta` or as an initial value."""
        if any("const" in self.scans[name].generic for name in self.order):
            return True
        constants = {v.name for _, v in placed if v.space == "const"}
        return any(generic and name in constants for _, v in placed for _, name, _, generic, *_ in v.relocations)

    def _initial(self, scope: str, v: ast.Variable) -> bytes:
        """Return the initial bytes of a variable with addresses resolved. Trailing zeros may be left out."""
        if not v.relocations:
            return v.init or b""
        image = bytearray((v.init or b"").ljust(v.size, b"\0"))
        for offset, symbol, addend, generic, first, size in v.relocations:
            place = self._fixed.get((scope, symbol)) or self._fixed.get(("", symbol))
            if place is None and not addend and self.targets.number(symbol):
                place = "global", self.targets.number(symbol)
            if place is not None and place[0] == "const" and generic and self.constants_copy is not None:
                place = "global", self.constants_copy[0] + place[1]
            if place is None or (place[0] != "global" and (place[0] != "const" or generic)):
                raise self._no_initial(v, symbol)
            value = (place[1] + addend) & (1 << 64) - 1
            image[offset : offset + size] = value.to_bytes(8, "little")[first : first + size]
        return bytes(image)

    def _no_initial(self, v: ast.Variable, symbol: str) -> NotSupported:
        message = f"the initialiser of {v.name} holds the address of {symbol}"
        form, found = BY_KEY["initialiser"], symbol
        other = self.module.variables.get(symbol)
        if other is not None and other.external and other.space != "shared":
            form, found = BY_KEY["external"], f"{symbol}, which is declared but not defined there"
        return NotSupported(
            form,
            message,
            file=v.path or None,
            place=f"line {v.place.line}, column {v.place.column}",
            found=found,
            expected=f"a .global or .const variable, or a .func, defined in {self.module.files_in_words}",
        )

    def in_memory(self, function: str, parameter: ast.Variable) -> bool:
        """Return whether a function's parameter is copied to the local frame, because its address is taken."""
        return parameter.space == "param" and parameter.name in self.scans[function].escaping

    # -- one kernel

    def _kernel_keys(self, function: str) -> list[str]:
        """Return the keys of the variables used in `function` whose places depend on the kernel."""
        out = []
        own = self.module.functions[function].variables
        for name, v in own.items():
            if v.space == "shared":
                out.append(_key(function, name))
        for name in self.scans[function].symbols:
            outer = self.module.variables.get(name) if name not in own else None
            if outer is not None and (outer.space == "shared" or outer.type in HANDLED):
                out.append(_key("", name))
        return out

    def _kernel(self, name: str) -> KernelPlaces:
        kernel = KernelPlaces(name, self._closure[name])
        self._parameters(kernel)
        wanted = {key for function in kernel.reached for key in self._kernel_keys(function)}
        variables: list[tuple[str, ast.Variable]] = []
        for function in kernel.reached:
            for v in self.module.functions[function].variables.values():
                if v.space == "shared":
                    variables.append((function, v))
        variables += [("", v) for v in self.module.variables.values() if _key("", v.name) in wanted]
        shared = [(scope, v) for scope, v in variables if v.space == "shared"]
        self._shared(kernel, shared)
        self._textures(kernel, [v for _, v in variables if v.type in HANDLED])
        frames = [self.frames[function] for function in kernel.reached if function not in self.components]
        kernel.local_bytes = max((base + size for base, size in frames if size), default=0)
        if self.stack is not None and any(function in self.components for function in kernel.reached):
            kernel.local_bytes = self.stack.end + self.stack.room
        return kernel

    def _parameters(self, kernel: KernelPlaces) -> None:
        end = 0
        for v in self.module.functions[kernel.name].parameters:
            end = align_up(end, v.align)
            self._fixed[kernel.name, v.name] = ("param", end)
            if v.size:
                kernel.params.append(Param(_plain(v.name), end, v.size))
            end += v.size
        if end > BANK_BYTES:
            raise too_large(v, f"the parameters of {kernel.name} take {end} bytes", f"at most {BANK_BYTES}")

    def _shared(self, kernel: KernelPlaces, variables: list[tuple[str, ast.Variable]]) -> None:
        """Place static variables from 0 on, the strictest alignment first (no holes). Dynamic memory begins behind
        them."""
        static = [(scope, v) for scope, v in variables if not v.external]
        names = {p.name for p in kernel.params}  # one name space in assembly
        end = 0
        for scope, v in sorted(static, key=lambda item: -item[1].align):
            end = align_up(end, v.align)
            kernel.places[_key(scope, v.name)] = ("shared", end)
            if v.size:
                name = _plain(v.name if scope in ("", kernel.name) else f"{scope}.{v.name}")
                while name in names:
                    name += "_"
                names.add(name)
                kernel.shared.append(SharedVar(name, end, v.size, v.align))
                kernel.shared_names[scope, v.name] = name
            end += v.size
        dynamic = [(scope, v) for scope, v in variables if v.external]
        if dynamic:
            kernel.shared_names[DYNAMIC_KEY] = DYNAMIC
            end = align_up(end, max(DYNAMIC_ALIGN, *(v.align for _, v in dynamic)))
            for scope, v in dynamic:
                kernel.places[_key(scope, v.name)] = ("shared", end)
        if end > SHARED_LIMIT:
            raise too_large(
                variables[-1][1], f"{kernel.name} has too much shared memory", f"at most {SHARED_LIMIT}"
            )
        kernel.shared_bytes = end

    def _textures(self, kernel: KernelPlaces, variables: list[ast.Variable]) -> None:
        """Place texture and surface references. They become parameters of the same names behind the kernel's own."""
        end = max((p.offset + p.size for p in kernel.params), default=0)
        for v in variables:
            end = align_up(end, 8)
            kernel.places[_key("", v.name)] = (v.type, end)
            kernel.params.append(Param(_plain(v.name), end, 8))
            end += 8


def _key(scope: str, name: str) -> str:
    return f"{scope}\0{name}"


def _plain(name: str) -> str:
    """Return a PTX name without percent signs, which the container does not allow."""
    return name.replace("%", "_")
