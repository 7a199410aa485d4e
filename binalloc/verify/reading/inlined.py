"""This module replaces calls in the original by their callees' code, where a rewrite says that it did so.

    expanded = with_inlined(original, words)

An unguarded call does to a thread what the callee's words do, one after the other, up to its return: registers,
predicates and memory are the same in caller and callee. So the expanded original does what the original does, under
three conditions:

- The word is an unguarded direct call, and enters a function's first word.
- The callee has one return, its last word, unguarded. In its place execution continues behind the call.
- Lanes that diverge in the callee meet again before that return: a guarded branch names a point that lies on every way
  from it to the return. (Lanes that return one after the other wait for each other; behind a body they would not.)

Other calls are refused. Nothing is taken from the hint but which calls were inlined. The rewrite is then proven against
the expanded original. This code is no part of the rewriter's own inlining.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.view import ALWAYS
from binalloc.isa.kinds import ENDS, Flow
from binalloc.isa.sets.table import set_of

MAX_WORDS = 1 << 20
"""Upper limit on the words of an expanded function: a few calls of calls could ask for any number."""


class NotInlined(Exception):
    """`NotInlined` is raised where the call may not be replaced by its callee's code.

    word: in the numbering after the calls before it were inlined.
    """

    def __init__(self, message: str, word: int) -> None:
        super().__init__(message)
        self.word = word


@dataclass
class _Line:
    """A line is an instruction that may still move."""

    instr: Instr  #: the instruction
    callee: str | None  #: name of the function that a direct call enters
    source: tuple[str, int] | None  #: file and line
    touches: tuple[str, ...]  #: the shared variables that its address is said to come from, none where nothing is said


def with_inlined(module: Module, words: Mapping[str, Sequence[int]]) -> Module:
    """Return the module with calls inlined. Raises NotInlined.

    words: for each function the words of the calls one after the other, each counted after the calls before it were
    inlined.
    """
    lines = {fn.name: _lines(module, fn) for fn in module}
    functions = []
    for fn in module:
        mine = list(lines[fn.name])
        for word in words.get(fn.name, ()):
            mine = _inlined(module, mine, word, lines)
        lines_out = {k: line.source for k, line in enumerate(mine) if line.source is not None}
        made = replace(fn, instrs=[line.instr for line in mine])
        if words.get(fn.name):
            touches = {k: line.touches for k, line in enumerate(mine) if line.touches}
            made = replace(made, labels={}, lines=lines_out, touches=touches)
        functions.append((made, [line.callee for line in mine]))
    out = replace(module, functions=[fn for fn, _ in functions])
    out.layout()
    start = {fn.name: fn.address for fn in out}
    for fn, callees in functions:
        for k, callee in enumerate(callees):
            if callee is not None:
                fn.instrs[k] = set_of(fn.instrs[k]).recall(fn.instrs[k], start[callee] - fn.address - k - 1)
    return out


def _lines(module: Module, fn: Function) -> list[_Line]:
    callees = module.callees(fn)
    return [
        _Line(instr, callees[k].name if k in callees else None, source, fn.touches.get(k, ()))
        for k, (instr, source) in enumerate(zip(fn.instrs, fn.source_lines(), strict=True))
    ]


def _inlined(module: Module, caller: list[_Line], word: int, lines: Mapping[str, list[_Line]]) -> list[_Line]:
    """Return the caller's lines with the body of the callee of `word` in place of that word."""
    if not 0 <= word < len(caller):
        raise NotInlined("there is no such word", word)
    call = caller[word]
    if call.instr.control != Flow.CALL or (call.instr.guard, call.instr.guard_neg) != ALWAYS:
        raise NotInlined("the word is no unguarded direct call", word)
    if call.callee is None:
        raise NotInlined("the call enters no function", word)
    body = lines[call.callee]
    reason = _not_inlinable(module.function(call.callee))
    if reason:
        raise NotInlined(f"{call.callee} {reason}", word)
    grown = len(body) - 2  # the call's word and the return are gone
    if len(caller) + grown > MAX_WORDS:
        raise NotInlined("so long a function cannot be followed", word)

    def moved(target: int) -> int:
        return target if target <= word else target + grown

    out = []
    for k, line in enumerate(caller):
        if k == word:
            out += body[:-1]
            continue
        isa = set_of(line.instr)
        here = moved(k)
        links = {name: moved(k + 1 + distance) - here - 1 for name, distance in isa.links(line.instr).items()}
        out.append(replace(line, instr=isa.relink(line.instr, links)) if links else line)
    return out


def _not_inlinable(fn: Function) -> str:
    """Return why the function's code may not replace a call of it, "" where it may."""
    last = len(fn.instrs) - 1
    if fn.info.is_kernel or fn.shared or fn.info.shared_bytes:
        return "is no plain function"
    returns = [k for k, instr in enumerate(fn.instrs) if instr.control == Flow.RETURN]
    if last < 1 or returns != [last] or (fn.instrs[last].guard, fn.instrs[last].guard_neg) != ALWAYS:
        return "does not return at its last word alone, unguarded"
    follow = [_successors(fn, k) for k in range(last + 1)]
    if any(not 0 <= s <= last for some in follow for s in some):
        return "has a branch that leaves it"
    for k, instr in enumerate(fn.instrs):
        if instr.control != Flow.BRANCH:
            continue
        links = [k + 1 + distance for distance in set_of(instr).links(instr).values()]
        if any(not 0 <= target <= last for target in links):
            return "has a branch that leaves it"
        if not instr.guarded:
            continue
        points = links[1:]
        if not points or _reaches(follow, follow[k], last, points[0]):
            return f"has lanes that part at word {k} and may return apart"
    return ""


def _successors(fn: Function, k: int) -> list[int]:
    """Return where a thread may continue behind word k."""
    instr = fn.instrs[k]
    flow = instr.control
    onward = [k + 1] if flow not in ENDS or instr.guarded else []
    if flow == Flow.BRANCH:
        onward.append(fn.target(k))
    return onward


def _reaches(follow: Sequence[Sequence[int]], start: Sequence[int], end: int, without: int) -> bool:
    """Return whether some way leads from one of `start` to `end` and does not pass `without`."""
    seen = {without}
    work = [s for s in start if s != without]
    while work:
        k = work.pop()
        if k == end:
            return True
        if k not in seen:
            seen.add(k)
            work += [s for s in follow[k] if s not in seen]
    return False

