"""How Numba is made to compile the device functions: as one program with one entry.

Left to itself, Numba makes every function one that Python could call: a module of its own that holds a copy of
everything it calls, is optimised, turned into machine code and wrapped. With a few hundred functions that call each
other that is most of the time and memory of compiling. `one_program` puts all that off to the entry: the others stay
as they were lowered, and the entry's module takes each of them once and is optimised once. `device_function` compiles
with the passes that device code needs, and with one type for integer arguments, so that a function is compiled once and
not again for each way of writing a number.

Little of that is offered by Numba in public, which is why pyproject.toml bounds its version from above, and why
`one_program` looks at what it is about to replace: where a Numba has it in another shape, everything is left as it is.
Compiling is correct then, too, and takes several times as long.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from types import FunctionType
from typing import Any

Untyped = Any
"""An object of Numba's, which tells no types."""

_LOG = logging.getLogger(__name__)
_APART = "apart."  # in the qualified name of a function that stays one, the only thing a library knows of it
_COLLECT_EVERY = 100_000  # objects made between two searches for garbage, of which compiling leaves little

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
    ("numba.core.types", "Record.__repr__"): ("self", frozenset({"fields", "aligned"})),
    ("numba.core.types", "BaseFunction.get_call_type"): (
        "self, context, args, kws", frozenset({"_impl_keys", "apply"}),
    ),
    ("numba.core.targetconfig", "TargetConfig.__eq__"): ("self, other", frozenset({"values"})),
    ("numba.core.targetconfig", "TargetConfig.__hash__"): ("self", frozenset({"values"})),
}  # fmt: skip
"""What `one_program` replaces or calls of Numba: module and name, the parameters it must have, and names that it must
use, as what stands in its place goes by them."""


def device_function(
    function: FunctionType, *, entry: bool, inline: bool, apart: bool, boundscheck: bool, cache: bool
) -> Untyped:
    """The function as Numba compiles it when it is first called, or reached from the entry.

    entry: Python calls it. inline: it becomes a part of its callers. apart: it never does. boundscheck: an index beyond
    an array raises IndexError. cache: keep the machine code of an entry on disk, in Numba's folder."""
    if apart:
        function.__qualname__ = f"{_APART}{function.__qualname__}"
    options: dict[str, Untyped] = {"boundscheck": boundscheck, "error_model": "numpy", "nogil": True, "_nrt": False}
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": not entry, "pipeline_class": _pipeline()}
    # told to each function: one that is not takes over the choice of whoever reaches it first
    options |= {"cache": cache} if entry else {"forceinline": inline}
    dispatcher = import_module("numba").njit(**options)(function)
    if not entry:
        usual = dispatcher.get_call_template
        dispatcher.get_call_template = lambda args, kws: usual(_plain(args), kws)
    return dispatcher


def _plain(args: tuple[Untyped, ...]) -> tuple[Untyped, ...]:
    """The types of arguments, all integers as one: all that device code holds fit in 64 bits with a sign."""
    types = import_module("numba.core.types")
    numbers = (types.Integer, types.IntegerLiteral)
    return tuple(types.int64 if isinstance(kind, numbers) else kind for kind in args)


@lru_cache(maxsize=1)
def _pipeline() -> Untyped:
    """The passes of Numba's own pipeline without those for what device code does not use: closures, overloads inlined
    as source, `with` blocks, `literal_unroll`, parallel loops, array expressions."""
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
    """The first of `REPLACED` that this Numba has in another shape, or not at all; empty where all are as they were."""
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
    """While compiling: optimise and make machine code for the function called `entry` alone, with all that it calls.

    With a Numba that is not as expected this does nothing; required: it raises RuntimeError then."""
    if name := strange():
        if required:
            raise RuntimeError(f"this version of Numba has another {name}")
        _LOG.info("this version of Numba has another %s: compiling takes several minutes", name)
        yield
        return
    cpu_target = import_module("numba.core.registry").cpu_target
    rtsys = import_module("numba.core.runtime").rtsys
    rtsys.initialize(cpu_target.target_context)  # Numba's own functions, before the rules change
    threshold = gc.get_threshold()
    with ExitStack() as stack:
        _libraries_once(stack, entry)
        _only_entry_is_callable(stack, entry)
        _indices_as_they_are(stack)
        _cheap_comparisons(stack)
        _operators_once(stack)
        stack.callback(gc.set_threshold, *threshold)
        gc.set_threshold(_COLLECT_EVERY, *threshold[1:])
        yield


def replace(stack: ExitStack, owner: Untyped, name: str, value: Callable[..., Untyped]) -> None:
    """Another function under a name of Numba's until `stack` ends."""
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _libraries_once(stack: ExitStack, entry: str) -> None:
    """A library other than the entry's is only kept; the entry's links each of those it reaches once."""
    JITCodeLibrary = import_module("numba.core.codegen").JITCodeLibrary
    usual, add = JITCodeLibrary.finalize, JITCodeLibrary.add_ir_module

    def finalize(self: Untyped) -> None:
        if _base_name(self.name) != entry:
            self._finalize_dynamic_globals()
            self._finalized = True
            return
        self._linking_libraries = _reached(self._linking_libraries)
        usual(self)

    def optimize(self: Untyped) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and entry not in function.name:
                function.linkage = "internal"  # nobody else's: free to vanish in its only caller, and to lose arguments
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
    """The function's name in that of a library, which is its qualified name."""
    return name.rsplit(".", 1)[-1]


def _reached(libraries: list[Untyped]) -> list[Untyped]:
    """Those libraries and all that they link, each once, callers first."""
    found: dict[int, Untyped] = {}
    waiting = list(reversed(libraries))
    while waiting:
        library = waiting.pop()
        if id(library) not in found:
            found[id(library)] = library
            waiting.extend(reversed(library._linking_libraries))
    return list(found.values())


def _only_entry_is_callable(stack: ExitStack, entry: str) -> None:
    """No other function gets an object that Python could call: what stands in its place is never called."""
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
    """Numba counts negative indices from an array's end; device code has none, and asking costs time at every access.
    The build that checks indices finds a negative one."""
    types = import_module("numba.core.types")
    arrayobj = import_module("numba.np.arrayobj")

    replace(
        stack, arrayobj, "fix_integer_index",
        lambda context, builder, kind, index, size: context.cast(builder, index, kind, types.intp),
    )  # fmt: skip


def _cheap_comparisons(stack: ExitStack) -> None:
    """Two things that Numba asks for at every step, and works out anew from hundreds of fields: the text of a record's
    type, which is its name, and whether two sets of flags are equal, which nearly always are one."""
    TargetConfig = import_module("numba.core.targetconfig").TargetConfig
    Record = import_module("numba.core.types").Record

    usual = TargetConfig.__eq__
    replace(stack, Record, "__repr__", lambda self: self.name)
    replace(
        stack, TargetConfig, "__eq__",
        lambda self, other: self is other
        or (type(self) is type(other) and self._values == other._values)
        or usual(self, other),
    )  # fmt: skip
    replace(stack, TargetConfig, "__hash__", lambda self: hash(tuple(sorted(self._values))))


def _operators_once(stack: ExitStack) -> None:
    """What an operator or a function of Numba's gives for arguments of some types: it tries dozens of signatures, at
    each of its thousands of uses anew."""
    types = import_module("numba.core.types")

    usual = types.BaseFunction.get_call_type
    known: dict[tuple[int, Untyped], tuple[Untyped, Untyped]] = {}

    def get_call_type(self: Untyped, context: Untyped, args: Untyped, kws: Untyped) -> Untyped:
        if kws or type(self) is not types.Function:
            return usual(self, context, args, kws)
        key = id(self), args
        if key not in known:
            known[key] = usual(self, context, args, kws), self  # held, so that its number stays its own
        return known[key][0]

    replace(stack, types.BaseFunction, "get_call_type", get_call_type)
