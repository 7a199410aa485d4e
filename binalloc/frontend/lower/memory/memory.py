"""This module lowers loads, stores and prefetches.

A vector is one wide access (two above 16 bytes). Its words are loaded into a fresh group of units. The units become the
PTX registers themselves where these have no other definition; otherwise they are moved. PRMT extracts and joins
elements smaller than a word. Cache operators and eviction hints do not change values: they become Loom's hints or
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from binalloc.frontend.emitter import Imm, Source
from binalloc.frontend.ir import RZ
from binalloc.frontend.lower.context.context import Context, Fields, Handler
from binalloc.frontend.lower.context.modifiers import Modifiers
from binalloc.frontend.lower.context.variable_places import CONST_BANK
from binalloc.frontend.lower.memory import address, parameters
from binalloc.frontend.lower.memory.parameters import Element
from binalloc.frontend.ptx import ast
from binalloc.frontend.ptx.ast import TYPE_BYTES, Instruction

SPACES = {
    "global": "global",
    "shared": "shared",
    "shared::cta": "shared",
    "local": "local",
    "const": "const",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}
"""Suffix -> space."""
SCOPES = {"cta": "CTA", "cluster": "GPU", "gpu": "GPU", "gl": "GPU", "sys": "SYS"}
"""PTX scope -> Loom's fence. There are no clusters, so a cluster is one block. A fence of the next wider scope orders
at least as much."""

CACHE = {"ca": "", "cg": "CG", "cs": "CS", "lu": "", "cv": "CV", "wb": "", "wt": "CV"}
"""Cache operator -> text of Loom's cache modifier."""
EVICTION = tuple(
    f"{level}::{hint}"
    for level in ("L1", "L2")
    for hint in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate", "cache_hint")
)
"""Eviction hints. They have no effect here."""
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")  # prefetch sizes, which have no effect here
_TYPES = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64",
          "b128")  # fmt: skip
"""Types of loads and stores."""
_WIDTH = {1: "U8", 2: "U16", 4: "32", 8: "64", 16: "128"}  # bytes -> text of Loom's width modifier
_LOADS = {"global": "LDG", "generic": "LD", "shared": "LDS", "local": "LDL"}  # space -> Loom's load
_STORES = {"global": "STG", "generic": "ST", "shared": "STS", "local": "STL"}  # space -> Loom's store


@dataclass(frozen=True, slots=True)
class AccessModifiers:
    """The modifiers of a load or store are decoded once, into this form."""

    space: str
    type: str
    count: int  #: elements of the vector, 1 for a scalar
    cache: str  #: text of Loom's cache modifier
    before: str  #: scope of a fence before the access, or ""
    after: str  #: scope of a fence after the access, or ""
    policy: bool  #: whether an operand with a cache policy may follow


_decoded: dict[tuple[str, tuple[str, ...]], AccessModifiers] = {}  # results of `decode`


def decode(ctx: Context, ins: Instruction) -> AccessModifiers:
    """Decode the modifiers of ld, ldu or st. Results are cached."""
    key = (ins.op, ins.mods)
    found = _decoded.get(key)
    if found is None:
        found = _decoded[key] = _decode(ctx.modifiers(), ins.op)
    return found


def _decode(m: Modifiers, op: str) -> AccessModifiers:
    """Decode the modifiers of ld, ldu or st. Refuses combinations that PTX does not have."""
    order = m.take("weak", "volatile", "relaxed", "acquire", "release", "mmio")
    if order == "mmio":
        m.take("relaxed")
    scope = m.take("cta", "cluster", "gpu", "sys")
    if (order in ("relaxed", "acquire", "release") and not scope) or (order in ("", "weak", "volatile") and scope):
        m.refuse(
            f"{op}.{order or scope} is not PTX", expected="a scope with .relaxed, .acquire, .release and only there"
        )
    if order == ("release" if op != "st" else "acquire"):
        m.refuse(f"{op} cannot be .{order}")
    space = SPACES.get(m.take(*SPACES), "generic")
    cache = CACHE[m.take(*CACHE) or "ca"]
    if op == "ld":
        m.take("nc")
    policy = False
    while hint := m.take(*EVICTION, *PREFETCH):
        policy = policy or hint == "L2::cache_hint"
    count = int((m.take("v2", "v4", "v8") or "v1")[1:])
    type_ = m.type(*_TYPES)
    m.done()
    if type_ == "b128" and count > 1:
        m.refuse("a vector of values of type .b128", expected="one value")
    if TYPE_BYTES[type_] * count > 32:
        m.refuse(f"a vector of {count} values of type .{type_}", expected="at most 32 bytes")
    ordered = order in ("volatile", "mmio", "relaxed", "acquire", "release")
    if ordered:
        cache = "CG" if scope in ("cta", "cluster", "gpu") else "CV"
    elif space == "shared":
        cache = ""
    fence = SCOPES.get(scope, "")
    return AccessModifiers(
        space, type_, count, cache, fence if order == "release" else "", fence if order == "acquire" else "", policy
    )


def _by_name(ctx: Context, place: ast.Operand, access: AccessModifiers) -> AccessModifiers:
    """Return the access with the space of the variable that a generic access names."""
    space = address.space_of(ctx, place, access.space)
    return access if space == access.space else replace(access, space=space)


def _data(ctx: Context, operand: ast.Operand, count: int) -> tuple[ast.Operand, ...]:
    """Return the elements of the value operand. A single element may be in braces, too, as Triton writes it."""
    items = operand.items if isinstance(operand, ast.Vector) else (operand,)
    if len(items) != count:
        vector = f"{count} values, as the vector modifier says" if count > 1 else "one value without a vector modifier"
        ctx.refuse(f"{len(items)} values", expected=vector)
    return items


# ---------------------------------------------------------------------------------------------------------------------
# Loads.


def load(ctx: Context, ins: Instruction) -> None:
    """Lower ld or ldu."""
    access = decode(ctx, ins)
    first, place, *_ = ctx.operands(2, 3) if access.policy else ctx.operands(2)
    access = _by_name(ctx, place, access)
    items = _data(ctx, first, access.count)
    if access.type == "b128" and access.space in ("param", "const"):
        _load_quad(ctx, items[0], place, access)
    elif access.space == "param":
        deliver(ctx, items, access.type, _load_parameter(ctx, place, access), fresh=False)
    elif access.space == "const":
        deliver(ctx, items, access.type, _constants(ctx, place, access))
    else:
        _load_memory(ctx, items, place, access)
        if access.after:
            ctx.b.emit("MEMBAR", scope=access.after, guard=ctx.guard)


def _load_quad(ctx: Context, item: ast.Operand, place: ast.Operand, access: AccessModifiers) -> None:
    """Load a .b128 from parameters or constants, as four words."""
    target, words = ctx.dest(item, "b128"), replace(access, type="b32", count=4)
    found = _load_parameter(ctx, place, words) if access.space == "param" else _constants(ctx, place, words)
    for k, (word, _) in enumerate(found if target != RZ else ()):
        ctx.b.move(target + k, word, ctx.guard)


def _load_parameter(ctx: Context, place: ast.Operand, access: AccessModifiers) -> list[Element]:
    given = address.operand(ctx, place)
    if isinstance(given.base, ast.Symbol):
        name, offset = given.base.name, given.base.offset + given.offset
        if name in ctx.parameters:
            return parameters.load_units(ctx, name, offset, access.type, access.count)
        return parameters.load_bank(
            ctx, 0, address.variable(ctx, given.base, "param") + given.offset, access.type, access.count
        )
    if not ctx.function.is_entry:
        base, offset = address.narrow(ctx, given, "local")
        return read_elements(ctx, "LDL", {"ra": base}, offset, access)
    return _indexed(ctx, 0, given, access)


def _constants(ctx: Context, place: ast.Operand, access: AccessModifiers) -> list[Element]:
    given = address.operand(ctx, place)
    if isinstance(given.base, ast.Register):
        return _indexed(ctx, CONST_BANK, given, access)
    start = given.offset + (address.variable(ctx, given.base, "const") if given.base is not None else 0)
    return parameters.load_bank(ctx, CONST_BANK, start, access.type, access.count)


def _indexed(ctx: Context, bank: int, given: ast.Address, access: AccessModifiers) -> list[Element]:
    """Load from a constant bank at an address in a register."""
    base, offset = address.narrow(ctx, given, "const")
    if not 0 <= offset < 65536 - 2 * address.LARGEST:
        base, offset = address.add(ctx, base, offset), 0
    return read_elements(ctx, "LDC", {"ra": base, "cbank": bank}, offset, access)


def _load_memory(ctx: Context, items: tuple[ast.Operand, ...], place: ast.Operand, access: AccessModifiers) -> None:
    name = _LOADS[access.space]
    fields: Fields
    if access.space in ("shared", "local"):
        base, offset = address.narrow(ctx, place, access.space)
        fields = {"ra": base, "cache": access.cache} if access.space == "shared" else {"ra": base}
    else:
        base, offset = address.wide(ctx, place, access.space)
        fields = {"ra": base, "cache": access.cache}
    item = items[0]
    if access.count == 1 and isinstance(item, ast.Register):
        size, type_ = TYPE_BYTES[access.type], access.type
        ctx.check_type(item, type_, wider=True)
        if max(size, 4) == max(TYPE_BYTES[ctx.function.registers[item.name]], 4):
            width = f"S{8 * size}" if type_[0] == "s" and size < 4 else _WIDTH[size]
            ctx.b.emit(name, rd=ctx.register(item.name), moff=offset, width=width, guard=ctx.guard, **fields)
            return
    deliver(ctx, items, access.type, read_elements(ctx, name, fields, offset, access))


def read_elements(
    ctx: Context, name: str, fields: Fields, offset: int, access: AccessModifiers, *, zeroed: bool = False
) -> list[Element]:
    """Load all elements by wide loads into fresh groups. zeroed: set the groups to zero first."""
    size = TYPE_BYTES[access.type]
    total = size * access.count
    at = "coff" if name == "LDC" else "moff"
    signed = access.type[0] == "s"
    if access.count == 1 and size < 4:
        unit = _fresh(ctx, 1, zeroed)
        width = f"{'S' if signed else 'U'}{8 * size}"
        ctx.b.emit(name, rd=unit, width=width, guard=ctx.guard, **{at: offset}, **fields)
        return [(unit, None)]
    out: list[Element] = []
    for done in range(0, total, 16):
        piece = min(16, total - done)
        group = _fresh(ctx, max(1, piece // 4), zeroed)
        ctx.b.emit(name, rd=group, width=_WIDTH[piece], guard=ctx.guard, **{at: offset + done}, **fields)
        for k in range(0, piece, size):
            if size == 8:
                out.append((group + k // 4, group + k // 4 + 1))
            elif size == 4:
                out.append((group + k // 4, None))
            else:
                out.append((parameters.extract(ctx, group + k // 4, k % 4, size, signed=signed), None))
    return out


def _fresh(ctx: Context, units: int, zeroed: bool) -> int:
    group = ctx.b.new(units)
    for k in range(units if zeroed else 0):
        ctx.b.move(group + k, RZ)
    return group


def deliver(
    ctx: Context, items: tuple[ast.Operand, ...], type_: str, values: list[Element], *, fresh: bool = True
) -> None:
    """Bring loaded values to their PTX registers.

    fresh: the values are in fresh units, which may become the registers themselves. Otherwise they are moved under the
    guard.
    """
    size = TYPE_BYTES[type_]
    for item, value in zip(items, values, strict=True):
        if isinstance(item, ast.Discard):
            continue
        target_size = TYPE_BYTES[ctx.function.registers[item.name]] if isinstance(item, ast.Register) else 0
        if isinstance(item, ast.Register) and max(target_size, 4) == max(size, 4):
            ctx.check_type(item, type_, wider=True)
            if fresh and adopt(ctx, item.name, value):
                continue
        target = ctx.dest(item, type_, wider=True)
        low, high = value
        ctx.b.move(target, low, ctx.guard)
        if target_size == 8:
            ctx.b.move(target + 1, _high(ctx, value, type_) if high is None else high, ctx.guard)


def _high(ctx: Context, value: Element, type_: str) -> Source:
    """Return the high word of a 32-bit value in a 64-bit register: its sign, or zero."""
    if type_[0] != "s":
        return RZ
    out = ctx.b.new()
    ctx.b.emit("SHF", rd=out, a=RZ, b=Imm(31), c=ctx.b.unit(value[0]), dir="R", stype="S32", hi="HI")
    return out


def adopt(ctx: Context, name: str, value: Element) -> bool:
    """Make the units of a loaded value the units of a register, if possible, and return whether it was.

    The register must have no other definition, and must not have been used before.
    """
    low, high = value
    if name in ctx.unit_of or ctx.scan.definitions.get(name) != 1 or not isinstance(low, int) or low == RZ:
        return False
    if high is not None:
        first, width = ctx.registers.group(low)
        if high != low + 1 or width < 2 or (low - first) % 2:
            return False
    ctx.unit_of[name] = low
    ctx.registers.names[low] = name
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Stores.


def store(ctx: Context, ins: Instruction) -> None:
    """Lower st."""
    access = decode(ctx, ins)
    place, last, *_ = ctx.operands(2, 3) if access.policy else ctx.operands(2)
    access = _by_name(ctx, place, access)
    items = _data(ctx, last, access.count)
    size = TYPE_BYTES[access.type]
    if access.space == "const":
        ctx.refuse("constant memory is read-only", expected="st.global, .shared, .local or .param")
    values: list[tuple[Source, ...]] = []
    for item in items:
        if size == 8:
            values.append(ctx.wide(item, access.type, wider=True))
        elif size == 16:
            values.append(_quad(ctx, item))
        else:
            values.append((ctx.word(item, access.type, wider=True),))
    if access.space == "param":
        _store_parameter(ctx, place, access, values)
        return
    if access.before:
        ctx.b.emit("MEMBAR", scope=access.before, guard=ctx.guard)
    fields: Fields
    if access.space in ("shared", "local"):
        base, offset = address.narrow(ctx, place, access.space)
        fields = {"ra": base, "cache": access.cache} if access.space == "shared" else {"ra": base}
    else:
        base, offset = address.wide(ctx, place, access.space)
        fields = {"ra": base, "cache": access.cache}
    write_elements(ctx, _STORES[access.space], fields, offset, values, size)


def write_elements(
    ctx: Context, name: str, fields: Fields, offset: int, values: list[tuple[Source, ...]], size: int
) -> None:
    """Store all elements, each of `size` bytes, by wide stores."""
    words = _packed(ctx, values, size)
    total = size * len(values)
    for done in range(0, total, 16):
        piece = min(16, total - done)
        group = _group(ctx, words[done // 4 : (done + piece + 3) // 4])
        ctx.b.emit(name, rb=group, moff=offset + done, width=_WIDTH[piece], guard=ctx.guard, **fields)


def _quad(ctx: Context, operand: ast.Operand) -> tuple[Source, ...]:
    """Return the words of a register of 128 bits."""
    if not isinstance(operand, ast.Register):
        ctx.refuse("operand does not fit type .b128", expected="a register of type .b128")
    ctx.check_type(operand, "b128")
    first = ctx.register(operand.name)
    return tuple(range(first, first + 4))


def _store_parameter(
    ctx: Context, place: ast.Operand, access: AccessModifiers, values: list[tuple[Source, ...]]
) -> None:
    given = address.operand(ctx, place)
    if not isinstance(given.base, ast.Symbol) or given.base.name not in ctx.parameters:
        ctx.refuse(
            "st.param to what is no argument or result",
            expected="a .param variable of a call, or the function's result",
        )
    assert isinstance(given.base, ast.Symbol)
    name = given.base.name
    if any(v.name == name for v in ctx.function.parameters):
        ctx.refuse(f"{name} is an input parameter", expected="a .param variable of a call, or the function's result")
    parameters.store_units(ctx, name, given.base.offset + given.offset, access.type, values)


def _packed(ctx: Context, values: list[tuple[Source, ...]], size: int) -> list[Source]:
    """Return the words to be stored. PRMT joins elements smaller than a word."""
    if size >= 4:
        return [word for value in values for word in value]
    singles = [value[0] for value in values]
    while size < 4 and len(singles) > 1:
        selector = 0x0040 if size == 1 else 0x5410
        singles = [_join(ctx, singles[k], singles[k + 1], selector) for k in range(0, len(singles), 2)]
        size *= 2
    return singles


def _join(ctx: Context, low: Source, high: Source, selector: int) -> Source:
    out = ctx.b.new()
    ctx.b.emit("PRMT", rd=out, a=ctx.b.unit(low), b=Imm(selector), c=ctx.b.unit(high))
    return out


def _group(ctx: Context, words: list[Source]) -> int:
    """Return words as the first unit of a group: their own group, if they are one, or a fresh one."""
    if len(words) == 1:
        return ctx.b.unit(words[0])
    if all(word == RZ or word == Imm(0) for word in words):
        return RZ
    if len(words) == 2:
        return ctx.b.pair(*words)
    first = words[0]
    if isinstance(first, int) and first != RZ:
        base, width = ctx.registers.group(first)
        if width == len(words) and base == first and all(word == first + k for k, word in enumerate(words)):
            return first
    group = ctx.b.new(len(words))
    for k, word in enumerate(words):
        ctx.b.move(group + k, word)
    return group


# ---------------------------------------------------------------------------------------------------------------------
# Hints.


def prefetch(ctx: Context, ins: Instruction) -> None:
    """Check a prefetch and leave it out: it is a hint."""
    m = ctx.modifiers()
    space = SPACES.get(m.take("global", "local", "const", "param"), "generic")
    while m.take("L1", "L2", *EVICTION, "tensormap"):
        pass
    m.done()
    (place,) = ctx.operands(1)
    given = address.operand(ctx, place)
    if isinstance(given.base, ast.Symbol):
        space = address.space_of(ctx, place, space)
        address.variable(ctx, given.base, space if space != "generic" else "global")


PURE: dict[str, Handler] = {}
EFFECTS: dict[str, Handler] = {"ld": load, "ldu": load, "st": store, "prefetch": prefetch, "prefetchu": prefetch}
