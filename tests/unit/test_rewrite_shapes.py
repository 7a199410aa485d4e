"""Small programs whose rewrites once went wrong or could: what the rewriter leaves of them."""

from __future__ import annotations

from binalloc.transform.rewrite import rewrite
from binalloc.verify.checker import check
from tests.pair_text import module


def test_two_reconvergence_points_become_one_where_the_code_between_them_is_lifted_away() -> None:
    original = module("""
.kernel k registers=8 local_bytes=16
S2R rd=0 sreg=0
MOV rd=2 form=2 cbank=0 coff=0
MOV rd=3 form=2 cbank=0 coff=4
ISETP pd0=0 ra=0 form=1 imm=5 icmp=1
ISETP pd0=1 ra=0 form=1 imm=9 icmp=1
@P0 BRA ->outer ^outer
@P1 BRA ->inner ^inner
STG ra=2 rb=0 width=4
inner:
STL rb=0 moff=4 width=4
outer:
STG ra=2 rb=0 moff=4 width=4
EXIT
""")
    rewritten = rewrite(original, "k", 8, 0)
    fn = rewritten.function("k")
    points = [p for i in range(len(fn.instrs)) if (p := fn.reconvergence(i)) is not None]
    assert len(points) == 2
    assert len(set(points)) == 1
    report = check(original, rewritten, "k")
    assert report.ok, str(report)
