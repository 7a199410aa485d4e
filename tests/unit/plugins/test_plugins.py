"""Allocators, policies and machines of installed packages: found by name, used, and blamed for what they get wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.kits.installed import Installed
from tests.support.paths import MACHINES, ROOT
from tests.support.ptx.bounded import bounded

NBODY = "samples/loom/nbody.loom"
REWRITE = ("rewrite", NBODY, "--machine", "gtx680", "--registers", "40", "--slots", "4")
CALLS = (
    "rewrite", "samples/loom/callchain.loom", "--machine", "gtx680", "--registers", "8", "--slots", "2",
    "--launch", "samples/loom/callchain.toml", "--no-emulate",
)  # fmt: skip
BY_POLICY = ("rewrite", "samples/loom/stencil2d.loom", "--machine", "gtx680", "--launch", "samples/loom/stencil2d.toml",
             "--no-emulate")  # fmt: skip


def code_of_the_docs() -> str:
    """The allocator and the policy that docs/questions/own_allocator.md shows, as one module."""
    text = (ROOT / "docs" / "questions" / "own_allocator.md").read_text()
    return "\n\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A package with what the page shows, and a machine."""
    found = Installed(tmp_path_factory.mktemp("documented"))
    machine = found.folder / "prototype.toml"
    toy = (MACHINES / "gtx680.toml").read_text().replace('name = "gtx680"', 'name = "prototype"')
    machine.write_text(toy)
    code = code_of_the_docs() + f"\n\ndef prototype_file():\n    return {str(machine)!r}\n"
    found.add(
        "mine", code, allocators={"furthest": "mine:Furthest"}, policies={"one-more": "mine:OneMore"},
        machines={"prototype": "mine:prototype_file"},
    )  # fmt: skip
    return found


def test_names_are_listed_and_nothing_is_imported_for_that(documented: Installed) -> None:
    found = Installed(documented.folder.parent / "bombs")
    found.add(
        "bomb", "raise RuntimeError('imported')", allocators={"boom": "bomb:A"}, policies={"bang": "bomb:P"},
        machines={"crack": "bomb:m"},
    )  # fmt: skip
    for command in ("rewrite", "recommend"):
        text = " ".join(found.text(command, "--help").split())
        assert "bang: of the installed package bomb 1.0" in text
    assert "boom: of the installed package bomb 1.0" in " ".join(found.text("rewrite", "--help").split())
    assert found.run("--help").returncode == 0
    refused = found.run(*REWRITE, "--allocator", "best", "--policy", "nobody")
    assert refused.returncode == 2
    assert "'bang'" in refused.stderr


@pytest.mark.rotates("long")
def test_the_allocator_of_the_docs_rewrites_what_the_checker_proves(documented: Installed, tmp_path: Path) -> None:
    for line in (REWRITE, CALLS):
        out = str(tmp_path / "out.loom")
        answer = documented.json(*line, "--allocator", "furthest", "-o", out)
        assert (answer["allocator"], answer["verified"]) == ("furthest", True)
        assert answer["rewritten"]["registers"] <= int(line[5])
        assert answer["rewritten"]["slots"] <= int(line[7])
        documented.text("verify", line[1], out)
    assert answer["rewritten"]["slots"] == 2
    explained = documented.text(*REWRITE, "--allocator", "furthest", "--explain")
    assert "local word" in explained
    assert "slot " in explained


@pytest.mark.rotates("long")
def test_it_is_compared_with_the_others(documented: Installed) -> None:
    line = ("compare-allocators", NBODY, "--machine", "gtx680", "--registers", "32,40", "--slots", "4")
    answer = documented.json(*line, "--allocators", "local,furthest")
    rows = {(row["registers"], row["allocator"]): row for row in answer["kernels"][0]["rows"]}
    assert rows.keys() == {(r, a) for r in (32, 40) for a in ("local", "furthest")}
    assert all(row["reason"] == "" or row["reason"] is None for row in rows.values())
    assert rows[40, "furthest"]["slots_used"] == 4


def test_the_policy_of_the_docs_chooses(documented: Installed) -> None:
    answer = documented.json(*BY_POLICY, "--policy", "one-more", "--allocator", "furthest")
    assert answer["reason"] == "one block more"
    assert answer["rewritten"]["blocks_per_sm"] == answer["original"]["blocks_per_sm"] + 1
    assert answer["verified"] is True


def test_a_policy_is_told_the_block_that_no_launch_says(documented: Installed, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(bounded("", live=60))
    line = ("rewrite", str(tmp_path / "k.ptx"), "--machine", "a100", "--block", "256", "--policy", "one-more")
    assert documented.json(*line)["reason"] == "one block more"


@pytest.mark.rotates("long")
def test_a_machine_is_listed_shown_and_rewritten_for(documented: Installed, tmp_path: Path) -> None:
    assert "prototype" in [row["name"] for row in documented.json("machines")["machines"]]
    (shown,) = documented.json("machines", "prototype")["machines"]
    assert shown["name"] == "prototype"
    out = str(tmp_path / "out.loom")
    documented.text("rewrite", NBODY, "--machine", "prototype", "--registers", "40", "-o", out)
    assert "prototype" in documented.text("verify", NBODY, out)  # hazards are looked for on the machine that it records


ALLOCATOR = """
from dataclasses import replace
from binalloc.transform.allocators.best import BEST

class A:
    summary = ""
    def allocate(self, problem):
{body}
"""
WRONG_REGISTERS = """\
        plan = BEST.allocate(problem)
        found = plan.attempt.allocations[problem.kernel]
        found.colour[:] = [1] * len(found.colour)
        return plan"""
WRONG_PLANS = {
    "raises": ("        return 1 // 0", "ZeroDivisionError", ":8 in allocate"),
    "ends the process": ("        raise SystemExit(0)", "SystemExit", ":8 in allocate"),
    "raises what is no Exception": ("        raise GeneratorExit('x')", "GeneratorExit: x", ":8 in allocate"),
    "raises what cannot be told": (
        "        class E(Exception):\n            __str__ = None\n        raise E", "whose text cannot be had", "",
    ),
    "no plan": ("        return 'registers'", "str, not a Plan", ""),
    "nothing": ("        return None", "NoneType, not a Plan", ""),
    "wrong parts": ("        return replace(BEST.allocate(problem), memory=7)", "a Plan whose `memory` is int", ""),
    "a bound that is none": ("        return replace(BEST.allocate(problem), bound='low')", "`bound` is str", ""),
    "a bound of nan": ("        return replace(BEST.allocate(problem), bound=float('nan'))", "`bound` is nan", ""),
    "a bound below none": ("        return replace(BEST.allocate(problem), bound=-1)", "`bound` is -1", ""),
    "registers too many": (
        "        return BEST.allocate(replace(problem, registers=48))", "where there are 40 and 4", "",
    ),
    "slots too many": ("        return BEST.allocate(replace(problem, slots=9))", "where there are 40 and 4", ""),
    "all in one register": (WRONG_REGISTERS, "", ""),
}  # fmt: skip


def is_blamed(found: Installed, package: str, name: str, *line: str) -> str:
    """The command ends with exit code 1 and one line that names the package and its entry point; that line."""
    written = found.folder / "out.loom"
    done = found.run(*line, "-o", str(written))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    (told,) = [text for text in done.stderr.splitlines() if text.startswith("binalloc: error")]
    assert f"{package} 1.0, entry point {name} of binalloc." in told
    assert not written.exists()
    return told


@pytest.mark.rotates
@pytest.mark.parametrize("what", list(WRONG_PLANS))
def test_an_allocator_that_is_wrong_is_named(what: str, tmp_path: Path) -> None:
    body, found_text, place = WRONG_PLANS[what]
    found = Installed(tmp_path / "packages")
    found.add("wrong", ALLOCATOR.format(body=body), allocators={"crooked": "wrong:A"})
    told = is_blamed(found, "wrong", "crooked", *REWRITE, "--allocator", "crooked")
    assert found_text in told
    assert place in told


@pytest.mark.parametrize(
    ("code", "place", "told"),
    [
        ("import nothing_of_that_name", "crooked:A", "ModuleNotFoundError"),
        ("def f(:", "crooked:A", "SyntaxError"),
        ("B = 1", "crooked:A", "AttributeError"),
        ("A = 7", "crooked:A", "no method `allocate`"),
        ("class B(BaseException): pass\nraise B('odd')", "crooked:A", "B: odd"),
        ("class A:\n    def __init__(self):\n        raise OSError('no disk')\n", "crooked:A", "no disk"),
        ("", "other_module:A", "ModuleNotFoundError"),
    ],
)
def test_one_that_cannot_be_had_is_named(code: str, place: str, told: str, tmp_path: Path) -> None:
    found = Installed(tmp_path / "packages")
    found.add("crooked", code, allocators={"lost": place})
    assert told in is_blamed(found, "crooked", "lost", *REWRITE, "--allocator", "lost")


def test_a_refusal_of_an_allocator_is_an_answer(tmp_path: Path) -> None:
    body = "        from binalloc import Infeasible\n        raise Infeasible('not with me')"
    found = Installed(tmp_path / "packages")
    found.add("modest", ALLOCATOR.format(body=body), allocators={"modest": "modest:A"})
    line = ("compare-allocators", NBODY, "--machine", "gtx680", "--registers", "40", "--slots", "0")
    answer = found.json(*line, "--allocators", "local,modest")
    assert [row["reason"] for row in answer["kernels"][0]["rows"]][1] == "not with me"


POLICY = """
from dataclasses import replace
from binalloc import Budget, Choice, Tried, build_version

class P:
    measures = False
    def search(self, module, request, original):
        version = build_version(module, request, 32, 0)
{body}
"""
LEVEL = "        return Choice([Tried(Budget({0}), version)], version, 'so')"
WRONG_CHOICES = {
    "raises": ("        raise KeyError('level')", "KeyError"),
    "no choice": ("        return version", "Version, not a Choice"),
    "blocks that no SM holds": (LEVEL.format("99, 32, 0"), "a level with 99 blocks"),
    "no block": (LEVEL.format("0, 32, 0"), "a level with 0 blocks"),
    "registers that no thread has": (LEVEL.format("2, 1000, 0"), "a level with 1000 registers"),
    "slots below none": (LEVEL.format("2, 32, -1"), "a level with -1 slots"),
    "a version of no level": ("        return Choice([], version, 'so')", "none of the levels tried"),
    "no reason": (LEVEL.format("2, 32, 0").replace("'so'", "''"), "without a reason"),
    "other figures": (
        "        version = replace(version, registers=8)\n" + LEVEL.format("2, 32, 0"), "8 for registers",
    ),
    "raises what is no Exception": ("        raise GeneratorExit", "GeneratorExit"),
    "slots that no block has": (LEVEL.format("2, 32, 10**9"), "a level with 1000000000 slots"),
    "blocks that are no number": (LEVEL.format("True, 32, 0"), "a level with True blocks"),
    "no budget": (LEVEL.format("2, 32, 0").replace("Budget(2, 32, 0)", "None"), "whose budget is NoneType"),
    "cycles of nan": (
        "        version = replace(version, cycles=float('nan'))\n" + LEVEL.format("2, 32, 0"), "of nan cycles",
    ),
    "cycles that nothing took": (
        "        version = replace(version, cycles=7)\n" + LEVEL.format("2, 32, 0"), "7 cycles, where nothing is run",
    ),
    "other slots": ("        version = replace(version, slots=9)\n" + LEVEL.format("2, 32, 0"), "9 for slots"),
    "no version": (LEVEL.format("2, 32, 0").replace("version)]", "'fast')]"), "str, not a Version"),
    "a base that is none": (LEVEL.format("2, 32, 0").replace("'so')", "'so', 'base')"), "a base that is str"),
    "a nameless version": (
        "        version = replace(version, name=None)\n" + LEVEL.format("2, 32, 0"), "`name` is NoneType",
    ),
    "no speedup": (LEVEL.format("2, 32, 0").replace("version)]", "version, '', float('nan'))]"), "nan times as fast"),
    "no level": ("        return Choice(['two'], None, 'so')", "no list of Tried"),
}  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("what", list(WRONG_CHOICES))
def test_a_policy_that_is_wrong_is_named(what: str, tmp_path: Path) -> None:
    body, told = WRONG_CHOICES[what]
    found = Installed(tmp_path / "packages")
    found.add("unwise", POLICY.format(body=body), policies={"unwise": "unwise:P"})
    assert told in is_blamed(found, "unwise", "unwise", *BY_POLICY, "--policy", "unwise")


def test_what_a_policy_calls_proven_is_proven_again(tmp_path: Path) -> None:
    """It changes code behind the proof, and says that the checker has passed it."""
    body = """\
        broken = build_version(module, request, 32, 0)
        fn = broken.functions[0]
        fn.instrs[4] = fn.instrs[5]
        kept = replace(broken, proven=True)
        return Choice([Tried(Budget(2, 32, 0), kept)], kept, 'so')"""
    found = Installed(tmp_path / "packages")
    found.add("liar", POLICY.format(body=body), policies={"liar": "liar:P"})
    done = found.run(*BY_POLICY, "--policy", "liar", "-o", str(tmp_path / "out.loom"))
    assert done.returncode == 1, done.stderr
    assert not (tmp_path / "out.loom").exists()


def test_the_cycles_of_what_a_policy_takes_are_run_again(tmp_path: Path) -> None:
    found = Installed(tmp_path / "packages")
    body = "        version = replace(version, cycles=7)\n" + LEVEL.format("2, 32, 0")
    found.add("liar", POLICY.format(body=body), policies={"liar": "liar:P"})
    line = [word for word in BY_POLICY if word != "--no-emulate"]
    answer = found.json(*line, "--size", "test", "--policy", "liar")
    assert answer["rewritten"]["cycles"] > 1000
    assert [level["cycles"] for level in answer["levels"]] == [answer["rewritten"]["cycles"]]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("m = 'a' * 9000", "which is no file's path"),
        ("m = 5", "5, which is no file's path"),
        ("m = '/nowhere/at.toml'", "which is no file's path"),
        ("def m():\n    raise ValueError('lost')\n", "ValueError: lost"),
        ("def m():\n    import pathlib\n    return pathlib.Path(__file__).with_suffix('.toml')\n", "unknown key"),
    ],
)
def test_a_machine_that_is_wrong_is_named(code: str, told: str, tmp_path: Path) -> None:
    found = Installed(tmp_path / "packages")
    found.add("chips", code, machines={"odd": "chips:m"})
    text = (MACHINES / "gtx680.toml").read_text().replace('name = "gtx680"', 'name = "odd"\nmade = 7')
    (found.folder / "chips.toml").write_text(text)
    assert told in is_blamed(found, "chips", "odd", "rewrite", NBODY, "--machine", "odd", "--registers", "40")
    listed = found.run("machines")
    assert listed.returncode == 1
    assert "gtx680" in listed.stdout
    assert "chips 1.0, entry point odd of binalloc.machines" in listed.stderr


def test_a_machine_of_another_name_than_it_says_is_named(tmp_path: Path) -> None:
    found = Installed(tmp_path / "packages")
    found.add("chips", f"m = {str(MACHINES / 'gtx680.toml')!r}", machines={"odd": "chips:m"})
    assert "'gtx680'" in is_blamed(found, "chips", "odd", "rewrite", NBODY, "--machine", "odd", "--registers", "40")


def test_names_that_clash_are_told_and_left_out(tmp_path: Path) -> None:
    found = Installed(tmp_path / "packages")
    wrong = ALLOCATOR.format(body="        return None")
    found.add("one", wrong, allocators={"best": "one:A", "twin": "one:A"}, machines={"gtx680": "one:A"})
    found.add("two", wrong, allocators={"twin": "two:A"})
    done = found.run(*REWRITE, "--allocator", "best", "-o", str(tmp_path / "out.loom"))
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stderr.split())
    assert "'best' of one 1.0, entry point best of binalloc.allocators, one:A is ignored: binalloc has one" in text
    assert text.count("'best' of one 1.0") == 1
    assert "'gtx680' of one 1.0, entry point gtx680 of binalloc.machines" in text
    assert "'twin' is ignored, as several packages have one: one 1.0" in text
    refused = found.run(*REWRITE, "--allocator", "twin")
    assert refused.returncode != 0
    assert "two 1.0" in refused.stderr
    assert "Traceback" not in refused.stderr
