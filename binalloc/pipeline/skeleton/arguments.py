"""This module makes the launch file's entries for a kernel's parameters."""

from __future__ import annotations

from typing import Any

from binalloc.isa.interface.places import WORD
from binalloc.isa.interface.roles import Number
from binalloc.launch.numbers.dtypes import DTYPES
from binalloc.pipeline.skeleton.buffers import buffer_entry, texture_entry
from binalloc.pipeline.skeleton.parameters.facts import POINTER, KernelFacts, Parameter, ParameterPiece
from binalloc.pipeline.skeleton.parameters.numbers import Element
from binalloc.pipeline.skeleton.reasons import where
from binalloc.pipeline.skeleton.signature import Declared
from binalloc.pipeline.skeleton.sizes import Sizes, number_for
from binalloc.pipeline.skeleton.types import ArgumentEntry, any_value, dtype_of, is_float

_SCALARS = (1, 2, WORD, 2 * WORD)  # sizes in bytes of parameters that may be single numbers


def entries_of(
    facts: KernelFacts, sizes: Sizes, names: list[str], declared: list[Declared] | None
) -> list[ArgumentEntry]:  # fmt: skip
    """Return the entries of all arguments. A buffer that a struct points to follows the struct.

    names: of the arguments. declared: types by the kernel's C++ name; None if it has none.
    """
    found: list[ArgumentEntry] = []
    for k, parameter in enumerate(facts.parameters):
        declaration = None if declared is None else declared[k]
        made = _Maker(facts, sizes, names[k], parameter, declaration).entries()
        made[0].parameter = parameter.param.name
        found += made
    return found


class _Maker:
    """This object makes the entries of one parameter."""

    def __init__(
        self, facts: KernelFacts, sizes: Sizes, name: str, parameter: Parameter, declaration: Declared | None
    ) -> None:
        """Collect what is known of a parameter. declaration: its declared type, dropped if its size does not fit."""
        self.values, self.sizes, self.name = facts.values, sizes, name
        self.parameter, self.pieces = parameter, parameter.pieces
        self.size = parameter.param.size
        self.declaration = declaration if declaration is not None and self._fits(declaration) else None

    def _fits(self, declaration: Declared) -> bool:
        """Return whether the declared type can have the parameter's size; a struct can have any size."""
        if declaration.pointer:
            return self.size == POINTER
        return not declaration.dtype or DTYPES[declaration.dtype].itemsize * declaration.count <= self.size

    def entries(self) -> list[ArgumentEntry]:
        """Return the entry of the parameter, then the entries of buffers and textures that it points to."""
        declaration, first = self.declaration, self.pieces[0] if self.pieces else None
        if first is not None and first.fetch is not None and self.size in (WORD, POINTER):
            return [texture_entry(self.name, first.fetch, first, where(self.values, first.places), self.sizes)]
        if self.size == POINTER and self._is_pointer(first):
            return [buffer_entry(self.name, first, declaration, self.values)]
        plain = self.size in _SCALARS and (first is None or (first.offset == 0 and len(self.pieces) == 1))
        single = declaration is None or (declaration.dtype and declaration.count == 1)
        if plain and single and not self.parameter.indexed:
            return [self._scalar(first)]
        return self._struct()

    def _is_pointer(self, piece: ParameterPiece | None) -> bool:
        """Return whether the parameter is a pointer, by its declared type, else by its use in the code."""
        if self.declaration is not None and (self.declaration.pointer or self.declaration.dtype):
            return self.declaration.pointer
        if piece is None:
            return self.declaration is None
        return bool(piece.touches)

    # -- scalars

    def _scalar(self, piece: ParameterPiece | None) -> ArgumentEntry:
        """Return the entry of a number. piece: its use in the code; None if there is none."""
        declaration = self.declaration
        element = Element(self.size, Number.INTEGER) if piece is None else piece.element
        dtype = declaration.dtype if declaration is not None else dtype_of(self.size, _signed(element.number))
        value, why = self._value(piece, dtype)
        keys: dict[str, Any] = {"name": self.name, "kind": "scalar", "dtype": dtype, "value": value}
        entry = ArgumentEntry(keys, known=declaration is not None or piece is not None)
        if declaration is not None:
            entry.reasons.append(f"declared {declaration.text}")
        if piece is None:
            entry.reasons.append("no use is found in the code: nothing is known of it but its size")
            return entry
        if declaration is None and element.number not in (Number.BITS, Number.INTEGER):
            entry.reasons.append(f"used as {dtype} at {where(self.values, piece.interpreted or piece.places)}")
        elif declaration is None:
            entry.reasons.append(f"read at {where(self.values, piece.places)}; its sign and type are not known")
        entry.reasons.append(why)
        return entry

    def _value(self, piece: ParameterPiece | None, dtype: str) -> tuple[int | float, str]:
        """Return a value for a number, and the reason for it in words."""
        if is_float(dtype):
            return 1.0, "any number"
        if dtype == "bool":
            return True, "either"
        if piece is None:
            return 0, ""
        value, why = number_for(piece, self.sizes)
        return min(value, (1 << 8 * DTYPES[dtype].itemsize - 1) - 1), why

    # -- structs

    def _struct(self) -> list[ArgumentEntry]:
        """Return the entry of a struct, then the entries of buffers and textures that its members point to."""
        fields: list[dict[str, Any]] = []
        others: list[ArgumentEntry] = []
        declaration = self.declaration
        entry = ArgumentEntry(
            {"name": self.name, "kind": "struct", "fields": fields}, known=bool(self.pieces) or bool(declaration)
        )
        if declaration is not None and declaration.dtype:
            fields.append({"dtype": declaration.dtype, "value": [any_value(declaration.dtype)] * declaration.count})
            entry.reasons.append(f"declared {declaration.text}")
        else:
            if declaration is not None:
                entry.reasons.append(f"declared {declaration.text}; its members as the code reads them")
            end = 0
            for piece in self.pieces:
                if piece.offset >= end:
                    fields.append(self._field(piece, others, entry))
                    end = piece.offset + piece.size
        if not fields:
            fields.append({"dtype": "u8", "value": [0] * self.size})
            entry.reasons.append("no use is found in the code: nothing is known of it but its size")
        if self.parameter.indexed:
            entry.reasons.append("some of it is read at computed places: perhaps an array")
        entry.keys["bytes"] = self.size
        return [entry, *others]

    def _field(self, piece: ParameterPiece, others: list[ArgumentEntry], entry: ArgumentEntry) -> dict[str, Any]:
        """Return a member of a struct. The buffer of a pointer is put into `others`, reasons are put into `entry`."""
        name = f"{self.name}_{piece.offset}"
        at = where(self.values, piece.places)
        if piece.fetch is not None or piece.touches:
            made = (
                texture_entry(name, piece.fetch, piece, at, self.sizes) if piece.fetch is not None
                else buffer_entry(name, piece, None, self.values)
            )  # fmt: skip
            others.append(made)
            entry.reasons.append(f"byte {piece.offset}: a pointer or handle, read at {at}")
            return {"argument": name, "offset": piece.offset}
        dtype = dtype_of(piece.size, _signed(piece.element.number))
        value, why = self._value(piece, dtype)
        entry.reasons.append(f"byte {piece.offset}: read as {dtype} at {at}; {why}")
        return {"dtype": dtype, "value": value, "offset": piece.offset}


def _signed(number: Number) -> Number:
    """Return the kind of number; integers of unknown sign count as signed."""
    return Number.SIGNED if number in (Number.BITS, Number.INTEGER) else number
