"""Numba is made to compile the device functions as one program with one entry.

By default, Numba makes every function callable from Python. Each becomes a module of its own with a copy of everything
it calls, which is optimised, turned into machine code and wrapped. With a few hundred functions that call each other
this is most of the time and memory of compiling. `one_program` delays all that until the entry: the others stay as they
were lowered. The entry's module takes each of them once and is optimised once. `device_function` compiles with the
passes that device code needs, and with one type for integer arguments, so that a function is compiled once and not
again for each way of writing a number.

Numba offers little of that in public, which is why pyproject.toml sets an upper limit to its version. For the same
reason `one_program` looks at each thing before it replaces it: where a Numba has it in another shape, nothing is
replaced. Compiling is correct then, too, and takes several times as long.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from types import FunctionType

from binalloc.emulator.host.engines.compile_costs import SAVED, Untyped, replace, save_costs

_LOG = logging.getLogger(__name__)
_APART = "apart."  # in the qualified name of a function that is not inlined: a library knows nothing else of it

REPLACED: dict[tuple[str, str], tuple[str, frozenset[str]]] = {
    ("numba.core.codegen", "JITCodeLibrary.finalize"): (
        "self", frozenset({"_linking_libraries", "_optimize_final_module", "_finalize_final_module", "link_in"}),
    ),
    ("numba.core.codegen", "JITCodeLibrary.add_ir_module"): ("self, ir_module", frozenset({"add_llvm_module"})),
    ("numba.core.codegen", "JITCodeLibrary._optimize_functions"): (
        "self, ll_module", frozenset({"data_layout", "_data_layout", "_function_pass_manager"}),
    ),
    ("numba.core.codegen", "JITCodeLibrary._optimize_final_module"): (
        "self", frozenset({"_module_pass_manager", "_final_module", "run"}),
    ),
    ("numba.core.codegen", "JITCodeLibrary._finalize_dynamic_globals"): ("self", frozenset({"_dynamic_globals"})),
    ("numba.core.cpu", "CPUContext.get_executable"): (
        "self, library, fndesc, env", frozenset({"get_pointer_to_function", "make_function", "lookup_module"}),
    ),
    ("numba.np.arrayobj", "fix_integer_index"): ("context, builder, idxty, idx, size", frozenset({"cast", "intp"})),
} | SAVED  # fmt: skip
"""The functions of Numba that `one_program` replaces or calls: module and name, the parameters that each must have, and
names that it must use, because the replacement relies on them."""


def device_function(
    function: FunctionType, *, entry: bool, inline: bool, apart: bool, boundscheck: bool, cache: bool
) -> Untyped:
    """Return the function as Numba compiles it when it is first called, by Python or from the entry.

    entry: Python calls it. inline: it becomes a part of its callers. apart: it never does. boundscheck: an index beyond
    an array raises IndexError. cache: keep the machine code of an entry on disk, in Numba's folder.
    """
    if apart:
        function.__qualname__ = f"{_APART}{function.__qualname__}"
    options: dict[str, Untyped] = {"boundscheck": boundscheck, "error_model": "numpy", "nogil": True, "_nrt": False}
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": not entry, "pipeline_class": _pipeline()}
    # set on each function: without its own setting a function inherits the setting of its first caller
    options |= {"cache": cache} if entry else {"forceinline": inline}
    dispatcher = import_module("numba").njit(**options)(function)
    if not entry:
        usual = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: usual(_plain(args), kws)
    return dispatcher


def _plain(args: tuple[Untyped, ...]) -> tuple[Untyped, ...]:
    """Return the types of arguments, all integers as one type: all integers of device code fit in 64 bits with a
    sign."""
    types = import_module("numba.core.types")
    numbers = (types.Integer, types.IntegerLiteral)
    return tuple(types.int64 if isinstance(kind, numbers) else kind for kind in args)


@lru_cache(maxsize=1)
def _pipeline() -> Untyped:
    """Return Numba's own passes without the ones for what device code does not use: closures, overloads inlined as
    source, `with` blocks, `literal_unroll`, parallel loops, array expressions."""
    compiler = import_module("numba.core.compiler")
    untyped, typed = import_module("numba.core.untyped_passes"), import_module("numba.core.typed_passes")
    passes = [untyped.TranslateByteCode, untyped.FixupArgs, untyped.IRProcessing, untyped.RewriteSemanticConstants]
    passes += [untyped.DeadBranchPrune, untyped.ReconstructSSA, typed.NopythonTypeInference, typed.PreLowerStripPhis]
    passes += [typed.IRLegalization, typed.NativeLowering, typed.NoPythonBackend]
    manager = compiler.PassManager("device")
    for each in passes:
        manager.add_pass(each, each.__name__)
    manager.finalize()
    return type("DeviceCompiler", (compiler.CompilerBase,), {"define_pipelines": lambda self: [manager]})


def strange() -> str:
    """Return the first of `REPLACED` that this Numba has in another shape, or not at all; empty where all are as
    expected."""
    for (module, name), (parameters, uses) in REPLACED.items():
        found: Untyped = import_module(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        code: Untyped = getattr(found, "__code__", None)
        if code is None or ", ".join(code.co_varnames[: code.co_argcount]) != parameters:
            return f"{module}.{name}"
        if uses - {*code.co_names}:
            return f"{module}.{name}"
    return ""


@contextmanager
def one_program(entry: str, *, required: bool = False) -> Iterator[None]:
    """Optimise and make machine code only for the function called `entry`, with all that it calls, while this lasts.

    With a Numba that is not as expected this does nothing; required: it raises RuntimeError then.
    """
    if name := strange():
        if required:
            raise RuntimeError(f"this version of Numba has another {name}")
        _LOG.info("this version of Numba has another %s: compiling takes several minutes", name)
        yield
        return
    cpu_target = import_module("numba.core.registry").cpu_target
    rtsys = import_module("numba.core.runtime").rtsys
    rtsys.initialize(cpu_target.target_context)  # Numba's own functions, before the rules change
    with ExitStack() as stack:
        _libraries_once(stack, entry)
        _only_entry_is_callable(stack, entry)
        _indices_as_they_are(stack)
        save_costs(stack)
        yield


def _libraries_once(stack: ExitStack, entry: str) -> None:
    """Keep a library other than the entry's as it is. The entry's links each of its direct and indirect libraries
    once."""
    JITCodeLibrary = import_module("numba.core.codegen").JITCodeLibrary
    usual, add = JITCodeLibrary.finalize, JITCodeLibrary.add_ir_module

    def finalize(self: Untyped) -> None:
        if _base_name(self.name) != entry:
            self._finalize_dynamic_globals()
            self._finalized = True
            return
        _link(self, _reached(self._linking_libraries))
        usual(self)

    def optimize(self: Untyped) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and entry not in function.name:
                function.linkage = "internal"  # so LLVM may inline it into its only caller and drop arguments
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def add_ir_module(self: Untyped, module: Untyped) -> None:
        if _APART in self.name:
            for function in module.functions:
                if not function.is_declaration:
                    function.attributes.add("noinline")
        add(self, module)

    def optimize_functions(self: Untyped, module: Untyped) -> None:
        module.data_layout = self._codegen._data_layout

    replace(stack, JITCodeLibrary, "finalize", finalize)
    replace(stack, JITCodeLibrary, "add_ir_module", add_ir_module)
    replace(stack, JITCodeLibrary, "_optimize_functions", optimize_functions)
    replace(stack, JITCodeLibrary, "_optimize_final_module", optimize)


def _base_name(name: str) -> str:
    """Return the function's name from a library's name, which is its qualified name."""
    return name.rsplit(".", 1)[-1]


def _reached(libraries: list[Untyped]) -> list[Untyped]:
    """Return the libraries and all that they link, each once, callers first."""
    found: dict[int, Untyped] = {}
    waiting = list(reversed(libraries))
    while waiting:
        library = waiting.pop()
        if id(library) not in found:
            found[id(library)] = library
            waiting.extend(reversed(library._linking_libraries))
    return list(found.values())


def _link(library: Untyped, others: list[Untyped]) -> None:
    """Link the modules of the others into the library's module, in their order. Neighbours are linked first, as the
    cost of linking grows with the size of both."""
    modules = [other._final_module.clone() for other in others]  # another entry may link them, too
    for module in modules:
        for function in module.functions:
            if not function.is_declaration:
                function.linkage = "weak_odr"  # kept, even if nothing in its neighbour calls it
    while len(modules) > 1:
        for first, second in zip(modules[::2], modules[1::2], strict=False):
            first.link_in(second)
        modules = modules[::2]
    for module in modules:
        library._final_module.link_in(module)
    for other in others:
        library._reload_init.update(other._reload_init)
    library._linking_libraries = []


def _only_entry_is_callable(stack: ExitStack, entry: str) -> None:
    """Make only the entry callable from Python. The objects of the other functions are placeholders that are never
    called."""
    cpu = import_module("numba.core.cpu")

    maker = import_module("numba._dynfunc")
    usual = cpu.CPUContext.get_executable

    def get_executable(self: Untyped, library: Untyped, fndesc: Untyped, env: Untyped) -> Untyped:
        name = _base_name(fndesc.qualname)
        if name == entry:
            return usual(self, library, fndesc, env)
        return maker.make_function(fndesc.lookup_module(), name, "device code", 1, env, (library,))

    replace(stack, cpu.CPUContext, "get_executable", get_executable)


def _indices_as_they_are(stack: ExitStack) -> None:
    """Use indices as they are. Numba counts negative ones from an array's end; device code has none, and the test costs
    time at every access. The build that checks indices finds a negative one."""
    types = import_module("numba.core.types")
    arrayobj = import_module("numba.np.arrayobj")

    replace(
        stack, arrayobj, "fix_integer_index",
        lambda context, builder, kind, index, size: context.cast(builder, index, kind, types.intp),
    )  # fmt: skip
