"""This module takes the dynamic shared memory of a launch for a variable of the kernel, so that it can be analysed.

Needs a laid-out module. Addresses stay as they are: dynamic bytes lie behind the static ones (ISA.md, "Shared memory of
a block"). What is found is so for launches with as many dynamic bytes.
"""

from __future__ import annotations

from dataclasses import replace

from binalloc.isa.instruction import Module, SharedVar

_NAME = "dynamic shared memory"
"""Name of the variable. No variable of a program can have it, as there are spaces in it."""


def with_variable(module: Module, kernel: str, dynamic: int) -> Module:
    """Return the module in which a kernel's dynamic bytes are a static variable; the same one if there are none."""
    return _changed(module, kernel, dynamic) if dynamic else module


def without_variable(module: Module, kernel: str, dynamic: int) -> Module:
    """Return the module in which the variable of `with_variable` is dynamic shared memory again."""
    return _changed(module, kernel, -dynamic) if dynamic else module


def _changed(module: Module, kernel: str, more: int) -> Module:
    """Return the module with more bytes of a kernel's shared memory, or fewer, and with the variable or without."""
    functions = []
    for fn in module.functions:
        if fn.name == kernel:
            static = fn.info.shared_bytes
            shared = [v for v in fn.shared if v.name != _NAME]
            if more > 0:
                shared.append(SharedVar(_NAME, static, more, 1))
            fn = replace(fn, info=replace(fn.info, shared_bytes=static + more), shared=shared)
        functions.append(fn)
    return replace(module, functions=functions)
