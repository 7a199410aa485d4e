"""Numba computes some things again and again while it compiles some hundred functions. Here they are computed once,
which saves a fifth of the time.

Nothing here changes what is compiled. `SAVED` says what shape Numba must have for this, as `REPLACED` in compiling.py
does.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from typing import Any

Untyped = Any  # An object of Numba, which has no type annotations.

_COLLECT_EVERY = 100_000
"""objects made between two garbage collections: compiling leaves little garbage, and searching costs time"""

SAVED: dict[tuple[str, str], tuple[str, frozenset[str]]] = {
    ("numba.core.types", "Record.__repr__"): ("self", frozenset({"fields", "aligned"})),
    ("numba.core.types", "BaseFunction.get_call_type"): (
        "self, context, args, kws", frozenset({"_impl_keys", "apply"}),
    ),
    ("numba.core.targetconfig", "TargetConfig.__eq__"): ("self, other", frozenset({"values"})),
    ("numba.core.targetconfig", "TargetConfig.__hash__"): ("self", frozenset({"values"})),
    ("numba.core.base", "BaseContext.refresh"): (
        "self", frozenset({"load_additional_registries", "install_registry", "typing_context", "refresh"}),
    ),
    ("numba.core.imputils", "Registry.__init__"): (
        "self, name", frozenset({"functions", "getattrs", "setattrs", "casts", "constants"}),
    ),
    ("numba.core.typing.templates", "Registry.__init__"): ("self", frozenset({"functions", "attributes", "globals"})),
    ("numba.core.event", "broadcast"): ("event", frozenset({"_registered", "notify"})),
    ("numba.core.ir", "Inst._rec_list_vars"): ("self, val", frozenset({"list_vars", "values", "_rec_list_vars"})),
    ("llvmlite.ir.types", "Type.get_abi_size"): (
        "self, target_data, context", frozenset({"_get_ll_global_value_type", "get_abi_size"}),
    ),
}  # fmt: skip
"""As `REPLACED` in compiling.py: module and name, the parameters it must have, and names that it must use."""


def replace(stack: ExitStack, owner: Untyped, name: str, value: Callable[..., Untyped]) -> None:
    """Put another function under a name of Numba's until `stack` ends."""
    stack.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def save_costs(stack: ExitStack) -> None:
    """Apply everything in this file, until `stack` ends."""
    _cheap_comparisons(stack)
    _operators_once(stack)
    _registries_once(stack)
    _sizes_once(stack)
    _variables_by_type(stack)
    replace(stack, import_module("numba.core.event"), "broadcast", lambda event: None)  # timers that nobody reads
    threshold = gc.get_threshold()
    stack.callback(gc.set_threshold, *threshold)
    gc.set_threshold(_COLLECT_EVERY, *threshold[1:])


def _cheap_comparisons(stack: ExitStack) -> None:
    """Replace two things that Numba asks for at every step and computes from hundreds of fields. The text of a record's
    type is its name. Two sets of flags that are compared are nearly always one object."""
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
    """Remember the result of an operator or a function of Numba's for arguments of some types. Numba tries dozens of
    signatures at each of thousands of uses."""
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


def _registries_once(stack: ExitStack) -> None:
    """Look for new functions of Numba's own only where one of the two lists that others add to has grown. Numba looks
    whenever it knows no function for some types."""
    BaseContext = import_module("numba.core.base").BaseContext
    lowered = import_module("numba.core.imputils").builtin_registry
    typed = import_module("numba.core.typing.templates").builtin_registry

    usual = BaseContext.refresh
    seen: dict[int, tuple[list[int], Untyped]] = {}

    def refresh(self: Untyped) -> None:
        lists = [lowered.functions, lowered.getattrs, lowered.setattrs, lowered.casts, lowered.constants]
        lists += [typed.functions, typed.attributes, typed.globals]
        sizes = [len(each) for each in lists]
        if id(self) not in seen or seen[id(self)][0] != sizes:
            seen[id(self)] = sizes, self  # held, so that its number stays its own
            usual(self)

    replace(stack, BaseContext, "refresh", refresh)


def _sizes_once(stack: ExitStack) -> None:
    """Remember the size of a type. To find it, llvmlite writes a program and has LLVM read it."""
    Type = import_module("llvmlite.ir.types").Type

    usual = Type.get_abi_size
    known: dict[tuple[str, int], tuple[int, Untyped]] = {}

    def get_abi_size(self: Untyped, target_data: Untyped, context: Untyped = None) -> int:
        key = str(self), id(target_data)
        if context is not None or "%" in key[0]:  # a type with a name: its meaning depends on the context
            return int(usual(self, target_data, context))
        if key not in known:
            known[key] = usual(self, target_data), target_data
        return known[key][0]

    replace(stack, Type, "get_abi_size", get_abi_size)


def _variables_by_type(stack: ExitStack) -> None:
    """Find the variables of a statement by the types of its parts. Numba asks each part whether it is one of five
    kinds, a million times."""
    ir = import_module("numba.core.ir")

    kinds: dict[type, int] = {}
    OTHER, VARIABLE, STATEMENT, SEQUENCE, TABLE = range(5)
    bases = ((ir.Var, VARIABLE), (ir.Inst, STATEMENT), ((list, tuple), SEQUENCE), (dict, TABLE))

    def kind_of(kind: type) -> int:
        return next((number for base, number in bases if issubclass(kind, base)), OTHER)

    def list_vars(self: Untyped, value: Untyped) -> list[Untyped]:
        found: list[Untyped] = []
        for each in value.values() if isinstance(value, dict) else (value,):
            kind = kinds.get(type(each))
            if kind is None:
                kind = kinds[type(each)] = kind_of(type(each))
            if kind == VARIABLE:
                found.append(each)
            elif kind == STATEMENT:
                found += each.list_vars()
            elif kind == SEQUENCE:
                for one in each:
                    found += list_vars(self, one)
            elif kind == TABLE:
                found += list_vars(self, each)
        return found

    replace(stack, ir.Inst, "_rec_list_vars", list_vars)
