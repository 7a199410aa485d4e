"""Pages keep to what is there: the paths, links, rooms, make targets, functions and names that they tell of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import binalloc
from binalloc.models.search.unified import DEPARTURES
from binalloc.pipeline.policies.exhaustive import LEAST
from binalloc.pipeline.policies.model import GAIN, UNSURE
from binalloc.pipeline.policies.table import POLICIES
from binalloc.transform.allocators.table import OF_EVERY_LEVEL
from tests.support.paths import ROOT

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "samples/*.md", "binalloc/**/*.md", "tests/**/*.md")
    for path in ROOT.glob(pattern)
    if path.is_file()
)
QUESTIONS = [f"docs/questions/{path.name}" for path in PAGES if path.parent.name == "questions"]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
_TOP = ("binalloc/", "tests/", "samples/", "docs/", ".ci/")
_CODE = re.compile(r"`([^`\n]+)`")
_PLACE = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)[^)]*\)")


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in _LINK.findall(text):
        assert (page.parent / target).exists(), target
    for target, heading in _PLACE.findall(text):
        other = page.parent / target if target else page
        assert heading in {slug(h) for h in re.findall(r"^#+ (.*)$", other.read_text(), re.MULTILINE)}, heading


def paths(text: str) -> list[str]:
    return [code for code in _CODE.findall(text) if code.startswith(_TOP) and " " not in code]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "README.md", "CHANGELOG.md", "samples/README.md", *QUESTIONS])
def test_paths_exist(name: str) -> None:
    for path in paths((ROOT / name).read_text()):
        assert path.startswith(("build/",)) or list(ROOT.glob(path)), path


def rooms(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if (p / "__init__.py").is_file())


def test_contributing_has_every_room() -> None:
    rows = dict(re.findall(r"^\| `binalloc/(\w+)/` \| (.*)$", CONTRIBUTING, re.MULTILINE))
    assert sorted(rows) == rooms(ROOT / "binalloc")
    for room, text in rows.items():
        for inner in rooms(ROOT / "binalloc" / room):
            assert f"`{inner}/`" in text, f"{room}/{inner}"
            for deeper in rooms(ROOT / "binalloc" / room / inner):
                assert f"`{deeper}/`" in text, f"{room}/{inner}/{deeper}"
        for named in re.findall(r"`(\w+)/`", text):
            assert list((ROOT / "binalloc" / room).glob(f"**/{named}/__init__.py")), f"{room}/{named}"


def test_the_floors_shown_are_the_contracts() -> None:
    """Rooms of one line of the drawing stand on one floor of pyproject.toml, in its order."""
    contract = re.search(r'name = "floors"\n.*?layers = \[\n(.*?)\]', (ROOT / "pyproject.toml").read_text(), re.DOTALL)
    assert contract is not None
    floors = [re.findall(r"binalloc\.(\w+)", line) for line in contract[1].splitlines()]
    drawing = CONTRIBUTING.split("| room |")[0]
    lines = [line for line in drawing.splitlines() if line.startswith("    ")]
    known = {room for floor in floors for room in floor}
    shown = [sorted(set(re.findall(r"\w+", line)) & known) for line in lines[:-1]]
    above = [sorted(floor) for floor in floors[: len(shown)]]
    assert shown == above
    assert set(re.findall(r"\w+", lines[-1])) <= {room for floor in floors[len(shown) :] for room in floor}


def test_functions_are_where_contributing_says() -> None:
    found = re.findall(r"`(\w+)` in\s+`(binalloc/[\w/]+\.py)`", CONTRIBUTING)
    assert len(found) >= 8
    for function, path in found:
        assert re.search(rf"^(?:def|class) {function}\b", (ROOT / path).read_text(), re.MULTILINE), function


def test_make_targets_exist_and_are_told() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    targets = set(phony[1].split())
    told = {target for page in PAGES for target in re.findall(r"`make ([a-z-]+)`", page.read_text())}
    assert told <= targets
    assert targets - set(re.findall(r"make ([a-z-]+)", CONTRIBUTING)) == {"clean"}


def test_the_reference_has_every_name_of_the_library() -> None:
    text = (ROOT / "docs/api.md").read_text()
    listed = re.findall(r"^\.\. auto\w+:: binalloc\.(\w+)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(binalloc.__all__)


def test_the_site_has_every_page() -> None:
    """Sphinx says the same, where it is installed: a page in no contents is a warning, and that an error."""
    index = (ROOT / "docs/index.md").read_text()
    entries = re.findall(r"^(?:[^<\n]+<)?([\w./]+)>?$", "\n".join(index.split("```{toctree}")[1:]), re.MULTILINE)
    listed = {(ROOT / "docs" / f"{entry}.md").resolve() for entry in entries}
    site = {page for page in PAGES if page.parts[-2] != "tests" and "tests" not in page.relative_to(ROOT).parts}
    assert listed == site - {ROOT / "docs/index.md"}


def test_the_policies_page_has_every_policy_and_every_reading() -> None:
    text = (ROOT / "docs/policies.md").read_text()
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert sections.keys() == POLICIES.keys()
    rows = dict(re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \| (yes|no)\b", text, re.MULTILINE))
    assert rows == {name: "yes" if policy.measures else "no" for name, policy in POLICIES.items()}
    for section in sections.values():
        assert "*From the paper*" in section
        assert "*Decided here*" in section
    assert re.findall(r"^\| `([\w-]+)` \|", sections["unified"], re.MULTILINE) == list(DEPARTURES)
    assert f"gain more than {GAIN - 1:.1%}".replace("%", " %") in sections["model"]
    assert f"more than {UNSURE - 1:.0%}".replace("%", " %") in sections["model"]
    assert f"from {LEAST - 1:.1%} on".replace("%", " %") in sections["exhaustive"]
    allocators = re.search(r"^\| \[`exhaustive`.*\| ([^|]*), or the one of", text, re.MULTILINE)
    assert allocators is not None
    assert tuple(re.findall(r"`(\w+)`", allocators[1])) == OF_EVERY_LEVEL


def test_the_changelog_goes_by_versions() -> None:
    """The version on top may be to come; all others have their dates, and the one that is installed is among them."""
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    found = [re.fullmatch(r"(\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d|not released yet)", heading) for heading in headings]
    dates = {match[1]: match[2] for match in found if match is not None}
    assert len(dates) == len(headings)
    numbers = [tuple(int(part) for part in version.split(".")) for version in dates]
    assert numbers == sorted(numbers, reverse=True)
    assert "not released yet" not in [*dates.values()][1:]
    assert dates.get(binalloc.__version__, "not released yet") != "not released yet"
