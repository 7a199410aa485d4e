"""Orders of the parts of an address: what machine files may state, and what is refused."""

from __future__ import annotations

import pytest

from binalloc.models.dram.addresses import Digit, WrongOrder, read_order, usual_orders


def test_the_paper_s_two_orders() -> None:
    spread = read_order("row bank column:4 channel column:8", 4, 16, 4096)
    assert spread.digits == (
        Digit("column", 2, 1), Digit("channel", 4, 1), Digit("column", 16, 2), Digit("bank", 16, 1),
    )  # fmt: skip
    together = read_order("row bank channel column", 4, 16, 4096)
    assert together.digits == (Digit("column", 32, 1), Digit("channel", 4, 1), Digit("bank", 16, 1))


def test_the_usual_orders_are_these() -> None:
    assert usual_orders(256) == ("row bank column channel column:8", "row bank channel column")
    texts = ("row bank column:4 channel column:8", usual_orders(256)[0])
    one, other = (read_order(text, 4, 16, 4096) for text in texts)
    assert one == other


def test_a_row_may_have_bits_further_down() -> None:
    order = read_order("row bank:2 row:3 bank channel column", 4, 16, 4096)
    assert order.row_weight == 8
    assert [d for d in order.digits if d.part == "row"] == [Digit("row", 8, 1)]
    assert [d for d in order.digits if d.part == "bank"] == [Digit("bank", 4, 1), Digit("bank", 4, 4)]


def test_channels_that_are_no_power_of_two_are_one_part() -> None:
    assert Digit("channel", 6, 1) in read_order("row bank column channel column:8", 6, 16, 2048).digits
    with pytest.raises(WrongOrder, match="come twice"):
        read_order("row bank channel:2 column", 6, 16, 2048)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "the row is not first"),
        ("bank row channel column", "the row is not first"),
        ("row:4 bank channel column", "the row is not first"),
        ("row row bank channel column", "the row comes twice"),
        ("row channel column", "bits of bank are missing"),
        ("row bank column", "bits of channel are missing"),
        ("row bank channel column:8", "bits of column are missing"),
        ("row bank bank channel column", "bits of bank come twice"),
        ("row column bank channel column", "bits of column come twice"),
        ("row bank channel:3 column", "bits of channel come twice"),
        ("row column:4 channel column bank", "the bytes of a line are apart"),
        ("row column channel bank column:6", "the bytes of a line are apart"),
        ("row bank channel column:0", "no number of bits"),
        ("row bank channel column:x", "no number of bits"),
        ("row bank channel column:99999999999", "no number of bits"),
        ("row" + " row:1" * 30 + " bank channel column", "too many parts"),
        ("row row:20 bank row:20 channel column", "too many parts"),
        ("row rank bank channel column", "an unknown part"),
    ],
)
def test_bits_that_are_missing_or_come_twice_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(WrongOrder, match=wrong):
        read_order(text, 4, 16, 4096)
