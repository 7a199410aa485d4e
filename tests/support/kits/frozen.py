"""Holds everybody to what the type checker alone says otherwise: nobody changes an instruction that is made."""

from __future__ import annotations

from typing import Any, NoReturn

from binalloc.isa.instruction import Instr


def _refuse(self: object, *args: object, **named: object) -> NoReturn:
    raise AssertionError(f"an instruction is being changed: {args}")


class Fields(dict[str, int]):
    """The fields of an instruction, which stay as they are. Copies are plain dictionaries."""

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _set(self: Instr, name: str, value: object) -> None:
    """Each attribute once, but for the view that is kept with the instruction."""
    if name != "seen" and hasattr(self, name):
        _refuse(self, name, value)
    object.__setattr__(self, name, Fields(value) if name == "f" else value)  # type: ignore[call-overload]


def freeze_instructions() -> None:
    """From now on, in this process, an assertion fails where an instruction or its fields are changed."""
    Instr.__setattr__ = _set  # type: ignore[assignment]
    Instr.__delattr__ = _refuse  # type: ignore[assignment]
