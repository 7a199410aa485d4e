"""A small reader of PTX text for the interpreter: what nvcc and the generator write, no diagnostics to speak of."""

from __future__ import annotations

import struct

from tests.support.ptx.interpreter.text.lexer import PtxSyntaxError, integer, tokenize
from tests.support.ptx.interpreter.text.tree import Func, Inst, Op, Unit, Var

SIZES = {**{f"{k}{w}": w // 8 for k in "busf" for w in (8, 16, 32, 64)}, "pred": 0}
SIZES |= dict.fromkeys(("texref", "samplerref", "surfref"), 8)
SIZES |= {"bf16": 2, "f16x2": 4, "bf16x2": 4}
SPACES = ("global", "const", "shared", "local", "param", "reg")
LINKAGE = (".visible", ".extern", ".weak", ".common")


class Reader:
    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)
        self.i = 0
        self.unit = Unit()
        self.func: Func | None = None
        self.scopes: list[tuple[int, dict[str, str]]] = []
        self.scope_count = 0
        self.labels: dict[tuple[int, str], int] = {}
        self.tables: dict[str, list[str]] = {}

    # --- tokens -------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return self.tokens[self.i][1]

    @property
    def kind(self) -> str:
        return self.tokens[self.i][0]

    def next(self) -> str:
        self.i += 1
        return self.tokens[self.i - 1][1]

    def accept(self, text: str) -> bool:
        if self.text == text:
            self.i += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            near = " ".join(t for _, t in self.tokens[max(0, self.i - 8) : self.i + 4])
            raise PtxSyntaxError(f"expected {text!r}, found {self.text!r} in: {near}")

    def skip_balanced(self, opening: str, closing: str) -> None:
        self.expect(opening)
        depth = 1
        while depth:
            token = self.next()
            depth += (token == opening) - (token == closing)

    def integer(self) -> int:
        negative = self.accept("-")
        value = integer(self.next())
        return -value if negative else value

    # --- module -------------------------------------------------------------------------------------------------------

    def read(self) -> Unit:
        while self.kind != "end":
            self.module_item()
        return self.unit

    def module_item(self) -> None:
        external = False
        while self.text in LINKAGE:
            external |= self.next() == ".extern"
        head = self.next()
        if head in (".entry", ".func"):
            self.function(head == ".entry")
        elif head in (".version", ".address_size"):
            self.next()
        elif head == ".target":
            self.next()
            while self.accept(","):
                self.next()
        elif head == ".section":
            self.next()
            self.skip_balanced("{", "}")
        elif head == ".pragma":
            while self.next() != ";":
                pass
        elif head == ".reg":
            for var in self.declaration("reg"):
                self.unit.registers[var.name] = var.type
        elif head[1:] in SPACES:
            for var in self.declaration(head[1:], external):
                self.unit.variables[var.name] = var
        else:
            raise PtxSyntaxError(f"{head!r} at module level")

    def typed(self, space: str, external: bool = False) -> Var:
        """Everything of a declaration up to its type; name and size follow."""
        align, kind, vector = 0, "", 1
        while self.kind == "dot":
            word = self.next()[1:]
            if word == "align":
                align = self.integer()
            elif word in ("v2", "v4"):
                vector = int(word[1])
            elif word in SIZES:
                kind = word
            elif word == "attribute":
                self.skip_balanced("(", ")")
            elif word not in ("ptr", *SPACES):
                raise PtxSyntaxError(f".{word} in a declaration")
        size = SIZES[kind] * vector
        return Var("", space, kind, size, align or size or 1, external=external)

    def dimensions(self, var: Var) -> None:
        element, count, array = var.size, 1, False
        while self.accept("["):
            array = True
            count *= 0 if self.text == "]" else self.integer()
            self.expect("]")
        var.size = element * count if array else element

    def declaration(self, space: str, external: bool = False) -> list[Var]:
        """`.space .align n .type a[2] = {...}, b;` after the space."""
        pattern, found = self.typed(space, external), []
        while True:
            var = Var(self.next(), space, pattern.type, pattern.size, pattern.align, external=external)
            if self.accept("<"):
                count = self.integer()
                self.expect(">")
                found += [Var(f"{var.name}{k}", space, var.type, var.size, var.align) for k in range(count)]
            else:
                unsized = self.text == "[" and self.tokens[self.i + 1][1] == "]"
                self.dimensions(var)
                if self.accept("="):
                    self.initialiser(var)
                    if unsized:
                        var.size = len(var.data)
                found.append(var)
            if not self.accept(","):
                break
        self.expect(";")
        return found

    def initialiser(self, var: Var) -> None:
        data = bytearray()

        def element() -> None:
            if self.accept("{"):
                while not self.accept("}"):
                    element()
                    self.accept(",")
            elif self.kind == "word":
                generic = self.accept("generic")
                if generic:
                    self.expect("(")
                name = self.next()
                if generic:
                    self.expect(")")
                addend = self.integer() if self.accept("+") else 0
                var.relocations.append((len(data), name, addend))
                data.extend(bytes(SIZES[var.type]))
            else:
                data.extend(constant_bytes(self.number(), var.type))

        element()
        var.data = bytes(data)

    def number(self) -> Op:
        negative = False
        while self.text in ("-", "+"):
            negative ^= self.next() == "-"
        kind, text = self.kind, self.next()
        if kind == "int":
            return ("int", -integer(text) if negative else integer(text))
        if kind == "hexfloat":
            width = 32 if text[1] in "fF" else 64
            return ("float", int(text[2:], 16) ^ ((1 << (width - 1)) if negative else 0), width)
        if kind == "decimal":
            return ("float", int.from_bytes(struct.pack("<d", -float(text) if negative else float(text)), "little"), 64)
        raise PtxSyntaxError(f"a number was expected, found {text!r}")

    def parameters(self) -> list[Var]:
        found: list[Var] = []
        self.expect("(")
        while not self.accept(")"):
            space = self.next()[1:]
            var = self.typed(space)
            var.name = self.next()
            self.dimensions(var)
            found.append(var)
            self.accept(",")
        return found

    def function(self, entry: bool) -> None:
        while self.kind == "dot":
            self.next()
        results = self.parameters() if self.text == "(" else []
        name = self.next()
        params = self.parameters() if self.text == "(" else []
        while self.text not in ("{", ";"):
            self.next()
        if self.accept(";"):
            if name not in self.unit.functions:
                self.unit.functions[name] = Func(name, entry, params, results)
            return
        func = self.unit.functions[name] = Func(name, entry, params, results, defined=True)
        self.func, self.labels, self.tables, self.scopes, self.scope_count = func, {}, {}, [], 0
        func.regs.update(self.unit.registers)
        for var in (*params, *results):
            if var.space == "reg":
                func.regs[var.name] = var.type
        self.block()
        self.resolve(func)

    # --- bodies -------------------------------------------------------------------------------------------------------

    def block(self) -> None:
        assert self.func is not None
        self.expect("{")
        self.scopes.append((self.scope_count, {}))
        self.scope_count += 1
        while not self.accept("}"):
            if self.text == "{":
                self.block()
            elif self.kind == "dot":
                self.body_directive()
            elif self.tokens[self.i + 1][1] == ":" and self.text != "@":
                self.label()
            elif not self.accept(";"):
                self.instruction()
        self.scopes.pop()

    def body_directive(self) -> None:
        assert self.func is not None
        head = self.next()[1:]
        external = False
        while "." + head in LINKAGE:
            external |= head == "extern"
            head = self.next()[1:]
        if head not in SPACES:
            while self.next() != ";":
                pass
            return
        number, names = self.scopes[-1]
        for var in self.declaration(head, external):
            unique = var.name if number == 0 else f"{var.name}@{number}"
            names[var.name] = unique
            if head == "reg":
                self.func.regs[unique] = var.type
            else:
                var.name = unique
                self.func.variables[unique] = var

    def label(self) -> None:
        assert self.func is not None
        name = self.next()
        self.expect(":")
        if self.text == ".branchtargets":
            self.next()
            targets = [self.next()]
            while self.accept(","):
                targets.append(self.next())
            self.expect(";")
            self.tables[name] = targets
        elif self.text in (".callprototype", ".calltargets"):
            while self.next() != ";":
                pass
        else:
            self.labels[self.scopes[-1][0], name] = len(self.func.body)

    def scoped(self, name: str) -> str:
        for _, names in reversed(self.scopes):
            if name in names:
                return names[name]
        return name

    def instruction(self) -> None:
        assert self.func is not None
        start, guard = self.i, None
        if self.accept("@"):
            negated = self.accept("!")
            guard = (self.scoped(self.next()), negated)
        op, mods = self.next(), []
        while self.kind == "dot":
            mods.append(self.next()[1:])
        operands: list[Op] = []
        while not self.accept(";"):
            operands.append(self.operand())
            self.accept(",")
        text = " ".join(t for _, t in self.tokens[start : self.i])
        scopes = tuple(number for number, _ in self.scopes)
        self.func.body.append(Inst(op, tuple(mods), operands, guard, text, scopes))

    def operand(self) -> Op:
        if self.accept("{"):
            vector: Op = ("vec", self.operands_until("}"))
            return ("dual", vector, self.name_operand()) if self.accept("|") else vector
        if self.accept("("):
            return ("vec", self.operands_until(")"))
        if self.accept("["):
            return self.bracketed()
        if self.accept("!"):
            return ("not", self.scoped(self.next()))
        if self.text == "-" and self.tokens[self.i + 1][0] == "word":
            self.next()
            return ("neg", self.operand())
        if self.kind != "word":
            return self.number()
        first = self.name_operand()
        if self.accept("|"):
            return ("dual", first, self.name_operand())
        return first

    def operands_until(self, closing: str) -> list[Op]:
        found = []
        while not self.accept(closing):
            found.append(self.operand())
            self.accept(",")
        return found

    def name_operand(self) -> Op:
        assert self.func is not None
        name = self.next()
        if name == "_":
            return ("none",)
        if name == "WARP_SZ":
            return ("int", 32)
        unique = self.scoped(name)
        if unique in self.func.regs:
            return ("sel", unique, self.next()[1:]) if self.kind == "dot" else ("reg", unique)
        if name.startswith("%"):
            if self.kind == "dot":
                name += self.next()
            return ("sreg", name)
        offset = 0
        while self.text in ("+", "-"):
            offset += self.integer() if self.text == "-" else (self.next() and self.integer())
        return ("sym", unique, offset)

    def bracketed(self) -> Op:
        base = None if self.kind == "int" or self.text == "-" else self.name_operand()
        if self.text == ",":
            items = [base]
            while self.accept(","):
                items.append(self.operand())
            self.expect("]")
            coordinates = items[-1]
            return ("tex", items[0], items[1] if len(items) == 3 else None, coordinates)
        offset = self.integer() if base is None else 0
        if base is not None and base[0] == "sym":
            base, offset = ("sym", base[1], 0), base[2]
        while self.text in ("+", "-"):
            offset += self.integer() if self.text == "-" else (self.next() and self.integer())
        self.expect("]")
        self.accept(".unified")
        return ("mem", base, offset)

    def resolve(self, func: Func) -> None:
        """Targets of branches to instruction numbers."""

        def place(name: str, scopes: tuple[int, ...]) -> int:
            for number in reversed(scopes):
                if (number, name) in self.labels:
                    return self.labels[number, name]
            raise PtxSyntaxError(f"no label {name} in {func.name}")

        for inst in func.body:
            if inst.op == "bra":
                inst.targets = [place(inst.operands[0][1], inst.scopes)]
            elif inst.op == "brx":
                inst.targets = [place(name, inst.scopes) for name in self.tables[inst.operands[1][1]]]


def constant_bytes(value: Op, kind: str) -> bytes:
    """A constant as the bytes of a variable of that type."""
    size = SIZES[kind]
    if value[0] == "int":
        if kind[0] == "f":
            return struct.pack("<f" if size == 4 else "<d", float(value[1]))
        return (value[1] & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return float_bits(value, 8 * size).to_bytes(size, "little")


def float_bits(value: Op, width: int) -> int:
    """The pattern of a float constant in 32 or 64 bits."""
    if value[2] == width:
        return int(value[1])
    if value[2] == 64:
        number = struct.unpack("<d", value[1].to_bytes(8, "little"))[0]
        try:
            return int.from_bytes(struct.pack("<f", number), "little")
        except OverflowError:
            return 0x7F800000 | (0x80000000 if number < 0 else 0)
    number = struct.unpack("<f", value[1].to_bytes(4, "little"))[0]
    return int.from_bytes(struct.pack("<d", number), "little")


def parse(text: str) -> Unit:
    return Reader(text).read()
