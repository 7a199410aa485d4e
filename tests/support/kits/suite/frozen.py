"""Holds everybody to what the type checker alone says otherwise: nobody changes an instruction that is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from binalloc.isa.instruction import DEFAULT_CONTROL, Control, Instr
from binalloc.isa.table.fields import PT


def _refuse(self: object, *args: object, **named: object) -> NoReturn:
    raise AssertionError(f"an instruction is being changed: {args}")


class Fields(dict[str, int]):
    """The fields of an instruction, which stay as they are. Copies are plain dictionaries."""

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


_PUT = [getattr(Instr, name).__set__ for name in ("op", "f", "guard", "guard_neg", "ctrl", "seen")]


def _init(
    self: Instr, op: Any, f: Mapping[str, int], guard: int = PT, guard_neg: bool = False,
    ctrl: Control = DEFAULT_CONTROL,
) -> None:  # fmt: skip
    """As `Instr.__init__`, by way of the slots: `_set` at each attribute would slow the tests down."""
    for put, value in zip(_PUT, (op, Fields(f), guard, guard_neg, ctrl, None), strict=True):
        put(self, value)


def _set(self: Instr, name: str, value: object) -> None:
    """Each attribute once, as copies set them, but for the view that is kept with the instruction."""
    if name != "seen" and hasattr(self, name):
        _refuse(self, name, value)
    object.__setattr__(self, name, Fields(value) if name == "f" else value)  # type: ignore[call-overload]


def freeze_instructions() -> None:
    """From now on, in this process, an assertion fails where an instruction or its fields are changed."""
    Instr.__init__ = _init  # type: ignore[method-assign]
    Instr.__setattr__ = _set  # type: ignore[assignment]
    Instr.__delattr__ = _refuse  # type: ignore[assignment]
