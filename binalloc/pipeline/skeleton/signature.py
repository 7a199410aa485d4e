"""This module reads the types of a kernel's parameters from its C++ name, as types of launch files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from binalloc.launch.numbers.dtypes import POINTER
from binalloc.names.demangle import demangle

_PLAIN = {
    "bool": "bool", "char": "i8", "signed char": "i8", "unsigned char": "u8", "short": "i16", "unsigned short": "u16",
    "int": "i32", "unsigned int": "u32", "long": "i64", "unsigned long": "u64", "long long": "i64",
    "unsigned long long": "u64", "float": "f32", "double": "f64", "__half": "f16", "__nv_bfloat16": "bf16",
    "wchar_t": "i32", "char8_t": "u8", "char16_t": "u16", "char32_t": "u32", "__nv_fp8_e4m3": "u8",
    "__nv_fp8_e5m2": "u8",
}  # fmt: skip
"""For each scalar type of C++ and CUDA, the element type of launch files."""
_VECTORS = {
    "char": "i8", "uchar": "u8", "short": "i16", "ushort": "u16", "int": "i32", "uint": "u32", "long": "i64",
    "ulong": "u64", "longlong": "i64", "ulonglong": "u64", "float": "f32", "double": "f64",
}  # fmt: skip
"""For each of CUDA's vector types, by its name without the number, the type of an element."""
_OTHERS = {"__half2": ("f16", 2), "__nv_bfloat162": ("bf16", 2), "dim3": ("u32", 3)}
"""For each vector type with another kind of name, the type and number of its elements."""
_VECTOR = re.compile(r"([a-z]+)([1-4])")
_QUALIFIER = re.compile(r"\b(const|volatile|__restrict__)\b")


@dataclass(frozen=True)
class Declared:
    """This record is the declared type of a parameter."""

    text: str  #: as `c++filt` spells it
    pointer: bool  #: whether it is a pointer or a reference
    dtype: str  #: element type of the value or of its target; "" if launch files have no such type
    count: int  #: number of elements in a vector, 1 for a scalar
    written: bool = True  #: False if the target is const


def declared(kernel: str, parameters: int) -> list[Declared] | None:
    """Return the types of a kernel's parameters by its C++ name.

    The result is None if the name has no types, or another number of them than `parameters`.
    """
    name = demangle(kernel)
    if name is None or name.parameters is None:
        return None
    texts = [text for text in name.parameters if text != "void"]
    return [_declared(text) for text in texts] if len(texts) == parameters else None


def _declared(text: str) -> Declared:
    """Return the type that `c++filt` spells as `text`."""
    pointer = text.endswith(("*", "&"))
    inner = text[:-1] if pointer else text
    plain = " ".join(_QUALIFIER.sub(" ", inner).split())
    dtype, count = (POINTER, 1) if plain.endswith("*") else _dtype(plain)
    return Declared(text, pointer, dtype, count, "const" not in inner.split())


def _dtype(plain: str) -> tuple[str, int]:
    """Return element type and number of elements of a type without qualifiers; ("", 1) if launch files lack it."""
    if plain in _PLAIN:
        return _PLAIN[plain], 1
    if plain in _OTHERS:
        return _OTHERS[plain]
    vector = _VECTOR.fullmatch(plain)
    if vector and vector[1] in _VECTORS:
        return _VECTORS[vector[1]], int(vector[2])
    return "", 1
