"""What a C++ signature says of a kernel's parameters, in a launch file's words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from binalloc.launch.dtypes import POINTER
from binalloc.names.demangle import demangle

_PLAIN = {
    "bool": "bool", "char": "i8", "signed char": "i8", "unsigned char": "u8", "short": "i16", "unsigned short": "u16",
    "int": "i32", "unsigned int": "u32", "long": "i64", "unsigned long": "u64", "long long": "i64",
    "unsigned long long": "u64", "float": "f32", "double": "f64", "__half": "f16", "__nv_bfloat16": "bf16",
    "wchar_t": "i32", "char8_t": "u8", "char16_t": "u16", "char32_t": "u32", "__nv_fp8_e4m3": "u8",
    "__nv_fp8_e5m2": "u8",
}  # fmt: skip
_VECTORS = {
    "char": "i8", "uchar": "u8", "short": "i16", "ushort": "u16", "int": "i32", "uint": "u32", "long": "i64",
    "ulong": "u64", "longlong": "i64", "ulonglong": "u64", "float": "f32", "double": "f64",
}  # fmt: skip
_OTHERS = {"__half2": ("f16", 2), "__nv_bfloat162": ("bf16", 2), "dim3": ("u32", 3)}
_VECTOR = re.compile(r"([a-z]+)([1-4])")
_QUALIFIER = re.compile(r"\b(const|volatile|__restrict__)\b")


@dataclass(frozen=True)
class Declared:
    """The type of a parameter. text: as `c++filt` spells it. pointer: whether it is a pointer or a reference. dtype: of
    the value or of what it points to, "" where no element of launch files is that; count: of them in a vector. written:
    False where what is pointed to is const."""

    text: str
    pointer: bool
    dtype: str
    count: int
    written: bool = True


def declared(kernel: str, parameters: int) -> list[Declared] | None:
    """The types of a kernel's parameters; None where its name tells none, or another number of them."""
    name = demangle(kernel)
    if name is None or name.parameters is None:
        return None
    texts = [text for text in name.parameters if text != "void"]
    return [_declared(text) for text in texts] if len(texts) == parameters else None


def _declared(text: str) -> Declared:
    pointer = text.endswith(("*", "&"))
    inner = text[:-1] if pointer else text
    plain = " ".join(_QUALIFIER.sub(" ", inner).split())
    dtype, count = (POINTER, 1) if plain.endswith("*") else _dtype(plain)
    return Declared(text, pointer, dtype, count, "const" not in inner.split())


def _dtype(plain: str) -> tuple[str, int]:
    if plain in _PLAIN:
        return _PLAIN[plain], 1
    if plain in _OTHERS:
        return _OTHERS[plain]
    vector = _VECTOR.fullmatch(plain)
    if vector and vector[1] in _VECTORS:
        return _VECTORS[vector[1]], int(vector[2])
    return "", 1
