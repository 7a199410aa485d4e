"""This module takes an instruction's suffixes one by one. A suffix left over at the end is unknown and refused."""

from __future__ import annotations

from typing import NoReturn

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction
from binalloc.frontend.unsupported import BY_KEY, NotSupported

ROUNDINGS = ("rn", "rz", "rm", "rp", "rna")  # roundings to a floating-point value
INTEGER_ROUNDINGS = ("rni", "rzi", "rmi", "rpi")  # roundings to an integral value
RND = {"rn": "", "rz": "RZ", "rm": "RM", "rp": "RP", "rni": "", "rzi": "RZ", "rmi": "RM", "rpi": "RP"}
"""PTX rounding -> text of Loom's modifiers rnd and rnd2."""


class Modifiers:
    """The modifiers of an instruction are its suffixes, as far as they are not taken yet."""

    def __init__(self, ins: Instruction, path: str) -> None:
        self.ins = ins
        self.path = path
        self.left = list(ins.mods)

    def take(self, *texts: str) -> str:
        """Remove and return the first suffix that is one of `texts`; "" where there is none."""
        for text in self.left:
            if text in texts:
                self.left.remove(text)
                return text
        return ""

    def has(self, text: str) -> bool:
        """Remove the suffix and return whether it was there."""
        return bool(self.take(text))

    def type(self, *allowed: str) -> str:
        """Remove and return the first suffix that is a type. Refuses the instruction if there is none, or it is not
        `allowed`."""
        expected = "." + ", .".join(allowed or ("u32",))
        text = next((text for text in self.left if text in TYPE_BYTES), "")
        if not text:
            self.refuse(f"{self.ins.op} needs a type", expected=expected, form="other")
        self.left.remove(text)
        if allowed and text not in allowed:
            self.refuse(f"{self.ins.op} has no type .{text}", expected=expected, form="other")
        return text

    def done(self) -> None:
        """Refuse the instruction unless every suffix has been taken."""
        if self.left:
            self.refuse(f"modifier .{self.left[0]} of {self.ins.op} is not supported here", form="other")

    def refuse(self, message: str, *, expected: object = None, form: str = "") -> NoReturn:
        """Raise the refusal of the instruction, with its text. The arguments are as in `refusal`."""
        raise refusal(self.ins, self.path, message, expected=expected, form=form)


def refusal(
    ins: Instruction,
    path: str,
    message: str,
    *,
    found: object = None,
    expected: object = None,
    remedy: str | None = None,
    form: str = "",
) -> MalformedInput:
    """Return the error of an instruction that cannot be imported: file, line, column, its text, the expected text.

    form: key of `unsupported.FORMS`, for valid PTX; the remedy is the form's then.
    """
    place = f"line {ins.place.line}, column {ins.place.column}"
    found = found if found is not None else f"`{ins.text}`"
    if form:
        return NotSupported(BY_KEY[form], message, file=path or None, place=place, found=found, expected=expected)
    return MalformedInput(
        message, file=path or None, place=place, found=found, expected=expected, remedy=remedy
    )  # fmt: skip
