"""The page of `recommend --html`: one file that needs nothing else, and what a browser makes of it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from binalloc.report.page import library
from binalloc.report.recommend.page import recommendation_page
from tests.support.kits.cli import call, launch, loom, refused
from tests.support.kits.machines import one_sm
from tests.support.kits.report.browser import browser, look_at
from tests.support.paths import sample_file
from tests.support.ptx.bounded import bounded

MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two of one SM, which the launch's few blocks fill."""
    folder = tmp_path_factory.mktemp("machines")
    return f"{one_sm(folder)},{one_sm(folder, 'c2075')}"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, machines: str) -> bytes:
    """Two machines, levels that were run, spills."""
    out = tmp_path_factory.mktemp("page") / "nbody.html"
    asked = ["recommend", loom("nbody"), *launch("nbody"), "--machine", machines]
    assert call(*asked, "--html", str(out)).code == 0
    return out.read_bytes()


@pytest.fixture(scope="module")
def told(machines: str) -> list[dict[str, Any]]:
    """The same figures."""
    asked = ["recommend", loom("nbody"), *launch("nbody"), "--machine", machines, "--json"]
    found: list[dict[str, Any]] = call(*asked).json["recommendations"]
    return found


class Elements(HTMLParser):
    """Start tags with their attributes, and the text of tables."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self._in_cell = False
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_cell = tag in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._in_cell and data.strip():
            self.cells.append(data.strip())
        self._in_cell = False


@pytest.mark.rotates("long")
def test_the_largest_page_is_one_small_file(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    asked = ["recommend", str(sample_file("heartwall.ptx")), "--machine", "gtx680,c2075", "--policy", "unified"]
    assert call(*asked, "--html", str(out)).code == 0
    assert out.stat().st_size < MOST_BYTES


@pytest.mark.rotates("long")
def test_nothing_is_loaded_from_elsewhere(page: bytes) -> None:
    tags = Elements(page).tags
    assert [(tag, a) for tag, a in tags if "src" in a or tag in ("link", "iframe", "img")] == []
    assert all(str(a["href"]).startswith("#") for _, a in tags if "href" in a)
    policy = next(str(a["content"]) for _, a in tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "http" not in policy


@pytest.mark.rotates("long")
def test_the_same_again_is_the_same_page(page: bytes, machines: str, tmp_path: Path) -> None:
    out = tmp_path / "again.html"
    asked = ["recommend", loom("nbody"), *launch("nbody"), "--machine", machines]
    assert call(*asked, "--html", str(out)).code == 0
    assert out.read_bytes() == page


@pytest.mark.rotates("long")
def test_every_chart_has_its_figures_in_a_table_too(page: bytes, told: list[dict[str, Any]]) -> None:
    cells = Elements(page).cells
    for one in told:
        for level in one["levels"]:
            assert (f"{level['cycles']:,}" if level["cycles"] else level["reason"]) in cells
        for steps in one["what_if"].values():
            assert all(f"{step['at']:,}" in cells for step in steps)
        for kind in one["character"]["mix"]:
            assert f"{kind['executed_percent']:.1f}%" in cells
        for side in one["measured"].values():
            assert f"{side['issued_percent']:.1f}%" in cells


def test_foreign_names_stay_text(told: list[dict[str, Any]]) -> None:
    name = "</script><script>alert(1)</script><!--&amp;\u2028"
    text = json.dumps(told[0]).replace('"nbody"', json.dumps(name))
    page = recommendation_page([json.loads(text)], name).decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    charts = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    functions = {row.get("function") for chart in charts for row in json.loads(chart)["data"]["values"]}
    assert name in functions


def test_a_damaged_library_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINALLOC_CACHE_DIR", str(tmp_path))
    made: list[str] = []
    monkeypatch.setattr(library, "_bundled", lambda: made.append("") or f"library {len(made)}")
    assert library.chart_library() == "library 1"
    assert library.chart_library() == "library 1"
    (kept,) = (tmp_path / "page").iterdir()
    for damage in (b"", kept.read_bytes()[:-1], b"\xff" + kept.read_bytes()):
        kept.write_bytes(damage)
        assert library.chart_library() == f"library {len(made)}"
    assert len(made) == 4


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(library, "_PACKAGES", ("jinja2", "no-such-package"))
    line = refused(2, "recommend", loom("nbody"), "--html", str(tmp_path / "x.html"))
    assert "no-such-package is not installed" in line
    assert "binalloc[html]" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "words"),
    [("-", "standard output"), ("{folder}", "no file's name"), ("{folder}/none/x.html", "does not exist"),
     ("{input}", "overwrite its own input")],
)  # fmt: skip
def test_where_no_page_can_be_written(where: str, words: str, tmp_path: Path) -> None:
    binary = tmp_path / "k.loom"
    binary.write_bytes(Path(loom("nbody")).read_bytes())
    line = refused(2, "recommend", str(binary), "--html", where.format(folder=tmp_path, input=binary))
    assert words in line
    assert binary.read_bytes() == Path(loom("nbody")).read_bytes()


def test_where_a_machine_refuses_the_page_says_why(tmp_path: Path) -> None:
    source, binary, out = tmp_path / "k.lasm", str(tmp_path / "k.loom"), tmp_path / "k.html"
    source.write_text(".kernel k\n.block 1024\n    MOV R1, 1\n    EXIT\n.end\n")
    assert call("asm", str(source), "-o", binary).code == 0
    assert call("recommend", binary, "--machine", "gtx285,gtx680", "--html", str(out)).code == 0
    page = out.read_text()
    assert page.index("Refused: ") < page.index("Leave it")


@pytest.mark.rotates("long")
def test_the_kernels_own_directives_are_told(tmp_path: Path) -> None:
    source, out = tmp_path / "k.ptx", tmp_path / "k.html"
    for directives in (".maxnreg 24", ""):
        source.write_text(bounded(directives))
        assert call("recommend", str(source), "--block", "128", "--html", str(out)).code == 0
        page = out.read_text()
        said = ("<h3>The kernel's own directives</h3>", "<p>.maxnreg 24: at most 24 registers per thread.</p>",
                "<p>Obeying them takes 24 registers, ")  # fmt: skip
        assert [text in page for text in said] == 3 * [bool(directives)]


# -- in a browser

DRAWN = """
return {
  figures: document.querySelectorAll("figure[data-chart]").length,
  charts: [...document.querySelectorAll("figure .chart svg.marks")].map((s) => [s.clientWidth, s.clientHeight,
    s.querySelectorAll("path, text").length, s.closest("[role=graphics-document]").getAttribute("aria-label")]),
};
"""


def test_every_chart_is_drawn_and_the_console_is_silent(page: bytes, tmp_path: Path) -> None:
    browser()
    seen = look_at(page, DRAWN, tmp_path)
    assert seen.drawn
    assert seen.console == []
    assert len(seen.found["charts"]) == seen.found["figures"] == 16
    for width, height, marks, label in seen.found["charts"]:
        assert width > 300
        assert height > 100
        assert marks > 10
        assert len(label) > 20


SLIDE = """
const told = [];
for (const figure of document.querySelectorAll("figure")) {
  const slider = figure.querySelector("input[type=range]");
  if (!slider) continue;
  const out = figure.querySelector(".answer");
  for (const at of [slider.min, slider.max, String(Math.floor((Number(slider.min) + Number(slider.max)) / 2))]) {
    slider.value = at;
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    await new Promise((go) => setTimeout(go, 50));
    const label = slider.closest("label");
    told.push([out.dataset.across, Number(slider.value), out.textContent, label !== null, slider.tabIndex]);
  }
}
return told;
"""


def test_curves_answer(page: bytes, told: list[dict[str, Any]], tmp_path: Path) -> None:
    """What a slider says is what the rules of occupancy say."""
    browser()
    seen = look_at(page, SLIDE, tmp_path)
    curves = [(name, one["what_if"][name]) for one in told for name in ("registers", "shared_bytes", "threads")]
    assert len(seen.found) == 3 * len(curves)
    for number, (_, at, text, labelled, tab) in enumerate(seen.found):
        steps = curves[number // 3][1]
        blocks = [step["blocks"] for step in steps if step["at"] <= at][-1]
        assert text.endswith(f"blocks per SM {blocks}"), (text, curves[number // 3])
        assert labelled
        assert tab == 0


FITS = """
return {across: document.documentElement.scrollWidth, wide: innerWidth,
  page: getComputedStyle(document.body).backgroundColor, text: getComputedStyle(document.body).color,
  axis: getComputedStyle(document.querySelector("figure svg .role-axis-label text")).fill};
"""


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 has it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [500, 1000])
def test_it_is_readable_narrow_and_wide_light_and_dark(page: bytes, width: int, dark: bool, tmp_path: Path) -> None:
    browser()
    seen = look_at(page, FITS, tmp_path, width=width, dark=dark).found
    assert seen["across"] <= seen["wide"]
    assert (luminance(seen["page"]) < 0.2) == dark
    assert contrast(seen["page"], seen["text"]) > 7
    assert contrast(seen["page"], seen["axis"]) > 7
