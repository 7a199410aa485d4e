"""A function's state is kept here while it is read from assembly, and its labels are resolved at its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from binalloc.isa.instruction import Function, Instr
from binalloc.isa.postdom import immediate_postdominators
from binalloc.isa.text.lexer import AssemblyPlace
from binalloc.isa.text.operands import UNIFORM, Fixup


@dataclass
class Pending:
    """A pending reference to a label, function or reconvergence point is resolved when the function or the file
    ends."""

    index: int  #: of the instruction
    fixup: Fixup
    place: AssemblyPlace  #: for messages


@dataclass
class Body:
    """A body is a function that is being read: its code so far, the names in scope, and the references to resolve."""

    fn: Function
    place: AssemblyPlace  #: of its first line
    names: dict[str, int] = field(default_factory=dict)  #: names in scope -> values
    labels: dict[str, int] = field(default_factory=dict)  #: label -> index of the instruction behind it
    pending: list[Pending] = field(default_factory=list)
    auto_reconv: bool = False  #: `.auto_reconv` holds in it
    registers_given: bool = False  #: `.registers` is in it
    shared_given: bool = False  #: `.shared_bytes` is in it
    address: int | None = None  #: by `.address`
    file: str = ""  #: by the last `.file`
    line: tuple[str, int] | None = None  #: by a `.line` in front of the next instruction
    touches: tuple[str, ...] = ()  #: by a `.touches` in front of the next instruction
    places: list[AssemblyPlace] = field(default_factory=list)  #: of the instructions


def resolve(body: Body, end: AssemblyPlace) -> None:
    """Turn the labels of one function into branch offsets and reconvergence points. end: the place of its end, for
    messages."""
    fn = body.fn
    n = len(fn.instrs)
    if not n:
        body.place.fail(1, f"function {fn.name!r} has no instruction", remedy="End it with EXIT or RET.")
    if fn.labels.get(n):
        end.fail(1, f"label {fn.labels[n]!r} stands behind the last instruction", remedy="Remove it.")
    if body.line is not None:
        end.fail(1, ".line stands behind the last instruction", remedy="Remove it.")
    if body.touches:
        end.fail(1, ".touches stands behind the last instruction", remedy="Remove it.")
    targets: dict[int, int] = {}
    named: set[int] = set()
    for p in body.pending:
        if p.fixup.kind == "reconv":
            named.add(p.index)
            if p.fixup.name == UNIFORM:
                continue
        where = _find_label(body, p)
        if p.fixup.kind == "target":
            targets[p.index] = where
        patch(fn, p.index, {p.fixup.kind: where - p.index - 1})
    open_branches = [i for i in targets if fn.instrs[i].guarded and i not in named]
    if not open_branches:
        return
    if not body.auto_reconv:
        body.places[open_branches[0]].fail(
            1, "a guarded branch without a reconvergence point", found="BRA with one label",
            expected="BRA target, reconvergence", remedy="Name it, or `uniform` where all lanes agree, or set "
            ".auto_reconv.",
        )  # fmt: skip
    ipdom = immediate_postdominators(fn.instrs, targets)
    for i in open_branches:
        # Paths that meet only at the thread's end never wait for each other: any exit will do as the point.
        patch(fn, i, {"reconv": min(ipdom[i], n - 1) - i - 1, "diverges": 1})


def _find_label(body: Body, p: Pending) -> int:
    """Return the index of the instruction behind a label."""
    where = body.labels.get(p.fixup.name)
    if where is None or where >= len(body.fn.instrs):
        problem = "undefined label" if where is None else "label behind the last instruction"
        p.place.fail(
            p.fixup.column, problem, found=repr(p.fixup.name), expected=f"a label of function {body.fn.name!r}",
            remedy="Branches stay within their function.",
        )  # fmt: skip
    return where


def patch(fn: Function, index: int, fields: dict[str, int]) -> None:
    """Set fields of an instruction that depend on an address."""
    old = fn.instrs[index]
    fn.instrs[index] = Instr(old.op, {**old.f, **fields}, old.guard, old.guard_neg, old.ctrl)
