"""Small files of PTX for tests of linking, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from binalloc.frontend.importer import Imported, import_ptx
from tests.support.ptx.harness import launched

HEAD = ".version 9.0\n.target sm_75\n.address_size 64\n"


def kernel(body: str, name: str = "k", linkage: str = ".visible ") -> str:
    """A kernel that stores %r1 in its buffer; the body begins on its second line."""
    return (
        f"{linkage}.entry {name}(.param .u64 out) {{ .reg .b64 %d<9>; .reg .b32 %r<9>;\n"
        f"{body}\nld.param.u64 %d8, [out]; st.global.u32 [%d8], %r1; ret; }}\n"
    )


def call(function: str, argument: str = "1") -> str:
    """Statements that call a function of one word and leave its result in %r1."""
    return (
        f"{{ .param .b32 a; .param .b32 v; st.param.b32 [a], {argument}; call (v), {function}, (a); "
        "ld.param.b32 %r1, [v]; }"
    )


def function(name: str, add: int | str, linkage: str = ".visible ") -> str:
    """A function that adds a number, or the word at a variable of global memory, to its argument."""
    added = str(add) if isinstance(add, int) else "%r2"
    load = "" if isinstance(add, int) else f"ld.global.u32 %r2, [{add}]; "
    return (
        f"{linkage}.func (.param .b32 r) {name}(.param .b32 a) {{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; {load}"
        f"add.u32 %r1, %r1, {added}; st.param.b32 [r], %r1; ret; }}\n"
    )


def declared(name: str, linkage: str = ".extern ") -> str:
    return f"{linkage}.func (.param .b32 r) {name}(.param .b32 a);\n"


def linked(*texts: str, **options: object) -> Imported:
    """The import of files a.ptx, b.ptx and so on; HEAD stands before each text."""
    paths = [f"{'abcdefgh'[number]}.ptx" for number in range(len(texts))]
    settings = {"machine": "gtx680", **options}
    return import_ptx([HEAD + text for text in texts], paths, **settings)  # type: ignore[arg-type]


def result(imported: Imported, kernel: str = "k", *, block: int = 1, dynamic: int = 0) -> int:
    """The first word that a kernel leaves in its buffer."""
    names = [p.name for p in imported.module.function(kernel).info.params]
    out = np.zeros(block, np.uint32)
    found = launched(imported.module, kernel, names, [out], block=block, dynamic=dynamic, engine="python")
    return int(found[names[0]][0])


def answer(*texts: str, kernel: str = "k", **options: int) -> int:
    """What the kernel of linked files computes."""
    return result(linked(*texts), kernel, **options)


def swapped(texts: Sequence[str]) -> list[str]:
    """The files in the other order."""
    return list(reversed(texts))
