"""The limits of `verify`: how much slower, and how much local memory, a rewritten kernel may have."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from binalloc.errors import UsageError
from binalloc.pipeline.limits import in_percent, most_cycles, parse_share
from binalloc.report.verify import render_verification
from tests.support.kits.cli import call, launch, loom, refused
from tests.support.ptx.bounded import bounded


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> str:
    """callchain with so few registers that its values lie in local memory."""
    path = str(tmp_path_factory.mktemp("limits") / "few.loom")
    assert call("rewrite", loom("callchain"), "--registers", "6", "--slots", "0", *launch("callchain")[:2],
                "--no-emulate", "-o", path).code == 0  # fmt: skip
    return path


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> str:
    """callchain whose every instruction waits as long as a stall count can say."""
    path = tmp_path_factory.mktemp("limits") / "slow.loom"
    text = re.sub(r"stall:\d+", "stall:15", call("disasm", loom("callchain")).out)
    path.write_bytes(call("asm", "-", stdin=text.encode()).raw)
    return str(path)


def verified(rewritten: str, *limits: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON and text of one question."""
    answer = call("verify", loom("callchain"), rewritten, *launch("callchain"), *limits, "--json")
    return answer.code, answer.json, render_verification(answer.json)


def test_local_memory_beyond_its_limit_is_a_no_of_its_own(rewritten: str) -> None:
    code, found, text = verified(rewritten, "--max-local-bytes", "0")
    (row,) = found["limits"]
    assert (code, found["verified"], found["within_limits"]) == (1, True, False)
    assert (row["kernel"], row["counter"], row["original"], row["limit"]) == ("callchain", "local_bytes", 48, 0)
    sentence = f"callchain: {row['found']} bytes of local memory per thread, frame and spills, the original 48; limit 0"
    assert found["exceeded"] == [sentence]
    assert f"limit exceeded: {sentence}\n" in text
    code, found, text = verified(rewritten, "--max-local-bytes", str(row["found"]))
    assert (code, found["within_limits"], found["exceeded"]) == (0, True, [])
    assert f"limits kept: callchain local_bytes {row['found']} of at most {row['found']}\n" in text


def test_local_memory_is_limited_without_a_launch_too(rewritten: str) -> None:
    answer = call("verify", loom("callchain"), rewritten, "--max-local-bytes", "0")
    assert answer.code == 1
    assert "limit exceeded: callchain: " in answer.out
    assert call("verify", loom("callchain"), rewritten).code == 0


def test_a_slower_kernel_fails_with_its_cycles_and_the_limit(slow: str) -> None:
    code, found, _ = verified(slow)
    before, after = found["cycles"]["original"], found["cycles"]["rewritten"]
    assert (code, found["verified"], found["within_limits"], found["limits"]) == (0, True, None, [])
    assert after > before * 1.02, "else nothing is shown here"
    limit, more = before * 102 // 100, f"{100 * (after - before) / before:.3g}%"
    sentence = f"callchain: {after:,} cycles, {more} above the original's {before:,}; limit {limit:,}, 2% above it"
    code, found, text = verified(slow, "--max-slowdown", "2%")
    assert (code, found["verified"], found["within_limits"], found["exceeded"]) == (1, True, False, [sentence])
    assert f"limit exceeded: {sentence}\n" in text
    enough = f"{100 * (after - before) / before + 1e-6:.6f}%"
    code, found, _ = verified(slow, "--max-slowdown", enough, "--max-local-bytes", "47")
    cycles, local = found["limits"]
    assert (cycles["original"], cycles["limit"], cycles["found"]) == (before, after, after)
    assert (code, found["exceeded"]) == (1, [found["exceeded"][0]]), "local memory alone"
    assert (local["limit"], local["found"]) == (47, 48)


def test_as_fast_as_before_is_not_slower() -> None:
    """No cycle more is allowed with 0, and none is taken."""
    answer = call("verify", loom("callchain"), loom("callchain"), *launch("callchain"), "--max-slowdown", "0", "--json")
    row = answer.json["limits"][0]
    assert (answer.code, row["limit"], row["found"]) == (0, row["original"], row["original"])


@pytest.mark.parametrize("share", ["-1%", "-0.02", "nan", "inf", "two", "2", "1e-2", "", "%", "2%%", "0x1"])
def test_nonsense_is_no_share(share: str) -> None:
    pair = (loom("callchain"), loom("callchain"), *launch("callchain"))
    assert "error: --max-slowdown: not a share; found " in refused(2, "verify", *pair, f"--max-slowdown={share}")


def test_limits_that_nothing_can_answer_are_refused() -> None:
    pair = ("verify", loom("callchain"), loom("callchain"))
    assert "--max-slowdown compares emulated runs. Give --launch FILE" in refused(2, *pair, "--max-slowdown", "2%")
    assert "--max-local-bytes" in refused(2, *pair, "--max-local-bytes", "-1")


def test_shares_are_exact() -> None:
    assert parse_share("2%") == parse_share("0.02") == parse_share(0.02) == parse_share("2.000%") == Fraction(1, 50)
    assert (parse_share("150%"), parse_share(1), parse_share("0")) == (Fraction(3, 2), 1, 0)
    assert most_cycles(100, parse_share("1.9%")) == 101
    assert most_cycles(100, parse_share("2%")) == 102
    assert (in_percent(Fraction(1, 50)), in_percent(Fraction(1, 400))) == ("2%", "0.25%")
    with pytest.raises(UsageError, match="Write 2%"):
        parse_share(2)


def test_local_memory_is_judged_under_the_kernels_own_directives(tmp_path: Path) -> None:
    """A rewrite that has more registers than the author allows hides what it would spill."""
    source, more, kept = (str(tmp_path / name) for name in ("k.loom", "more.loom", "kept.loom"))
    (tmp_path / "k.ptx").write_text(bounded(".maxntid 256 .minnctapersm 8"))
    assert call("import-ptx", str(tmp_path / "k.ptx"), "--machine", "a100", "-o", source).code == 0
    budget = ("--machine", "a100", "--slots", "0")
    assert call("rewrite", source, *budget, "--registers", "64", "-o", more).code == 0
    assert call("rewrite", source, *budget, "-o", kept).code == 0
    answer = call("verify", source, more, "--max-local-bytes", "0", "--json")
    (row,) = answer.json["limits"]
    assert (answer.code, row["directives"]) == (1, [".minnctapersm 8"])
    assert "under .minnctapersm 8, which it does not keep to" in answer.json["exceeded"][0]
    answer = call("verify", source, kept, "--max-local-bytes", str(row["found"]), "--json")
    assert (answer.code, answer.json["limits"][0]["directives"]) == (0, [])
