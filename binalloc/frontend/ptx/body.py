"""This module parses function bodies: statements, labels, nested scopes.

`BodyParser.parse` needs the offset behind the opening brace and a scope that holds the parameters. It fills in the
function's registers, variables and flat body, and returns the offset behind the closing brace.

One regular expression reads each regular statement, label, brace and `.loc`. A table finds an operand by its text, if
the scope has had the same text before. Any other text, and text with an error, goes through the token cursor. The
cursor either reads it or says where it is wrong.
"""

from __future__ import annotations

import re
from typing import NoReturn

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx.ast import Instruction, Label, Operand, PtxFunction, Register, Symbol, Variable
from binalloc.frontend.ptx.computed import Computed
from binalloc.frontend.ptx.declarations import SPACES
from binalloc.frontend.ptx.lexer import COMMENT, NAME, SKIP, PtxSource, TokenCursor
from binalloc.frontend.ptx.literals import integer
from binalloc.frontend.ptx.operands import OperandReader, undeclared
from binalloc.frontend.ptx.pragmas import take_pragma
from binalloc.frontend.ptx.scopes import PtxScope
from binalloc.frontend.ptx.scopes import ScopeLabel as ScopeLabel
from binalloc.frontend.ptx.variables import ModuleNames, declare_label, declare_variables

_OPCODE = r"[a-z]\w*+(?>(?:\.\w++(?>(?:::\w++)*))*)"  # an opcode with its modifiers, without blanks
_INLINED = (
    r"(?>(?:\s*+,\s*+function_name\s++[\w$]++(?>(?:\s*+\+\s*+\d++)?)\s*+,\s*+inlined_at\s++\d++\s++\d++\s++\d++)?)"
)
"""This pattern matches the end of a `.loc` in inlined code."""
_LOC = rf"\.loc\s++(\d{{1,9}}+)\s++(\d{{1,9}}+)\s++\d++{_INLINED}(?![\w.,;])"  # This pattern matches a `.loc`.

# Groups: 1 negation, 2 guard, 3 opcode, 4 operands; 5 label; 6 open; 7 close; 8, 9 file and line of .loc. The text of
# operands has nothing irregular (parentheses, comments, colons): the token cursor reads such statements instead.
_STATEMENT = re.compile(
    rf"""{SKIP}(?:
        (?:@(!?)({NAME})\s++)?({_OPCODE})(?:\s++([^;:()/"\#]*+))?;
      | ({NAME})\s*+:(?!:|\s*+\.(?:callprototype|calltargets|branchtargets)\b)
      | (\{{)
      | (\}})
      | {_LOC}
    )""",
    re.VERBOSE | re.ASCII,
)

_APART = rf"[a-z]\w*+(?>(?:{SKIP}\.{SKIP}\w++(?>(?:::\w++)*))*)"
"""This pattern matches an opcode, perhaps with blanks and comments between its parts."""
_SLOW_HEAD = re.compile(rf"{SKIP}(?:@\s*+(!?)\s*+({NAME}))?{SKIP}({_APART})", re.ASCII)
"""This pattern matches guard and opcode of an irregular statement."""
_PIECES = re.compile(r"(?>(?:[^,{}\[\]]|\{[^{}]*+\}|\[(?>(?:[^\[\]{}]|\{[^{}]*+\})*)\])+)")
"""This pattern matches one operand of a list with vectors or addresses."""
_SPACES = re.compile(SKIP)
_TARGET_DIRECTIVES = (".callprototype", ".calltargets", ".branchtargets")  # directives behind a label
_MAX_SCOPES = 200  # deepest nesting of scopes; lookups walk outwards, so that this bounds their time; chosen by hand
_MAX_LOC = 10**9  # the regular expression takes nine digits for file and line


class _OperandTable(dict[str, Operand]):
    """An operand table maps the text of an operand to the operand, in one scope.

    An operand that may be a label of an inner scope is not kept: each of its uses must be in `pending`.
    """

    def __init__(self, reader: OperandReader, source: PtxSource) -> None:
        super().__init__()
        self.reader = reader
        self.source = source

    def __missing__(self, text: str) -> Operand:
        scope = self.reader.scope
        found = scope.find(text.strip())
        if found is not None and not isinstance(found, ScopeLabel | Symbol):
            self[text] = found
            return found
        pending = len(scope.pending)
        tokens = TokenCursor(PtxSource(text, self.source.path), 0)
        operand = self.reader.operand(tokens)
        if tokens.kind != "end":
            tokens.unexpected("the end of the operand")
        noted = scope.pending[pending:]
        if noted:
            # These offsets count in the operand's text, so that they are dropped. Where a name turns out to be
            # undeclared, `_settle_function` searches for it in the module's text.
            scope.pending[pending:] = [(name, where, -1) for name, where, _ in noted]
        if not noted or scope.parent is None:
            self[text] = operand
        return operand


class BodyParser:
    """A body parser reads the body of one function.

    Args:
        source: the text.
        names: variables and functions of the module so far.
        function: the function, to be filled in.
        scope: the function's outermost scope, with its parameters declared.
        loc: the `.loc` in force before the body.
    """

    def __init__(
        self, source: PtxSource, names: ModuleNames, function: PtxFunction, scope: PtxScope, loc: tuple[int, int] | None
    ) -> None:
        self.source = source
        self.names = names
        self.function = function
        self.scope = scope
        self.loc = loc
        self.scopes = 0  #: scopes opened so far; a scope's suffix is its number
        self.depth = 0  #: open scopes without the outermost
        self.body: list[Instruction | Label] = []
        self.starts: list[int] = []  #: offset of each entry of the body
        self.computed = Computed(function.registers)
        self.tables: list[_OperandTable] = []  #: operand table of each open scope
        self._push(scope)
        self.heads: dict[str, tuple[str, tuple[str, ...]]] = {}  #: text of an opcode -> (opcode, modifiers)

    def parse(self, at: int) -> int:
        """Read the body that begins at offset `at`. Return the offset behind its closing brace."""
        text, source, body, starts = self.source.text, self.source, self.body, self.starts
        match = _STATEMENT.match
        while True:
            m = match(text, at)
            kind = m.lastindex if m is not None else None
            if m is None or kind is None:
                at = self._slow(at)
            elif kind <= 4:
                try:
                    instruction = self._fast(m)
                except MalformedInput:
                    instruction = None
                if instruction is None:
                    at = self._slow_instruction(at)
                else:
                    starts.append(m.start(3))
                    body.append(instruction)
                    at = m.end()
            elif kind == 5:
                at = m.end()
                start = m.start(5)
                unique = declare_label(source, self.names, self.scope, m[5], start)
                starts.append(start)
                body.append(Label(unique, source.place(start)))
            elif kind == 6:
                self._open(m.start(6))
                at = m.end()
            elif kind == 7:
                at = m.end()
                if self.scope.parent is None:
                    self._settle_function()
                    self.function.body = body
                    return at
                self._close()
            else:
                self.loc = (int(m[8]), int(m[9])) if int(m[9]) else self.loc  # line 0: code without a source line
                at = m.end()

    # -----------------------------------------------------------------------------------------------------------------
    # Instructions.

    def _fast(self, m: re.Match[str]) -> Instruction | None:
        """Read a regular instruction.

        Returns None, or raises MalformedInput without a good place, where the token cursor must read it.
        """
        negated, guard, opcode, operand_text = m.group(1, 2, 3, 4)
        head = self.heads.get(opcode)
        if head is None:
            op, *mods = opcode.split(".")
            head = self.heads[opcode] = op, tuple(mods)
        if head[0] == "call":
            return None
        table = self.tables[-1]
        table.reader.where = len(self.body)
        operands: tuple[Operand, ...] = ()
        if operand_text:
            if "{" in operand_text or "}" in operand_text:
                pieces = _PIECES.findall(operand_text)
                if ",".join(pieces) != operand_text:
                    return None
            else:
                pieces = operand_text.split(",")
            operands = tuple([table[piece] for piece in pieces])
        condition = None
        if guard:
            register = table[guard]
            if register.__class__ is not Register or self.function.registers[register.name] != "pred":
                return None
            condition = register.name, negated == "!"
        start = m.start(3)
        written = " ".join(m.string[m.start(1) - 1 if guard else start : m.end()].split())
        return Instruction(head[0], head[1], operands, self.source.place(start), condition, self.loc, written)

    def _slow_instruction(self, at: int) -> int:
        """Read an instruction by the token cursor. Return the offset behind it."""
        source = self.source
        m = _SLOW_HEAD.match(source.text, at)
        if m is None:
            self._fail_statement(at)
        reader = self.tables[-1].reader
        reader.where = len(self.body)
        start = m.start(3)
        condition = self._guard(m) if m[2] else None
        op, *mods = "".join(_COMMENTS.sub("", m[3]).split()).split(".")
        tokens = TokenCursor(source, m.end())
        instruction = Instruction(op, tuple(mods), (), source.place(start), condition, self.loc)
        pending = len(self.scope.pending)
        self.computed.begin(instruction)
        if op == "call":
            self._call(tokens, reader, instruction)
        else:
            instruction.operands = reader.operands(tokens)
        if tokens.value != ";":
            if tokens.value == ":":
                tokens.unexpected("an instruction, label or directive")
            tokens.unexpected("',' or ';'" if op != "call" and instruction.operands else "';'")
        end = tokens.at + 1
        begin = source.text.rindex("@", at, start) if m[2] else start
        instruction.text = _on_one_line(source.text[begin:end])
        before = self.computed.taken()
        noted = self.scope.pending[pending:]
        self.scope.pending[pending:] = [(name, reader.where + len(before), place) for name, _, place in noted]
        self.starts += [start] * (len(before) + 1)
        self.body += [*before, instruction]
        return end

    def _guard(self, m: re.Match[str]) -> tuple[str, bool]:
        found = self.scope.find(m[2])
        if found is None:
            undeclared(self.source, m.start(2), m[2])
        if not isinstance(found, Register) or self.function.registers[found.name] != "pred":
            self.source.fail(m.start(2), "the guard is not a predicate", found=m[2], expected="a .pred register")
        return found.name, m[1] == "!"

    def _call(self, tokens: TokenCursor, reader: OperandReader, out: Instruction) -> None:
        """Take `(results), callee, (arguments), prototype` of a call. Only the callee must be there."""
        if tokens.value == "(":
            out.results = reader.call_list(tokens)
            tokens.expect(",", "after the results")
        at = tokens.at
        name = tokens.name("the function to call")
        found = self.scope.find(name)
        arguments_at = at
        if isinstance(found, Register):
            out.callee = found
        elif found is None and name in self.names.functions:
            out.callee = Symbol(name)
        elif found is None and name not in self.names:
            undeclared(self.source, at, name)
        else:
            self.source.fail(at, "not a function", found=name, expected="a function, or a register that holds one")
        if tokens.accept(","):
            arguments_at = tokens.at
            if tokens.value == "(":
                out.arguments = reader.call_list(tokens)
                if tokens.accept(","):
                    out.prototype = self._prototype(tokens)
            else:
                out.prototype = self._prototype(tokens)
        if isinstance(out.callee, Symbol):
            self._check_call(self.names.functions[name], out, at, arguments_at)
        elif out.prototype is None:
            self.source.fail(at, "indirect call without a prototype", expected="a .callprototype or .calltargets")

    def _prototype(self, tokens: TokenCursor) -> str:
        at = tokens.at
        name = tokens.name("the name of a .callprototype or .calltargets")
        scope: PtxScope | None = self.scope
        while scope is not None:
            if name + scope.suffix in self.function.prototypes:
                return name + scope.suffix
            scope = scope.parent
        if name not in self.names.prototypes:
            undeclared(self.source, at, name)
        return name

    def _check_call(self, callee: PtxFunction, call: Instruction, at: int, arguments_at: int) -> None:
        source = self.source
        if callee.is_entry:
            source.fail(at, "call of a kernel", found=callee.name, expected="a .func")
        if len(call.arguments) != len(callee.parameters):
            found, expected = f"{len(call.arguments)}", f"{len(callee.parameters)}, as {callee.name} declares"
            source.fail(arguments_at, "number of arguments", found=found, expected=expected)
        if len(call.results) != len(callee.results):
            found, expected = f"{len(call.results)}", f"{len(callee.results)}, as {callee.name} declares"
            source.fail(at, "number of results", found=found, expected=expected)

    def _variable(self, name: str) -> Variable | None:
        found = self.function.variables.get(name) or self.names.variables.get(name)
        return found or next((v for v in self.function.parameters if v.name == name), None)

    # -----------------------------------------------------------------------------------------------------------------
    # Everything else.

    def _slow(self, at: int) -> int:
        """Read a statement that is not regular. Return the offset behind it."""
        source = self.source
        skipped = _SPACES.match(source.text, at)
        assert skipped is not None
        tokens = TokenCursor(source, skipped.end())
        if tokens.kind == "directive":
            return self._directive(tokens)
        if tokens.kind == "end":
            source.fail(
                tokens.at, "the body of a function has no end", found="", expected=f"'}}' of {self.function.name!r}"
            )
        if tokens.kind == "name":
            probe = TokenCursor(source, tokens.at + len(tokens.value))
            if probe.value == ":":
                return self._targets(tokens)
        return self._slow_instruction(at)

    def _directive(self, tokens: TokenCursor) -> int:
        word = tokens.value
        extern = word == ".extern"
        if extern:
            tokens.advance()
            word = tokens.value
        if word in SPACES:
            self.tables[-1].clear()
            declare_variables(tokens, self.names, self.function, self.scope, "extern" if extern else "")
            return tokens.at
        if word == ".loc":
            tokens.advance()
            for _ in range(2):
                at = tokens.at
                if integer(tokens, "file, line and column") >= _MAX_LOC:
                    self.source.fail(at, "number too large", expected=f"less than {_MAX_LOC}")
            integer(tokens, "a column")
            tokens.unexpected("nothing, or ', function_name LABEL, inlined_at FILE LINE COLUMN'")
        if word != ".pragma":
            tokens.unexpected("an instruction, or one of .reg, .param, .shared, .local, .pragma and .loc")
        return take_pragma(tokens, self.function)

    def _targets(self, tokens: TokenCursor) -> int:
        """Take `name: .callprototype ...;`, `.calltargets` or `.branchtargets`. Return the offset behind it."""
        source, at = self.source, tokens.at
        name = tokens.take()
        unique = declare_label(source, self.names, self.scope, name, at)
        tokens.expect(":")
        word, start = tokens.value, tokens.at
        if word not in _TARGET_DIRECTIVES:
            tokens.unexpected(" or ".join(_TARGET_DIRECTIVES))
        tokens.advance()
        if word == ".branchtargets":
            self.function.branch_targets[unique] = self._branch_targets(tokens, unique)
        else:
            while tokens.value not in (";", "{", "}") and tokens.kind not in ("end", "bad"):
                if word == ".calltargets" and tokens.kind == "name" and tokens.value not in self.names.functions:
                    undeclared(source, tokens.at, tokens.value)
                tokens.advance()
            self.function.prototypes[unique] = _on_one_line(source.text[start : tokens.at])
        if tokens.value != ";":
            tokens.unexpected("';'")
        return tokens.at + 1

    def _branch_targets(self, tokens: TokenCursor, unique: str) -> tuple[str, ...]:
        out = []
        while True:
            at = tokens.at
            label = tokens.name("a label")
            self.scope.pending.append((label, unique, at))
            out.append(label)
            if not tokens.accept(","):
                return tuple(out)

    def _open(self, at: int) -> None:
        self.scopes += 1
        self.depth += 1
        if self.depth > _MAX_SCOPES:
            self.source.fail(at, "scopes nested too deeply", expected=f"at most {_MAX_SCOPES}")
        self.scope = PtxScope(self.scope, f".{self.scopes}", at, self.function.registers)
        self._push(self.scope)

    def _push(self, scope: PtxScope) -> None:
        reader = OperandReader(scope, self.names, self._variable, self.computed)
        self.tables.append(_OperandTable(reader, self.source))

    def _close(self) -> None:
        """Resolve the pending names of the innermost scope, or pass them to the scope around it, and close it."""
        scope, outer = self.scope, self.scope.parent
        assert outer is not None
        for name, where, at in scope.pending:
            found = scope.names.get(name)
            if isinstance(found, ScopeLabel):
                self._rename(name, found.unique, where)
            else:
                outer.pending.append((name, where, at))
        self.scope = outer
        self.depth -= 1
        self.tables.pop()

    def _rename(self, name: str, unique: str, where: int | str) -> None:
        if isinstance(where, str):
            targets = self.function.branch_targets
            targets[where] = tuple(unique if t == name else t for t in targets[where])
            return
        instruction = self.body[where]
        assert isinstance(instruction, Instruction)
        instruction.operands = tuple(_renamed(o, name, unique) for o in instruction.operands)
        instruction.arguments = tuple(_renamed(o, name, unique) for o in instruction.arguments)

    def _settle_function(self) -> None:
        """Check that every name still pending is a label of the function or a name of the module. Raises
        MalformedInput."""
        scope = self.scope
        lost: tuple[int, str] | None = None
        for name, where, at in scope.pending:
            if isinstance(scope.names.get(name), ScopeLabel) or (isinstance(where, int) and name in self.names):
                continue
            if at < 0:
                assert isinstance(where, int)
                begin = self.starts[where]
                m = re.compile(rf"(?<![\w$%.]){re.escape(name)}(?![\w$])").search(self.source.text, begin)
                at = m.start() if m is not None else begin
            if lost is None or at < lost[0]:
                lost = at, name
        if lost is not None:
            undeclared(self.source, *lost)

    def _fail_statement(self, at: int) -> NoReturn:
        skipped = _SPACES.match(self.source.text, at)
        assert skipped is not None
        tokens = TokenCursor(self.source, skipped.end())
        if tokens.value == "@":
            tokens.advance()
            tokens.accept("!")
            if tokens.kind != "name":
                tokens.unexpected("a predicate register")
            tokens.advance()
            tokens.unexpected("an instruction after the guard")
        tokens.unexpected("an instruction, label or directive")


def _renamed(operand: Operand, name: str, unique: str) -> Operand:
    return Symbol(unique, operand.offset) if isinstance(operand, Symbol) and operand.name == name else operand


_COMMENTS = re.compile(COMMENT)


def _on_one_line(text: str) -> str:
    return " ".join(_COMMENTS.sub(" ", text).split())
