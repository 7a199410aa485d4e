"""This module makes the compiled core for a package: `python -m binalloc.emulator.packing.machine_code BUILD FOLDER`.

The device functions are compiled as always, but for any CPU of a kind. The resulting module is written as an object
file and linked to a shared library of its own. The function for Python is replaced by one for C. It takes all arguments
as 64-bit words, with arrays taken apart in Numba's order of their parts.

A process compiles for one CPU alone, which is chosen before Numba is loaded. `make_core` starts a process for each
build.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

import numpy as np

from binalloc.emulator.carried.core import ENTRY, FAILED, FOLDER, IDENTITY, NEEDS, CoreLabel, kind_of
from binalloc.emulator.host.engines.compile_costs import Untyped, replace
from binalloc.emulator.host.engines.compiling import one_program
from binalloc.emulator.host.engines.engine import build, name_of_build
from binalloc.emulator.state.memories import Memories
from binalloc.emulator.state.records import Gpu, Sm, dtype_of
from binalloc.errors import Refused, UsageError

CPU = "x86-64-v3"
"""Intel's CPUs since 2013 and AMD's since 2015 have it. Newer instructions make the emulator no faster."""

BUILDS = {name_of_build(checking, False): checking for checking in (False, True)}
LINKER = "cc"
_LIBC = (b"GLIBC_2.2.5", b"GLIBC_2.14")
"""Versions of the C library whose functions the core may call. All of them are within `wheel.PLATFORM`."""
_EXPORTS = f"{{ global: {ENTRY}; {IDENTITY}; local: *; }};\n"


def make_core(name: str, folder: Path) -> None:
    """Write the library and the label of a build to `folder`. Raises Refused where this machine cannot make them."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise Refused("a compiled core is made on Linux on x86_64 alone", found=f"{sys.platform}, {os.uname().machine}")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "BINALLOC_"))}
    chosen = {"NUMBA_CPU_NAME": CPU, "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, "-m", __name__, name, str(folder.resolve())]
    here = FOLDER.parents[2]  # the child imports the same sources from here
    done = subprocess.run(command, cwd=here, env=kept | chosen, capture_output=True, text=True)
    if done.returncode:
        raise Refused("the compiled core cannot be made", found=(done.stderr or "no message").strip().splitlines()[-1])


def main(arguments: list[str]) -> int:
    """Compile, link and label one build, for the CPU that the environment names."""
    name, folder = arguments[0], Path(arguments[1])
    cpu = os.environ["NUMBA_CPU_NAME"]
    assert cpu in NEEDS
    label, code = compiled(BUILDS[name], cpu)
    library = linked(code)
    (folder / f"{name}.so").write_bytes(library)
    (folder / f"{name}.json").write_text(label.file(library))
    return 0


def compiled(checking: bool, cpu: str) -> tuple[CoreLabel, bytes]:
    """Compile the device functions to an object file, and return it with the label that it contains."""
    gpus, sms = np.zeros(1, dtype_of(Gpu)), np.zeros(1, dtype_of(Sm))
    arrays = Memories(np.zeros((1, 1), np.int64)).arguments()
    kinds = [kind_of(np.asarray(each)) for each in (gpus, sms, *arrays)]
    label = CoreLabel.here(name_of_build(checking, False), cpu, kinds)
    return label, object_file(build(checking=checking, cache=False), gpus, sms, arrays, label)


def object_file(dispatcher: Untyped, gpus: Untyped, sms: Untyped, arrays: Untyped, label: CoreLabel) -> bytes:
    """Compile the program with the entry `dispatcher` to an object file, for the label's CPU.

    gpus, sms, arrays: values of the types of its arguments, which two integers follow.
    """
    numba = import_module("numba")
    types = [*(numba.typeof(value) for value in (gpus, sms, arrays)), numba.int64, numba.int64]
    libraries: list[Untyped] = []
    with ExitStack() as stack:
        stack.enter_context(one_program(dispatcher.__name__, required=True))
        _entry_for_c(stack, label)
        library_type = import_module("numba.core.codegen").JITCodeLibrary
        replace(stack, library_type, "_finalize_specific", lambda library: libraries.append(library))
        dispatcher.compile(tuple(types))
    return _emitted(libraries[-1]._final_module, label.cpu)


def _entry_for_c(stack: ExitStack, label: CoreLabel) -> None:
    """Replace Numba's function for Python by one that takes words. Nothing calls the new one here."""
    cpu = import_module("numba.core.cpu")
    maker = import_module("numba._dynfunc")

    def create(self: Untyped, library: Untyped, fndesc: Untyped, env: Untyped, *others: Untyped, **named: bool) -> None:
        module = self.create_module("entry for C")
        _write_entry(self, module, fndesc)
        _write_text(module, IDENTITY, label.text())
        library.add_ir_module(module)

    def get_executable(self: Untyped, library: Untyped, fndesc: Untyped, env: Untyped) -> Untyped:
        library._ensure_finalized()
        return maker.make_function(fndesc.lookup_module(), "entry", "device code", 1, env, (library,))

    replace(stack, cpu.CPUContext, "create_cpython_wrapper", create)
    replace(stack, cpu.CPUContext, "get_executable", get_executable)


def _write_entry(context: Untyped, module: Untyped, fndesc: Untyped) -> None:
    """Write int64 ENTRY(const int64 *words), which returns the function's result, or FAILED for an exception."""
    ir = import_module("llvmlite.ir")
    word = ir.IntType(64)
    convention = context.call_conv
    callee = ir.Function(module, convention.get_function_type(fndesc.restype, fndesc.argtypes), fndesc.llvm_func_name)
    entry = ir.Function(module, ir.FunctionType(word, [word.as_pointer()]), ENTRY)
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    packer = context.get_arg_packer(fndesc.argtypes)
    flat = []
    for i, kind in enumerate(packer.argument_types):
        value = builder.load(builder.gep(entry.args[0], [ir.Constant(word, i)]))
        flat.append(builder.inttoptr(value, kind) if isinstance(kind, ir.PointerType) else value)
        assert flat[-1].type == kind, kind
    arguments = packer.from_arguments(builder, flat)
    status, result = convention.call_function(builder, callee, fndesc.restype, fndesc.argtypes, arguments)
    builder.ret(builder.select(status.is_ok, result, ir.Constant(word, FAILED)))


def _write_text(module: Untyped, name: str, text: str) -> None:
    """Write a text that ends with a zero byte into the module, under `name`."""
    ir = import_module("llvmlite.ir")
    data = bytearray(text.encode() + b"\0")
    held = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), len(data)), name)
    held.initializer, held.global_constant = ir.Constant(held.value_type, data), True


def _emitted(module: Untyped, cpu: str) -> bytes:
    """Return the optimised module as an object file that can be linked to a shared library."""
    binding = import_module("llvmlite.binding")
    target = binding.Target.from_triple(binding.get_process_triple())
    machine = target.create_target_machine(cpu=cpu, features="", opt=3, reloc="pic", codemodel="default")
    return bytes(machine.emit_object(module))


def linked(code: bytes) -> bytes:
    """Link the object file to a shared library that needs only the C library and exports only entry and label.

    Raises UsageError where there is no linker, Refused where the code calls something else, such as Python or Numba.
    """
    with tempfile.TemporaryDirectory() as folder:
        inside, exports, outside = (Path(folder, name) for name in ("core.o", "exports", "core.so"))
        inside.write_bytes(code)
        exports.write_text(_EXPORTS)
        options = ["-shared", "-nostartfiles", "-nodefaultlibs", "-s", "-Wl,--build-id=none", "-Wl,-z,defs"]
        options += ["-Wl,-z,now", "-Wl,-z,noexecstack", f"-Wl,--version-script={exports}"]
        command = [LINKER, *options, "-o", str(outside), str(inside), "-lc"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise UsageError("no linker", found=f"no program {LINKER}", remedy="Install gcc or clang.") from None
        except subprocess.CalledProcessError as error:
            raise Refused("the compiled core cannot be linked", found=error.stderr.strip().splitlines()[-1]) from error
        library = outside.read_bytes()
    if newer := [text.decode() for text in re.findall(rb"GLIBC_[\w.]+", library) if text not in _LIBC]:
        raise Refused("the compiled core asks for a newer C library than its wheel says", found=", ".join(newer))
    return library


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
