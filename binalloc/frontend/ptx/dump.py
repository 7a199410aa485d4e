"""This module writes a syntax tree as PTX text.

`format_module` needs a tree as `parser.parse` makes it. Its text parses to an equal tree with `parse(...,
flattened=True)`, apart from places and texts of instructions. Names of flattened scopes keep their numbers (`temp.1`),
which no other PTX has. Pragmas and debug sections are not in the tree, and so not in the text.
"""

from __future__ import annotations

from binalloc.frontend.ptx.ast import (
    TYPE_BYTES,
    Address,
    Discard,
    Dual,
    Float,
    Instruction,
    Integer,
    Label,
    Negated,
    Negative,
    Operand,
    PtxFunction,
    PtxModule,
    Register,
    Selected,
    Special,
    Symbol,
    TextureAddress,
    Variable,
    Vector,
)

_PER_LINE = 16  # registers in one declaration, so that lines stay readable; chosen by hand


def format_module(module: PtxModule) -> str:
    """Return the module as PTX text, ending in a newline."""
    major, minor = module.version
    out = [f".version {major}.{minor}", f".target {module.target}", f".address_size {module.address_size}"]
    out += [f'.file {index} "{name}"' for index, name in module.files.items()]
    out += [f"{_linkage(function)}{_header(function)};" for function in module.functions.values()]
    out += [f".extern {_shape(v)};" for v in _announced(module)]
    out += [f"{_linkage(v)}{format_variable(v)};" for v in module.variables.values()]
    for function in module.functions.values():
        if function.body is not None:
            out += format_function(function)
    out += [f".alias {alias}, {function};" for alias, (function, _) in module.aliases.items()]
    return "\n".join(out) + "\n"


def format_function(function: PtxFunction) -> list[str]:
    """Return a function with its body, line by line."""
    out = [_linkage(function) + _header(function), "{"]
    own = {v.name for v in [*function.results, *function.parameters] if v.space == "reg"}
    by_type: dict[str, list[str]] = {}
    for name, type_ in function.registers.items():
        if name not in own:
            by_type.setdefault(type_, []).append(name)
    for type_, names in by_type.items():
        for at in range(0, len(names), _PER_LINE):
            out.append(f"\t.reg .{type_} {', '.join(names[at : at + _PER_LINE])};")
    for v in function.variables.values():
        out.append(f"\t{_linkage(v)}{format_variable(v)};")
    out += [f"{name}: {text};" for name, text in function.prototypes.items()]
    out += [f"{name}: .branchtargets {', '.join(labels)};" for name, labels in function.branch_targets.items()]
    loc: tuple[int, int] | None = None
    for item in function.body or ():
        if isinstance(item, Label):
            out.append(f"{item.name}:")
            continue
        if item.loc is not None and item.loc != loc:
            out.append(f"\t.loc {item.loc[0]} {item.loc[1]} 0")
            loc = item.loc
        out.append("\t" + format_instruction(item))
    out.append("}")
    return out


def format_instruction(instruction: Instruction) -> str:
    """Return one statement, with its semicolon."""
    guard = ""
    if instruction.guard is not None:
        name, negated = instruction.guard
        guard = f"@{'!' if negated else ''}{name} "
    opcode = ".".join((instruction.op, *instruction.mods))
    if instruction.callee is None:
        operands = ", ".join(map(format_operand, instruction.operands))
        return f"{guard}{opcode} {operands};" if operands else f"{guard}{opcode};"
    parts = []
    if instruction.results:
        parts.append(_parentheses(instruction.results))
    parts.append(instruction.callee.name)
    if instruction.arguments:
        parts.append(_parentheses(instruction.arguments))
    if instruction.prototype is not None:
        parts.append(instruction.prototype)
    return f"{guard}{opcode} {', '.join(parts)};"


def format_operand(operand: Operand) -> str:
    """Return the text of one operand."""
    match operand:
        case Register(name) | Special(name):
            return name
        case Integer(value):
            return str(value)
        case Float(bits, width):
            return f"0f{bits:08X}" if width == 32 else f"0d{bits:016X}"
        case Symbol(name, offset):
            return name + (f"+{offset}" if offset else "")
        case Negated(base):
            return f"!{base.name}"
        case Selected(base, selector):
            return f"{base.name}.{selector}"
        case Negative(base):
            return f"-{format_operand(base)}"
        case Address(None, offset):
            return f"[{offset}]"
        case Address(base, offset):
            assert base is not None
            return f"[{base.name}{f'+{offset}' if offset else ''}]"
        case Vector(items):
            return f"{{{', '.join(map(format_operand, items))}}}"
        case Dual(first, second):
            return f"{format_operand(first)}|{format_operand(second)}"
        case Discard():
            return "_"
        case TextureAddress(texture, sampler, coordinates):
            middle = f"{format_operand(sampler)}, " if sampler is not None else ""
            return f"[{format_operand(texture)}, {middle}{format_operand(Vector(coordinates))}]"


def format_variable(variable: Variable) -> str:
    """Return a declaration without linkage and semicolon."""
    if variable.init is None:
        return _shape(variable)
    items = ", ".join(_items(variable)) or "0"
    lanes = variable.size > TYPE_BYTES[variable.type]
    return f"{_shape(variable)} = {f'{{{items}}}' if variable.array or lanes else items}"


# ---------------------------------------------------------------------------------------------------------------------


def _announced(module: PtxModule) -> list[Variable]:
    """Return the variables that need an `.extern` declaration first.

    These are all variables, in order, where an initialiser names a later one; else none.
    """
    order = {name: at for at, name in enumerate(module.variables)}
    for variable in module.variables.values():
        if any(order.get(name, -1) > order[variable.name] for _, name, *_ in variable.relocations):
            return list(module.variables.values())
    return []


def _linkage(item: PtxFunction | Variable) -> str:
    return f".{item.linkage} " if item.linkage else ""


def _parentheses(operands: tuple[Operand, ...]) -> str:
    return f"({', '.join(map(format_operand, operands))})"


def _shape(variable: Variable) -> str:
    """Return space, alignment, type, name and size. Arrays of any shape have one dimension, vectors stay vectors."""
    element = TYPE_BYTES[variable.type]
    count = variable.size // element if element else 1
    vector = f".v{count} " if not variable.array and count > 1 else ""
    if variable.space == "reg":
        return f".reg .{variable.type} {variable.name}"
    brackets = f"[{count if variable.size or not variable.external else ''}]" if variable.array else ""
    return f".{variable.space} .align {variable.align} {vector}.{variable.type} {variable.name}{brackets}"


def _items(variable: Variable) -> list[str]:
    """Return the items of an initialiser up to the last that is not zero."""
    init = variable.init or b""
    size = TYPE_BYTES[variable.type]
    relocated = {r.at: r for r in variable.relocations}
    end = max([len(init), *(at + r.bytes for at, r in relocated.items())])
    out = []
    at = 0
    while at < end:
        if at in relocated:
            found = relocated[at]
            name = f"generic({found.name})" if found.generic else found.name
            text = f"{name}+{found.addend}" if found.addend else name
            whole = found.bytes == size > 1
            out += [text] if whole else [f"{0xFF << 8 * (found.first + i):#x}({text})" for i in range(found.bytes)]
            at += max(found.bytes, size)
            continue
        out.append(_number(variable.type, init[at : at + size].ljust(size, b"\0")))
        at += size
    return out


def _number(type_: str, data: bytes) -> str:
    value = int.from_bytes(data, "little", signed=type_[0] == "s")
    if type_ == "f32":
        return f"0f{value:08X}"
    if type_ == "f64":
        return f"0d{value:016X}"
    return str(value)


def _header(function: PtxFunction) -> str:
    """Return `.entry` or `.func` with its parameters and bounds."""
    words = [".entry" if function.is_entry else ".func"]
    if function.results:
        words.append(f"({', '.join(map(_shape, function.results))})")
    words.append(f"{function.name}({', '.join(map(_shape, function.parameters))})")
    for word, sizes in ((".maxntid", function.maxntid), (".reqntid", function.reqntid)):
        if sizes is not None:
            words.append(f"{word} {', '.join(map(str, sizes))}")
    if function.min_blocks:
        words.append(f".minnctapersm {function.min_blocks}")
    if function.max_registers:
        words.append(f".maxnreg {function.max_registers}")
    if function.noreturn:
        words.append(".noreturn")
    return " ".join(words)
