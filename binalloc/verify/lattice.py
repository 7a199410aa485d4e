"""The abstract state of the checker: which original value each place of the rewritten program holds.

Needs only integers; knows no instructions. What original places (bit positions, "columns") and places of the
rewritten program (integer keys, "rows") are, and what tokens, `names.py` says.

A `State` is a set of facts, each true in every thread that gets to this point:

    S[row] has bit x             the row holds the current value of original place x (or is token x)
    C[row][{(p, v), ...}]        the same, but only where each original predicate p is v now
    free has bit x               x was never written: its value is undefined, every row may stand for it
    S[DEFINED] has bit x         x was written on every way here; where it is not, but x is not free either, x was
                                 written on some ways only
    of[x] = token                original place x holds that token
    K has (p, v)                 original predicate p is v (known from the branch taken)

The lattice's order is inclusion of facts closed under their consequences (an unconditional fact implies the
conditional ones; a free x is held everywhere; under K = (p, v) anything may be said of threads where p is not v). The
meet is the intersection of the closures, which stays representable: what one side proves and the other side rules out
by K becomes a conditional fact. Facts are finite and only shrink at a meet, so every fixpoint ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from binalloc.verify.names import DEFINED, PART, WHOLE, Names, const_key, const_of

Cond = tuple[int, bool]
Conds = frozenset[Cond]
Facts = dict[Conds, int]

MAX_LITERALS = 2  # predicates that one conditional fact may depend on
MAX_FACTS = 16  # conditional facts kept for one row


class State:
    """Facts at one program point (see the module). Mutable; `copy` before changing a shared one.

    bits: words in which predicates may be packed, so that their single bits have rows. Inner dicts of C are never
    changed in place, so that copies share them.
    """

    __slots__ = ("C", "K", "S", "bits", "free", "names", "of")

    def __init__(self, names: Names, free: int = 0) -> None:
        self.names = names
        self.S: dict[int, int] = {}
        self.C: dict[int, Facts] = {}
        self.free = free
        self.of: dict[int, int] = {}
        self.K: Conds = frozenset()
        self.bits: frozenset[int] = frozenset()

    def copy(self) -> State:
        other = State(self.names, self.free)
        other.S = dict(self.S)
        other.C = dict(self.C)
        other.of = dict(self.of)
        other.K = self.K
        other.bits = self.bits
        return other

    def frozen(self) -> tuple[object, ...]:
        """A hashable value, equal for equal states."""
        conds = frozenset((k, frozenset(d.items())) for k, d in self.C.items())
        return frozenset(self.S.items()), conds, self.free, frozenset(self.of.items()), self.K

    def same(self, other: State) -> bool:
        return (
            self.free == other.free
            and self.S == other.S
            and self.C == other.C
            and self.K == other.K
            and self.of == other.of
        )

    def find_bits(self) -> None:
        """Set `bits` after rows were put in one by one."""
        self.bits = frozenset(k & WHOLE for k in (*self.S, *self.C) if k & PART)

    # -- questions

    def held(self, key: int) -> int:
        """Bits of what the row holds in every thread."""
        return self.S.get(key, 0) | self.free

    def holds(self, key: int, x: int) -> bool:
        return bool(self.held(key) >> x & 1)

    def defined(self, x: int) -> bool:
        """Whether the original has written place x on every way."""
        return bool(self.S.get(DEFINED, 0) >> x & 1)

    # -- rows: what the rewritten program does

    def clear_row(self, key: int) -> None:
        """The place was overwritten with something unknown."""
        self.S.pop(key, None)
        if self.C:
            self.C.pop(key, None)
        if key in self.bits:
            for k in range(key + 1, key + PART + 1):
                self.S.pop(k, None)
                self.C.pop(k, None)
            self.bits -= {key}

    def set_row(self, key: int, mask: int) -> None:
        self.clear_row(key)
        if mask:
            self.S[key] = mask

    def copy_row(self, dst: int, src: int) -> None:
        """The place took the value of another, with the bits packed in it."""
        if dst == src:
            return
        self._copy_one(dst, src)
        if dst in self.bits or src in self.bits:
            for sub in range(1, PART + 1):
                self._copy_one(dst + sub, src + sub)
            self.bits = self.bits | {dst} if src in self.bits else self.bits - {dst}

    def pack_row(self, dst: int, src: int | None, moved: Iterable[tuple[int, int]]) -> None:
        """The place took the bits of another (None: zeros), with some bits replaced: (bit, predicate's row) each."""
        if src is None:
            self.clear_row(dst)
        else:
            self.copy_row(dst, src)
        self.S.pop(dst, None)
        self.C.pop(dst, None)
        for bit, key in moved:
            self._copy_one(dst + 1 + bit, key)
        self.bits |= {dst}

    def unpack_row(self, dst: int, src: int, bit: int) -> None:
        """A predicate took one bit of a word."""
        self._copy_one(dst, src + 1 + bit)

    def _copy_one(self, dst: int, src: int) -> None:
        value = self.S.get(src)
        if value:
            self.S[dst] = value
        else:
            self.S.pop(dst, None)
        if self.C:
            cond = self.C.get(src)
            if cond:
                self.C[dst] = cond
            else:
                self.C.pop(dst, None)

    def constant_row(self, key: int, token: int) -> None:
        """The place took a constant: it holds the token and every original place known to equal it."""
        mask = 1 << token
        for x, t in self.of.items():
            if t == token:
                mask |= 1 << x
        self.clear_row(key)
        self._copy_one(key, const_key(token))
        self.add(key, mask)

    # -- columns: what the original does

    def kill(self, mask: int) -> None:
        """The original wrote these places: new values that no row is known to hold."""
        keep = ~mask
        rows = self.S
        for k, s in [(k, s) for k, s in rows.items() if s & mask]:
            if s & keep:
                rows[k] = s & keep
            else:
                del rows[k]
        for k, d in list(self.C.items()):
            self._store_cond(k, {c: m & keep for c, m in d.items() if m & keep})
        self.free &= keep
        for x in [x for x in self.of if mask >> x & 1]:
            del self.of[x]
        self.drop_conds(mask)
        self.add(DEFINED, mask)

    def drop_conds(self, mask: int) -> None:
        """Predicates in `mask` changed: what was known under their old value is lost."""
        if self.K:
            self.K = frozenset(c for c in self.K if not mask >> c[0] & 1)
        for k, d in list(self.C.items()):
            if any(mask >> p & 1 for cs in d for p, _ in cs):
                self._store_cond(k, {cs: m for cs, m in d.items() if not any(mask >> p & 1 for p, _ in cs)})

    def add(self, key: int, mask: int) -> None:
        """The row holds these too."""
        if mask:
            self.S[key] = self.S.get(key, 0) | mask

    def copy_column(self, x: int, y: int) -> None:
        """Original place x took the value of y (a place or a token)."""
        if x == y:
            return
        self.copy_columns([(x, y)])

    def copy_columns(self, moves: list[tuple[int, int]]) -> None:
        """Parallel assignment of original places: x := y for each (x, y); where two assign one place, the later."""
        moves = [(x, y) for x, y in dict(moves).items() if x != y]
        if not moves:
            return
        clear = 0
        for x, _ in moves:
            clear |= 1 << x
        concerned = clear
        first_token = self.names.places.bit_length()
        for _, y in moves:
            concerned |= 1 << y
            if y >= first_token:
                self.add(const_key(y), 1 << y)
                self.add(DEFINED, 1 << y)
        for k, s in [(k, s) for k, s in self.S.items() if s & concerned]:
            mask = _moved(s, clear, moves)
            if mask:
                self.S[k] = mask
            else:
                del self.S[k]
        for k, d in list(self.C.items()):
            changed = {c: _moved(m, clear, moves) for c, m in d.items()}
            self._store_cond(k, {c: m for c, m in changed.items() if m})
        self.free = _moved(self.free, clear, moves)
        values = [(x, y if y >= first_token else self.of.get(y)) for x, y in moves]
        for x, value in values:
            if value is None:
                self.of.pop(x, None)
            else:
                self.of[x] = value
        self.drop_conds(clear)

    # -- branches and joins

    def refine(self, conds: Iterable[Cond]) -> None:
        """These predicates are known here."""
        conds = tuple(conds)
        if not conds:
            return
        self.K = self.K | frozenset(conds)
        known = self.K
        for k, d in list(self.C.items()):
            if any(cs & known for cs in d):
                changed: Facts = {}
                for cs, m in d.items():
                    rest = cs - known
                    changed[rest] = changed.get(rest, 0) | m
                always = changed.pop(frozenset(), 0)
                if always:
                    self.S[k] = self.S.get(k, 0) | always
                self._store_cond(k, changed)

    def _store_cond(self, key: int, d: Facts) -> None:
        if d:
            self.C[key] = d
        else:
            self.C.pop(key, None)


def _moved(mask: int, clear: int, moves: list[tuple[int, int]]) -> int:
    out = mask & ~clear
    for x, y in moves:
        if mask >> y & 1:
            out |= 1 << x
    return out


def meet(a: State, b: State) -> State:
    """The facts that hold in both (see the module)."""
    out = State(a.names, a.free & b.free)
    rows, other, free_a, free_b = a.S, b.S, a.free, b.free
    known = ~out.free
    plain = not a.C and not b.C and not a.K and not b.K
    keys = rows.keys() | other.keys()
    if a.C or b.C:
        keys = keys | a.C.keys() | b.C.keys()
    for k in keys:
        x, y = rows.get(k, 0), other.get(k, 0)
        if k != DEFINED:
            x, y = x | free_a, y | free_b
        token = const_of(k)
        if token is not None:
            x, y = x | 1 << token, y | 1 << token
        both = x & y & known
        if both:
            out.S[k] = both
        if plain:
            continue
        left, right = a.C.get(k, _NO_CONDS), b.C.get(k, _NO_CONDS)
        if x == y and left == right:
            if left:
                out.C[k] = left
            continue
        conds = _meet_conds(a, b, left, right, x, y, known & ~both)
        if conds:
            out.C[k] = conds
    out.K = a.K & b.K
    out.bits = a.bits | b.bits
    out.of = {x: t for x, t in a.of.items() if b.of.get(x) == t or b.free >> x & 1}
    out.of.update({x: t for x, t in b.of.items() if a.free >> x & 1})
    return out


_NO_CONDS: Facts = {}


def _meet_conds(a: State, b: State, ca: Facts, cb: Facts, x: int, y: int, keep: int) -> Facts:
    """Conditional facts of one row; ca, cb: those of either side; x, y: what the row holds there unconditionally.

    keep: bits worth keeping. Considers the conditions of either side, joined with each other and with what one side
    rules out.
    """
    mine, theirs = {frozenset[Cond](): x, **ca}, {frozenset[Cond](): y, **cb}
    candidates: set[Conds] = {p | q for p in mine for q in theirs}
    candidates.update(cs | {(p, not v)} for cs in mine for p, v in b.K)
    candidates.update(cs | {(p, not v)} for cs in theirs for p, v in a.K)
    out: Facts = {}
    for cs in sorted(candidates, key=lambda c: (len(c), sorted(c))):
        if not 0 < len(cs) <= MAX_LITERALS or any((p, not v) in cs for p, v in cs):
            continue
        left, right = _under(a, mine, cs), _under(b, theirs, cs)
        if left is None and right is None:
            continue
        # An undefined value under a condition helps nobody, and would put conditions on every row.
        mask = (right or 0) & ~b.free if left is None else left & ~a.free if right is None else left & right
        mask &= keep
        for smaller, m in out.items():
            if smaller <= cs:
                mask &= ~m
        if mask and len(out) < MAX_FACTS:
            out[cs] = mask
    return out


def _under(state: State, facts: Facts, cs: Conds) -> int | None:
    """What a row holds where `cs` is true; None (anything) if the state rules that out."""
    if any((p, not v) in state.K for p, v in cs):
        return None
    given = cs | state.K
    mask = 0
    for conds, m in facts.items():
        if conds <= given:
            mask |= m
    return mask
