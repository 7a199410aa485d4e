"""What the checker's facts are about: original places and tokens, and places of the rewritten program.

Needs only integers; knows no instructions. Two kinds of names:

*Original places* and constants are bit positions ("columns"). `Names` hands them out: registers, predicates,
words of local memory, slot rows, then tokens. A token is a value that never changes: a constant instruction's result,
or the slot pointer at a function's entry plus a number of bytes.

*Rewritten places* are integer keys ("rows"): register, predicate, local word or slot row, and in the lowest bits the
part of it: 0 for the place as a whole or 1 + i for bit i of it (bits hold packed predicates).
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.bitset import bits, lowest
from binalloc.isa.interface.places import LOCAL_BASE, PRED_BASE, PREDICATES, WORD

ZERO = ("zero",)
"""Key of the token of the value zero, as a zero register gives it."""

PART = PREDICATES
"""Of a key the part; as many as there are predicates, and the whole."""
WHOLE = ~PART
"""Of a key all but the part: the row of the whole place."""
assert PART & (PART + 1) == 0
_PLACE = PART.bit_length()

DEFINED = 512 << _PLACE
"""An imaginary row that holds the original places which something has written on every way (under a condition, those
written on every way where it is true). It is the one row that does not hold what is free."""

LOCAL0 = 1 << 10
CONST0 = 1 << 30
SLOT0 = 1 << 40
_SLOT_SPAN = 1 << 32


def reg_key(index: int) -> int:
    """Row of a register of the rewritten program."""
    return index << _PLACE


def pred_key(index: int) -> int:
    return (PRED_BASE + index) << _PLACE


def local_key(word: int) -> int:
    """Row of the local word at byte address WORD * word."""
    return (LOCAL0 + word) << _PLACE


def slot_key(row: int) -> int:
    """Row of a slot, counted from the slot pointer at the function's entry; may be negative."""
    return (SLOT0 + row) << _PLACE


def const_key(token: int) -> int:
    """Row of an imaginary place that always holds the constant of this token: by it the ordinary rules for rows keep
    track of the original places that equal the constant, also where they do so only under a condition."""
    return (CONST0 + token) << _PLACE


def const_of(key: int) -> int | None:
    """The token of a constant's row, or None."""
    loc = key >> _PLACE
    return loc - CONST0 if CONST0 <= loc <= SLOT0 - _SLOT_SPAN else None


def slot_of(key: int) -> int | None:
    """The slot number of a row, or None."""
    loc = key >> _PLACE
    return loc - SLOT0 if loc > SLOT0 - _SLOT_SPAN else None


def shift_slots(key: int, by: int) -> int:
    """The row with slot numbers moved by `by`; other rows unchanged."""
    return key + (by << _PLACE) if slot_of(key) is not None else key


def row_name(key: int) -> str:
    loc, sub = key >> _PLACE, key & PART
    slot = slot_of(key)
    if slot is not None:
        name = f"slot {slot}"
    elif loc >= CONST0:
        name = f"constant {loc - CONST0}"
    elif loc >= LOCAL0:
        name = f"local[{WORD * (loc - LOCAL0)}]"
    elif loc >= PRED_BASE:
        name = f"P{loc - PRED_BASE}"
    else:
        name = f"R{loc}"
    return f"{name} bit {sub - 1}" if sub else name


class Names:
    """Bit positions of original places and tokens. words: the 4-byte words of original local memory to follow."""

    def __init__(self, words: Iterable[int] = ()) -> None:
        self.words = {w: LOCAL_BASE + i for i, w in enumerate(sorted(set(words)))}
        self._word_list = sorted(self.words)
        self._first_token = LOCAL_BASE + len(self.words)
        self.places = (1 << self._first_token) - 1
        self._tokens: dict[tuple[object, ...], int] = {}
        self._token_list: list[tuple[object, ...]] = []
        self.pointers = 0

    def token(self, key: tuple[object, ...]) -> int:
        """Bit of a token; `("ptr", bytes)` and `("optr", bytes)` are slot pointers of rewritten and original."""
        bit = self._tokens.get(key)
        if bit is None:
            bit = self._first_token + len(self._token_list)
            self._tokens[key] = bit
            self._token_list.append(key)
            if key[0] == "ptr":
                self.pointers |= 1 << bit
        return bit

    def token_key(self, bit: int) -> tuple[object, ...]:
        return self._token_list[bit - self._first_token]

    def pointer_bytes(self, row: int) -> int | None:
        """Bytes above the entry slot pointer that a row's content is known to be, or None."""
        mask = row & self.pointers
        if not mask:
            return None
        value = self.token_key(lowest(mask))[1]
        assert isinstance(value, int)
        return value

    def name(self, bit: int) -> str:
        if bit >= self._first_token:
            key = self.token_key(bit)
            if key[0] in ("ptr", "optr"):
                return f"slot pointer{key[1]:+d}"
            if key == ZERO:
                return "zero"
            signature = key[1]
            assert isinstance(signature, tuple)
            values = [f"{p[0]}={p[1]}" for p in signature[1:] if p[1] not in ("place", "zero", 0)]
            return f"constant {signature[0]}({', '.join(values)})"
        if bit >= LOCAL_BASE:
            return f"local[{WORD * self._word_list[bit - LOCAL_BASE]}]"
        return f"P{bit - PRED_BASE}" if bit >= PRED_BASE else f"R{bit}"

    def describe(self, mask: int) -> str:
        names = [self.name(b) for b in bits(mask)]
        if not names:
            return "nothing known"
        return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
