"""Lines of assembly by short names, for programs of the analysis tests, and functions made of them.

    module(function("k", const(1), "top:", add(1, 1, 1), bra("top", "P0"), leave()), function("f", ret(), kind="func"))
"""

from __future__ import annotations

from binalloc.isa.instruction import Module
from tests.support.programs.builder import program

WIDTHS = {0: "U8", 4: "32", 5: "64", 6: "128"}


def _guarded(g: str | None, text: str) -> str:
    return f"@{g} {text}" if g else text


def mov(d: int, s: int, g: str | None = None) -> str:
    """Copy register s to d."""
    return _guarded(g, f"MOV R{d}, R{s}")


def const(d: int, value: int = 1, g: str | None = None) -> str:
    """Register d := immediate."""
    return _guarded(g, f"MOV R{d}, {value}")


def add(d: int, a: int, b: int, g: str | None = None) -> str:
    """Register d := a + b."""
    return _guarded(g, f"IADD3 R{d}, R{a}, R{b}, RZ")


def setp(p: int, a: int, b: int, g: str | None = None) -> str:
    """Predicate p := a < b."""
    return _guarded(g, f"ISETP.LT.AND P{p}, PT, R{a}, R{b}, PT")


def dadd(d: int, a: int, b: int, g: str | None = None) -> str:
    """Pair d := a + b."""
    return _guarded(g, f"DADD R{d}, R{a}, R{b}")


def store(a: int, v: int, width: int = 4, g: str | None = None) -> str:
    """Global store of v (width 4: one register, 5: pair, 6: quad) at the pair a."""
    return _guarded(g, f"STG.{WIDTHS[width]} [R{a}], R{v}")


def load(d: int, a: int, width: int = 4, g: str | None = None) -> str:
    """Global load into d from the address in the pair a."""
    return _guarded(g, f"LDG.{WIDTHS[width]} R{d}, [R{a}]")


def stl(offset: int, v: int, width: int = 4, base: int | None = None, g: str | None = None) -> str:
    """Local store of v at byte `offset`."""
    return _guarded(g, f"STL.{WIDTHS[width]} {_local(offset, base)}, R{v}")


def ldl(d: int, offset: int, width: int = 4, base: int | None = None, g: str | None = None) -> str:
    """Local load into d from byte `offset`."""
    return _guarded(g, f"LDL.{WIDTHS[width]} R{d}, {_local(offset, base)}")


def _local(offset: int, base: int | None) -> str:
    return f"[{offset}]" if base is None else f"[R{base}+{offset}]"


def bra(label: str, g: str | None = None) -> str:
    """Branch to a label; under a guard all lanes agree."""
    return f"@{g} BRA .{label}, uniform" if g else f"BRA .{label}"


def call(name: str, g: str | None = None) -> str:
    """Call of a function by name."""
    return _guarded(g, f"CALL {name}")


def ret(g: str | None = None) -> str:
    return _guarded(g, "RET")


def leave(g: str | None = None) -> str:
    return _guarded(g, "EXIT")


def function(name: str, *lines: str, kind: str = "kernel", **info: int) -> str:
    """A function of lines and labels ("name:", none of the binary's). info: fields of its info."""
    settings = "".join(f" {key}={value}" for key, value in ({"local_bytes": 64} | info).items())
    body = (f".{line}" if line.endswith(":") else line for line in lines)
    return "\n".join([f".{kind} {name}{settings}", *body])


def module(*functions: str) -> Module:
    """The module of the functions."""
    return program("\n".join(functions))
