"""This module names the subjects of the checker's facts: original values and tokens, and places of the rewritten
program.

Needs only integers; knows no instructions. Two kinds of names:

*Values* are numbers ("columns") that `Names` assigns. The original's values are its webs (`webs.py`) and its words of
local memory: the current content of a place, from where it is written to where it is written again. A *token* is
something that values may be equal to. It is a constant instruction's result, or the slot pointer at a function's entry
plus a number of bytes, or the result of a pure operation. Such an operation has current values of webs (the token's
leaves) and other tokens as operands.

*Rewritten places* are integer keys ("rows"): register, predicate, local word or slot row. The lowest bits are the part
of it: 0 for the place as a whole, 1 + i for bit i of it (bits hold packed predicates), TRUTH for whether it differs
from zero.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, PREDICATES, WORD

ZERO = ("zero",)
"""Key of the token of the value zero, as a zero register reads."""

PART = 2 * PREDICATES + 1
"""Mask of the part in a key."""
TRUTH = PREDICATES + 1
"""The part that says whether the whole differs from zero; the parts before it are bits."""
WHOLE = ~PART
"""Mask of a key without the part: the row of the whole place."""
assert PART & (PART + 1) == 0
_PLACE = PART.bit_length()  # position of the place in a key, above the part

DEFINED = 512 << _PLACE
"""An imaginary row with the original values in doubt that something has written on every way (under a condition: that
were written on every way where it is true). It is the one row that does not hold what is free."""
UNWRITTEN = 513 << _PLACE
"""An imaginary row that holds, under a condition, the original values that nobody wrote where it is true."""

LOCAL0 = 1 << 10  # first place of local words, above registers, predicates and the two imaginary rows
COPY0 = 1 << 29  # first place of copies' imaginary rows
CONST0 = 1 << 30  # first place of tokens' imaginary rows
SLOT0 = 1 << 60  # place of slot 0; slots may be negative
_SLOT_SPAN = 1 << 32  # upper limit of a slot's distance from slot 0
_FIRST_WEB = 1 << 24  # webs are numbered above all places
_FIRST_TOKEN = 1 << 32  # tokens are numbered above all webs
MOST_LEAVES = 64
"""Webs that a computed token may depend on: code that is moved at once is eight operations on up to six words each, and
may be moved again."""
_NOTHING: frozenset[int] = frozenset()


def reg_key(index: int) -> int:
    """Return the row of a register of the rewritten program."""
    return index << _PLACE


def reg_keys(index: int, units: int) -> list[int]:
    """Return the rows of `units` consecutive registers from `index` on."""
    return list(range(index << _PLACE, index + units << _PLACE, 1 << _PLACE))


def pred_key(index: int) -> int:
    return (PRED_BASE + index) << _PLACE


def local_key(word: int) -> int:
    """Return the row of the local word at byte address WORD * word."""
    return (LOCAL0 + word) << _PLACE


def slot_key(row: int) -> int:
    """Return the row of a slot, counted from the slot pointer at the function's entry; it may be negative."""
    return (SLOT0 + row) << _PLACE


def const_key(token: int) -> int:
    """Return the row of an imaginary place that always holds this token.

    By it the ordinary rules for rows keep track of the original values that equal the token, under a condition or not.
    The row need not list the token itself.
    """
    return (CONST0 + token) << _PLACE


def const_of(key: int) -> int | None:
    """Return the token of a constant's row, or None."""
    loc = key >> _PLACE
    return loc - CONST0 if CONST0 <= loc <= SLOT0 - _SLOT_SPAN else None


def copy_key(value: int) -> int:
    """Return the row of an imaginary place that took the original value when a copy wrote it last.

    By it a value is known to equal the one that it was copied from, where no place of the rewritten program holds
    either.
    """
    return (COPY0 + value) << _PLACE


def is_copy(key: int) -> bool:
    """Return whether the row belongs to an imaginary place that took a copy."""
    return COPY0 <= key >> _PLACE < CONST0


def slot_of(key: int) -> int | None:
    """Return the slot number of a row, or None."""
    loc = key >> _PLACE
    return loc - SLOT0 if loc > SLOT0 - _SLOT_SPAN else None


def shift_slots(key: int, by: int) -> int:
    """Return the row with slot numbers moved by `by`; other rows unchanged."""
    return key + (by << _PLACE) if slot_of(key) is not None else key


def row_name(key: int) -> str:
    """Return the name of a row for messages."""
    loc, sub = key >> _PLACE, key & PART
    slot = slot_of(key)
    if slot is not None:
        name = f"slot {slot}"
    elif loc >= CONST0:
        name = f"constant {loc - CONST0}"
    elif loc >= COPY0:
        name = f"copy {loc - COPY0}"
    elif loc >= LOCAL0:
        name = f"local[{WORD * (loc - LOCAL0)}]"
    elif loc >= PRED_BASE:
        name = f"P{loc - PRED_BASE}"
    else:
        name = f"R{loc}"
    return f"{name} bit {sub - 1}" if 0 < sub < TRUTH else f"{name} as a truth" if sub else name


class _OperandNode:
    """A node is the names under which the operands so far were recorded. after: the next node for each name of the
    operand."""

    __slots__ = ("after",)

    def __init__(self) -> None:
        self.after: dict[int, _OperandNode] = {}


class Names:
    """`Names` assigns numbers to original values and tokens.

    Local words are numbered from LOCAL_BASE in order of request; the true predicate is the number of its place; webs
    and tokens are above. pointers: for tokens of the rewritten program's slot pointer the bytes. leaves: for a computed
    token the webs from which it is computed. mentions: for a web the computed tokens that depend on it.
    """

    def __init__(self) -> None:
        self.words: dict[int, int] = {}
        self._word_list: list[int] = []
        self._places: list[int] = []
        self._tokens: dict[tuple[object, ...], int] = {}
        self._token_list: list[tuple[object, ...]] = []
        self.pointers: dict[int, int] = {}
        self.leaves: dict[int, frozenset[int]] = {}
        self.mentions: dict[int, list[int]] = {}
        self._recorded: dict[tuple[object, ...], _OperandNode] = {}

    def word(self, index: int) -> int:
        """Return the value of the 4-byte word of original local memory at byte address WORD * index."""
        found = self.words.get(index)
        if found is None:
            found = self.words[index] = LOCAL_BASE + len(self._word_list)
            self._word_list.append(index)
        return found

    def web(self, place: int) -> int:
        """Return a new value that the original keeps in this place."""
        self._places.append(place)
        return _FIRST_WEB + len(self._places) - 1

    def place(self, value: int) -> int:
        """Return the original place of a value that is no token."""
        return value if is_place(value) else self._places[value - _FIRST_WEB]

    def token(self, key: tuple[object, ...]) -> int:
        """Return the number of a token. `("ptr", bytes)` and `("optr", bytes)` are slot pointers of rewritten and
        original."""
        found = self._tokens.get(key)
        if found is None:
            found = _FIRST_TOKEN + len(self._token_list)
            self._tokens[key] = found
            self._token_list.append(key)
            if key[0] == "ptr":
                assert isinstance(key[1], int)
                self.pointers[found] = key[1]
        return found

    def computed(self, signature: tuple[object, ...], unit: int, operands: tuple[int, ...]) -> int | None:
        """Return the token of one unit of an operation's result; None where it would depend on too many webs."""
        key = ("made", signature, unit, operands)
        found = self._tokens.get(key)
        if found is None:
            leaves: frozenset[int] = frozenset()
            for x in operands:
                leaves |= self.leaves.get(x, _NOTHING) if x >= _FIRST_TOKEN else frozenset((x,))
            if len(leaves) > MOST_LEAVES:
                return None
            found = self.token(key)
            self.leaves[found] = leaves
            for x in leaves:
                self.mentions.setdefault(x, []).append(found)
        return found

    def next_unit(self, token: int) -> int | None:
        """Return the computed token of the same result's next unit, where there is one."""
        key = self.token_key(token)
        if key[0] != "made":
            return None
        assert isinstance(key[2], int)
        return self._tokens.get((key[0], key[1], key[2] + 1, key[3]))

    def record(self, signature: tuple[object, ...], operands: tuple[int, ...]) -> None:
        """Record that the original executes the operation on operands of these names."""
        node = self._recorded.setdefault(signature, _OperandNode())
        for x in operands:
            node = node.after.setdefault(x, _OperandNode())

    def recorded_ways(self, signature: tuple[object, ...], operands: list[list[int]]) -> list[tuple[int, ...]]:
        """Return the ways of taking one name of each operand under which the original's operation was recorded
        somewhere."""
        root = self._recorded.get(signature)
        ways: list[tuple[tuple[int, ...], _OperandNode]] = [] if root is None else [((), root)]
        for names in operands:
            ways = [((*way, x), node.after[x]) for way, node in ways for x in names if x in node.after]
        return [way for way, _ in ways]

    def token_key(self, token: int) -> tuple[object, ...]:
        """Return the key with which a token was made."""
        return self._token_list[token - _FIRST_TOKEN]

    def lasting(self, values: frozenset[int]) -> frozenset[int]:
        """Return the tokens that mean the same in every function: constants."""
        return frozenset(x for x in values if is_token(x) and x not in self.leaves and x not in self.pointers)

    def pointer_bytes(self, values: Iterable[int]) -> int | None:
        """Return the known distance of a row's content from the entry slot pointer, in bytes, or None."""
        pointers = self.pointers
        found = [x for x in values if x in pointers]
        return pointers[min(found)] if found else None

    def name(self, value: int) -> str:
        """Return the name of a value for messages."""
        if is_token(value):
            key = self.token_key(value)
            if key[0] in ("ptr", "optr"):
                return f"slot pointer{key[1]:+d}"
            if key == ZERO:
                return "zero"
            signature = key[1]
            assert isinstance(signature, tuple)
            if key[0] == "made":
                assert isinstance(key[3], tuple)
                return f"{signature[0]} of {', '.join('...' if x in self.leaves else self.name(x) for x in key[3])}"
            values = [f"{p[0]}={p[1]}" for p in signature[1:] if p[1] not in ("place", "zero", 0)]
            return f"constant {signature[0]}({', '.join(values)})"
        place = self.place(value)
        if place >= LOCAL_BASE:
            return f"local[{WORD * self._word_list[place - LOCAL_BASE]}]"
        return f"P{place - PRED_BASE}" if place >= PRED_BASE else f"R{place}"

    def describe(self, values: Iterable[int]) -> str:
        """Return the names of values for messages, six at most."""
        order = sorted(values, key=lambda x: (is_token(x), x if is_token(x) else self.place(x), x))
        names = list(dict.fromkeys(map(self.name, order)))
        if not names:
            return "nothing known"
        return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def is_token(value: int) -> bool:
    """Return whether a name is a token's."""
    return value >= _FIRST_TOKEN


def is_place(value: int) -> bool:
    """Return whether a place has this one value throughout: a word of local memory, the true predicate."""
    return value < _FIRST_WEB
