"""A function is edited here: words are replaced by several, and code is inserted between words or on one way alone.

Needs a function; leaves another with its branches relinked, and says from which word each new one comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.kinds import Flow
from binalloc.isa.sets.table import set_of
from binalloc.transform.rewrite.code_space import place


def in_place(module: Module, made: Function, origin: list[int]) -> Module:
    """Return the module with a function in place of the one of its name, and all calls where their callees are now.

    origin: for each word of the new function the old one, -1 for inserted ones. Functions that may be called by address
    keep theirs where they can (`code_space`).
    """
    callees = {fn.name: {k: callee.name for k, callee in module.callees(fn).items()} for fn in module}
    called = {name: dict(found) for name, found in callees.items()}
    called[made.name] = {
        k: callees[made.name][old] for k, old in enumerate(origin) if old in callees[made.name]
    }  # fmt: skip
    functions = [made if fn.name == made.name else replace(fn, instrs=list(fn.instrs)) for fn in module]
    out = replace(module, functions=functions)
    place(module, out, {fn.name for fn in module if fn.name != made.name})
    start = {fn.name: fn.address for fn in out}
    for fn in out:
        for k, callee in called[fn.name].items():
            fn.instrs[k] = set_of(fn.instrs[k]).recall(fn.instrs[k], start[callee] - fn.address - k - 1)
    return out


def untouched(module: Module) -> Module:
    """Return the module without what its producer said of the variables that accesses touch (`Function.touches`). Where
    variables have copies, or places that only a run shows, it is not true any more."""
    return replace(module, functions=[replace(fn, touches={}) for fn in module])


@dataclass(frozen=True)
class Line:
    """A line is an inserted word."""

    instr: Instr
    label: str = ""  #: a name of the place in front of it
    #: by link of the branch the label, or the old word, that it leads to
    to: tuple[tuple[str, str | int], ...] = ()
    old: int = -1  #: the old word that it stands for, -1 for none


@dataclass
class Edit:
    """An edit collects the changes of a function, all by words of the old one."""

    fn: Function
    #: in front of a word on all ways: branches to the word, and reconvergence at it, come to this code first
    before: dict[int, list[Line]] = field(default_factory=dict)
    #: the same on the way from a branch (the first word) alone
    between: dict[tuple[int, int], list[Line]] = field(default_factory=dict)
    after: dict[int, list[Line]] = field(default_factory=dict)  #: directly behind a word
    replaced: dict[int, Instr] = field(default_factory=dict)  #: other words in place of old ones
    removed: set[int] = field(default_factory=set)
    labels: dict[str, int] = field(default_factory=dict)  #: where labelled lines are, once it is done

    def insert(self, word: int, source: int | None, code: Sequence[Instr | Line]) -> None:
        """Insert code in front of a word, behind what has been inserted there. source: the branch, None for all
        ways."""
        lines = [each if isinstance(each, Line) else Line(each) for each in code]
        if source is None:
            self.before.setdefault(word, []).extend(lines)
        else:
            self.between.setdefault((source, word), []).extend(lines)

    def behind(self, word: int, code: Sequence[Instr | Line]) -> None:
        """Insert code directly behind a word, which is no branch: nothing comes between the two."""
        lines = [each if isinstance(each, Line) else Line(each) for each in code]
        self.after.setdefault(word, []).extend(lines)

    def done(self) -> tuple[Function, list[int]]:
        """Return the function after all changes, and for each of its words the old one, -1 for inserted ones."""
        return _Writer(self).run()


class _Writer:
    """The writer lays out an edited function: the old words in order, then the code of ways that are jumped to."""

    def __init__(self, edit: Edit) -> None:
        self.edit, self.fn = edit, edit.fn
        self.lines: list[tuple[Line, int]] = []  #: word, and the old one or -1
        self.place: list[int] = []  #: by old word where its inserted code begins
        self.labels = edit.labels
        self.aside: dict[tuple[int, int], int] = {}  #: where the code of a way is that is jumped to

    def run(self) -> tuple[Function, list[int]]:
        for word, instr in enumerate(self.fn.instrs):
            self.place.append(len(self.lines))
            self._add(self.edit.before.get(word, ()))
            if word not in self.edit.removed:
                self.lines.append((Line(self.edit.replaced.get(word, instr)), word))
            self._add(self.edit.after.get(word, ()))
            if (word, word + 1) in self.edit.between:  # the way that falls through; other jumps go round it
                if self._jumps_to(word) == word + 1:
                    self.aside[word, word + 1] = len(self.lines)
                self._add(self.edit.between[word, word + 1])
        self.place.append(len(self.lines))
        for (source, target), code in sorted(self.edit.between.items()):
            if target != source + 1:
                self.aside[source, target] = len(self.lines)
                jump = set_of(self.fn.instrs[source]).build.jump()
                self._add([*code, Line(jump, to=((link_of(jump), target),))])
        instrs = [self._linked(line, at, old) for at, (line, old) in enumerate(self.lines)]
        lines = {self.place[word]: line for word, line in sorted(self.fn.lines.items())}
        labels = {self.place[word]: name for word, name in sorted(self.fn.labels.items())}
        index = [old for _, old in self.lines]
        touches = self.fn.touches_of(instrs, index)
        return replace(self.fn, instrs=instrs, lines=lines, touches=touches, labels=labels), index

    def _add(self, code: Sequence[Line]) -> None:
        for line in code:
            if line.label:
                self.labels[line.label] = len(self.lines)
            self.lines.append((line, line.old))

    def _jumps_to(self, word: int) -> int:
        """Return where a branch goes if it is taken, -1 for other instructions."""
        return self.fn.target(word) if self.fn.instrs[word].control == Flow.BRANCH else -1

    def _linked(self, line: Line, at: int, old: int) -> Instr:
        """Return a word with its links at the new places of what they name."""
        isa = set_of(line.instr)
        if line.to or old < 0:
            targets = {n: self.labels[to] if isinstance(to, str) else self.place[to] for n, to in line.to}
        else:
            targets = {n: self.place[old + 1 + distance] for n, distance in isa.links(line.instr).items()}
            aside = self.aside.get((old, self._jumps_to(old)))
            if aside is not None:
                targets[link_of(line.instr)] = aside
        return isa.relink(line.instr, {n: to - at - 1 for n, to in targets.items()}) if targets else line.instr


def link_of(jump: Instr) -> str:
    """Return the name of the link that says where a branch goes."""
    return next(iter(set_of(jump).links(jump)))
