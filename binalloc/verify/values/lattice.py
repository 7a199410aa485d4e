"""This module defines the abstract state of the checker: which original value each place of the rewritten program
holds.

Needs only integers; knows no instructions. `names.py` explains original values ("columns"), places of the rewritten
program (integer keys, "rows") and tokens.

A `State` is a set of facts, each true in every thread that gets to this point:

    S[row] has x                 the row holds original value x (or token x), in threads where x was written
    C[row][{(p, v), ...}]        the same, but only in threads where each original predicate p is v now
    free has x                   x was never written: its value is undefined, and every row may stand for it
    doubt has x, S[DEFINED] not  x was not written on every way here; if it is not free either, it was on some way
    C[UNWRITTEN][{...}] has x    x is free in the threads where this condition holds
    of[x] = token                original value x is that token, and the token's row holds x
    K has (p, v)                 original predicate p is v (known from the branch taken, or the guard of the call)

`meet.py` says how facts of two ways meet. A token computed from values stands for the operation's result on their
*current* values: when one of them is written, all facts about the token are forgotten.

Sets of names are small and shared, so that a state is a few dictionaries. `where` leads from a name to the rows of S
that hold it. `named` leads to the rows of C whose facts name it. So the cost of a step depends on its changes, not on
the size of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from binalloc.verify.reading.names import DEFINED, PART, TRUTH, UNWRITTEN, WHOLE, Names, const_key, const_of, is_token
from binalloc.verify.values.conditions import (
    NO_FACTS,
    NONE,
    Cond,
    Conds,
    Facts,
    Set,
    depends,
    everywhere,
    mentioned,
    refined,
    ways_of,
)


class State:
    """A state is the set of facts at one program point (see the module). It is mutable; `copy` before changing a shared
    one.

    bits: words that have parts, so that the predicates packed in them have rows. Inner dicts of C are never changed in
    place, so that copies share them. touched: the rows that were changed, if somebody wants to know; else None.
    """

    __slots__ = ("C", "K", "S", "bits", "doubt", "free", "named", "names", "of", "touched", "where")

    def __init__(self, names: Names, free: Set = NONE) -> None:
        self.names = names
        self.S: dict[int, Set] = {}
        self.C: dict[int, Facts] = {}
        self.where: dict[int, Set] = {}
        self.named: dict[int, Set] = {}
        self.free = free
        self.doubt = free
        self.of: dict[int, int] = {}
        self.K: Conds = frozenset()
        self.bits: Set = NONE
        self.touched: set[int] | None = None

    def copy(self) -> State:
        other = State.__new__(State)
        other.names = self.names
        other.S = self.S.copy()
        other.C = self.C.copy()
        other.where = self.where.copy()
        other.named = self.named.copy()
        other.free, other.doubt = self.free, self.doubt
        other.of = self.of.copy()
        other.K = self.K
        other.bits = self.bits
        other.touched = None
        return other

    def frozen(self) -> tuple[object, ...]:
        """Return a hashable value, equal for equal states."""
        conds = frozenset((k, frozenset(d.items())) for k, d in self.C.items())
        return frozenset(self.S.items()), conds, self.free, self.doubt, frozenset(self.of.items()), self.K

    def same(self, other: State) -> bool:
        return (
            self.S == other.S
            and self.free == other.free
            and self.doubt == other.doubt
            and self.C == other.C
            and self.K == other.K
            and self.of == other.of
        )

    def find_bits(self) -> None:
        """Set `bits`, `where` and `named` after rows were put in one by one."""
        self.bits = frozenset(k & WHOLE for k in (*self.S, *self.C) if k & PART)
        where: dict[int, set[int]] = {}
        for key, values in self.S.items():
            for x in values:
                where.setdefault(x, set()).add(key)
        self.where = {x: frozenset(keys) for x, keys in where.items()}
        self.find_named()

    def find_named(self) -> None:
        """Set `named` after facts were put in one by one."""
        named: dict[int, set[int]] = {}
        for key, facts in self.C.items():
            for x in mentioned(facts):
                named.setdefault(x, set()).add(key)
        self.named = {x: frozenset(keys) for x, keys in named.items()}

    # -- questions

    def row(self, key: int) -> Set:
        """Return what the row is known to hold in every thread, besides what is free."""
        return self.S.get(key, NONE)

    def defined(self, x: int) -> bool:
        """Return whether the original has written value x on every way."""
        return x not in self.doubt or x in self.S.get(DEFINED, NONE)

    def naming(self, names: Iterable[int]) -> Set:
        """Return the rows of C with facts that name one of these, or depend on it."""
        named = self.named
        found = [named[x] for x in names if x in named]
        return found[0].union(*found[1:]) if found else NONE

    def sure(self, x: int) -> bool:
        """Return whether x is one value wherever it is read: a token, or written."""
        return is_token(x) or (x not in self.free and self.defined(x))

    def equal(self, one: int, other: int) -> bool:
        """Return whether the two rows hold the same, whatever it is."""
        return one == other or any(map(self.sure, self.row(one) & self.row(other)))

    def equals(self, token: int) -> bool:
        """Return whether some original value is known to be that token, so that the original has computed it."""
        return any(map(self.sure, self.S.get(const_key(token), NONE)))

    # -- rows: what the rewritten program does

    def put(self, key: int, values: Set) -> None:
        """Set the row to exactly these; S and `where` are changed nowhere else."""
        where = self.where
        old = self.S.get(key, NONE)
        if old is values or old == values:
            return
        if self.touched is not None:
            self.touched.add(key)
        for x in old - values if values else old:
            rest = where[x] - {key}
            if rest:
                where[x] = rest
            else:
                del where[x]
        for x in values - old if old else values:
            rows = where.get(x)
            where[x] = frozenset((key,)) if rows is None else rows | {key}
        if values:
            self.S[key] = values
        else:
            del self.S[key]

    def clear_row(self, key: int) -> None:
        """Record that the place was overwritten with something unknown."""
        if key in self.S:
            self.put(key, NONE)
        if key in self.C:
            self.put_facts(key, NO_FACTS)
        if key in self.bits:
            for k in range(key + 1, key + TRUTH + 1):
                self.put(k, NONE)
                self.put_facts(k, NO_FACTS)
            self.bits -= {key}

    def set_row(self, key: int, values: Set) -> None:
        self.clear_row(key)
        self.put(key, values)

    def copy_row(self, dst: int, src: int) -> None:
        """Record that the place took the value of another, with the parts packed in it."""
        if dst == src:
            return
        self._copy_one(dst, src)
        if dst in self.bits or src in self.bits:
            for sub in range(1, TRUTH + 1):
                self._copy_one(dst + sub, src + sub)
            self.bits = self.bits | {dst} if src in self.bits else self.bits - {dst}

    def exchange_rows(self, one: int, other: int) -> None:
        """Record that two places took each other's values, with the parts packed in them."""
        subs = range(TRUTH + 1) if one in self.bits or other in self.bits else range(1)
        for sub in subs:
            a, b = one + sub, other + sub
            mine, theirs = self.S.get(a, NONE), self.S.get(b, NONE)
            self.put(a, theirs)
            self.put(b, mine)
            if self.C:
                conds = self.C.get(a), self.C.get(b)
                self.put_facts(a, conds[1] or {})
                self.put_facts(b, conds[0] or {})
        swapped = {one: other, other: one}
        self.bits = frozenset(swapped.get(k, k) for k in self.bits)

    def pack_row(self, dst: int, src: int | None, moved: Iterable[tuple[int, int]]) -> None:
        """Record that the place took the bits of another (None: zeros), with some parts replaced: (part - 1,
        predicate's row) each. Whether it differs from zero is no longer known, unless that is among them."""
        if src is None:
            self.clear_row(dst)
        else:
            self.copy_row(dst, src)
        for part in (dst, dst + TRUTH):
            self.put(part, NONE)
            self.put_facts(part, NO_FACTS)
        for bit, key in moved:
            self._copy_one(dst + 1 + bit, key)
        self.bits |= {dst}

    def note_truth(self, dst: int, src: int) -> None:
        """Record that the word differs from zero exactly where the predicate holds."""
        self._copy_one(dst + TRUTH, src)
        self.bits |= {dst}

    def unpack_row(self, dst: int, src: int, bit: int) -> None:
        """Record that a predicate took one part of a word."""
        self._copy_one(dst, src + 1 + bit)

    def _copy_one(self, dst: int, src: int) -> None:
        self.put(dst, self.S.get(src, NONE))
        if self.C:
            self.put_facts(dst, self.C.get(src, NO_FACTS))

    def value_row(self, key: int, tokens: Iterable[int]) -> None:
        """Record that the place took a value that is each of these tokens: it holds them and all original values known
        to equal one of them."""
        found: set[int] = set()
        conds: Facts = {}
        for t in tokens:
            found.add(t)
            found |= self.S.get(const_key(t), NONE)
            for cs, xs in self.C.get(const_key(t), NO_FACTS).items():
                conds[cs] = conds.get(cs, NONE) | xs
        self.clear_row(key)
        self.put(key, frozenset(found))
        if conds:
            self.put_facts(key, conds)

    # -- columns: what the original does

    def kill(self, values: Iterable[int]) -> None:
        """Record that the original wrote these: new values that no row is known to hold."""
        gone = frozenset(values)
        for x in gone:
            rows = self.where.get(x)
            if rows is not None:
                for k in rows:
                    self.put(k, self.S[k] - {x})
            self.of.pop(x, None)
        self.forget_made(gone)
        if self.C:
            self.forget(gone)
        if self.free:
            self.free -= gone
        self.drop_conds(gone)
        if self.doubt:
            self.add(DEFINED, self.doubt & gone)

    def forget(self, gone: Set) -> None:
        """Forget that rows hold these under a condition."""
        for k in self.naming(gone):
            self.put_facts(k, {cs: left for cs, xs in self.C[k].items() if (left := xs - gone)})

    def forget_made(self, written: Set) -> None:
        """Forget the tokens computed from the values written."""
        mentions = self.names.mentions
        if not mentions:
            return
        tokens = {t for x in written if x in mentions for t in self._made_of(x)}
        of = self.of
        for t in tokens:
            for k in self.where.get(t, NONE):
                self.put(k, self.S[k] - {t})
            key = const_key(t)
            for x in self.S.get(key, NONE):  # all that are said to be the token
                if of.get(x) == t:
                    del of[x]
            self.put(key, NONE)
            self.put_facts(key, NO_FACTS)
        if tokens and self.C:
            self.forget(frozenset(tokens))

    def _made_of(self, x: int) -> Iterable[int]:
        """Return the tokens computed from x, at least those in some fact; a local word that is often written has many
        more."""
        made, leaves = self.names.mentions[x], self.names.leaves
        if len(made) <= len(self.where) + len(self.S):
            return made
        rows = [t for k in (*self.S, *self.C) if (t := const_of(k)) is not None]
        return [t for t in (*self.where, *self.named, *rows) if t in leaves and x in leaves[t]]

    def drop_conds(self, values: Set) -> None:
        """Forget facts under the old values of the predicates among `values`, which have changed."""
        if self.C:
            self.keep_written(values)
        if self.K and any(p in values for p, _ in self.K):
            self.K = frozenset(c for c in self.K if c[0] not in values)
        if self.C:
            for k in self.naming(values):
                d = self.C[k]
                if depends(d, values):
                    self.put_facts(k, {cs: xs for cs, xs in d.items() if not any(p in values for p, _ in cs)})

    def keep_written(self, changed: Set | None = None) -> None:
        """Keep what rows hold wherever somebody wrote it (`unwritten.py`), although predicates in its conditions
        change. changed: those predicates, None for all."""
        unwritten = self.C.get(UNWRITTEN, NO_FACTS)
        for x in NONE.union(*unwritten.values()):
            free = ways_of(unwritten, x)
            for k in self.named.get(x, NONE) - {UNWRITTEN, DEFINED}:
                ways = [*ways_of(self.C[k], x), *free]
                concerned = len(ways) > len(free) and (changed is None or depends(ways, changed))
                if concerned and everywhere(ways, self.K):
                    self.add(k, frozenset((x,)))

    def add(self, key: int, values: Set) -> None:
        """Add these to what the row holds."""
        if values:
            self.put(key, self.S.get(key, NONE) | values)

    def copy_columns(self, moves: Iterable[tuple[int, int]]) -> None:
        """Assign original values in parallel: x := y for each (x, y), y a value or a token; where two assign one, the
        later counts."""
        todo = {x: y for x, y in dict(moves).items() if x != y}
        if not todo:
            return
        readers: dict[int, list[int]] = {}
        for x, y in todo.items():
            readers.setdefault(y, []).append(x)
        clear = frozenset(todo)

        def moved(values: Set) -> Set:
            taken = [x for y in values if y in readers for x in readers[y]]
            return (values - clear).union(taken)

        rows = {k for x in (*todo, *readers) for k in self.where.get(x, NONE)}
        tokens = {const_key(y): xs for y, xs in readers.items() if is_token(y)}
        changed = {k: moved(self.S[k]) for k in rows}
        for k, xs in tokens.items():
            changed[k] = changed.get(k, self.S.get(k, NONE)).union(xs)
        self._written(todo, changed)
        values = [(x, y if is_token(y) else self.of.get(y)) for x, y in todo.items()]
        for k, s in changed.items():
            self.put(k, s)
        if self.C:
            self._move_conds(moved, (*todo, *readers))
        if self.free:
            self.free = moved(self.free)
        for x, value in values:
            if value is None:
                self.of.pop(x, None)
            else:
                self.of[x] = value
        self.forget_made(clear)
        self.drop_conds(clear)

    def _written(self, todo: dict[int, int], changed: dict[int, Set]) -> None:
        """Set DEFINED and `doubt` for copies: a copy is in doubt if its source was not written on every way."""
        before = self.doubt
        if not before:
            return
        known = self.S.get(DEFINED, NONE)
        unsure = frozenset([x for x, y in todo.items() if y in before and y not in known])
        if not unsure <= before:
            self.doubt = before | unsure
        changed[DEFINED] = known.difference(todo).union([x for x in todo if x in before and x not in unsure])

    def _move_conds(self, moved: Callable[[Set], Set], names: Iterable[int]) -> None:
        for k in self.naming(names):
            d = self.C[k]
            new = {cs: moved(xs) for cs, xs in d.items()}
            if new != d:
                self.put_facts(k, {cs: xs for cs, xs in new.items() if xs})

    def equate(self, x: int, token: int) -> None:
        """Record that original value x was just written, and is that token: rows that hold one hold the other."""
        if token in self.names.leaves and x in self.names.leaves[token]:
            return
        holders, others = self.where.get(x, NONE), self.where.get(token, NONE)
        for k in holders:
            if k != DEFINED and const_of(k) is None:
                self.put(k, self.S[k] | {token})
        for k in (*others, const_key(token)):
            self.put(k, self.S.get(k, NONE) | {x})
        for k in self.named.get(token, NONE):
            d = self.C[k]
            if any(token in xs for xs in d.values()):
                self.put_facts(k, {cs: xs | {x} if token in xs else xs for cs, xs in d.items()})
        self.of[x] = token

    # -- branches and joins

    def refine(self, conds: Iterable[Cond]) -> None:
        """Record that these predicates are known here; values that are unwritten where they hold are free from
        now on."""
        conds = tuple(conds)
        if not conds:
            return
        self.K = self.K | frozenset(conds)
        for k in self.naming(p for p, _ in self.K) if self.C else ():
            d = self.C[k]
            if any(not cs.isdisjoint(self.K) for cs in d):
                always, rest = refined(d, self.K)
                self.add(k, always)
                self.put_facts(k, rest)
        unwritten = self.S.get(UNWRITTEN)
        if unwritten:
            self.free |= unwritten
            self.put(UNWRITTEN, NONE)

    def put_facts(self, key: int, d: Facts) -> None:
        """Set the row's conditional facts to exactly these; C and `named` are changed nowhere else."""
        old = self.C.get(key, NO_FACTS)
        if not d and not old:
            return
        if self.touched is not None:
            self.touched.add(key)
        if d is old:
            return
        named, before, after = self.named, mentioned(old), mentioned(d)
        for x in before - after:
            rest = named[x] - {key}
            if rest:
                named[x] = rest
            else:
                del named[x]
        for x in after - before:
            rows = named.get(x)
            named[x] = frozenset((key,)) if rows is None else rows | {key}
        if d:
            self.C[key] = d
        else:
            del self.C[key]
