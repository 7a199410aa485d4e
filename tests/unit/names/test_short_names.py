"""Names of kernels in tables: demangled, and short enough."""

from __future__ import annotations

import pytest

from binalloc.names.short import MOST, short_name


@pytest.mark.parametrize(
    ("name", "short"),
    [("k", "k"), ("_Z1kPf", "k"), ("_ZN2ns1kIfLi4EEEvPT_", "ns::k<float, 4>"), ("a" * 64, "a" * 64)],
)
def test_short_names_stay(name: str, short: str) -> None:
    assert short_name(name) == short


def test_template_arguments_go_first_then_scopes_then_the_middle() -> None:
    scope, deep = "n" * 30, "1S" + "I1S" * 30 + "If" + "E" * 31
    assert short_name(f"_ZN30{scope}1kI{deep}EEvv") in (f"{scope}::k<...>", "k<...>")
    assert short_name(f"_ZN70{'n' * 70}1kIfEEvv") == "k<...>"
    long = "k" * 1000
    for name in (long, f"_Z1000{long}v", f"_ZN1000{'n' * 1000}1000{long}Ev"):
        assert len(short_name(name)) == MOST
        assert short_name(name).startswith("kk")
        assert "..." in short_name(name)
