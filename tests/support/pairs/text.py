"""A short text form for (original, rewritten) pairs in checker tests.

    .kernel main registers=8 slot_bytes=128       a function and fields of its info (.function for a callee)
    loop:                                         a label
    3| @!P0 IADD3 rd=1 ra=2 form=1 imm=4          map entry (rewritten only; `-|` for added), fields of make()
    BRA ->loop ^done                              branch target and reconvergence point
    CALL ->f                                      callee by name

A rewritten function stands for the original of the same name up to a `.` (f.1 stands for f).
"""

from __future__ import annotations

from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module, Origin, Param, make
from binalloc.isa.table.fields import PT

PARAMETERS = 64
"""Bytes of bank 0 that every kernel has."""


def module(text: str, rewritten: bool = False) -> Module:
    """The module of `text`; functions laid out, calls resolved."""
    out = Module()
    calls: list[tuple[Function, int, str]] = []
    for chunk in _chunks(text):
        out.functions.append(_function(chunk, rewritten, calls))
    out.layout()
    for fn, at, callee in calls:
        fn.instrs[at] = fn.instrs[at].replace(target=out.function(callee).address - fn.address - at - 1)
    return out


def _chunks(text: str) -> list[list[str]]:
    chunks: list[list[str]] = []
    for raw in text.splitlines():
        line = raw.split("#")[0].strip()
        if line.startswith((".kernel", ".function")):
            chunks.append([])
        if line:
            chunks[-1].append(line)
    return chunks


def _function(lines: list[str], rewritten: bool, calls: list[tuple[Function, int, str]]) -> Function:
    head, *body = lines
    kind, name, *settings = head.split()
    info = FunctionInfo(kind=kind[1:], registers=16)
    if info.is_kernel:
        info.params = [Param("p", 0, PARAMETERS)]
    for setting in settings:
        key, value = setting.split("=")
        setattr(info, key, int(value))
    fn = Function(name, [], info)
    labels: dict[str, int] = {}
    links: list[tuple[int, str, str]] = []
    origin: list[int] = []
    for line in body:
        if line.endswith(":"):
            labels[line[:-1]] = len(fn.instrs)
            continue
        if rewritten:
            prefix, line = line.split("|", 1)
            origin.append(-1 if prefix.strip() == "-" else int(prefix))
        fn.instrs.append(_instruction(line, len(fn.instrs), links))
    for at, mark, label in links:
        if fn.instrs[at].op.name == "CALL":
            calls.append((fn, at, label))
        elif mark == "->":
            fn.instrs[at] = fn.instrs[at].replace(target=labels[label] - at - 1)
        else:
            fn.instrs[at] = fn.instrs[at].replace(diverges=1, reconv=labels[label] - at - 1)
    if rewritten:
        fn.origin = Origin(name.split(".")[0], origin)
    return fn


def _instruction(line: str, at: int, links: list[tuple[int, str, str]]) -> Instr:
    words = line.split()
    guard = (PT, False)
    if words[0].startswith("@"):
        text = words.pop(0)[1:]
        guard = (int(text.lstrip("!P")), text.startswith("!"))
    fields: dict[str, int] = {}
    for word in words[1:]:
        if word.startswith("->"):
            links.append((at, "->", word[2:]))
        elif word.startswith("^"):
            links.append((at, "^", word[1:]))
        else:
            key, value = word.split("=")
            fields[key] = int(value, 0)
    return make(words[0], guard=guard, **fields)


def identity(original: Module) -> Module:
    """The original with an instruction map that says so."""
    out = Module([], dict(original.constants), [], original.isa_version, original.path, list(original.globals))
    for fn in original.functions:
        copy = Function(fn.name, list(fn.instrs), fn.info, fn.shared, fn.labels, fn.lines, fn.address)
        copy.origin = Origin(fn.name, list(range(len(fn.instrs))))
        out.functions.append(copy)
    return out
