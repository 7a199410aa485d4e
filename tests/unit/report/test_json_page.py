"""What the commands print has the shapes of `report/shapes`, and nothing else; page and schema are made from these."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import pytest

from binalloc.report.shapes import doc
from tests.support.kits.cli import ROOT
from tests.support.kits.report.lines import ERROR, NAMES, Lines
from tests.support.kits.report.reproduced import (
    reproduced,
    reproduced_batching,
    reproduced_multiplex,
    reproduced_sharing,
)
from tests.support.kits.report.shapes import documented, fields, pattern, problems, shapes_of

Answers = Callable[[str], list[Any]]
REPRODUCE = "reproduce"
TURNS = {ERROR: (), REPRODUCE: pytest.mark.rotates("reproduce", "reproduce")}
"""Who takes turns in another way than the sections among themselves."""
SECTIONS = [pytest.param(name, marks=TURNS.get(name, pytest.mark.rotates)) for name in NAMES]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Answers:
    """Every command with --json, often enough that every field that can be there is there once."""
    request.getfixturevalue("shared_versions")
    lines = Lines(tmp_path_factory.mktemp("json"))

    def found(name: str) -> list[Any]:
        if name == REPRODUCE:
            papers = (reproduced, reproduced_multiplex, reproduced_sharing, reproduced_batching)
            return [each(tmp_path_factory)[0] for each in papers]
        return lines.answers(name)

    return found


def test_page_and_schema_are_made_from_the_shapes() -> None:
    assert doc.PAGE.read_text(encoding="utf-8") == doc.page(), "make tables"
    assert doc.SCHEMA.read_text(encoding="utf-8") == doc.schema_text(), "make tables"


def test_shapes_are_for_checkers_of_types_alone() -> None:
    """What makes page and schema is not installed where binalloc is used."""
    found = []
    for path in sorted((ROOT / "binalloc").rglob("*.py")):
        if "shapes" in path.parts:
            continue
        for node in ast.parse(path.read_text()).body:
            imports = [node] if isinstance(node, ast.ImportFrom) else []
            if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
                imports += [inner for inner in ast.walk(node) if isinstance(inner, ast.ImportFrom)]
            found += [str(path) for one in imports if (one.module or "").startswith("binalloc.report.shapes")]
    assert found == []


def test_the_page_has_every_command() -> None:
    for name in NAMES:
        assert shapes_of(name), name


@pytest.mark.parametrize("name", SECTIONS)
def test_what_is_printed_has_its_shape(name: str, answers: Answers) -> None:
    wrong = [
        problem
        for answer in answers(name)
        for problem in problems(answer, *shapes_of(name), *(shapes_of(ERROR) if "error" in answer else ()))
    ]
    assert wrong == []


@pytest.mark.parametrize("name", SECTIONS)
def test_what_is_in_a_shape_is_printed(name: str, answers: Answers) -> None:
    # Where `local` finds no allocation: no sample is so. Objects of versions in turns that `multiplex` or `rewrite`
    # shows: no kernel is small enough for so many runs. Factors of such versions: the demo does not ask for them. Own
    # words: they are chosen, or in the kernel of `--multiplex`, where a kernel has some; and are not in the paper.
    # Curves have ten launches of full size; `test_curves` looks at them. Blocks that never wait are run on the sharing
    # paper's first machine alone.
    unseen = re.compile(
        r".*parts\.spills|.*turns\.schemes\[\]\.divided\[\]\..*|recommendations\[\]\.turns\.(chosen|launch)\..*"
        r"|rows\[\]\.parts\.(allocation|turns|scheduler|pairs|block_order)|(.*\.)?chosen\.own_words|kernels\[\]\.auto\.\w+\.own_words"
        r"|.*turns\.own\..*|curves\[\]\..*|varied\[\]\.free\..*"
    )
    # any command's stopped run has what `run` has
    aside = documented(*shapes_of("run")) if name == ERROR else frozenset[str]()
    shown = {path for answer in answers(name) for path in fields(answer)}
    idle = [
        path
        for path in sorted(documented(*shapes_of(name)) - aside)
        if not any(map(pattern(path).match, shown)) and not unseen.fullmatch(path)
    ]
    assert idle == [], "\n".join(idle)
