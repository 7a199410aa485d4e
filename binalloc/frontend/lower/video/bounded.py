"""This module computes with integers of up to 64 bits whose range is known: one word where it holds the range, else a
pair.

Sums, comparisons and limits of `BoundedValue`s are exact as long as the result fits 64 bits. The caller must make sure
of that."""

from __future__ import annotations

from dataclasses import dataclass

from binalloc.frontend.emitter import Source
from binalloc.frontend.ir import PT
from binalloc.frontend.lower.arithmetic import wide
from binalloc.frontend.lower.context.context import Context


@dataclass(frozen=True)
class BoundedValue:
    """A number is an integer value in least..most."""

    #: (low word,), unsigned where least >= 0 and signed else, or (low, high) in two's complement
    words: tuple[Source, ...]
    least: int
    most: int

    @property
    def low(self) -> Source:
        return self.words[0]


def limits(bits: int, *, signed: bool) -> tuple[int, int]:
    """Return (least, most) of an integer type."""
    return (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def word(source: Source, *, signed: bool) -> BoundedValue:
    """Return a whole word as a Number."""
    return BoundedValue((source,), *limits(32, signed=signed))


def one_word(least: int, most: int) -> bool:
    """Return whether a word holds the range. It is signed where `least` is negative."""
    low, high = limits(32, signed=least < 0)
    return low <= least and most <= high


def both_words(ctx: Context, a: BoundedValue) -> wide.Wide:
    """Return the value in 64 bits."""
    if len(a.words) == 2:
        return a.words[0], a.words[1]
    return a.low, wide.sign_of(ctx, a.low) if a.least < 0 else wide.ZERO[1]


def _common(a: BoundedValue, b: BoundedValue) -> bool | None:
    """Return whether words of both can be read as signed (True) or as unsigned (False); None if neither."""
    if one_word(min(a.least, b.least), max(a.most, b.most)):
        return min(a.least, b.least) < 0
    return None


def add(ctx: Context, a: BoundedValue, b: BoundedValue, *, negative: bool = False) -> BoundedValue:
    """Return a + b, or a - b."""
    least, most = (a.least - b.most, a.most - b.least) if negative else (a.least + b.least, a.most + b.most)
    if one_word(least, most):
        out = ctx.b.new()
        ctx.b.emit("IADD3", rd=out, a=ctx.b.unit(a.low), b=b.low, c=wide.ZERO[0], negb=int(negative))
        return BoundedValue((out,), least, most)
    pair = ctx.b.new(2)
    wide.add(ctx, pair, both_words(ctx, a), both_words(ctx, b), negb=int(negative))
    return BoundedValue(wide.value(pair), least, most)


def extreme(ctx: Context, a: BoundedValue, b: BoundedValue, *, smaller: bool) -> BoundedValue:
    """Return the smaller or the larger value."""
    choose = min if smaller else max
    least, most = choose(a.least, b.least), choose(a.most, b.most)
    signed = _common(a, b)
    if signed is not None:
        out = ctx.b.new()
        one = ctx.b.unit(a.low)
        ctx.b.emit("IMNMX", rd=out, a=one, b=b.low, ps0=PT, ps0n=int(not smaller), u32=int(not signed))
        return BoundedValue((out,), least, most)
    pair = ctx.b.new(2)
    wide.extreme(ctx, pair, both_words(ctx, a), both_words(ctx, b), signed=True, smaller=smaller)
    return BoundedValue(wide.value(pair)[: 1 if one_word(least, most) else 2], least, most)


def distance(ctx: Context, a: BoundedValue, b: BoundedValue) -> BoundedValue:
    """Return |a - b|."""
    most = max(a.most - b.least, b.most - a.least, 0)
    if _common(a, b) is not None:
        larger, smaller = extreme(ctx, a, b, smaller=False), extreme(ctx, a, b, smaller=True)
        out = ctx.b.new()
        ctx.b.emit("IADD3", rd=out, a=larger.low, b=smaller.low, c=wide.ZERO[0], negb=1)
        return BoundedValue((out,), 0, most)
    gap, pair, less = add(ctx, a, b, negative=True), ctx.b.new(2), ctx.b.predicate()
    opposite = ctx.b.new(2)
    words = both_words(ctx, gap)
    wide.negate(ctx, opposite, words)
    ctx.b.emit("ISETP", pd0=less, a=ctx.b.unit(words[1]), b=wide.ZERO[1], icmp="LT")
    wide.select(ctx, pair, wide.value(opposite), words, (less, 0))
    return BoundedValue(wide.value(pair), 0, most)


def compared(ctx: Context, a: BoundedValue, b: BoundedValue, icmp: str) -> int:
    """Return a predicate: a icmp b."""
    out, signed = ctx.b.predicate(), _common(a, b)
    if signed is not None:
        ctx.b.emit("ISETP", pd0=out, a=ctx.b.unit(a.low), b=b.low, icmp=icmp, u32cmp=int(not signed))
    else:
        wide.compare(ctx, icmp, both_words(ctx, a), both_words(ctx, b), signed=True, pd0=out)
    return out


def clamped(ctx: Context, a: BoundedValue, least: int, most: int) -> BoundedValue:
    """Return a, limited to a range that a word holds."""
    for bound, smaller, needed in ((least, False, a.least < least), (most, True, a.most > most)):
        if needed:
            words = wide.constant(bound)
            a = extreme(
                ctx, a, BoundedValue(words[: 1 if one_word(bound, bound) else 2], bound, bound), smaller=smaller
            )
    return a


def narrowed(ctx: Context, a: BoundedValue, bits: int) -> BoundedValue:
    """Return a modulo 2^bits, read as signed; 33 <= bits <= 63."""
    least, most = limits(bits, signed=True)
    if least <= a.least and a.most <= most:
        return a
    low, high = both_words(ctx, a)
    up, down, by = ctx.b.new(), ctx.b.new(), wide.constant(64 - bits)[0]
    ctx.b.emit("SHF", rd=up, a=ctx.b.unit(high), b=by, c=wide.ZERO[0], dir="L")
    ctx.b.emit("SHF", rd=down, a=wide.ZERO[0], b=by, c=up, dir="R", stype="S32", hi=1)
    return BoundedValue((low, down), least, most)
